"""The rounds of a secure sum without a framework: who answers what, and who is missing."""

from pathlib import Path

import pytest

from skdp.federated import SecureSum
from skdp.federated._secure_rounds import collect_secure_sum, secure_answer
from skdp.secure import Identity

pytestmark = pytest.mark.filterwarnings("ignore:.*release may")
LOADER = "hospital_of_a_sum:load"
NOTHING = {"error": "no release"}


@pytest.fixture
def ask(consortium):
    """Return what asks the owners; ``says(node, number)`` may replace an answer to a round."""

    def with_answers(says=lambda name, number: ...):
        rounds = []

        def asked(nodes, request):
            rounds.append(list(consortium.configured) if nodes is None else nodes)
            answers = {}
            for name in rounds[-1]:
                answers[name] = says(name, len(rounds))
                if answers[name] is ...:
                    own = consortium.configured[name]
                    answers[name] = secure_answer(request, LOADER, own)
            return answers

        asked.rounds = rounds
        return asked

    return with_answers


def test_three_requests_make_a_release(consortium, ask):
    asked = ask()
    collected = collect_secure_sum(consortium.plan, asked)
    assert collected.refused == {}
    assert collected.release.guarantee.epsilon == 4.0
    assert asked.rounds == [["east", "north", "west"]] * 3
    for name, size in collected.n_bytes.items():
        kept = Path(consortium.configured[name]["folder"]).glob("*.msg")
        assert size == sum(len(path.read_bytes()) for path in kept)
        assert consortium.spent(name) == 1


def test_a_repeated_run_costs_nothing(consortium, ask):
    absent = ask(lambda name, number: None if (name, number) == ("west", 3) else ...)
    assert collect_secure_sum(consortium.plan, absent).release is None
    assert collect_secure_sum(consortium.plan, ask()).release is not None
    assert [consortium.spent(name) for name in consortium.configured] == [1, 1, 1]


@pytest.mark.parametrize("key", [None, NOTHING, {"message": b"text"}, "text", 3, {"message": 5}])
def test_who_sends_no_key_is_left_out(consortium, ask, key):
    asked = ask(lambda name, number: key if name == "west" else ...)
    collected = collect_secure_sum(consortium.plan, asked)
    assert asked.rounds[1:] == [["east", "north"]] * 2
    assert set(collected.n_bytes) == {"east", "north"}
    assert collected.refused.pop("west") == "left out, as it has sent no key in time"
    assert collected.refused.pop("node west").startswith("key: ")
    assert collected.refused == {}
    assert "of the 2 owners" in collected.release.guarantee.assumes
    assert consortium.spent("west") == 0


def test_too_few_keys_end_the_run_before_anybody_is_charged(consortium, ask):
    asked = ask(lambda name, number: ... if name == "east" else None)
    collected = collect_secure_sum(consortium.plan, asked)
    assert collected.release is None
    assert "Missing: 'north', 'west'" in collected.refused["the secure sum"]
    assert len(asked.rounds) == 1
    assert consortium.spent("east") == 0


@pytest.mark.parametrize(("number", "kind"), [(2, "first"), (3, "second")])
@pytest.mark.parametrize("lost", [None, NOTHING, {"message": b"text"}])
def test_a_later_dropout_ends_the_run_and_is_named(consortium, ask, number, kind, lost):
    asked = ask(lambda name, now: lost if (name, now) == ("west", number) else ...)
    collected = collect_secure_sum(consortium.plan, asked)
    assert collected.release is None
    assert f"The {kind} answer is missing of 'west'" in collected.refused["the secure sum"]
    assert collected.refused["west"].startswith(f"{kind} answer: ")
    assert len(asked.rounds) == number
    assert "the secure sum: refused, The" in str(collected)


def test_one_owner_is_no_other(consortium, ask):
    """An answer of another round, or made for other keys, counts as none."""
    keys = {}

    def says(name, number):
        if name == "west" and number == 2:
            return keys["west"]
        if number == 1:
            keys[name] = secure_answer(b"", LOADER, consortium.configured[name])
        return ...

    collected = collect_secure_sum(consortium.plan, ask(says))
    assert "holds 'key', not 'first answer'" in collected.refused["west"]
    assert "is missing of 'west'" in collected.refused["the secure sum"]


def test_nothing_is_answered_for_a_plan_that_the_owner_did_not_approve(consortium, tmp_path):
    own = consortium.configured["north"]
    kept = tmp_path / "errors.txt"
    public = [Identity.load(tmp_path / f"{name}.id").public for name in consortium.configured]
    other = SecureSum.create(consortium.plan.schema, public, epsilon=4.0)
    other.save(tmp_path / "plan.json")
    for digest in (own["digest"], "", None):
        changed = {**own, "digest": digest}
        assert secure_answer(b"", LOADER, changed, kept) == NOTHING
    assert not Path(own["folder"]).exists()
    assert "not " + own["digest"] in kept.read_text()
    assert "lacks digest" in kept.read_text()


def test_a_request_that_is_none_and_a_loader_that_fails_are_the_same(consortium, ask, tmp_path):
    own, kept = consortium.configured["north"], tmp_path / "errors.txt"
    requests = []
    asked = ask(lambda name, number: ... if number == 1 else requests.append(number))
    collect_secure_sum(consortium.plan, asked)
    request = consortium.plan.combine(
        [Path(tmp_path, name, "key.msg").read_bytes() for name in consortium.configured]
    )
    for given, loader in ((b"no request", LOADER), (request, "none:load"), (request, "os:abort_")):
        assert secure_answer(given, loader, own, kept) == NOTHING
    for text in ("no intact one", "No module named 'none'", "no attribute 'abort_'"):
        assert text in kept.read_text()
    assert consortium.spent("north") == 0
