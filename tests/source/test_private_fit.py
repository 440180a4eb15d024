import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV

from skdp import DPSource, DPStatisticsSource, OptimalDPNoise, RandomizedResponse
from skdp.noise import GaussianQueries
from skdp.privacy import BudgetExceededError, PrivacyLedger

SMALL = {"n_components": 1, "n_layers": 1, "random_state": 0}


def rows_source(epsilon=1.0, **settings):
    return DPSource(epsilon, bounds=(0, 1), **SMALL, **settings)


def statistics_source(epsilon=1.0, **settings):
    return DPStatisticsSource(epsilon, classes=[0, 1, 2], **settings)


sources = pytest.mark.parametrize("make", [rows_source, statistics_source])


def accuracy(source, X, y):
    return source.release_.score(X, y)


@sources
def test_each_fit_is_booked_and_the_one_too_many_is_refused(small, make):
    ledger = PrivacyLedger(epsilon=1.2)
    source = make(ledger=ledger).fit(*small)
    [(name, entered)] = ledger.entries
    assert name == type(source).__name__
    assert entered == source.guarantee_ == source.guarantee_for(*small)
    with pytest.raises(BudgetExceededError, match="bring epsilon to"):
        source.fit(*small)
    assert not hasattr(source, "release_")  # nothing old passes for new
    assert len(ledger.entries) == 1


def test_rows_are_booked_before_anything_is_drawn(small):
    drawn = []

    class Noise(OptimalDPNoise):
        def _perturb(self, X):
            drawn.append(len(ledger.entries))
            return super()._perturb(X)

    class Response(RandomizedResponse):
        def transform(self, y):
            drawn.append(len(ledger.entries))
            return super().transform(y)

    ledger = PrivacyLedger(epsilon=8.0)
    settings = {"noise": Noise(1.0), "label_noise": Response(1.0), "ledger": ledger}
    source = DPSource(bounds=(0, 1), **settings, **SMALL).fit(*small)
    assert drawn == [1, 1]
    assert ledger.total == source.release_.record_guarantee  # 6 elements at 1, and a label
    with pytest.raises(BudgetExceededError):
        source.fit(*small)
    assert drawn == [1, 1]


def test_statistics_are_booked_before_anything_is_drawn(small, monkeypatch):
    drawn = []
    add = GaussianQueries.add

    def watch(self, *query):
        drawn.append(len(ledger.entries))
        return add(self, *query)

    monkeypatch.setattr(GaussianQueries, "add", watch)
    ledger = PrivacyLedger(epsilon=1.2)
    generator = np.random.RandomState(0)
    source = statistics_source(ledger=ledger, random_state=generator).fit(*small)
    accumulator = source.accumulator(6)
    accumulator.add(*small)
    with pytest.raises(BudgetExceededError):
        source.fit(*small)
    with pytest.raises(BudgetExceededError):
        source.fit_accumulated(accumulator)
    assert drawn == [1] * 4


def test_a_table_is_booked_by_the_value(rng):
    schema = {"ward": {"type": "category", "categories": ["A", "B", "C"]}}
    table = pd.DataFrame({"ward": np.resize(["A", "B", "C"], 60)})
    ledger = PrivacyLedger(epsilon=3.9)
    y = np.arange(60) % 2
    with pytest.raises(BudgetExceededError, match="bring epsilon to 4"):
        DPSource(2.0, encoder=schema, ledger=ledger, **SMALL).fit(table, y)
    DPSource(1.0, encoder=schema, ledger=ledger, **SMALL).fit(table, y)
    assert (ledger.total.epsilon, ledger.total.unit) == (2.0, "value")


@sources
def test_what_is_refused_as_wrong_spends_nothing(small, make):
    X, y = small
    ledger = PrivacyLedger(epsilon=1.2)
    for broken in ((X * np.nan, y), (X, y[:-1])):
        with pytest.raises(ValueError, match=r"NaN|inconsistent"):
            make(ledger=ledger).fit(*broken)
    assert ledger.entries == []


@sources
def test_clones_share_the_ledger(make):
    ledger = PrivacyLedger()
    assert clone(clone(make(ledger=ledger))).ledger is ledger


@sources
def test_a_search_stops_where_the_budget_ends(small, make):
    ledger = PrivacyLedger(epsilon=3.3)
    grid = {"epsilon": [1.0, 4.0]}
    search = GridSearchCV(
        make(ledger=ledger), grid, scoring=accuracy, cv=2, error_score="raise", refit=False
    )
    with pytest.raises(BudgetExceededError):
        search.fit(*small)
    assert [round(guarantee.epsilon, 6) for _, guarantee in ledger.entries] == [1.0, 1.0]


def test_candidates_that_are_refused_have_no_score(small):
    ledger = PrivacyLedger(epsilon=3.3)
    plan = GridSearchCV(
        rows_source(ledger=ledger), {"epsilon": [1.0, 4.0]}, scoring=accuracy, cv=2, refit=False
    )
    with pytest.warns(FitFailedWarning, match="BudgetExceededError"):
        plan.fit(*small)
    assert np.isfinite(plan.cv_results_["mean_test_score"]).tolist() == [True, False]
    assert ledger.total.epsilon == 2.0


def test_other_processes_share_a_file(small, tmp_path):
    def accuracy(source, X, y):  # in here, as other processes cannot import this module
        return source.release_.score(X, y)

    ledger = PrivacyLedger(epsilon=1.3, path=tmp_path / "ledger.json")
    plan = GridSearchCV(
        rows_source(ledger=ledger),
        {"epsilon": [1.0]},
        scoring=accuracy,
        cv=2,
        refit=False,
        n_jobs=2,
        error_score="raise",
    )
    with pytest.raises(BudgetExceededError):
        plan.fit(*small)
    assert ledger.total.epsilon == 1.0  # whichever fit came first
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(rows_source(ledger=PrivacyLedger()))


def test_a_path_stands_for_its_ledger(small, tmp_path):
    path = tmp_path / "ledger.json"
    ledger = PrivacyLedger(epsilon=2.3, path=path)
    for given in (path, str(path)):
        rows_source(ledger=given).fit(*small)
    with pytest.raises(BudgetExceededError):
        rows_source(ledger=path).fit(*small)
    assert ledger.total.epsilon == 2.0


def test_a_path_without_a_ledger_is_no_permission(small, tmp_path):
    source = rows_source(ledger=tmp_path / "none.json")
    with pytest.raises(FileNotFoundError, match="There is no ledger"):
        source.fit(*small)
    assert list(tmp_path.iterdir()) == []


@sources
def test_a_pickle_of_a_fitted_source_leaves_the_account_at_home(small, tmp_path, make):
    ledger = PrivacyLedger(path=tmp_path / "secret_account.json")
    source = make(ledger=ledger)
    assert pickle.loads(pickle.dumps(source)).ledger.entries == []
    text = pickle.dumps(source.fit(*small))
    assert b"secret_account" not in text
    assert source.ledger is ledger


@sources
def test_a_copy_of_a_fitted_source_cannot_be_fitted_without_an_account(small, make):
    ledger = PrivacyLedger()
    source = make(ledger=ledger).fit(*small)
    for unbooked in (copy.deepcopy(source), copy.copy(source), clone(copy.deepcopy(source))):
        with pytest.raises(ValueError, match="'ledger' parameter"):
            unbooked.fit(*small)
        with pytest.raises(ValueError, match="'ledger' of its own"):
            PrivacyLedger().release(unbooked, *small)
    assert len(ledger.entries) == 1
    copied = copy.deepcopy(source).set_params(ledger=ledger).fit(*small)
    assert len(ledger.entries) == 2
    assert copied.release_ is not source.release_
    assert pickle.loads(pickle.dumps(make().fit(*small))).ledger is None


@sources
def test_no_fit_is_booked_twice(small, make):
    ledger = PrivacyLedger()
    with pytest.raises(ValueError, match="'ledger' of its own"):
        ledger.release(make(ledger=ledger), *small)
    assert ledger.entries == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ledger.release(make(), *small)
    assert len(ledger.entries) == 1
