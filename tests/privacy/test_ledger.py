import copy
import json
import multiprocessing
import os
import pickle
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skdp import DPSource, GaussianDPNoise, OptimalDPNoise, RandomizedResponse
from skdp.privacy import (
    BudgetExceededError,
    Mechanism,
    PrivacyGuarantee,
    PrivacyLedger,
    gaussian_epsilon,
    record_guarantee,
)
from skdp.privacy._ledger import _LedgerFile
from skdp.utils._files import checksum, locked

from .conftest import statistics_guarantee

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
# Of a ledger that is in use, or was.
FILES = ["ledger.json", "ledger.json.lock"]
posix = pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")


@pytest.fixture
def X():
    return np.zeros((5, 3))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.json"


def test_totals_add_up(X):
    ledger = PrivacyLedger()
    assert ledger.total is None
    for epsilon in (0.5, 0.25, 1.0):
        ledger.release(OptimalDPNoise(epsilon, 0.01), X, name=f"at {epsilon}")
    assert_allclose([ledger.total.epsilon, ledger.total.delta], [1.75, 0.03])
    frame = ledger.to_frame()
    assert frame["name"].tolist() == ["at 0.5", "at 0.25", "at 1.0"]
    assert_allclose(frame["total_epsilon"], [0.5, 0.75, 1.75])


@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"delta": 2.5e-5}])
def test_nothing_is_released_beyond_the_budget(X, budget):
    class Watched(OptimalDPNoise):
        calls = 0

        def _perturb(self, X):
            Watched.calls += 1
            return super()._perturb(X)

    ledger = PrivacyLedger(**budget)
    ledger.release(Watched(0.5, 1e-5), X)
    ledger.release(Watched(0.5, 1e-5), X)
    (name, value), before = next(iter(budget.items())), Watched.calls
    with pytest.raises(BudgetExceededError, match=rf"bring {name} to .* above the {value:g}"):
        ledger.release(Watched(0.5, 1e-5), X)
    assert (before, Watched.calls, len(ledger.entries)) == (2, 2, 2)


def test_ten_tenths_fit_a_budget_of_one(X):
    ledger = PrivacyLedger(epsilon=1.0)
    for _ in range(10):
        ledger.release(OptimalDPNoise(0.1, 0.0), X)
    with pytest.raises(BudgetExceededError):
        ledger.release(OptimalDPNoise(1e-3, 0.0), X)


def test_releases_about_other_neighbors_are_refused(X):
    ledger = PrivacyLedger()
    ledger.release(OptimalDPNoise(0.5), X)
    with pytest.raises(ValueError, match=r"sensitivity=1.0 and sensitivity=2.0.*differ"):
        ledger.release(OptimalDPNoise(0.5, sensitivity=2.0), X)
    assert len(ledger.entries) == 1


def test_copies_are_the_same_ledger(X):
    ledger = PrivacyLedger(epsilon=1.0)
    for same in (copy.copy(ledger), copy.deepcopy(ledger), clone(ledger), clone([ledger])[0]):
        assert same is ledger
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(ledger)


def test_a_pickle_of_a_ledger_with_a_file_is_the_same_account(X, path):
    ledger = PrivacyLedger(epsilon=1.0, path=path)
    text = pickle.dumps(ledger)
    ledger.release(OptimalDPNoise(0.75), X)
    again = pickle.loads(text)
    assert (again.epsilon, again.total) == (1.0, ledger.total)
    with pytest.raises(BudgetExceededError):
        again.release(OptimalDPNoise(0.75), X)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"The ledger .* does not exist"):
        pickle.loads(text)  # a new one would have no limits
    assert not path.exists()


def test_a_ledger_is_opened_only_where_there_is_one(X, tmp_path, path):
    with pytest.raises(FileNotFoundError, match=r"PrivacyLedger\(epsilon=..., path=...\)"):
        PrivacyLedger.open(path)
    assert list(tmp_path.iterdir()) == []
    PrivacyLedger(epsilon=2.0, delta=1e-5, path=path).release(OptimalDPNoise(0.75), X)
    ledger = PrivacyLedger.open(str(path))
    assert (ledger.epsilon, ledger.delta, len(ledger.entries)) == (2.0, 1e-5, 1)
    with pytest.raises(ValueError, match="'path' parameter"):
        PrivacyLedger.open(3)


def test_opening_never_makes_a_ledger(X, path, monkeypatch):
    PrivacyLedger(epsilon=1.0, path=path).release(OptimalDPNoise(0.75), X)
    acquire = _LedgerFile.lock

    @contextmanager
    def vanishing(file):
        with acquire(file):
            file.path.unlink(missing_ok=True)  # by somebody who does not ask for the lock
            yield

    monkeypatch.setattr(_LedgerFile, "lock", vanishing)
    with pytest.raises(FileNotFoundError, match=r"The ledger .* does not exist"):
        PrivacyLedger.open(path)  # a new one would have no limits
    assert not path.exists()


def test_an_opened_ledger_without_limits_warns(X, path):
    PrivacyLedger(path=path)
    with pytest.warns(UserWarning, match=r"ledger.json' has no limits.*refuses nothing") as found:
        PrivacyLedger.open(path)
    assert found[0].filename == __file__
    PrivacyLedger(delta=1e-5, path=path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivacyLedger.open(path)


def test_entries_have_the_date_of_the_clock(X, path, monkeypatch):
    ledger = PrivacyLedger(path=path)
    ledger.release(OptimalDPNoise(0.5), X)
    date = datetime.fromisoformat(ledger.dates[0])
    assert date.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - date) < timedelta(hours=1)
    monkeypatch.setattr("skdp.privacy._ledger._now", lambda: "2026-03-01T12:00:00Z")
    ledger.release(OptimalDPNoise(0.25), X, name="spring\nsurvey")
    again = PrivacyLedger(path=path)
    assert again.dates == ledger.dates
    assert again.dates[1] == again.to_frame()["date"][1] == "2026-03-01T12:00:00Z"
    first, _, last = str(again).split("\n")
    assert first == repr(again)
    assert last == r"  2026-03-01T12:00:00Z  (0.25, 0)  spring\nsurvey"
    assert "2026-03-01T12:00:00Z" in again._repr_html_()


def test_a_ledger_of_an_older_version_has_no_dates_and_goes_on(path):
    path.write_bytes((Path(__file__).parent / "data" / "version1_ledger.json").read_bytes())
    ledger = PrivacyLedger.open(path)
    assert (ledger.total.epsilon, ledger.dates) == (0.75, [None, None])
    assert "\n  no date               (0.25, 0)  summer survey" in str(ledger)
    ledger.release(OptimalDPNoise(0.25, bounds=(0, 1)), [[0.2, 0.8]])
    again = PrivacyLedger.open(path)
    assert again.dates[:2] == [None, None]
    assert again.dates[2] is not None
    assert again.to_frame()["date"].tolist()[:2] == ["", ""]


@pytest.mark.parametrize("date", [3, "yesterday", "2026-03-01"])
def test_a_date_that_is_none_is_refused(X, path, date):
    PrivacyLedger(path=path).release(OptimalDPNoise(0.5), X)
    content = json.loads(path.read_text())
    content["entries"][0][2] = date
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="checksum"):  # of which dates are a part
        PrivacyLedger(path=path)
    del content["sha256"]
    path.write_text(json.dumps(content | {"sha256": checksum(content)}))
    with pytest.raises(ValueError, match=r"ledger.json' is damaged"):
        PrivacyLedger(path=path)


@pytest.mark.parametrize("on_file", [False, True])
def test_threads_cannot_overspend(X, tmp_path, on_file):
    path = tmp_path / "ledger.json" if on_file else None
    ledger = PrivacyLedger(epsilon=1.0, path=path)
    guarantee = OptimalDPNoise(0.1, 0.0).fit(X).guarantee_

    def spend(_):
        try:
            return ledger.spend(guarantee) is not None
        except BudgetExceededError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(40))) == 10
    assert len(ledger.entries) == 10


def test_a_lock_that_is_held_is_named(X, tmp_path, path, monkeypatch):
    monkeypatch.setattr("skdp.privacy._ledger._PATIENCE", 0.05)
    lock = tmp_path / "ledger.json.lock"
    with locked(lock, 1.0), pytest.raises(TimeoutError, match=r"Another process .*json.lock"):
        PrivacyLedger(path=path)
    PrivacyLedger(path=path)


@forks
@pytest.mark.filterwarnings("ignore:This process")
def test_the_lock_of_a_killed_process_blocks_nobody(tmp_path, path):
    child = os.fork()
    if not child:
        with _LedgerFile(path).lock():
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert (tmp_path / "ledger.json.lock").exists()
    assert PrivacyLedger(epsilon=1.0, path=path).entries == []
    assert sorted(file.name for file in tmp_path.iterdir()) == FILES


@pytest.mark.parametrize("limit", [float("nan"), "1", -1.0, True, 10**400, 1j])
def test_budgets_that_make_no_sense_are_refused(limit):
    with pytest.raises(ValueError, match="'epsilon' parameter of PrivacyLedger"):
        PrivacyLedger(epsilon=limit)
    with pytest.raises(ValueError, match="'delta' parameter of PrivacyLedger"):
        PrivacyLedger(delta=limit)


def forged(guarantee, name, value):
    """A guarantee whose mechanism is changed past every check of its own."""
    mechanism, broken = copy.copy(guarantee.mechanisms[0]), copy.copy(guarantee)
    object.__setattr__(mechanism, name, value)
    object.__setattr__(broken, "mechanisms", (mechanism,))
    return broken


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", np.nan), ("epsilon", -5.0), ("delta", -1)]
)
def test_nonsense_neither_opens_nor_refills_a_budget(X, name, value):
    ledger = PrivacyLedger(epsilon=1.0, delta=0.1)
    guarantee = OptimalDPNoise(0.9, 0.0).fit(X).guarantee_
    ledger.spend(guarantee)
    with pytest.raises(ValueError, match=f"'{name}' of Mechanism"):
        ledger.spend(forged(guarantee, name, value))
    with pytest.raises(BudgetExceededError):
        ledger.spend(guarantee)
    assert len(ledger.entries) == 1


def try_to_spend(ledger, guarantee, results, times):
    for _ in range(times):
        try:
            ledger.spend(guarantee)
            results.put("spent")
        except Exception as error:
            results.put(repr(error))


def spend_in_children(ledger, guarantee, n=3, times=1):
    """Return what happens to forked copies of a ledger."""
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    arguments = ledger, guarantee, results, times
    children = [context.Process(target=try_to_spend, args=arguments) for _ in range(n)]
    for child in children:
        child.start()
    found = [results.get(timeout=60) for _ in range(n * times)]
    for child in children:
        child.join()
    return found


@forks
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_process_has_no_budget_of_its_own(X):
    ledger, guarantee = PrivacyLedger(epsilon=1.0), OptimalDPNoise(1.0).fit(X).guarantee_
    for found in spend_in_children(ledger, guarantee):
        assert "RuntimeError" in found
        assert "path=" in found
        assert f"created in process {os.getpid()}" in found
    ledger.spend(guarantee)


@forks
@pytest.mark.filterwarnings("ignore:This process")
def test_forked_processes_share_the_account_on_file(X, tmp_path):
    ledger = PrivacyLedger(epsilon=1.0, path=tmp_path / "ledger.json")
    guarantee = OptimalDPNoise(0.1, 0.0).fit(X).guarantee_
    # As if another thread had held it at the moment of the fork.
    with ledger._lock:
        found = spend_in_children(ledger, guarantee, times=20)
    assert found.count("spent") == 10
    assert sum("BudgetExceededError" in text for text in found) == 50
    with pytest.raises(BudgetExceededError):
        ledger.spend(guarantee)
    assert_allclose(ledger.total.epsilon, 1.0)


def test_links_and_folders_do_not_make_another_account(X, tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "ledger.json")
    monkeypatch.chdir(tmp_path / "real")
    relative = PrivacyLedger(epsilon=1.0, path="ledger.json")
    linked = PrivacyLedger(path=tmp_path / "link.json")
    monkeypatch.chdir(tmp_path)
    relative.release(OptimalDPNoise(0.6), X)
    assert (tmp_path / "link.json").is_symlink()
    with pytest.raises(BudgetExceededError):
        linked.release(OptimalDPNoise(0.6), X)
    linked.release(OptimalDPNoise(0.3), X)
    assert (tmp_path / "link.json").is_symlink()
    assert_allclose(relative.total.epsilon, 0.9)
    assert not (tmp_path / "ledger.json").exists()
    # A link that is turned elsewhere moves nothing.
    (tmp_path / "link.json").unlink()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "other.json")
    with pytest.raises(BudgetExceededError):
        linked.release(OptimalDPNoise(0.6), X)


def test_a_file_of_two_names_is_refused(X, tmp_path, path):
    ledger = PrivacyLedger(path=path)
    os.link(path, tmp_path / "other.json")
    with pytest.raises(ValueError, match="hard link"):
        ledger.spend(OptimalDPNoise().fit(X).guarantee_)


def test_a_file_that_is_gone_is_no_fresh_start(X, path):
    ledger = PrivacyLedger(epsilon=1.0, path=path)
    assert path.exists()  # before the first entry
    guarantee = OptimalDPNoise(0.9).fit(X).guarantee_
    ledger.spend(guarantee)
    old = path.read_bytes()
    path.unlink()
    for refused in (lambda: ledger.spend(guarantee), lambda: ledger.total):
        with pytest.raises(FileNotFoundError, match=r"ledger.json.*disappeared.*backup"):
            refused()
    PrivacyLedger(epsilon=1.0, path=path)  # somebody begins anew
    with pytest.raises(ValueError, match="entries are missing"):
        ledger.spend(guarantee)
    path.write_bytes(old)
    with pytest.raises(BudgetExceededError):
        ledger.spend(guarantee)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_empty_and_truncated_files_are_refused(X, path, share):
    ledger = PrivacyLedger(epsilon=1.0, path=path)
    ledger.release(OptimalDPNoise(0.4), X)
    text = path.read_bytes()
    path.write_bytes(text[: int(share * len(text))])
    pattern = rf"ledger.json' is {'damaged' if share else 'empty'}.*backup"
    with pytest.raises(ValueError, match=pattern):
        PrivacyLedger(path=path)
    with pytest.raises(ValueError, match=pattern):
        ledger.release(OptimalDPNoise(0.4), X)
    assert path.stat().st_size == int(share * len(text))


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b"null",
        b"17",
        b"\xff\xfe",
        b"[" * 100_000,
        b'[["a", {"epsilon": 1}]]',
        b'[["a", 3]]',
        b"[]",
        b"[[]]",
        b'{"limits": {}, "entries": [], "sha256": ""}',
    ],
)
def test_other_files_are_refused(path, text):
    path.write_bytes(text)
    with pytest.raises(ValueError, match=r"ledger.json' is damaged.*backup"):
        PrivacyLedger(path=path)


def test_a_file_of_another_version_is_not_called_damaged(path):
    path.write_text('{"format": "skdp ledger", "version": 3, "sha512": ""}')
    said = r"ledger.json' was made by another version of skdp.* 3, this skdp reads 1 and 2"
    with pytest.raises(ValueError, match=said):
        PrivacyLedger(path=path)


def test_no_digit_of_a_file_changes_unseen(X, path):
    PrivacyLedger(epsilon=1.0, path=path).release(OptimalDPNoise(0.75), X)
    path.write_text(path.read_text().replace("0.75", "0.05"))
    with pytest.raises(ValueError, match="checksum"):
        PrivacyLedger(path=path)


def test_limits_are_those_of_the_file(X, path):
    first = PrivacyLedger(path=path)
    PrivacyLedger(epsilon=1.0, path=path)
    PrivacyLedger(delta=1e-4, path=path)
    for limits in ({"epsilon": 2.0}, {"epsilon": 0.5}, {"delta": 1.0}):
        with pytest.raises(ValueError, match=r"but the file .*ledger.json' has .*Omit it"):
            PrivacyLedger(**limits, path=path)
    second = PrivacyLedger(epsilon=1.0, path=path)
    assert (second.epsilon, second.delta) == (1.0, 1e-4)
    for ledger in (first, second):  # the first was there before the limits
        with pytest.raises(BudgetExceededError):
            ledger.release(OptimalDPNoise(1.1), X)
        with pytest.raises(AttributeError):
            ledger.epsilon = 100.0


def test_nothing_is_granted_before_it_is_on_disk(X, tmp_path, monkeypatch):
    ledger = PrivacyLedger(epsilon=1.0, path=tmp_path / "ledger.json")
    done = []
    fsync, exchange = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda f: (done.append("sync"), fsync(f)))
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("replace"), exchange(*paths)))
    ledger.release(OptimalDPNoise(0.4), X)
    assert done == ["sync", "replace", "sync"]

    def full(_):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"'path' parameter.*No space left"):
        ledger.release(OptimalDPNoise(0.4), X)
    assert sorted(file.name for file in tmp_path.iterdir()) == FILES  # no draft is left
    assert_allclose(ledger.total.epsilon, 0.4)


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    y = np.arange(60) % 2
    return rng.rand(60, 3) + y[:, np.newaxis], y


class Watched(GaussianDPNoise):
    draws = 0

    def _perturb(self, X):
        Watched.draws += len(X) == 60  # of private rows, not in a rehearsal
        return super()._perturb(X)


@pytest.mark.parametrize("noise", [OptimalDPNoise(0.5, perturb="fit"), Watched(1.5)])
def test_what_a_source_states_is_what_its_release_guarantees(rows, noise):
    for label_noise in (None, RandomizedResponse(1.0)):
        source = DPSource(noise=noise, label_noise=label_noise, n_layers=1, n_components=2)
        stated = source.guarantee_for(*rows)
        assert not hasattr(source, "n_features_in_")
        release = source.fit(*rows).release_
        expected = release.guarantee if label_noise is None else release.record_guarantee
        assert stated == expected
        if label_noise is not None:
            assert stated == record_guarantee(release.guarantee, release.label_guarantee)


class Silent(BaseEstimator):
    fitted = False

    def fit(self, X, y=None):
        Silent.fitted = True
        return self


@pytest.mark.parametrize(
    "estimator", [Silent(), make_pipeline(OptimalDPNoise(), LogisticRegression())]
)
def test_what_cannot_say_its_cost_is_not_fitted(rows, estimator):
    with pytest.raises(ValueError, match=r"no guarantee_for\(X, y\).*spend\(\)"):
        PrivacyLedger().release(estimator, *rows)
    assert not Silent.fitted


def test_a_name_in_place_of_labels_is_found(X):
    ledger = PrivacyLedger()
    with pytest.raises(ValueError, match=r"got one string\. Pass the name"):
        ledger.release(OptimalDPNoise(), X, "spring survey")
    assert ledger.entries == []


def test_it_says_how_much_is_left(X, tmp_path):
    ledger = PrivacyLedger(epsilon=1.0, path=tmp_path / "ledger.json")
    path = f"path={os.path.realpath(tmp_path / 'ledger.json')!r}"
    assert repr(ledger) == f"PrivacyLedger(spent nothing of (1, unlimited), 0 entries, {path})"
    ledger.release(OptimalDPNoise(0.25, 0.0), X)
    expected = f"spent (0.25, 0) of (1, unlimited) per element, 1 entry, {path}"
    assert repr(ledger) == f"PrivacyLedger({expected})"


def test_a_guarantee_below_its_mechanism_is_not_entered(X):
    ledger, honest = PrivacyLedger(), GaussianDPNoise(1.0).fit(X).guarantee_
    with pytest.raises(ValueError, match=r"amounts to more than epsilon=0\.01"):
        ledger.spend(forged(honest, "epsilon", 0.01))
    with pytest.raises(ValueError, match="must be a PrivacyGuarantee"):
        ledger.spend({"epsilon": 0.01})
    assert ledger.entries == []


@pytest.mark.parametrize("distance", [1e-9, 0.1])
def test_a_distance_below_the_statement_uses_up_the_budget(X, distance):
    honest = GaussianDPNoise(1.0, 1e-6).fit(X).guarantee_
    fake = forged(honest, "squared_distance", distance**2)
    ledger = PrivacyLedger(2.0, 1e-3)
    totals = [ledger.spend(fake).epsilon for _ in range(3)]
    assert_allclose(totals, [honest.compose(k).epsilon for k in (1, 2, 3)], rtol=1e-6)
    with pytest.raises(BudgetExceededError):
        ledger.spend(fake)


class Refund(PrivacyGuarantee):
    epsilon = 0.0

    def __add__(self, other):
        return replace(other, mechanisms=[Mechanism("pure", 0.0)])


def test_an_entry_that_adds_up_in_its_own_way_lowers_nothing(X):
    honest = OptimalDPNoise(0.75).fit(X).guarantee_
    ledger = PrivacyLedger(2.0)
    ledger.spend(honest)
    assert ledger.spend(Refund(**vars(honest))) == honest + honest
    with pytest.raises(BudgetExceededError):
        ledger.spend(Refund(**vars(honest)))
    assert ledger.total == honest + honest


@pytest.mark.skipif(os.name != "posix", reason="needs permissions of files")
def test_a_new_file_is_private_and_an_old_one_keeps_its_permissions(X, tmp_path, path):
    before = os.umask(0o022)
    try:
        ledger = PrivacyLedger(epsilon=1.0, path=path)
        assert path.stat().st_mode & 0o777 == 0o600
        ledger.release(OptimalDPNoise(0.25), X)
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o640)
        ledger.release(OptimalDPNoise(0.25), X)
        assert path.stat().st_mode & 0o777 == 0o640
        lock = tmp_path / "ledger.json.lock"  # people of one group can share a ledger
        assert (lock.stat().st_mode & 0o777, lock.stat().st_size) == (0o660, 0)
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("", IsADirectoryError),
        ("missing/ledger.json", FileNotFoundError),
        ("file/ledger.json", NotADirectoryError),
        ("x" * 300, OSError),
    ],
)
def test_paths_that_cannot_be_used_are_named(tmp_path, name, error):
    (tmp_path / "file").touch()
    pattern = r"'path' parameter of PrivacyLedger, '.*', cannot be used: .*\. Name a readable"
    with pytest.raises(error, match=pattern) as found:
        PrivacyLedger(path=tmp_path / name)
    assert ".lock" not in str(found.value)
    assert str(tmp_path / name) in str(found.value)


@pytest.mark.parametrize("path", [3, ["ledger.json"], "a\x00b", object()])
def test_what_is_no_path_is_named(path):
    with pytest.raises(ValueError, match="'path' parameter of PrivacyLedger must be a path, got"):
        PrivacyLedger(path=path)


@pytest.mark.parametrize("unit", ["labeled record", "group"])
def test_statistics_add_up_in_a_file(path, unit):
    PrivacyLedger(path=path).spend(statistics_guarantee(3.0, unit), "first")
    PrivacyLedger(path=path).spend(statistics_guarantee(4.0, unit), "second")
    ledger = PrivacyLedger(path=path)
    assert [entry for _, entry in ledger.entries] == [
        statistics_guarantee(3.0, unit),
        statistics_guarantee(4.0, unit),
    ]
    assert_allclose(ledger.total.epsilon, gaussian_epsilon(1 / 5.0, 1e-5))
    assert ledger.total.relation == "add/remove"
    assert f"per {unit} (add/remove), 2 entries" in repr(ledger)
    assert ledger.to_frame()["relation"].tolist() == ["add/remove"] * 2


@pytest.mark.parametrize("statistics_first", [True, False])
def test_noisy_rows_and_statistics_of_the_same_records_add_up(rows, statistics_first):
    source = DPSource(2.0, label_noise=RandomizedResponse(1.0), n_layers=1, n_components=2)
    ledger = PrivacyLedger()
    if statistics_first:
        ledger.spend(statistics_guarantee(), "statistics")
    ledger.release(source, *rows, name="rows")
    if not statistics_first:
        ledger.spend(statistics_guarantee(), "statistics")
    noisy_rows = source.release_.record_guarantee
    replaced = statistics_guarantee().to_replace_one()
    assert_allclose(ledger.total.epsilon, noisy_rows.epsilon + replaced.epsilon)
    assert_allclose(ledger.total.delta, noisy_rows.delta + 1e-5)
    assert (ledger.total.relation, ledger.total.sensitivity) == ("replace-one", 1.0)
    # Statistics that come later still add up to the root of the sum of the squares.
    ledger.spend(statistics_guarantee(), "again")
    gaussian = gaussian_epsilon(1 / np.sqrt(8), 1e-5)
    assert_allclose(ledger.total.epsilon, noisy_rows.epsilon + gaussian)


def test_a_total_below_the_sum_of_the_entries_says_why():
    ledger, once = PrivacyLedger(), statistics_guarantee()
    ledger.spend(once)
    assert "together" not in str(ledger)
    ledger.spend(once)
    each = f"{once.epsilon:g}"
    assert f"\n  together less than {each} + {each}, because Gaussian" in str(ledger)
