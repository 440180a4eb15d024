"""The course of a secure sum: its release, its noise, and what ends it."""

import pickle
import threading

import numpy as np
import pandas as pd
import pytest

from skdp.federated import SecureSum, SecureSumOwner, _secure_sum_owner
from skdp.federated._masks import mask
from skdp.federated._transcript import Transcript
from skdp.noise import _queries
from skdp.privacy import BudgetExceededError, PrivacyLedger
from skdp.secure import Identity
from skdp.source import _joint_sums

from .conftest import CLASSES, Owners, people, private_table

pytestmark = pytest.mark.filterwarnings("ignore:This release")


@pytest.mark.parametrize("unit", ["record", "group"])
def test_without_noise_the_release_is_that_of_all_rows(unit, monkeypatch, no_doubts):
    class NoNoise:
        def sample(self, n, bits):
            return np.zeros(n, dtype=np.int64)

    monkeypatch.setattr(_queries, "_sampler", lambda deviation: NoNoise())
    owners = Owners(3, privacy_unit=unit)
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


def test_fewer_owners_than_all_make_a_release_where_the_plan_allows_it(quick_noise):
    owners = Owners(least_owners=3)
    present = owners.owners[1:]
    request = owners.plan.combine([owner.join() for owner in present])
    first = [owner.answer(request) for owner in present]
    late = owners.owners[0].join()
    with pytest.raises(ValueError, match="made with other keys of this session"):
        owners.plan.combine([request, late, *first])
    request = owners.plan.combine([request, *first])
    release = owners.plan.combine([request, *(owner.answer(request) for owner in present)])
    assert "at most 1 of the 3 owners" in release.guarantee.assumes
    assert owners.entries == [0, 1, 1, 1]


def test_what_a_colluding_owner_knows_leaves_the_noise_that_is_claimed():
    columns = {f"c{i:02}": {"type": "numeric", "low": 0, "high": 1} for i in range(24)}
    schema = {"columns": columns, "classes": CLASSES, "version": 1}
    frame = pd.DataFrame(np.full((1, 24), 0.5), columns=list(columns))
    # The sums are zero: what an owner answers is its noise.
    owners = Owners(schema=schema, table=lambda i: (frame, ["of no class"]))
    request = owners.plan.combine(owners.join())
    private = {owner.identity.name: owner._private for owner in owners.owners}
    second_request = owners.plan.combine([request, *owners.answer(request)])
    transcript = Transcript(owners.plan, [second_request])
    answers = owners.answer(second_request)
    release = owners.plan.combine([second_request, *answers])
    sums, n = release.statistics.sums, transcript.next_round.size
    done = Transcript(owners.plan, [second_request, *answers])
    own = {
        name: answer - mask(key, transcript.public_keys, name, transcript.context, n)
        for (name, key), answer in zip(private.items(), done.answers.values(), strict=True)
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


def test_both_rounds_are_of_the_same_rows_which_are_read_once(quick_noise, monkeypatch):
    owners, read = Owners(2), []

    def rows():
        read.append(len(read))
        return owners.accumulator(len(read) - 1)  # others at each reading

    kept = owners.accumulator(1)
    owners.owners = [owners.owner(0, rows), owners.owner(1, kept)]
    exact, publish = [], _joint_sums.publish

    def kept_sums(*args, private, **settings):
        exact.append(private[0])
        return publish(*args, private=private, **settings)

    monkeypatch.setattr(_joint_sums, "publish", kept_sums)
    request = owners.plan.combine(owners.join())
    assert read == []
    kept.add(*private_table(5))  # of a table that is still written to
    answers = owners.answer(request)
    assert owners.answer(request) == answers
    kept.add(*private_table(6))
    owners.answer(owners.plan.combine([request, *answers]))
    assert read == [0]
    for i in range(2):
        first, second = exact[i::2]
        assert first is second
        np.testing.assert_array_equal(first.exact.second, owners.accumulator(i)._exact().second)


def test_the_key_and_the_sums_are_gone_with_the_last_answer(owners):
    owner = owners.owners[0]
    assert len(owner._private) == 32
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(owner)
    course = owners.course()
    assert owner._private is owner._rows is None
    # What was sent is sent again, and nothing else is answered.
    assert [owner.answer(request) for request in course.requests] == [a[0] for a in course.answers]
    assert owners.entries == [1, 1, 1, 1]


def test_a_new_process_has_another_key_and_answers_nothing(owners):
    request = owners.plan.combine(owners.join())
    new = owners.owner(0)
    for joins in (False, True):
        if joins:
            assert new.join() != owners.owners[0].join()
        with pytest.raises(ValueError, match=r"lacks the messages of 'ward 0', .* new secure sum"):
            new.answer(request)
    assert new.ledger.entries == []


class Crash(BaseException):
    """A process that dies: nothing catches it."""


def test_an_answer_that_fails_after_the_charge_stays_charged(owners):
    def crash(*args, **settings):
        raise Crash

    request = owners.plan.combine(owners.join())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_secure_sum_owner, "write_message", crash)
        with pytest.raises(Crash):
            owners.owners[0].answer(request)
    # Nothing has left it: with other noise it would be charged again.
    assert owners.entries == [1, 0, 0, 0]
    with pytest.raises(BudgetExceededError):
        owners.owners[0].answer(request)
    assert owners.entries == [1, 0, 0, 0]


def test_simultaneous_calls_give_one_answer_and_one_charge(owners):
    request = owners.plan.combine(owners.join())
    start, answers = threading.Barrier(4), []

    def answer():
        start.wait()
        answers.append(owners.owners[0].answer(request))

    threads = [threading.Thread(target=answer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    assert len(set(answers)) == 1
    assert owners.entries == [1, 0, 0, 0]


def test_a_ledger_that_is_spent_ends_it(owners):
    owners.course()
    other = Owners(identities=owners.identities)
    other.owners[0].ledger = owners.owners[0].ledger  # that of the same rows
    request = other.plan.combine(other.join())
    with pytest.raises(BudgetExceededError, match="above the 1 of the ledger"):
        other.owners[0].answer(request)
    assert owners.entries == [1, 1, 1, 1]


def test_an_owner_is_of_the_plan(owners):
    stranger = Identity.generate("ward 0")  # of the same name
    with pytest.raises(ValueError, match="'ward 0', is not an owner in this plan"):
        SecureSumOwner(owners.plan, stranger, owners.plan.accumulator, ledger=PrivacyLedger())


@pytest.mark.parametrize("disjoint", [False, True])
def test_owners_agree_by_joining_to_nobody_being_at_two_of_them(disjoint):
    owners = Owners(2, privacy_unit="group", disjoint=disjoint)
    for other in (not disjoint, None, "true", int(disjoint)):
        with pytest.raises(ValueError, match=f"'disjoint' parameter .* must be {disjoint}, as in"):
            owners.owners[0].join(disjoint=other)
    owners.owners[0].join(disjoint=disjoint)


def test_too_many_rows_are_refused_before_anybody_is_charged(owners, monkeypatch):
    monkeypatch.setattr(_joint_sums, "_MOST_ROWS", 4 * 60)
    request = owners.plan.combine(owners.join())
    owners.owners[0].answer(request)
    monkeypatch.setattr(_joint_sums, "_MOST_ROWS", 4 * 60 - 1)
    with pytest.raises(ValueError, match="may have 59 rows or people at most"):
        owners.owner(0, owners.accumulator(0)).join()
    late = Owners(2)
    monkeypatch.setattr(_joint_sums, "_MOST_ROWS", 2 * 60 - 1)
    request = late.plan.combine(late.join())
    with pytest.raises(ValueError, match="may have 59 rows or people at most"):
        late.owners[0].answer(request)
    assert late.entries == [0, 0]


def test_the_most_rows_of_all_owners_stay_below_what_counts_as_not_unmasked(owners):
    """Sums of squares of 2^32 a row, and sixteen deviations of the largest noise there is."""
    most = owners.plan.sums(4).max_rows
    assert 4 * most * 2**32 + 16 * 2**56 <= _joint_sums._LARGEST_SUM
    assert 4 * most > 200e6
