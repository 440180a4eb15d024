"""DPTransferRegressor: limits, sources, columns, labels, scikit-learn's tools, and messages."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, cross_val_predict

from skdp import (
    DPStatisticsSource,
    DPTransferRegressor,
    LabeledSplit,
)
from skdp.transfer._target_model import within_reach

OUTCOME = {"type": "number", "low": 0.0, "high": 100.0}
SCHEMA = {
    "version": 1,
    "columns": {
        "a": {"type": "numeric", "low": 0, "high": 1},
        "b": {"type": "numeric", "low": 0, "high": 1},
        "c": {"type": "category", "categories": ["x", "y", "z"]},
    },
    "outcome": OUTCOME,
}


def made(n, rng, shift=0.0, slope=40.0):
    X = pd.DataFrame({"a": rng.random(n), "b": rng.random(n), "c": rng.choice(list("xyz"), n)})
    y = 30 + shift + slope * (X["a"] - 0.5) + 8 * (X["c"] == "x") + rng.normal(size=n) * 5
    return X, y.to_numpy()


def release_of(n=4000, seed=0, schema=SCHEMA, model="linear", **changes):
    X, y = made(n, np.random.default_rng(seed), **changes)
    return DPStatisticsSource(8.0, encoder=schema, model=model).fit(X, y).release_


@pytest.fixture(scope="module")
def release():
    return release_of()


@pytest.fixture
def target():
    return made(400, np.random.default_rng(1), shift=10.0)


def hidden(y, n):
    """Outcomes of which only the first ones are known."""
    return np.where(np.arange(len(y)) < n, y, np.nan)


@pytest.mark.parametrize("y", ["none", "missing"])
def test_without_outcomes_it_predicts_what_the_release_does(release, target, y):
    X, outcomes = target
    model = DPTransferRegressor(release).fit(X, None if y == "none" else hidden(outcomes, 0))
    given = model.predict(X, return_std=True)
    np.testing.assert_allclose(given, release.predict(X, return_std=True), rtol=1e-9)
    assert model.source_weight_ == 1
    assert model.label_sampling_ is None
    assert model.outcome_ == release.outcome
    report = model.report()
    assert report["name"].tolist() == ["source"]
    assert report["log_likelihood"].isna().all()


def test_an_outcome_far_from_all_others_moves_little(release, target):
    X, y = target
    y = hidden(y, 10)
    far = np.where(np.arange(len(y)) == 3, 100.0, y)
    models = [DPTransferRegressor(release).fit(X, values) for values in (y, far)]
    moved = np.mean(models[1].predict(X) - models[0].predict(X))
    assert 0 < moved < release.predict(X, return_std=True)[1].mean()


def test_release_on_a_logarithmic_scale(target):
    X, y = target
    outcome = {**OUTCOME, "low": 1.0, "log": True}
    release = release_of(schema={**SCHEMA, "outcome": outcome})
    model = DPTransferRegressor(release).fit(X)
    given = model.predict(X, return_std=True)
    np.testing.assert_allclose(given, release.predict(X, return_std=True), rtol=1e-9)
    assert DPTransferRegressor(release).fit(X, y).score(X, y) > release.score(X, y)


def test_few_outcomes_move_the_mean_and_many_all(release, target):
    X, y = target
    asked, true = made(3000, np.random.default_rng(2), shift=10.0)
    scores = [
        DPTransferRegressor(release).fit(X, hidden(y, n)).score(asked, true)
        for n in (0, 15, 100, 400)
    ]
    assert scores[0] + 0.2 < scores[1] < scores[2] + 0.01 < scores[3] + 0.02


def test_with_many_outcomes_the_target_alone_decides(release):
    X, y = made(4000, np.random.default_rng(3), slope=-20.0)
    asked, true = made(2000, np.random.default_rng(4), slope=-20.0)
    with pytest.warns(UserWarning, match="contradict the source"):
        model = DPTransferRegressor(release).fit(X, y)
    basis = release.regression.basis
    alone = RidgeCV(np.logspace(-3, 3, 13)).fit(basis.encode(release.encode(X)), y)
    expected = alone.predict(basis.encode(release.encode(asked)))
    assert np.sqrt(np.mean((model.predict(asked) - expected) ** 2)) < 0.3
    mean, deviation = model.predict(asked, return_std=True)
    assert 0.75 < np.mean(np.abs(true - mean) < 1.2816 * deviation) < 0.85


def test_outcomes_chosen_by_their_size_leave_the_mean(release):
    X, y = made(400, np.random.default_rng(5))
    highest = np.where(y > np.sort(y)[-40], y, np.nan)
    expected = release.predict(X).mean()
    given = {
        how: DPTransferRegressor(release, label_sampling=how).fit(X, highest).predict(X).mean()
        for how in ("random", "stratified")
    }
    assert given["random"] > expected + 1
    assert given["stratified"] == pytest.approx(expected, abs=0.01)


def test_single_sources_stay_candidates(target):
    X, y = target
    releases = [release_of(seed=k, shift=10.0 * k) for k in range(2)]
    model = DPTransferRegressor(releases).fit(X, hidden(y, 30))
    names = model.report()["name"].tolist()
    assert {"sources 0, 1", "source 0", "source 1"} < set(names)
    weight = model.report().set_index("name")["weight"]
    of = {k: weight[weight.index.str.startswith(f"source {k}")].sum() for k in range(2)}
    assert of[1] > of[0]


def test_without_a_source_it_is_ridge_regression():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 5))
    y = 1e4 + 500 * X @ [1, 0, -2, 0, 0.5] + 300 * rng.normal(size=300)
    model = DPTransferRegressor().fit(X[:100], hidden(y[:100], 60))
    ridge = RidgeCV(np.logspace(-3, 3, 13)).fit(X[:60], y[:60])
    assert model.score(X[100:], y[100:]) == pytest.approx(ridge.score(X[100:], y[100:]), abs=0.005)
    assert (model.outcome_, model.guarantee_, model.source_weight_) == (None, None, 0)
    mean, deviation = model.predict(X[100:], return_std=True)
    assert 0.7 < np.mean(np.abs(y[100:] - mean) < 1.2816 * deviation) < 0.9


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_it_goes_through_scikit_learn_s_tools(release, target):
    X, y = target
    assert cross_val_predict(DPTransferRegressor(release), X, y, cv=3).shape == y.shape
    grid = {"source": [release, None], "label_sampling": ["random", "stratified"]}
    encoded = release.encode(X)
    labeled = LabeledSplit(3)
    search = GridSearchCV(DPTransferRegressor(), grid, cv=labeled, error_score="raise")
    assert search.fit(encoded, hidden(y, 60)).best_score_ > 0.5
    logarithm = TransformedTargetRegressor(DPTransferRegressor(), func=np.log, inverse_func=np.exp)
    assert logarithm.fit(encoded, y).score(encoded, y) > 0.5


@pytest.mark.parametrize("wrong", ["12 mm", np.inf])
def test_outcomes_that_are_no_numbers_are_refused(release, target, wrong):
    X, y = target
    y = y.astype(object)
    y[3] = wrong
    with pytest.raises(ValueError, match=r"must hold numbers, and NaN or None.*1 of 400"):
        DPTransferRegressor(release).fit(X, y)


def test_unknown_outcomes_need_a_source_and_have_no_score(release, target):
    X, y = target
    with pytest.raises(ValueError, match="has no known outcome, and there is no source"):
        DPTransferRegressor().fit(release.encode(X), hidden(y, 0))
    model = DPTransferRegressor(release).fit(X, hidden(y, 10))
    with pytest.raises(ValueError, match=r"marks 390 of 400 outcomes as unknown.*LabeledSplit"):
        model.score(X, hidden(y, 10))


def test_outcomes_in_another_unit_are_noticed(release, target):
    X, y = target
    with pytest.warns(UserWarning, match="400 of 400 outcomes in y lie beyond"):
        DPTransferRegressor(release).fit(X, 1000 + y)


def test_without_a_source_columns_are_varied_over_the_rows_of_fit():
    X = np.random.RandomState(0).uniform(50, 90, (200, 2))
    explanation = DPTransferRegressor().fit(X, X[:, 0]).explain([80.0, 60.0])
    assert explanation.columns[0].name == "x0"
    assert explanation.columns[0].effect == pytest.approx(10, abs=0.5)
    assert explanation.columns[0].least == pytest.approx(-20, abs=0.5)


@pytest.mark.parametrize(("n", "near"), [(36, 3.0), (400, 20 / 3)])
def test_an_outlier_moves_the_mean_by_a_standard_error_and_coefficients_less(rng, n, near):
    predicted = rng.uniform(size=n)
    source = SimpleNamespace(
        is_alone=False, unit=0.01, center=0.5, predicted=lambda rows: predicted
    )
    left = 0.01 * np.clip(rng.standard_normal(n), -2, 2)
    left -= np.median(left)
    left[np.argmax(left)] = 5.0  # far away
    moved = within_reach(source, np.empty((n, 0)), 0.5 + predicted + left) - predicted
    inside = left < 1
    # As much as one row within reach adds to the mean, while the outlier itself is nearer.
    assert_allclose(moved.mean(), (left[inside].sum() + 0.01 * np.sqrt(n)) / n)
    assert_allclose(moved[~inside] - moved[inside], 0.01 * near - left[inside])
    # Without outliers nothing changes.
    left[~inside] = 0.01
    kept = within_reach(source, np.empty((n, 0)), 0.5 + predicted + left)
    assert_allclose(kept, predicted + left, rtol=1e-12)
