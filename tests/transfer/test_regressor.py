"""DPTransferRegressor: limits, sources, columns, labels, scikit-learn's tools, and messages."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import (
    DPStatisticsSource,
    DPTransferClassifier,
    DPTransferRegressor,
    LabeledSplit,
    Release,
)

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
    assert report["error"].isna().all()


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


def test_report_and_weights(release, target):
    X, y = target
    model = DPTransferRegressor(release).fit(X, hidden(y, 60))
    report = model.report()
    assert report["name"].tolist() == [
        "source",
        "source, own intercept and slope",
        "source, own coefficients",
        "target alone",
    ]
    assert report["side"].tolist() == ["source", "both", "both", "target"]
    assert report["weight"].sum() == pytest.approx(1)
    assert model.source_weight_ == pytest.approx(report["weight"][:3].sum())
    assert report["n_labels"].unique() == [60]
    assert report["log_odds"][0] == 0
    assert report["error"].between(4, 15).all()
    assert report["error"].idxmax() == 0


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


def test_sources_are_merged_and_singles_stay_candidates(target):
    X, y = target
    releases = [release_of(seed=k, shift=10.0 * k) for k in range(2)]
    without = DPTransferRegressor(releases, disjoint=True).fit(X)
    merged = Release.merge(releases, disjoint=True)
    np.testing.assert_allclose(without.predict(X), merged.predict(X), rtol=1e-9)
    assert without.guarantee_.epsilon == 8
    model = DPTransferRegressor(releases).fit(X, hidden(y, 30))
    names = model.report()["name"].tolist()
    assert {"sources 0, 1", "source 0", "source 1", "target alone"} < set(names)
    weight = model.report().set_index("name")["weight"]
    assert weight["source 1"] > weight["source 0"]
    assert model.guarantee_.epsilon > 8


def test_columns_are_matched_by_name(release, target):
    X, y = target
    y = hidden(y, 50)
    model = DPTransferRegressor(release).fit(X, y)
    turned = DPTransferRegressor(release).fit(X[["c", "b", "a"]], y)
    np.testing.assert_allclose(turned.predict(X), model.predict(X))
    with pytest.warns(UserWarning, match=r"X lacks the columns \['c'\]"):
        fewer = DPTransferRegressor(release).fit(X[["a", "b"]])
    restricted = release.restrict(["a", "b"])
    np.testing.assert_allclose(fewer.predict(X[["a", "b"]]), restricted.predict(X[["a", "b"]]))


def test_columns_of_the_target_alone_are_learned(release, target):
    X, y = target
    new = np.random.default_rng(6).random(len(y))
    y = np.clip(y + 30 * (new - 0.5), 0, 100)
    with pytest.warns(UserWarning, match=r"\['d'\] of X are not among the source's"):
        model = DPTransferRegressor(release).fit(X.assign(d=new), y)
    assert model.score(X.assign(d=new), y) > DPTransferRegressor(release).fit(X, y).score(X, y)


def test_arrays_of_bounded_numbers_and_single_precision():
    rng = np.random.default_rng(7)
    X = rng.random((3000, 2)).astype(np.float32)
    y = 20 + 60 * X[:, 0] + rng.normal(size=3000)
    source = DPStatisticsSource(8.0, bounds=(0, 1), outcome=OUTCOME, model="linear").fit(X, y)
    outcomes = hidden(y[:100], 20)
    single = DPTransferRegressor(source).fit(X[:100], outcomes).predict(X[:100])
    double = DPTransferRegressor(source).fit(X[:100].astype(float), outcomes).predict(X[:100])
    np.testing.assert_allclose(single, double, rtol=1e-4)
    with pytest.raises(ValueError, match="X has 3 columns, and the release 2"):
        DPTransferRegressor(source).fit(np.ones((5, 3)))


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
    model = DPTransferRegressor(release).fit(X, hidden(y, 50))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert clone(model).source is release
    assert cross_val_predict(DPTransferRegressor(release), X, y, cv=3).shape == y.shape
    grid = {"source": [release, None], "label_sampling": ["random", "stratified"]}
    encoded = release.encode(X)
    labeled = LabeledSplit(KFold(3), unlabeled=None)
    search = GridSearchCV(DPTransferRegressor(), grid, cv=labeled, error_score="raise")
    assert search.fit(encoded, hidden(y, 60)).best_score_ > 0.5
    logarithm = TransformedTargetRegressor(DPTransferRegressor(), func=np.log, inverse_func=np.exp)
    assert logarithm.fit(encoded, y).score(encoded, y) > 0.5
    pipeline = make_pipeline(StandardScaler(), DPTransferRegressor())
    assert pipeline.fit(encoded, y).score(encoded, y) > 0.6


def test_source_is_read_from_a_file(release, target, tmp_path):
    X, _ = target
    release.save(tmp_path / "a.skdp")
    model = DPTransferRegressor(tmp_path / "a.skdp").fit(X)
    np.testing.assert_array_equal(model.predict(X), DPTransferRegressor(release).fit(X).predict(X))


def classes_release():
    X, y = made(500, np.random.default_rng(0))
    schema = {key: SCHEMA[key] for key in ("version", "columns")} | {"classes": [0, 1]}
    source = DPStatisticsSource(8.0, encoder=schema, model="linear")
    return source.fit(X, (y > 30).astype(int)).release_


def test_releases_about_something_else_are_refused(release, target):
    X, _ = target
    with pytest.raises(ValueError, match=r"release about a number. Use DPTransferRegressor"):
        DPTransferClassifier(release).fit(X)
    with pytest.raises(ValueError, match=r"release about classes. Use DPTransferClassifier"):
        DPTransferRegressor(classes_release()).fit(X)
    other = release_of(schema={**SCHEMA, "outcome": {**OUTCOME, "high": 200.0}})
    with pytest.raises(ValueError, match=r"different outcomes.*same bounds and scale"):
        DPTransferRegressor([release, other]).fit(X)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], r"'source' parameter of DPTransferRegressor is an empty list"),
        ("none.skdp", r"'source' parameter of DPTransferRegressor names the file"),
        (3, r"'source' parameter of DPTransferRegressor must be a Release.*got int"),
    ],
)
def test_sources_that_are_none_are_refused(source, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        DPTransferRegressor(source).fit(np.ones((4, 2)), np.arange(4.0))


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


def test_explanations_are_of_its_predictions(release, target):
    X, y = target
    model = DPTransferRegressor(release).fit(X, hidden(y, 30))
    row = X.iloc[[3]]
    explanation = model.explain(row)
    [mean], [deviation] = model.predict(row, return_std=True)
    assert (explanation.prediction, explanation.deviation) == pytest.approx((mean, deviation))
    assert explanation.to_frame().equals(model.explain(X.iloc[3]).to_frame())
    # Of one column, over its public values: by predictions of rows that differ in it.
    effect = explanation.columns[0]
    assert effect.name == "a"
    rows = pd.concat([row] * 101, ignore_index=True)
    rows["a"] = np.linspace(0, 1, 101)
    predicted = model.predict(rows)
    assert effect.effect == pytest.approx(mean - predicted.mean(), abs=1e-6)
    assert (effect.least, effect.most) == pytest.approx((predicted.min(), predicted.max()))
    with pytest.raises(ValueError, match="must be one row"):
        model.explain(X.iloc[:2])


def test_without_a_source_columns_are_varied_over_the_rows_of_fit():
    X = np.random.RandomState(0).uniform(50, 90, (200, 2))
    explanation = DPTransferRegressor().fit(X, X[:, 0]).explain([80.0, 60.0])
    assert explanation.columns[0].name == "x0"
    assert explanation.columns[0].effect == pytest.approx(10, abs=0.5)
    assert explanation.columns[0].least == pytest.approx(50, abs=0.5)
