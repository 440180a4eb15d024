import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from skdp import GaussianDPNoise, OptimalDPNoise
from skdp.privacy import BudgetExceededError, PrivacyLedger


@pytest.fixture
def X():
    return np.zeros((5, 3))


def test_totals_add_up(X):
    ledger = PrivacyLedger()
    assert ledger.total is None
    for epsilon in (0.5, 0.25, 1.0):
        ledger.release(OptimalDPNoise(epsilon, 0.01), X, f"at {epsilon}")
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
    ledger.release(Watched(0.5), X)
    ledger.release(Watched(0.5), X)
    (name, value), before = next(iter(budget.items())), Watched.calls
    with pytest.raises(BudgetExceededError, match=rf"bring {name} to .* above the {value:g}"):
        ledger.release(Watched(0.5), X)
    assert (before, Watched.calls, len(ledger.entries)) == (2, 2, 2)


def test_ten_tenths_fit_a_budget_of_one(X):
    ledger = PrivacyLedger(epsilon=1.0)
    for _ in range(10):
        ledger.release(OptimalDPNoise(0.1, 0.0), X)
    with pytest.raises(BudgetExceededError):
        ledger.release(OptimalDPNoise(1e-3, 0.0), X)


def test_gaussian_releases_share_their_delta(X):
    ledger = PrivacyLedger()
    for _ in range(4):
        ledger.release(GaussianDPNoise(0.5), X)
    expected = GaussianDPNoise(0.5).fit(X).guarantee_.compose(4)
    assert_allclose(ledger.total.epsilon, expected.epsilon)
    assert ledger.total.delta == 1e-5
    assert ledger.total.epsilon < 2.0


def test_releases_about_other_neighbours_are_refused(X):
    ledger = PrivacyLedger()
    ledger.release(OptimalDPNoise(0.5), X)
    with pytest.raises(ValueError, match=r"sensitivity=1.0 and sensitivity=2.0.*different"):
        ledger.release(OptimalDPNoise(0.5, sensitivity=2.0), X)
    assert len(ledger.entries) == 1


def test_copies_are_the_same_ledger(X):
    ledger = PrivacyLedger(epsilon=1.0)
    for same in (copy.copy(ledger), copy.deepcopy(ledger), clone(ledger), clone([ledger])[0]):
        assert same is ledger
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(ledger)


def test_a_file_continues_the_account(X, tmp_path):
    path = tmp_path / "ledger.json"
    PrivacyLedger(epsilon=1.0, path=path).release(OptimalDPNoise(0.75), X, "erste Lieferung, ε")
    again = PrivacyLedger(epsilon=1.0, path=path)
    assert again.entries[0][0] == "erste Lieferung, ε"
    assert again.entries[0][1] == OptimalDPNoise(0.75).fit(X).guarantee_
    with pytest.raises(BudgetExceededError):
        again.release(OptimalDPNoise(0.75), X)


def test_two_ledgers_on_one_file_are_one_account(X, tmp_path):
    path = tmp_path / "ledger.json"
    first, second = (PrivacyLedger(epsilon=1.0, path=path) for _ in range(2))
    first.release(OptimalDPNoise(0.6), X)
    with pytest.raises(BudgetExceededError):
        second.release(OptimalDPNoise(0.6), X)
    second.release(OptimalDPNoise(0.3), X)
    assert_allclose(PrivacyLedger(path=path).total.epsilon, 0.9)
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.json"]


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


def test_a_lock_that_is_held_is_named(X, tmp_path, monkeypatch):
    monkeypatch.setattr("skdp.privacy._ledger._PATIENCE", 0.05)
    (tmp_path / "ledger.json.lock").touch()
    with pytest.raises(TimeoutError, match=r"ledger.json.lock.*delete it"):
        PrivacyLedger(path=tmp_path / "ledger.json")


def test_totals_do_not_depend_on_the_order(X):
    gaussian, optimal = (n.fit(X).guarantee_ for n in (GaussianDPNoise(0.5), OptimalDPNoise(0.5)))
    totals = []
    for order in ([gaussian, gaussian, optimal], [gaussian, optimal, gaussian]):
        ledger = PrivacyLedger()
        for guarantee in order:
            ledger.spend(guarantee)
        totals.append(ledger.total.epsilon)
    assert totals[0] == totals[1] < 1.3


@pytest.mark.parametrize("limit", [float("nan"), "1", -1.0])
def test_budgets_that_make_no_sense_are_refused(limit):
    with pytest.raises(ValueError, match="'epsilon' parameter of PrivacyLedger"):
        PrivacyLedger(epsilon=limit)


def test_any_name_will_do(X, tmp_path):
    path = tmp_path / "ledger.json"
    PrivacyLedger(path=path).release(OptimalDPNoise(), X, np.int64(3))
    assert PrivacyLedger(path=path).entries[0][0] == "3"


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", np.nan), ("epsilon", -5.0), ("delta", -1)]
)
def test_nonsense_neither_opens_nor_refills_a_budget(X, name, value):
    ledger = PrivacyLedger(epsilon=1.0, delta=0.1)
    guarantee = OptimalDPNoise(0.9, 0.0).fit(X).guarantee_
    ledger.spend(guarantee)
    broken = copy.copy(guarantee)
    object.__setattr__(broken, name, value)  # past every check of its own
    with pytest.raises(ValueError, match=f"'{name}' of PrivacyGuarantee"):
        ledger.spend(broken)
    with pytest.raises(BudgetExceededError):
        ledger.spend(guarantee)
    assert len(ledger.entries) == 1
