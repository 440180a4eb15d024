"""What owners answer and a server makes of it, without any framework."""

import json

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, Release
from skdp.federated import CollectedReleases, collect_answers, owner_answer
from skdp.privacy import PrivacyLedger

SECRET = "patient 17 has cholesterol 603"
pytestmark = pytest.mark.filterwarnings("ignore:.*release may tell", "ignore:There are few rows")


def owner(seed, n=200, p=2, **settings):
    """Return what makes the release of an owner."""
    rng = np.random.RandomState(seed)
    X, y = rng.rand(n, p), rng.randint(2, size=n)
    settings = {"classes": [0, 1], **settings}
    return lambda: DPStatisticsSource(2.0, **settings).fit(X + y[:, np.newaxis] / 3, y)


@pytest.fixture(scope="module")
def answers():
    return {name: owner_answer(owner(k)) for k, name in enumerate(("north", "east", "west"))}


def read(answer, tmp_path):
    path = tmp_path / "one.skdp"
    path.write_bytes(answer["release"])
    return Release.load(path)


def assert_same(one, other, tmp_path):
    one.save(tmp_path / "a.skdp")
    other.save(tmp_path / "b.skdp")
    assert (tmp_path / "a.skdp").read_bytes() == (tmp_path / "b.skdp").read_bytes()


def raises(error):
    def make():
        raise error

    return make


def test_the_merge_is_that_of_the_owners_files(answers, tmp_path):
    collected = collect_answers(answers, disjoint=True)
    own = [read(answers[name], tmp_path) for name in sorted(answers)]
    assert_same(collected.release, Release.merge(own, disjoint=True), tmp_path)
    assert collected.n_bytes == {name: len(answer["release"]) for name, answer in answers.items()}
    assert collected.refused == {}


def test_who_answers_first_makes_no_difference(answers, tmp_path):
    there = collect_answers(answers, disjoint=True).release
    back = collect_answers(dict(reversed(answers.items())), disjoint=True).release
    assert_same(there, back, tmp_path)


def test_disjoint_is_what_the_server_says(answers):
    merged = {each: collect_answers(answers, disjoint=each).release for each in (True, False)}
    assert merged[True].guarantee.epsilon == pytest.approx(2.0)
    assert merged[False].guarantee.epsilon > 2.5


def test_every_bad_answer_is_refused_and_the_others_go_on(answers):
    data = answers["north"]["release"]
    other_model = DPStatisticsSource(2.0, classes=[0, 1], model="mixtures")
    rng = np.random.RandomState(0)
    rows = rng.rand(400, 3), rng.randint(2, size=400)
    bad = {
        "absent": None,
        "failed": owner_answer(raises(ValueError(SECRET))),
        "truncated": {"release": data[: len(data) // 2]},
        "altered": {"release": data[:-2000] + bytes(100) + data[-1900:]},
        "empty": {"release": b""},
        "text": {"release": "release"},
        "nothing": {},
        "columns": owner_answer(owner(5, p=3)),
        "classes": owner_answer(owner(6, classes=[0, 1, 2])),
        "bounds": owner_answer(owner(7, bounds=(0, 2))),
        "mixtures": owner_answer(lambda: other_model.fit(*rows)),
        "twin": answers["north"],
    }
    collected = collect_answers({**answers, **bad}, disjoint=True)
    assert collected.release.statistics.n_sources == 3
    # Of the two that are one, the first name is merged.
    assert set(collected.refused) == set(bad)
    assert collected.refused["absent"] == "no answer in time"
    assert collected.refused["failed"] == "ValueError at the owner"
    assert "damaged" in collected.refused["truncated"]
    assert "damaged" in collected.refused["altered"]
    assert "without noisy sums" in collected.refused["mixtures"]
    assert "same source" in collected.refused["twin"]
    assert SECRET not in str(collected)


def test_too_large_releases_are_not_read(answers):
    size = len(answers["north"]["release"])
    collected = collect_answers(answers, disjoint=True, max_bytes=size - 1)
    assert collected.release is None
    assert f"{size} bytes" in collected.refused["north"]


def test_what_was_agreed_on_decides_and_not_the_majority():
    def schema(high):
        return {"x": {"type": "numeric", "low": 0, "high": high}}

    def answer(high, seed):
        rng = np.random.RandomState(seed)
        X, y = pd.DataFrame({"x": rng.rand(100)}), rng.randint(2, size=100)
        source = DPStatisticsSource(encoder=schema(high), classes=[0, 1])
        return owner_answer(lambda: source.fit(X, y))

    answers = {"a": answer(1, 0), "b": answer(2, 1), "c": answer(2, 2)}
    assert set(collect_answers(answers, disjoint=True).n_bytes) == {"b", "c"}
    agreed = collect_answers(answers, disjoint=True, schema=schema(1))
    assert set(agreed.n_bytes) == {"a"}
    assert all("'x'" in reason for reason in agreed.refused.values())
    others = collect_answers(answers, disjoint=True, classes=["ill", "well"])
    assert others.release is None
    assert len(others.refused) == 3


def test_a_release_without_a_schema_is_refused_where_one_was_agreed_on(answers):
    schema = {"x0": {"type": "numeric", "low": 0, "high": 1}}
    refused = collect_answers(answers, disjoint=True, schema=schema).refused
    assert set(refused) == set(answers)
    assert "no schema" in refused["north"]


@pytest.mark.parametrize("majority", [0, 1])
def test_of_two_groups_the_larger_one_is_merged(majority):
    columns = [2, 3, 2, 3, 2 + majority]
    answers = {str(k): owner_answer(owner(k, p=p)) for k, p in enumerate(columns)}
    collected = collect_answers(answers, disjoint=True)
    assert {int(name) for name in collected.n_bytes} == {
        k for k, p in enumerate(columns) if p == 2 + majority
    }
    assert all("cannot be added" in reason for reason in collected.refused.values())


def test_nothing_at_all_is_reported(tmp_path):
    collected = collect_answers({"south": None}, disjoint=True)
    collected.save(tmp_path / "merged.skdp", tmp_path / "report.json")
    assert not (tmp_path / "merged.skdp").exists()
    report = json.loads((tmp_path / "report.json").read_text())
    assert report == {"n_bytes": {}, "refused": {"south": "no answer in time"}}


def test_what_was_collected_is_saved(answers, tmp_path):
    collected = collect_answers(answers, disjoint=True)
    collected.save(tmp_path / "merged.skdp")
    assert_same(Release.load(tmp_path / "merged.skdp"), collected.release, tmp_path)
    assert str(collected).count("bytes") == 3


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (FileNotFoundError(SECRET), "FileNotFoundError"),
        (IsADirectoryError(SECRET), "OSError"),
        (UnicodeDecodeError("utf-8", b"603", 0, 1, SECRET), "ValueError"),
        (KeyError(SECRET), "LookupError"),
        (ZeroDivisionError(SECRET), "ArithmeticError"),
        (type("Patient17", (Exception,), {})(SECRET), "Exception"),
    ],
)
def test_an_error_is_named_by_a_fixed_list_and_nothing_else_of_it_is_sent(error, name, capfd):
    assert owner_answer(raises(error)) == {"error": name}
    assert capfd.readouterr() == ("", "")


def test_the_owner_keeps_the_error_where_it_says(tmp_path):
    path = tmp_path / "errors.txt"
    for _ in range(2):
        owner_answer(raises(ValueError(SECRET)), error_path=path)
    assert path.read_text().count(SECRET) == 2
    assert path.stat().st_mode & 0o077 == 0
    missing = tmp_path / "nowhere" / "errors.txt"
    assert owner_answer(raises(ValueError()), error_path=missing) == {"error": "ValueError"}


def test_a_second_request_spends_nothing(tmp_path):
    ledger = PrivacyLedger(epsilon=2.5, delta=1e-4)
    path = tmp_path / "own.skdp"
    first = owner_answer(owner(0, ledger=ledger), path=path)
    again = owner_answer(owner(0, ledger=ledger), path=path)
    assert first == again
    assert ledger.total.epsilon == pytest.approx(2.0)
    # Without a path it would be another release, for which the budget does not suffice.
    assert owner_answer(owner(0, ledger=ledger)) == {"error": "BudgetExceededError"}


def test_a_damaged_file_of_the_owner_is_neither_sent_nor_replaced(tmp_path):
    path = tmp_path / "own.skdp"
    path.write_bytes(b"damaged")
    assert owner_answer(owner(0), path=path) == {"error": "ValueError"}
    assert path.read_bytes() == b"damaged"


def test_only_releases_are_sent():
    assert owner_answer(lambda: np.ones(3)) == {"error": "TypeError"}


def test_names_and_errors_of_others_stay_in_their_line():
    answers = {
        "a\nroot: ok": {"error": "x; rm"},
        "b": {"error": 3},
        "c" * 500: {"error": "E" * 500},
    }
    collected = collect_answers(answers, disjoint=True)
    assert len(str(collected).splitlines()) == 3
    assert max(map(len, str(collected).splitlines())) < 250


def test_a_report_needs_no_release():
    assert str(CollectedReleases(None, {}, {"a": "no answer in time"})) == (
        "a: refused, no answer in time"
    )
