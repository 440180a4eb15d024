"""What owners answer and a server makes of it, without any framework."""

import json
import os
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, Release
from skdp.federated import collect_answers, owner_answer
from skdp.privacy import PrivacyLedger
from skdp.utils._storage import load_arrays, save_arrays

from .conftest import SECRET

pytestmark = pytest.mark.filterwarnings("ignore:.*release may tell", "ignore:There are few rows")


def rows(seed, n=200, p=2):
    rng = np.random.RandomState(seed)
    X, y = rng.rand(n, p), rng.randint(2, size=n)
    return X + y[:, np.newaxis] / 3, y


def owner(seed, n=200, p=2, **settings):
    """Return what makes the release of an owner."""
    settings = {"classes": [0, 1], **settings}
    return lambda: DPStatisticsSource(2.0, **settings).fit(*rows(seed, n, p))


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    """Return the answer of an owner, to a request with a new path."""
    return lambda make: owner_answer(make, path=tmp_path_factory.mktemp("owner") / "own.skdp")


@pytest.fixture(scope="module")
def answers(answer):
    return {name: answer(owner(k)) for k, name in enumerate(("north", "east", "west"))}


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
    collected.save(tmp_path / "merged.skdp")
    assert_same(Release.load(tmp_path / "merged.skdp"), collected.release, tmp_path)


def test_disjoint_is_what_the_server_says(answers):
    merged = {each: collect_answers(answers, disjoint=each).release for each in (True, False)}
    assert merged[True].guarantee.epsilon == pytest.approx(2.0)
    assert merged[False].guarantee.epsilon > 2.5


def test_every_bad_answer_is_refused_and_the_others_go_on(answer, answers):
    data = answers["north"]["release"]
    other_model = DPStatisticsSource(2.0, classes=[0, 1], model="mixtures")
    bad = {
        "absent": None,
        "failed": answer(raises(ValueError(SECRET))),
        "truncated": {"release": data[: len(data) // 2]},
        "altered": {"release": data[:-2000] + bytes(100) + data[-1900:]},
        "empty": {"release": b""},
        "text": {"release": "release"},
        "nothing": {},
        "columns": answer(owner(5, p=3)),
        "classes": answer(owner(6, classes=[0, 1, 2])),
        "bounds": answer(owner(7, bounds=(0, 2))),
        "mixtures": answer(lambda: other_model.fit(*rows(0, 400, 3))),
        "twin": answers["north"],
    }
    collected = collect_answers({**answers, **bad}, disjoint=True)
    assert collected.release.statistics.n_sources == 3
    # Of the two that are one, the first name is merged.
    assert set(collected.refused) == set(bad)
    assert collected.refused["absent"] == "no answer in time"
    assert collected.refused["failed"] == "no release at the owner"
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


def test_what_was_agreed_on_decides_and_not_the_majority(answer):
    def schema(high):
        return {"x": {"type": "numeric", "low": 0, "high": high}}

    def answered(high, seed):
        rng = np.random.RandomState(seed)
        X, y = pd.DataFrame({"x": rng.rand(100)}), rng.randint(2, size=100)
        source = DPStatisticsSource(encoder=schema(high), classes=[0, 1])
        return answer(lambda: source.fit(X, y))

    answers = {"a": answered(1, 0), "b": answered(2, 1), "c": answered(2, 2)}
    assert set(collect_answers(answers, disjoint=True).n_bytes) == {"b", "c"}
    agreed = collect_answers(answers, disjoint=True, schema=schema(1))
    assert set(agreed.n_bytes) == {"a"}
    assert all("'x'" in reason for reason in agreed.refused.values())
    others = collect_answers(answers, disjoint=True, classes=["ill", "well"])
    assert others.release is None
    assert len(others.refused) == 3
    without = collect_answers({"d": answer(owner(0))}, disjoint=True, schema=schema(1))
    assert "no schema" in without.refused["d"]


def test_whoever_breaks_the_merge_loses_the_round_alone(answer, answers, monkeypatch):
    merge = Release.merge

    def failing(releases, *, disjoint):
        if len(releases) > 1 and releases[-1].n_features == 3:
            raise ZeroDivisionError(SECRET)
        return merge(releases, disjoint=disjoint)

    monkeypatch.setattr("skdp.federated._collecting.merge_problem", lambda first, other: None)
    monkeypatch.setattr(Release, "merge", failing)
    other = answer(owner(9, p=3))
    collected = collect_answers({**answers, "z": other}, disjoint=True)
    assert set(collected.n_bytes) == set(answers)
    assert collected.refused["z"].endswith("an answer that cannot be used")


@pytest.mark.parametrize("majority", [0, 1])
def test_of_two_groups_the_larger_one_is_merged(answer, majority):
    columns = [2, 3, 2, 3, 2 + majority]
    answers = {str(k): answer(owner(k, p=p)) for k, p in enumerate(columns)}
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


class Hostile:
    """An object of which nothing works."""

    def __getattribute__(self, name):
        raise RuntimeError(SECRET)

    __str__ = __repr__ = __len__ = __iter__ = __bool__ = lambda self: 1 / 0


class HostileDict(dict):
    def __contains__(self, key):
        raise SystemError(SECRET)


def test_an_answer_may_be_anything(answers):
    odd = [
        0,
        1.5,
        [],
        [1],
        "error",
        b"release",
        {3},
        Hostile(),
        HostileDict(),
        {"error": Hostile()},
    ]
    named = {f"odd {k}": answer for k, answer in enumerate(odd)}
    collected = collect_answers({**answers, **named}, disjoint=True)
    assert set(collected.n_bytes) == set(answers)
    assert set(collected.refused) == set(named)
    assert SECRET not in str(collected)


def test_names_may_be_anything_and_no_answer_is_lost(answer, answers):
    names = [7, None, 10**5000, (1, 2), "a\nb", "a\tb", "a?b", "\ud800", "c" * 90, "c" * 91, ""]
    odd = {name: answer(owner(20 + k)) for k, name in enumerate(names)}
    collected = collect_answers({**answers, **odd}, disjoint=True)
    assert len(collected.n_bytes) == 3 + len(odd)
    assert {"a?b", "a?b (2)", "a?b (3)", "c" * 80, "c" * 80 + " (2)"} < set(collected.n_bytes)
    assert len(str(collected).splitlines()) == 3 + len(odd)
    # An owner cannot take the name of another one; who answered first makes no difference.
    alone = collect_answers({"a?b": odd["a?b"]}, disjoint=True).n_bytes["a?b"]
    back = collect_answers(dict(reversed([*answers.items(), *odd.items()])), disjoint=True)
    assert collected.n_bytes["a?b"] == back.n_bytes["a?b"] == alone
    assert collected.n_bytes == back.n_bytes


@pytest.mark.parametrize("disjoint", ["false", 1, None])
def test_parameters_of_the_server_itself_are_checked(answers, disjoint):
    with pytest.raises(ValueError, match="'disjoint' parameter of collect_answers"):
        collect_answers(answers, disjoint=disjoint)
    with pytest.raises(ValueError, match="'max_rows' parameter"):
        collect_answers(answers, disjoint=True, max_rows=0)
    with pytest.raises(ValueError, match="'answers' parameter"):
        collect_answers([], disjoint=True)


def altered(answer, tmp_path, change):
    """Return an answer whose sums are others, with a checksum that fits."""
    path = tmp_path / "altered.skdp"
    path.write_bytes(answer["release"])
    header, arrays = load_arrays(path, "Release")
    arrays = {key: array.copy() for key, array in arrays.items()}
    change(arrays)
    save_arrays(path, "Release", header, arrays)
    return {"release": path.read_bytes()}


def many_rows(arrays):
    arrays["statistics/counts"] += 1e6


def large_sums(arrays):
    arrays["statistics/contrast"] *= 1e4


def much_noise(arrays):
    arrays["statistics/contrast_sd"] *= 1e6


def many_sources(arrays):
    for key in ("counts", "total", "frequencies", "count_sd", "total_sd"):
        arrays[f"statistics/{key}"] = np.repeat(arrays[f"statistics/{key}"], 50, axis=0)


@pytest.mark.parametrize("change", [many_rows, large_sums, much_noise, many_sources])
def test_a_public_bound_of_rows_limits_an_owner(answer, answers, tmp_path, change):
    own = {"liar": altered(answer(owner(30)), tmp_path, change)}
    assert "liar" in collect_answers({**answers, **own}, disjoint=True).n_bytes
    bounded = collect_answers({**answers, **own}, disjoint=True, max_rows=400)
    assert set(bounded.n_bytes) == set(answers)
    assert "max_rows=400" in bounded.refused["liar"]


def test_a_public_bound_of_rows_limits_coefficients(answer, tmp_path):
    own = answer(owner(31, model="gradients", bounds=(0, 2)))

    def steep(arrays):
        arrays["descent/coefficients"] += 100.0

    both = {"liar": altered(own, tmp_path, steep), "north": own}
    refused = collect_answers(both, disjoint=True, max_rows=400).refused
    assert set(refused) == {"liar"}


def small_bins(arrays):
    """The score rises as before, within an interval that is a millionth as wide."""
    arrays["descent/table/bins"] = arrays["descent/table/bins"] * [1e-6, 1e-6, 1.0, 1e-6]


def shorter_scores(arrays):
    arrays["descent/coefficients"] *= 1e-6


def many_in_a_cell(arrays):
    arrays["descent/table/counts"] += 1e6


@pytest.mark.parametrize("change", [small_bins, shorter_scores, many_in_a_cell])
def test_a_table_of_scores_cannot_multiply_coefficients(answer, tmp_path, change):
    own = answer(owner(31, model="gradients", bounds=(0, 2)))
    both = {"liar": altered(own, tmp_path, change), "north": own}
    assert set(collect_answers(both, disjoint=True, max_rows=400).refused) == {"liar"}


@pytest.mark.parametrize(
    "error",
    [
        *(ValueError(SECRET), KeyError(SECRET), MemoryError(SECRET), SystemExit(SECRET)),
        *(GeneratorExit(SECRET), type("Patient17", (BaseException,), {})(SECRET)),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_error_can_be_told_from_another(error, answer, capfd):
    assert answer(raises(error)) == {"error": "no release"}
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("id_of_one", ["", 1.5, None, "17"])
def test_one_record_does_not_show_in_an_error(answer, id_of_one):
    X, y = rows(0)
    ids = [f"p{k}" for k in range(len(y) - 1)] + [id_of_one]
    X[0, 0] = np.nan if id_of_one == "17" else X[0, 0]
    source = DPStatisticsSource(classes=[0, 1], privacy_unit="group")
    assert answer(lambda: source.fit(X, y, groups=ids)) == {"error": "no release"}


def test_whoever_interrupts_is_obeyed_without_the_text(answer):
    with pytest.raises(KeyboardInterrupt) as found:
        answer(raises(KeyboardInterrupt(SECRET)))
    assert SECRET not in "".join(traceback.format_exception(found.value))


def test_the_owner_keeps_the_error_where_it_says(answer, tmp_path):
    path, own = tmp_path / "errors.txt", tmp_path / "own.skdp"
    for error in (ValueError(SECRET), SystemExit(SECRET)):
        owner_answer(raises(error), path=own, error_path=path)
    assert path.read_text().count(f"{SECRET}\n") == 2
    assert path.stat().st_mode & 0o077 == 0
    for missing in (tmp_path / "nowhere" / "errors.txt", "a\0b", 3.5, ["list"]):
        failed = owner_answer(raises(ValueError()), path=own, error_path=missing)
        assert failed == {"error": "no release"}


def test_repeated_requests_spend_once(tmp_path):
    ledger = PrivacyLedger(epsilon=2.5, delta=1e-4)
    path = tmp_path / "own.skdp"
    first = owner_answer(owner(0, ledger=ledger), path=path)
    again = owner_answer(owner(0, ledger=ledger), path=path)
    assert first == again == {"release": path.read_bytes()}
    assert ledger.total.epsilon == pytest.approx(2.0)
    other = owner_answer(owner(0, ledger=ledger), path=tmp_path / "other.skdp")
    assert other == {"error": "no release"}
    assert [file.name for file in tmp_path.glob("*.skdp")] == ["own.skdp"]


def test_simultaneous_requests_spend_once(tmp_path):
    ledger = PrivacyLedger()

    def slow():
        time.sleep(0.1)
        return owner(0, ledger=ledger)()

    with ThreadPoolExecutor(4) as pool:
        requests = [pool.submit(owner_answer, slow, path=tmp_path / "own.skdp") for _ in range(4)]
    assert len({request.result()["release"] for request in requests}) == 1
    assert len(ledger.entries) == 1


def no_folder(tmp_path):
    return tmp_path / "nowhere" / "own.skdp"


def long_name(tmp_path):
    return tmp_path / ("n" * 256)


def dangling(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    return tmp_path / "link"


@pytest.mark.parametrize(
    "path",
    [no_folder, long_name, dangling, lambda folder: folder, lambda _: None, lambda _: ""],
)
def test_without_a_file_to_write_no_row_is_read(tmp_path, path):
    called = []
    assert owner_answer(lambda: called.append(1), path=path(tmp_path)) == {"error": "no release"}
    assert called == []


def test_a_release_that_cannot_be_written_is_sent(tmp_path, monkeypatch):
    ledger, own = PrivacyLedger(), tmp_path / ("n" * 250)  # no draft may have a longer name

    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        answer = owner_answer(owner(0, ledger=ledger), path=own, error_path=tmp_path / "errors")
    assert not own.exists()
    assert "No space left on device" in (tmp_path / "errors").read_text()
    [(_, charged)] = ledger.entries
    assert read(answer, tmp_path).guarantee == charged


def test_a_damaged_file_of_the_owner_is_neither_sent_nor_replaced(tmp_path):
    path = tmp_path / "own.skdp"
    path.write_bytes(b"damaged")
    assert owner_answer(owner(0), path=path) == {"error": "no release"}
    assert path.read_bytes() == b"damaged"


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_releases_that_protect_nobody_are_not_sent(answer, tmp_path):
    exact = DPStatisticsSource(np.inf, classes=[0, 1])
    assert answer(lambda: np.ones(3)) == {"error": "no release"}
    assert answer(lambda: exact.fit(*rows(0))) == {"error": "no release"}
    assert answer(lambda: exact.fit(*rows(0)).release_) == {"error": "no release"}
    exact.release_.save(tmp_path / "exact.skdp")
    assert owner_answer(owner(0), path=tmp_path / "exact.skdp") == {"error": "no release"}
    for seed in (0, np.random.RandomState(0)):
        assert answer(owner(0, random_state=seed)) == {"error": "no release"}


def test_names_and_reasons_stay_in_their_line(answer):
    answers = {
        "a\nroot: ok": {"error": "x; rm"},
        "b": {"error": 3},
        "c" * 500: {"error": "E" * 500},
        "d": answer(owner(0, classes=["0", "1\nroot: ok"])),
    }
    collected = collect_answers(answers, disjoint=True, classes=[0, 1])
    assert len(str(collected).splitlines()) == 4
    assert max(map(len, str(collected).splitlines())) < 250
