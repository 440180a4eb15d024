"""Targets with numbers and with times: sources, columns and reports that both have in common."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import (
    DPStatisticsSource,
    DPTransferClassifier,
    DPTransferRegressor,
    DPTransferSurvival,
    Release,
)

pytestmark = pytest.mark.filterwarnings("ignore:This release may order times")
COLUMNS = {
    "a": {"type": "numeric", "low": 0, "high": 1},
    "b": {"type": "numeric", "low": 0, "high": 1},
    "c": {"type": "category", "categories": ["x", "y", "z"]},
}
ESTIMATORS = {"number": DPTransferRegressor, "event": DPTransferSurvival}
OUTCOMES = {
    "number": {"type": "number", "low": 0.0, "high": 100.0},
    "event": {"type": "event", "horizon": 1000.0},
    "class": None,
}


def made(kind, n, seed, new=None):
    """Return rows and outcomes, which follow a new column too where there is one."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.random(n), "b": rng.random(n), "c": rng.choice(list("xyz"), n)})
    risk = 2 * (X["a"] - 0.5) + 0.8 * (X["c"] == "x") + (0 if new is None else 3 * (new - 0.5))
    if kind == "class":
        return X, (risk + rng.normal(size=n) > 0).to_numpy().astype(int)
    if kind == "number":
        return X, np.clip(30 + 20 * risk + 5 * rng.normal(size=n), 0, 100).to_numpy()
    y = np.empty(n, dtype=[("event", bool), ("time", float)])
    times, left = rng.exponential(1500 * np.exp(-risk)), rng.uniform(0, 1600, n)
    y["event"], y["time"] = times < left, np.minimum(times, left) + 1
    return X, y


def hidden(y, n):
    """Outcomes of which only the first ones are known."""
    y = y.copy()
    (y if y.dtype.names is None else y["time"])[n:] = np.nan
    return y


def release_of(kind, n=3000, seed=0, outcome=None):
    about = {"classes": [0, 1]} if kind == "class" else {"outcome": outcome or OUTCOMES[kind]}
    schema = {"version": 1, "columns": COLUMNS, **about}
    source = DPStatisticsSource(8.0, encoder=schema, model="linear")
    return source.fit(*made(kind, n, seed)).release_


@pytest.fixture(scope="module", params=ESTIMATORS)
def case(request):
    kind = request.param
    X, y = made(kind, 400, 1)
    release, estimator = release_of(kind), ESTIMATORS[kind]
    return SimpleNamespace(kind=kind, estimator=estimator, release=release, X=X, y=y)


def test_report_and_weights(case):
    model = case.estimator(case.release).fit(case.X, hidden(case.y, 60))
    report = model.report()
    names = ["source", "source, own coefficients", "target alone"]
    assert report["name"].tolist() == names[: len(report)]
    assert report["side"].tolist() == ["source", "both", "target"][: len(report)]
    assert report["weight"].sum() == pytest.approx(1)
    assert model.source_weight_ == pytest.approx(report["weight"][:2].sum())
    assert report["n_labels"].unique() == [60]
    assert report["log_odds"][0] == 0
    assert np.isfinite(report["log_likelihood"]).all()


def test_columns_are_matched_by_name(case):
    X, y, release, estimator = case.X, hidden(case.y, 50), case.release, case.estimator
    model = estimator(release).fit(X, y)
    turned = estimator(release).fit(X[["c", "b", "a"]], y)
    np.testing.assert_allclose(turned.predict(X), model.predict(X))
    with pytest.warns(UserWarning, match=r"X lacks the columns \['c'\]"):
        fewer = estimator(release).fit(X[["a", "b"]])
    restricted = release.restrict(["a", "b"])
    np.testing.assert_allclose(fewer.predict(X[["a", "b"]]), restricted.predict(X[["a", "b"]]))


def test_columns_of_the_target_alone_are_learned(case):
    new = np.random.default_rng(6).random(400)
    X, y = made(case.kind, 400, 1, new)
    with pytest.warns(UserWarning, match=r"\['d'\] of X are not among the source's"):
        model = case.estimator(case.release).fit(X.assign(d=new), y)
    without = case.estimator(case.release).fit(X, y)
    assert model.score(X.assign(d=new), y) > without.score(X, y) + 0.02


def test_arrays_of_bounded_numbers_and_single_precision(case):
    X, y = made(case.kind, 1500, 7)
    X, settings = X[["a", "b"]].to_numpy(np.float32), {"bounds": (0, 1), "model": "linear"}
    source = DPStatisticsSource(8.0, outcome=OUTCOMES[case.kind], **settings).fit(X, y)
    known = hidden(y[:100], 40)
    single = case.estimator(source).fit(X[:100], known).predict(X[:100])
    double = case.estimator(source).fit(X[:100].astype(float), known).predict(X[:100])
    np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="X has 3 columns, and the release 2"):
        case.estimator(source).fit(np.ones((5, 3)))


def test_sources_are_merged_without_outcomes(case):
    releases = [release_of(case.kind, 500, seed) for seed in range(2)]
    model = case.estimator(releases, disjoint=True).fit(case.X)
    merged = Release.merge(releases, disjoint=True)
    np.testing.assert_allclose(model.predict(case.X), merged.predict(case.X), rtol=1e-9)
    assert model.guarantee_.epsilon == 8
    assert case.estimator(releases).fit(case.X).guarantee_.epsilon > 8


def test_pickles_clones_pipelines_and_files(case, tmp_path):
    X, y = case.X, hidden(case.y, 50)
    model = case.estimator(case.release).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    case.release.save(tmp_path / "a.skdp")
    of_file = case.estimator(tmp_path / "a.skdp").fit(X, y)
    for other in (again, of_file):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert clone(model).source is case.release
    encoded = case.release.encode(X)
    pipeline = make_pipeline(StandardScaler(), case.estimator())
    assert pipeline.fit(encoded, case.y).score(encoded, case.y) > 0.6


def test_explanations_are_of_its_predictions(case):
    model = case.estimator(case.release).fit(case.X, hidden(case.y, 60))
    row = case.X.iloc[[3]]
    explanation = model.explain(row)
    [predicted] = model.predict(row)
    assert explanation.prediction == pytest.approx(predicted)
    if case.kind == "number":
        assert explanation.deviation == pytest.approx(model.predict(row, return_std=True)[1][0])
    assert explanation.to_frame().equals(model.explain(case.X.iloc[3]).to_frame())
    # Of one column, over its public values: by predictions of rows that differ in it.
    rows = pd.concat([row] * 101, ignore_index=True)
    rows["a"] = np.linspace(0, 1, 101)
    [effect] = [effect for effect in explanation.columns if effect.name == "a"]
    over = model.predict(rows)
    assert effect.effect == pytest.approx(predicted - over.mean(), abs=1e-6)
    assert effect.least == pytest.approx(over.min() - over.mean(), abs=1e-6)
    assert effect.most == pytest.approx(over.max() - over.mean(), abs=1e-6)
    with pytest.raises(ValueError, match="must be one row"):
        model.explain(case.X.iloc[:2])


def test_releases_about_something_else_are_refused(case):
    for kind, estimator, told in (
        ("class", DPTransferClassifier, "2 classes"),
        ("number", DPTransferRegressor, "a number"),
        ("event", DPTransferSurvival, "a time to an event"),
    ):
        release = release_of(kind, 500)
        for other in (DPTransferClassifier, *ESTIMATORS.values()):
            if other is not estimator:
                remedy = rf"a release about {told}\. Use {estimator.__name__}\."
                with pytest.raises(ValueError, match=remedy):
                    other(release).fit(case.X)
    change = {"high": 200.0} if case.kind == "number" else {"horizon": 2000.0}
    other = release_of(case.kind, 500, outcome={**OUTCOMES[case.kind], **change})
    same = f"agree in the {'bounds' if case.kind == 'number' else 'horizon'} of"
    with pytest.raises(ValueError, match=rf"different outcomes.*{same}"):
        case.estimator([case.release, other]).fit(case.X)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], r"is an empty list"),
        ("none.skdp", r"names the file"),
        (3, r"must be a Release.*got int"),
    ],
)
def test_sources_that_are_none_are_refused(case, source, message):
    message = f"'source' parameter of {case.estimator.__name__} {message}"
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        case.estimator(source).fit(np.ones((4, 2)))
