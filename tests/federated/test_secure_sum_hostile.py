"""What a secure sum refuses, with a reason, and without charging anybody."""

import struct
from functools import partial

import numpy as np
import pytest

from skdp.federated._masks import new_key
from skdp.federated._transcript import ANSWER, KEY, Transcript
from skdp.privacy import BudgetExceededError
from skdp.release import Release
from skdp.secure import Identity, write_message
from skdp.source import _joint_sums

from .conftest import Owners

pytestmark = pytest.mark.filterwarnings("ignore:This release")
# At each of three stages, more than a thousand to each party together.
N_HOSTILE = 350


def untouched():
    """Stand for rows that must not be read."""
    raise AssertionError("A row was read.")


def refused(owners, request, reason, i=0):
    """Check that an owner refuses a request with a reason, reads no row, and charges nothing."""
    before, owner = owners.entries, owners.owners[i]
    sent, rows = list(owner._sent), owner.rows
    owner.rows = untouched
    with pytest.raises(ValueError, match=reason):
        owner.answer(request)
    owner.rows = rows
    assert owners.entries == before
    assert owner._sent == sent


def key_of(owners, i, public=None, **changes):
    """Return a key that an owner of the plan has signed, whatever it is."""
    public = new_key()[1] if public is None else public
    settings = {
        "plan": owners.plan,
        "identity": owners.identities[i],
        "parts": [public],
        **changes,
    }
    return write_message(KEY, *(settings[n] for n in ("plan", "identity", "parts")), key_id="")


@pytest.fixture
def some(quick_noise):
    """Four owners who have joined, of whom three are enough."""
    owners = Owners(least_owners=3)
    owners.keys = owners.join()
    return owners


def test_an_identity_that_is_not_of_the_plan(some):
    mallory = Identity.generate("mallory")
    foreign = key_of(some, 3, identity=mallory)
    for request in (foreign + b"".join(some.keys), b"".join(some.keys) + foreign):
        refused(some, request, "sent by 'mallory', who is no owner of this session")
    named = Identity.generate("ward 3")  # only by name
    refused(
        some, b"".join([*some.keys[:3], key_of(some, 3, identity=named)]), "altered, or signed"
    )
    with pytest.raises(ValueError, match="mallory"):
        some.plan.combine([*some.keys, foreign])


def test_fewer_owners_than_agreed(some):
    refused(some, b"".join(some.keys[:2]), "Only 2 of at least 3 .* Missing: 'ward 2', 'ward 3'")
    refused(some, some.keys[0] * 3, "Only 1 of at least 3 owners")
    refused(some, b"", "Only 0 of at least 3 owners")
    with pytest.raises(ValueError, match="Missing: 'ward 0', 'ward 3'"):
        some.plan.combine(some.keys[1:3])


def test_a_request_without_what_the_owner_has_sent(some):
    refused(some, b"".join(some.keys[1:]), "lacks the messages of 'ward 0'")
    refused(some, b"".join([key_of(some, 0), *some.keys[1:]]), "or has others")


def test_two_keys_of_one_owner(some):
    twice = [*some.keys, key_of(some, 1)]
    refused(some, b"".join(twice), "two different messages with 'key' of 'ward 1'")
    with pytest.raises(ValueError, match="two different messages with 'key' of 'ward 1'"):
        some.plan.combine(twice)


@pytest.mark.parametrize("public", [bytes(32), (1).to_bytes(32, "little"), b"\xff" * 31, b""])
def test_keys_that_are_none(some, public):
    reason = "not a valid X25519 key" if len(public) == 32 else "does not have 32 bytes"
    refused(some, b"".join([*some.keys[:3], key_of(some, 3, public)]), reason)


def test_other_plans_and_sessions(some):
    others = {
        "the same but for the nonce": {},
        "an altered list": {"identities": [*some.identities[:3], Identity.generate("mallory")]},
        "an altered budget": {"epsilon": 2.0},
    }
    for settings in others.values():
        settings = {"identities": some.identities, "least_owners": 3, **settings}
        other = Owners(**settings)
        keys = other.join()
        refused(some, b"".join(keys), "belongs to another session")
        refused(some, b"".join([*some.keys[:3], keys[3]]), "belongs to another session")
        # Who has agreed to another plan refuses this one's messages, too.
        refused(other, b"".join(some.keys), "belongs to another session")
        with pytest.raises(ValueError, match="belongs to another session"):
            some.plan.combine([*some.keys, keys[0]])


def test_old_rounds(some):
    first = some.plan.combine(some.keys)
    answers = some.answer(first)
    second = some.plan.combine([first, *answers])
    # To the same request the same bytes.
    assert some.answer(first) == answers
    later = some.answer(second)
    assert some.answer(first) == answers
    assert some.answer(second) == later
    refused(some, second + b"".join(later), "answers of all rounds")
    # Answers to the first request in place of those to the second.
    assert some.plan.combine([second, *answers]) == second
    again = [
        write_message(ANSWER, some.plan, identity, [answer[-264:-64]], key_id="")
        for identity, answer in zip(some.identities, answers, strict=True)
    ]
    with pytest.raises(ValueError, match="made with other keys"):
        some.plan.combine([second, *again])
    # Answers without keys, or of the second round alone.
    refused(some, b"".join(answers), "Only 0 of at least 3")
    refused(some, first + b"".join(later), "'ward 0' was made with other keys")
    assert some.entries == [1, 1, 1, 1]


def test_missing_and_superfluous_answers(some):
    some.keys = some.keys[:3]
    request = some.plan.combine(some.keys)
    answers = [some.owners[i].answer(request) for i in range(3)]
    for missing in range(3):
        rest = answers[:missing] + answers[missing + 1 :]
        with pytest.raises(ValueError, match=f"of 'ward {missing}' to round 1 is missing. Wait"):
            some.plan.combine([request, *rest])
        refused(some, request + b"".join(rest), f"of 'ward {missing}' to round 1 is missing")
    context = Transcript(some.plan, [request]).context
    extra = write_message(ANSWER, some.plan, some.identities[3], [bytes(16)], key_id=context)
    refused(some, b"".join([request, *answers, extra]), "an answer of 'ward 3' without a key")


def test_owners_who_see_different_keys_never_unmask(some):
    """A coordinator and an owner who collude show two keys of that owner to the others."""
    seen = [b"".join(some.keys), b"".join([*some.keys[:3], key_of(some, 3)])]
    answers = [some.owners[i].answer(seen[i % 2]) for i in range(3)]
    for request in seen:
        with pytest.raises(ValueError, match="made with other keys of this session"):
            some.plan.combine([request, *answers])
    # Nor does it help to add up the numbers.
    words = [np.frombuffer(answer[-80:-64], "<u8") for answer in answers]
    for chosen in (words, words[:2], words[1:], words[::2]):
        sums = np.sum(chosen, axis=0, dtype=np.uint64).view(np.int64)
        assert (np.abs(sums / 2**30) > 500).all()
    # Who has answered one of them does not answer the other.
    refused(some, seen[1], "made with other keys of this session")
    refused(some, seen[0], "made with other keys", i=1)
    assert some.entries == [1, 1, 1, 0]


def test_an_owner_answers_no_second_request_of_another_transcript(some):
    request = some.plan.combine(some.keys)
    answers = some.answer(request)
    context = Transcript(some.plan, [request]).context
    lie = write_message(ANSWER, some.plan, some.identities[3], [bytes(16)], key_id=context)
    second = [some.plan.combine([request, *answers[:3], last]) for last in (answers[3], lie)]
    sent = some.owners[0].answer(second[0])
    assert sent == some.owners[0].answer(second[0])
    some.owners[1].answer(second[1])
    refused(some, second[1], "made with other keys")
    refused(some, second[0], "made with other keys", i=1)
    refused(some, second[1], "lacks the messages of 'ward 3'", i=3)
    assert some.entries == [1, 1, 1, 1]


def test_rows_that_are_not_of_the_plan(some):
    request = b"".join(some.keys)
    wrong = {
        "a table": "must be a StatisticsAccumulator",
        some.plan.accumulator(): "Nothing was added",
        Owners(privacy_unit="group").accumulator(0): "source with other parameters",
    }
    for rows, reason in wrong.items():
        with pytest.raises(ValueError, match=reason):
            some.owner(0, rows).join()  # before anybody is charged
        some.owners[0].rows = lambda rows=rows: rows
        with pytest.raises(ValueError, match=reason):
            some.owners[0].answer(request)
    assert some.entries == [0, 0, 0, 0]


def test_owners_whose_platforms_derive_other_frequencies_never_unmask(some, monkeypatch):
    """Whole numbers that differ by one step in one of 2^14 are in the keys of the masks."""
    first = some.plan.combine(some.keys)
    second = some.plan.combine([first, *some.answer(first)])
    answers = [owner.answer(second) for owner in some.owners[1:]]
    steps = _joint_sums.frequency_steps
    with monkeypatch.context() as patch:
        one = np.array([1, -1])
        patch.setattr(_joint_sums, "frequency_steps", lambda *args: steps(*args) + one)
        other = some.owners[0].answer(second)
    with pytest.raises(ValueError, match="'ward 0' was made with other keys of this session"):
        some.plan.combine([second, other, *answers])
    n = Transcript(some.plan, [second]).next_round.size
    numbers = [np.frombuffer(answer[-64 - 8 * n : -64], "<u8") for answer in [other, *answers]]
    left = np.abs(np.sum(numbers, axis=0, dtype=np.uint64).view(np.int64) / 2**61)
    assert (left > 1).mean() > 0.5  # as of uniform numbers, three quarters


def altered(rng, messages, owners, foreign, contexts):
    """Return messages, altered in one to three ways."""
    messages = list(messages)
    for _ in range(rng.randint(1, 4)):
        i, j, way = rng.randint(len(messages)), rng.randint(len(messages)), rng.randint(9)
        message, other = (messages[k] or b"-" for k in (i, j))
        at = rng.randint(min(len(message), len(other), 24 if rng.rand() < 0.3 else 10**6))
        if way == 0:
            messages[i] = (
                message[:at] + bytes([message[at] ^ 1 << rng.randint(8)]) + message[at + 1 :]
            )
        elif way == 1:
            messages[i] = message[:at]
        elif way == 2:
            messages[i] = message[:at] + other[at:]
        elif way == 3:
            messages[i], messages[j] = other, message
        elif way == 4:
            messages.insert(j, message)
        elif way == 5:
            del messages[i]
        elif way == 6:  # with other lengths
            lengths = (int(n) for n in 2.0 ** rng.uniform(0, (31, 62)))
            messages[i] = message[:12] + struct.pack("<IQ", *lengths) + message[24:]
        elif way == 7:
            messages[i] = foreign[rng.randint(len(foreign))]
        else:
            messages[i] = of_a_liar(rng, owners, contexts)
    return messages


def of_a_liar(rng, owners, contexts):
    """Return what an owner of the plan can sign."""
    size = rng.choice([0, 8, 16, 31, 32, 33, 200])
    part = [bytes(size), b"\xff" * size, rng.bytes(size)][rng.randint(3)]
    key_id = str(rng.choice([*contexts, "", "z" * 200]))
    kind, parts = [KEY, ANSWER][rng.randint(2)], [part] * rng.choice([0, 1, 1, 1, 2])
    return write_message(kind, owners.plan, owners.identities[3], parts, key_id=key_id)


def tried(call, secrets):
    """Return the result of a call, None if it is refused with a reason that tells no secret."""
    try:
        return call()
    except (ValueError, BudgetExceededError) as error:
        reason = str(error)
    assert reason.isprintable()
    assert not any(secret in reason for secret in secrets)
    return None


# An owner who has joined; who has answered the first request; who has answered the second one too.
@pytest.mark.slow
@pytest.mark.parametrize("stage", [0, 1, 2])
def test_a_thousand_hostile_messages_to_each_party(stage, some):
    request = some.plan.combine(some.keys)
    victim = some.owners[0]
    if stage == 0:
        victim = some.owner(0, untouched)
        some.keys[0] = victim.join()
        request = some.plan.combine(some.keys)
        answers = [some.owners[i].answer(request) for i in range(1, 4)]
    else:
        answers = some.answer(request)
    genuine = [some.keys, some.keys + answers]
    second = some.plan.combine([request, *answers]) if stage else b""
    if stage == 2:
        genuine.append(genuine[1] + some.answer(second))
    requests = [request, second] if stage else [request]
    contexts = [Transcript(some.plan, [content]).context for content in requests]
    other = Owners(identities=some.identities, least_owners=3).course()
    foreign = [*other.keys, *other.answers[0], key_of(some, 3), b"", bytes(200)]
    sent, keys = list(victim._sent), [owner._private for owner in [victim, *some.owners]]
    secrets = [text for key in filter(None, keys) for text in (key.hex(), repr(key))]
    rng, n_refused = np.random.RandomState(stage), 0
    if stage:
        victim.rows = untouched
    for _ in range(N_HOSTILE):
        chosen = genuine[rng.randint(len(genuine))]
        messages = altered(rng, chosen, some, foreign, contexts)
        combined = tried(partial(some.plan.combine, messages), secrets)
        assert isinstance(combined, bytes | Release | None)
        # In another order, or twice; or another one that keeps to the plan.
        if combined in requests or (stage == 0 and some.keys[0] in (combined or b"")):
            continue
        answer = tried(partial(victim.answer, b"".join(messages)), secrets)
        assert answer in [None, *sent[1:]]
        n_refused += (answer is None) + (combined is None)
    assert n_refused > N_HOSTILE
    # Nobody was charged but for one sum, of which each round was answered once.
    assert some.entries == ([1] * 4 if stage else [0, 1, 1, 1])
    assert victim._sent == sent
    assert len(victim.ledger.entries) == min(stage, 1)


@pytest.mark.parametrize("content", [None, 3, "text", bytearray(b"skdp-sec"), [b""], ()])
def test_requests_that_are_no_bytes(some, content):
    refused(some, content, "is not intact")
    with pytest.raises(ValueError, match="is not intact"):
        some.plan.combine([content])
