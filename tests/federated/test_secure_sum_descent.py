"""A secure sum of a descent: many rounds, and what ends them."""

import numpy as np
import pandas as pd
import pytest

from skdp.federated._transcript import ANSWER, Transcript, _history
from skdp.release import Release
from skdp.secure import write_message
from skdp.source import _gradient_model, _joint_sums

from .conftest import Owners, people, private_table

pytestmark = pytest.mark.filterwarnings("ignore:This release")


@pytest.fixture(autouse=True)
def few_steps(monkeypatch, quick_noise):
    monkeypatch.setattr(_gradient_model, "MOST_STEPS", 4)


class Descent(Owners):
    """Owners of a plan with X and y, and groups if people are protected."""

    def __init__(self, n=3, **settings):
        super().__init__(n, model="gradients", **settings)

    def accumulator(self, i):
        """Return the rows of an owner."""
        by_person = self.plan.privacy_unit == "group"
        return (*self.table(i), people(i)) if by_person else self.table(i)

    def requests(self):
        """Return all requests, their answers, and the release."""
        requests, answers = [self.plan.combine(self.join())], []
        while isinstance(requests[-1], bytes):
            answers.append(self.answer(requests[-1]))
            requests.append(self.plan.combine([requests[-1], *answers[-1]]))
        return requests[:-1], answers, requests[-1]


def refused(owners, request, reason, i=0):
    """Check that an owner refuses a request, reads no row, and keeps what it has sent."""
    owner, before = owners.owners[i], owners.entries
    sent = list(owner._sent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_joint_sums._KeptRows, "encoded", lambda *args: 1 / 0)
        with pytest.raises(ValueError, match=reason):
            owner.answer(request)
    assert (owners.entries, owner._sent) == (before, sent)


@pytest.mark.parametrize("unit", ["record", "group"])
def test_owners_make_a_release_and_are_charged_once(unit):
    owners = Descent(privacy_unit=unit, disjoint=unit == "group")
    requests, answers, release = owners.requests()
    assert isinstance(release, Release)
    assert release.model.descent is not None
    assert 3 <= len(requests) - 3 <= 4  # steps
    assert owners.entries == [1, 1, 1]
    assert {o.ledger.entries[0][1] for o in owners.owners} == {release.guarantee}
    assert "at most 1 of the 3 owners" in release.guarantee.assumes
    X = pd.concat([private_table(i)[0] for i in range(3)])
    assert release.predict_proba(X).shape == (180, 2)
    # A request has the sums of earlier rounds and the answers to the last one, not all answers.
    sizes = [len(request) for request in requests]
    assert max(np.diff(sizes[3:])) < 8 * 8 * 3
    # Keys and rows are gone, and what was sent is sent again.
    assert all(owner._private is owner._rows is None for owner in owners.owners)
    assert [owners.answer(request) for request in requests] == answers
    assert owners.entries == [1, 1, 1]


def test_anybody_who_has_all_messages_makes_the_same_release(tmp_path):
    owners = Descent()
    requests, answers, release = owners.requests()
    keys = owners.join()
    rng = np.random.RandomState(0)
    messages = [*keys, *(message for of_round in answers for message in of_round)]
    again = owners.plan.combine([messages[i] for i in rng.permutation(len(messages))])
    for path, made in (("a", release), ("b", again)):
        made.save(tmp_path / path)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert owners.plan.combine(messages[: 3 * 5]) == requests[4]


@pytest.mark.parametrize("rounds", [0, 1, 3, 5])
def test_an_owner_who_drops_out_ends_it_and_nothing_is_released(rounds):
    owners = Descent()
    request = owners.plan.combine(owners.join())
    for _ in range(rounds):
        request = owners.plan.combine([request, *owners.answer(request)])
    rest = [owner.answer(request) for owner in owners.owners[:2]]
    message = rf"The answer of 'ward 2' to round {rounds + 1} is missing\. .* charged again"
    with pytest.raises(ValueError, match=message):
        owners.plan.combine([request, *rest])
    refused(owners, request + b"".join(rest), f"'ward 2' to round {rounds + 1} is missing")
    assert owners.entries == [1, 1, int(rounds > 0)]
    # The sum of the others is uniform: their masks are left over.
    size = 8 * Transcript(owners.plan, [request]).next_round.size
    numbers = [np.frombuffer(answer[-64 - size : -64], "<u8") for answer in rest]
    left = np.sum(numbers, axis=0, dtype=np.uint64).view(np.int64)
    assert np.abs(left.astype(float)).max() > 2.0**50  # sums of 40 rows are below 2^36
    # A new process has neither its key nor its rounds.
    refused(Descent(identities=owners.identities), request, "another session", 2)
    owners.owners[2] = owners.owner(2)
    refused(owners, request, "lacks the messages of 'ward 2'", 2)


@pytest.fixture
def begun():
    """Owners, and the request of the third step, in whose history are four rounds."""
    owners = Descent()
    requests = [owners.plan.combine(owners.join())]
    for _ in range(5):
        requests.append(owners.plan.combine([requests[-1], *owners.answer(requests[-1])]))
    owners.requests = requests
    return owners


def totals_in(owners):
    """Return the history, and what follows it, of the last request."""
    totals = Transcript(owners.plan, [owners.requests[-1]]).totals[:-1]
    return totals, owners.requests[-1].removeprefix(_history(totals))


def test_a_history_that_the_owners_have_not_confirmed_is_refused(begun):
    totals, rest = totals_in(begun)
    assert begun.requests[-1] == _history(totals) + rest
    for k in range(4):
        for changed in (totals[k] + 1, -totals[k], 0 * totals[k], totals[k] + 2**62):
            forged = _history([*totals[:k], changed, *totals[k + 1 :]]) + rest
            # With other counts there may be other steps, whose answers have other sizes.
            refused(begun, forged, "made with other keys|not intact")
            with pytest.raises(ValueError, match=r"made with other keys|not intact"):
                begun.plan.combine([forged])
    for fewer in (totals[:-1], totals[1:], totals[:1], [], totals[::-1], totals * 2):
        refused(begun, _history(fewer) + rest, "made with other keys|not intact")
    sizes = ([t[:-1] for t in totals], [np.append(t, 0) for t in totals], [t[:0] for t in totals])
    for wrong in sizes:
        refused(begun, _history(wrong) + rest, "made with other keys|not intact")


def test_a_request_without_answers_to_its_last_round_is_refused(begun):
    totals, rest = totals_in(begun)
    keys = b"".join(begun.join())
    assert rest.startswith(keys)
    refused(begun, _history(totals) + keys, "not confirmed by the owners")
    refused(begun, _history([*totals, totals[-1]]) + keys, "not confirmed by the owners")


def test_truncated_and_altered_histories_are_refused(begun):
    request, rng = begun.requests[-1], np.random.RandomState(0)
    n = len(_history(totals_in(begun)[0]))
    for at in (1, 11, 12, 19, 20, 30, n - 1):
        refused(begun, request[:at], "not intact")
        refused(begun, request[:at] + request[n:], "intact|other keys|belong")
    for _ in range(60):
        altered = bytearray(request)
        altered[rng.randint(12, n)] ^= 1 << rng.randint(8)
        refused(begun, bytes(altered), "intact|other keys|confirmed|belong")
    with pytest.raises(ValueError, match="different histories"):
        begun.plan.combine([request, begun.requests[-2]])


def test_an_owner_answers_each_round_once(begun):
    """Two requests of one round, by answers of an owner who colludes, never both."""
    last = begun.requests[-1]
    context = Transcript(begun.plan, [last]).context
    answers = begun.answer(last)
    size = 8 * Transcript(begun.plan, [last]).next_round.size
    lie = write_message(ANSWER, begun.plan, begun.identities[2], [bytes(size)], key_id=context)
    first, second = (begun.plan.combine([last, *answers[:2], of]) for of in (answers[2], lie))
    sent = begun.owners[0].answer(first)
    refused(begun, second, "made with other keys")
    assert begun.owners[0].answer(first) == sent
    refused(begun, second, "lacks the messages of 'ward 2'", 2)


def test_owners_whose_platforms_take_other_steps_never_unmask(monkeypatch):
    owners = Descent()
    request = owners.plan.combine(owners.join())
    for _ in range(2):
        request = owners.plan.combine([request, *owners.answer(request)])
    answers = [owner.answer(request) for owner in owners.owners[1:]]
    steps = _gradient_model.number_of_steps
    with monkeypatch.context() as patch:
        fewer = lambda *args: (steps(*args)[0] - 1, steps(*args)[1])  # noqa: E731
        patch.setattr(_gradient_model, "number_of_steps", fewer)
        other = owners.owners[0].answer(request)
    with pytest.raises(ValueError, match="'ward 0' was made with other keys of this session"):
        owners.plan.combine([request, other, *answers])


def test_rows_must_fit_the_plan_before_anybody_is_charged():
    owners = Descent()
    for rows in (private_table(0)[0], Owners().accumulator(0)):
        with pytest.raises(ValueError, match="tuple of X and y"):
            owners.owner(0, rows).join()
    with pytest.raises(ValueError, match="'groups' were given"):
        owners.owner(0, (*private_table(0), people(0))).join()
    with pytest.raises(ValueError, match="keep"):
        owners.plan.accumulator()
    assert owners.entries == [0, 0, 0]


def test_too_many_rows_are_refused(monkeypatch):
    owners = Descent()
    most = 3 * owners.plan.sums(3).max_rows * max(
        share.sensitivity for share in owners.plan.sums(3)._shares.values()
    )  # fmt: skip
    assert most + 16 * 2**56 <= _joint_sums._LARGEST_SUM
    monkeypatch.setattr(_joint_sums, "_MOST_ROWS", 3 * 59)
    with pytest.raises(ValueError, match="rows or people at most"):
        owners.owner(0, private_table(0)).join()


def test_other_models_are_refused():
    with pytest.raises(ValueError, match="several owners cannot learn"):
        Owners(model="mixtures")
    with pytest.raises(ValueError, match="'model' parameter"):
        Owners(model="trees")
