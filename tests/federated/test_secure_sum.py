"""The course of a secure sum: its release, its files, and what survives a crash."""

import os
import stat
import threading

import numpy as np
import pandas as pd
import pytest

from skdp import Release
from skdp.federated import SecureSum, SecureSumOwner, _secure_sum_owner
from skdp.federated._masks import mask
from skdp.federated._transcript import Transcript
from skdp.noise import _queries
from skdp.privacy import BudgetExceededError, PrivacyLedger
from skdp.secure import Identity

from .conftest import CLASSES, Owners, people, private_table

pytestmark = pytest.mark.filterwarnings("ignore:This release")


@pytest.mark.parametrize("unit", ["record", "group"])
def test_without_noise_the_release_is_that_of_all_rows(unit, tmp_path, monkeypatch, no_doubts):
    class NoNoise:
        def sample(self, n, bits):
            return np.zeros(n, dtype=np.int64)

    monkeypatch.setattr(_queries, "_sampler", lambda deviation: NoNoise())
    owners = Owners(tmp_path, 3, privacy_unit=unit)
    release = owners.course().release
    tables, labels = zip(*map(private_table, range(3)), strict=True)
    source = owners.plan.source()
    groups = np.concatenate([people(i) for i in range(3)]) if unit == "group" else None
    one = source.fit(pd.concat(tables), np.concatenate(labels), groups=groups).release_
    for name in ("counts", "total", "second"):
        np.testing.assert_array_equal(
            *(getattr(each.statistics.sums, name) for each in (release, one))
        )
    assert owners.entries == [1, 1, 1]
    assert {o.ledger.entries[0][1] for o in owners.owners} == {release.guarantee}


def test_anybody_who_has_the_messages_makes_the_same_requests_and_release(owners, tmp_path):
    course = owners.course()
    messages = [*course.keys, *course.answers[0], *course.answers[1]]
    stranger = SecureSum.from_bytes(owners.plan.to_bytes())
    assert stranger.combine(messages[3::-1]) == course.requests[0]
    assert stranger.combine([*messages[7:3:-1], *messages[:4]]) == course.requests[1]
    release = stranger.combine([*reversed(messages), course.requests[0], messages[5]])
    for path, made in (("a", release), ("b", course.release)):
        made.save(tmp_path / path)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_fewer_owners_than_all_make_a_release_where_the_plan_allows_it(tmp_path, quick_noise):
    owners = Owners(tmp_path, least_owners=3)
    present, rows = owners.owners[1:], owners.rows[1:]
    request = owners.plan.combine([owner.join() for owner in present])
    first = [o.answer(request, own) for o, own in zip(present, rows, strict=True)]
    late = owners.owners[0].join()
    with pytest.raises(ValueError, match="made with other keys of this session"):
        owners.plan.combine([request, late, *first])
    request = owners.plan.combine([request, *first])
    second = [o.answer(request, own) for o, own in zip(present, rows, strict=True)]
    release = owners.plan.combine([request, *second])
    assert "at most 1 of the 3 owners" in release.guarantee.assumes
    assert owners.entries == [0, 1, 1, 1]


def test_what_a_colluding_owner_knows_leaves_the_noise_that_is_claimed(tmp_path):
    columns = {f"c{i:02}": {"type": "numeric", "low": 0, "high": 1} for i in range(24)}
    schema = {"columns": columns, "classes": CLASSES, "version": 1}
    frame = pd.DataFrame(np.full((1, 24), 0.5), columns=list(columns))
    # The sums are zero: what an owner answers is its noise.
    owners = Owners(tmp_path, schema=schema, table=lambda i: (frame, ["of no class"]))
    private = {}
    request = owners.plan.combine(owners.join())
    for owner in owners.owners:
        private[owner.identity.name] = (owner.folder / "private.key").read_bytes()
    first = owners.answer(request)
    second_request = owners.plan.combine([request, *first])
    transcript = Transcript(owners.plan, [second_request])
    answers = owners.answer(second_request)
    release = owners.plan.combine([second_request, *answers])
    sums, n = release.statistics.sums, transcript.sums.size(1)
    done = Transcript(owners.plan, [second_request, *answers])
    own = {
        name: answer - mask(key, transcript.public_keys, name, transcript.context, n)
        for (name, key), answer in zip(private.items(), done.answers[1].values(), strict=True)
    }
    np.testing.assert_array_equal(sum(own.values()).view(np.int64), done.totals[1])
    # Of total, contrast and second moments: the last ones, off the diagonal.
    t = len(release.statistics.basis.column)
    places = n - t * (t + 1) // 2 + np.flatnonzero(np.subtract(*np.triu_indices(t)))
    steps = release.statistics.sums.radius**2 / 2**32
    noises = {k: v.view(np.int64)[places] * steps * np.sqrt(2) for k, v in own.items()}
    claimed = float(sums.second_sd)  # of four owners together
    assert len(places) > 2500  # a variance is known to 2.8 percent
    for name in owners.names:
        left = sum(noise for other, noise in noises.items() if other != name)
        assert left.var() == pytest.approx(claimed**2 * 3 / 4, rel=0.2)
    two = noises["ward 0"] + noises["ward 1"]
    assert two.var() == pytest.approx(claimed**2 / 2, rel=0.2)


@pytest.mark.parametrize("path", ["key.msg", "first-answer.msg", "second-answer.msg"])
def test_files_are_readable_by_their_owner_alone(owners, path):
    owners.join()
    folder = owners.owners[0].folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "private.key").stat().st_mode) == 0o600
    owners.course()
    assert stat.S_IMODE((folder / path).stat().st_mode) == 0o600
    assert {file.name for file in folder.iterdir()} == {
        *("key.msg", "first-answer.msg", "second-answer.msg", "lock"),
    }


class Crash(BaseException):
    """A process that dies: nothing catches it."""


def crash(*args, **settings):
    raise Crash


def again(owners, i=0):
    """Return an owner in a new process: the same files, and a ledger of its own file."""
    old = owners.owners[i]
    return SecureSumOwner(owners.plan, old.identity, old.folder, ledger=old.ledger)


def test_an_owner_that_dies_before_it_has_answered_is_charged_again(tmp_path, quick_noise):
    owners = Owners(tmp_path, budget=2.0)
    request = owners.plan.combine(owners.join())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_secure_sum_owner, "write_message", crash)
        with pytest.raises(Crash):
            owners.owners[0].answer(request, owners.rows[0])
    # Nothing has left it, and what was drawn is lost: with other noise it may be charged again.
    assert owners.entries == [1, 0, 0, 0]
    assert not (owners.owners[0].folder / "first-answer.msg").exists()
    owners.owners[0] = again(owners)
    answers = owners.answer(request)
    assert owners.entries == [2, 1, 1, 1]
    assert again(owners).answer(request, owners.rows[0]) == answers[0]
    assert owners.entries == [2, 1, 1, 1]


@pytest.mark.parametrize("number", [0, 1])
def test_an_owner_that_dies_after_it_has_written_sends_the_same_bytes(owners, number, monkeypatch):
    request = owners.plan.combine(owners.join())
    if number:
        request = owners.plan.combine([request, *owners.answer(request)])
    path = owners.owners[0].folder / ("second-answer.msg" if number else "first-answer.msg")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skdp.utils._files._sync_folder", crash)
        with pytest.raises(Crash):
            owners.owners[0].answer(request, owners.rows[0])
    assert path.exists()
    owners.owners[0] = again(owners)
    answers = owners.answer(request)
    assert answers[0] == path.read_bytes()
    assert owners.entries == [1, 1, 1, 1]
    assert owners.plan.combine([request, *answers])
    # Without the private key, once the last answer is there.
    assert (owners.owners[0].folder / "private.key").exists() == (number == 0)


def crash_at_draft(path, missing_ok=False):
    """Delete a file, unless it is the draft of a private key, which stays."""
    if ".private" in path.name:
        crash()
    if not missing_ok or path.exists():
        os.unlink(path)


@pytest.mark.parametrize(
    ("target", "replacement"),
    [
        ("pathlib.Path.unlink", crash_at_draft),
        (f"{_secure_sum_owner.__name__}.write_message", crash),
    ],
)
def test_a_process_that_dies_while_it_joins_joins_again_and_leaves_no_key(
    target, replacement, owners
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target, replacement)
        with pytest.raises(Crash):
            owners.owners[0].join()
    assert len(list(owners.owners[0].folder.glob("*private*"))) >= 1
    owners.owners[0] = again(owners)
    assert isinstance(owners.course().release, Release)
    assert not list(owners.owners[0].folder.glob("*private*"))


def test_simultaneous_calls_give_one_answer_and_one_charge(owners):
    request = owners.plan.combine(owners.join())
    start, answers = threading.Barrier(4), []

    def answer():
        owner = again(owners)
        start.wait()
        answers.append(owner.answer(request, owners.rows[0]))

    threads = [threading.Thread(target=answer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    assert len(set(answers)) == 1
    assert owners.entries == [1, 0, 0, 0]


def test_a_ledger_that_is_spent_ends_it_before_anything_is_written(owners, tmp_path):
    owners.course()
    other = Owners(tmp_path / "again", identities=owners.identities)
    other.owners[0].ledger = owners.owners[0].ledger  # that of the same rows
    request = other.plan.combine(other.join())
    with pytest.raises(BudgetExceededError, match="above the 1 of the ledger"):
        other.owners[0].answer(request, other.rows[0])
    assert owners.entries == [1, 1, 1, 1]
    folder = other.owners[0].folder
    assert {path.name for path in folder.iterdir()} == {"key.msg", "private.key", "lock"}


def test_folders_are_for_one_owner_of_one_plan(owners, tmp_path):
    owners.join()
    folder = owners.owners[0].folder
    other = Owners(tmp_path / "other", identities=owners.identities)
    with pytest.raises(ValueError, match="belongs to another session"):
        other.owner(0, folder).join()
    with pytest.raises(ValueError, match="is the folder of 'ward 0', not of 'ward 1'"):
        owners.owner(1, folder).join()
    stranger = Identity.generate("ward 0")  # of the same name
    with pytest.raises(ValueError, match="'ward 0', is no owner of this plan"):
        SecureSumOwner(owners.plan, stranger, tmp_path, ledger=PrivacyLedger())


def test_an_owner_without_its_key_says_what_is_missing(owners, tmp_path):
    request = owners.plan.combine(owners.join())
    with pytest.raises(ValueError, match="'ward 0' has not joined: there is no key in"):
        owners.owner(0, tmp_path / "new").answer(request, owners.rows[0])
    (owners.owners[0].folder / "private.key").unlink()
    with pytest.raises(ValueError, match=r"private key in .* is gone.* Begin a new secure sum"):
        owners.owners[0].answer(request, owners.rows[0])
    assert owners.entries == [0, 0, 0, 0]
