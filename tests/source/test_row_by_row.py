"""What an evaluation makes of a row depends on this row alone, bit for bit."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from skdp import (
    DPSource,
    DPStatisticsSource,
    DPTransferClassifier,
    DPTransferRegressor,
    DPTransferSurvival,
    evaluate_privately,
)
from skdp.source import _evaluation as evaluation
from skdp.source._door import row_weights
from skdp.source._evaluation import (
    ClassCounts,
    NumberCounts,
    TimeCounts,
    _readable,
    _row_by_row,
)
from skdp.source._integers import ROW
from skdp.tabular import ClassOutcome, EventOutcome, NumberOutcome, NumericColumn

P, N_CLASSES = 13, 5
EVENT = {"type": "event", "horizon": 90.0}
NUMBER = {"type": "number", "low": -3, "high": 3}
TIMES = [20.0, 45.0, 90.0]
SCHEMA = {
    "version": 1,
    "columns": {
        "age": {"type": "numeric", "low": 0, "high": 90, "missing": True},
        "dose": {"type": "numeric", "low": 1, "high": 1000, "log": True},
        "visits": {"type": "numeric", "low": 0, "high": 50, "log": True},
        "ward": {"type": "category", "categories": ["a", "b", "c"]},
    },
}


def data(n, seed, dtype=np.float64):
    rng = np.random.RandomState(seed)
    y = rng.randint(N_CLASSES, size=n)
    return (rng.uniform(-1, 1, (n, P)) + 0.3 * y[:, np.newaxis]).astype(dtype), y


def table(n, seed):
    rng = np.random.RandomState(seed)
    columns = {
        "age": rng.uniform(-5, 99, n).round(1),
        "dose": np.exp(rng.uniform(0, 7, n)),
        "visits": rng.randint(60, size=n),
        "ward": rng.choice(["a", "b", "c", "else"], n),
    }
    return pd.DataFrame(columns), (columns["age"] + rng.normal(0, 20, n) > 45).astype(int)


def exits(X, seed=0):
    rng = np.random.RandomState(seed)
    y = np.zeros(len(X), dtype=[("event", bool), ("time", float)])
    y["time"] = rng.exponential(80 * np.exp(-np.asarray(X)[:, 0]))
    y["event"] = rng.uniform(size=len(X)) < 0.8
    return y


def statistics(**settings):
    X, y = data(800, 0)
    settings = {"bounds": (-1, 3), "classes": range(N_CLASSES), "epsilon": 8.0} | settings
    return DPStatisticsSource(**settings, random_state=0).fit(X, y).release_


def about_number(model):
    X, _ = data(800, 0)
    settings = {"bounds": (-1, 3), "outcome": NUMBER, "epsilon": 8.0, "model": model}
    return DPStatisticsSource(**settings, random_state=0).fit(X, X[:, 0] - 1).release_


def about_time():
    X, _ = data(800, 0)
    source = DPStatisticsSource(8.0, bounds=(-1, 3), outcome=EVENT, random_state=0)
    return source.fit(X, exits(X)).release_


def rows_release(**settings):
    X, y = data(300, 0)
    source = DPSource(50.0, 1e-5, 0.1, n_components=5, n_layers=2, random_state=0, **settings)
    return source.fit(X, y).release_


def transfer(estimator, source, y_of):
    X, y = data(120, 1)
    return estimator(source()).fit(X, y_of(X, y))


def fitted(model):
    X, y = data(300, 0)
    return model.fit(X, y)


def of_table(model):
    X, y = table(900, 0)
    settings = {"encoder": SCHEMA, "classes": [0, 1], "epsilon": 8.0, "model": model}
    return DPStatisticsSource(**settings, random_state=0).fit(X, y).release_


MODELS = {
    "linear": lambda: statistics(model="linear"),
    "linear of two": lambda: statistics(model="linear", classes=[0, 1]),
    "gradients": lambda: statistics(model="gradients"),
    "mixtures": lambda: statistics(model="mixtures"),
    "logistic": lambda: statistics(model="logistic"),
    "linear of a table": lambda: of_table("linear"),
    "gradients of a table": lambda: of_table("gradients"),
    "number": lambda: about_number("linear"),
    "gradients number": lambda: about_number("gradients"),
    "time": about_time,
    "rows": lambda: rows_release(parts="all"),
    "noise-aware rows": rows_release,
    "target classifier": lambda: transfer(DPTransferClassifier, statistics, lambda X, y: y),
    "target regressor": lambda: transfer(
        DPTransferRegressor, lambda: about_number("linear"), lambda X, y: X[:, 0] - 1
    ),
    "target of times": lambda: transfer(DPTransferSurvival, about_time, lambda X, y: exits(X)),
    "logistic regression": lambda: fitted(LogisticRegression()),
    "pipeline": lambda: fitted(make_pipeline(StandardScaler(), PCA(5), GaussianNB())),
    "neighbors": lambda: fitted(KNeighborsClassifier(algorithm="brute", weights="distance")),
    "network": lambda: fitted(MLPClassifier((20,), max_iter=20)),
    "machine": lambda: fitted(SVC(probability=True)),
    "forest": lambda: fitted(RandomForestClassifier(10)),
    "regression": lambda: BayesianRidge().fit(data(300, 0)[0], data(300, 0)[0][:, 0]),
}
OF_ARRAYS = [name for name in MODELS if "of a table" not in name]


@cache
def made(name):
    with warnings.catch_warnings(action="ignore"):
        return MODELS[name]()


def said(model, rows):
    """Return all numbers that an evaluation may read from a model."""
    if hasattr(model, "predict_survival_function"):
        return np.array(
            [curve(np.array(TIMES)) for curve in model.predict_survival_function(rows)]
        )
    if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
        return model.predict_proba(rows)
    return np.column_stack(model.predict(rows, return_std=True))


def bits(model, X):
    """Return the bits of what an evaluation reads of rows."""
    with warnings.catch_warnings(action="ignore"):
        X = _readable(model, X)
        size = said(model, X[:1] if isinstance(X, np.ndarray) else X.iloc[:1]).shape[1]
        return _row_by_row(lambda rows: said(model, rows), X, size).view(np.int64)


class TestEachRowAlone:
    @pytest.mark.parametrize("n_threads", [1, 2])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("name", OF_ARRAYS)
    def test_of_arrays(self, name, dtype, n_threads):
        model, (X, _) = made(name), data(400, 2, dtype)
        with threadpool_limits(n_threads):
            whole = bits(model, X)
            assert len(np.unique(whole, axis=0)) > 20
            for n in (*range(1, 14), 257):
                np.testing.assert_array_equal(bits(model, X[:n]), whole[:n])
            order = np.random.RandomState(0).permutation(400)
            np.testing.assert_array_equal(bits(model, X[order]), whole[order])
            # Another memory layout, other neighbors, and the same row again and again.
            np.testing.assert_array_equal(bits(model, np.asfortranarray(X)), whole)
            others = np.concatenate([1e3 * X[200:], X[:7], np.tile(X[3], (5, 1))]).astype(dtype)
            np.testing.assert_array_equal(bits(model, others)[200:], whole[[*range(7), *[3] * 5]])

    @pytest.mark.parametrize("model", ["linear", "gradients"])
    def test_of_tables(self, model):
        release, (X, _) = made(f"{model} of a table"), table(300, 1)
        whole = bits(release, X)
        for n in (1, 2, 3, 5, 7, 16):
            np.testing.assert_array_equal(bits(release, X[:n]), whole[:n])
            np.testing.assert_array_equal(bits(release, X.iloc[-n:]), whole[-n:])
        # One cell of text, or a missing one, changes the type of a column, and no other row.
        for strange in (np.nan, "unknown"):
            row = pd.DataFrame([{"age": strange, "dose": 5, "visits": strange, "ward": 7}])
            more = pd.concat([X.astype(object), row], ignore_index=True)
            np.testing.assert_array_equal(bits(release, more.infer_objects())[:300], whole)

    @pytest.mark.parametrize("name", ["logistic regression", "pipeline", "neighbors", "forest"])
    def test_of_tables_that_scikit_learn_reads(self, name):
        X, y = data(300, 0)
        integer = np.rint(4 * X[:, 0]).astype(int)
        frame = pd.DataFrame({f"x{j}": column for j, column in enumerate(X.T)}).assign(x0=integer)
        model = made(name).__sklearn_clone__().fit(frame, y)
        whole = bits(model, frame)
        for n in (1, 2, 3, 5, 11):
            np.testing.assert_array_equal(bits(model, frame[:n]), whole[:n])
        # Whole numbers become floats by one fraction.
        more = pd.concat([frame, frame[:1].assign(x0=0.5)], ignore_index=True)
        assert more["x0"].dtype.kind == "f"
        np.testing.assert_array_equal(bits(model, more)[:300], whole)
        np.testing.assert_array_equal(
            bits(model, pd.DataFrame(frame.to_numpy(), columns=frame.columns)), whole
        )


class Edge:
    """Bins with one edge, at the largest score that a row has among any number of others."""

    def __init__(self, edges, n=48):
        self.edges, self.n = edges, n

    def of(self, scores):
        return (scores >= self.edges).astype(np.int64)


def counts_of(model, X):
    """Return what is counted of rows of the first class, that all have the event at last."""
    n, labels = len(X), [np.zeros(len(X))]
    rows, weights = _readable(model, X), row_weights(None, n)
    if hasattr(model, "predict_survival_function"):
        labels = np.ones(n), np.full(n, 50.0)
        return TimeCounts(model, EventOutcome(90.0), TIMES).count(rows, labels, weights)
    if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
        outcome = ClassOutcome(model.classes_)
        return ClassCounts(model, outcome, None).count(rows, labels, weights)
    counts = NumberCounts(model, NumberOutcome(-3.0, 3.0), None).count(rows, labels, weights)
    return counts[: 16**2].reshape(1, 16, 16)


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_one_more_row_never_moves_the_others(name, monkeypatch):
    """The replay of an attack: the score of equal rows lies at the edge of a bin."""
    model, rng = made(name), np.random.RandomState(7)
    for x in rng.uniform(-1, 1, (6, P)):
        with warnings.catch_warnings(action="ignore"):
            found = [said(model, np.tile(x, (n, 1))) for n in range(1, 14)]
        edges = np.max([scores.max(axis=0) for scores in found], axis=0)
        place = NumericColumn("y", -3.0, 3.0).positions(edges[:1])
        survives = hasattr(model, "predict_survival_function")
        edges = edges[1:] if len(edges) == 2 and not survives else edges
        monkeypatch.setattr(evaluation, "SCORE_BINS", Edge(edges))
        lowest = np.min([scores.min(axis=0) for scores in found], axis=0)
        monkeypatch.setattr(evaluation, "TIME_BINS", Edge(1 - lowest if survives else edges, 20))
        monkeypatch.setattr(evaluation, "cell_of", Edge(place).of)
        before = counts_of(model, np.tile(x, (1, 1)))
        for n in range(2, 14):
            after = counts_of(model, np.tile(x, (n, 1)))
            np.testing.assert_array_equal(np.abs(after - before).sum(axis=(1, 2)), ROW)
            before = after


def test_nor_does_it_with_a_hostile_release():
    release, rng = made("logistic"), np.random.RandomState(0)
    for _ in range(30):
        # Two scores that nearly cancel, and four classes that are alike: even odds, at an edge.
        x, coefficients = rng.uniform(-1, 1, P), 1e3 * rng.standard_normal((N_CLASSES, P))
        coefficients[2:] = coefficients[1]
        scores = (x[np.newaxis] @ coefficients.T)[0]
        intercepts = np.append(np.log(4) + scores[1] - scores[0], np.zeros(4))
        linear = replace(release.linear, coefficients=coefficients, intercepts=intercepts)
        model = replace(release.model, linear=linear, confidence=None)
        hostile = replace(release, model=model)
        found = []
        for n in (11, 12):
            with warnings.catch_warnings(action="ignore"):
                rows = np.tile(x, (n, 1)), np.zeros(n, dtype=int)
                found.append(evaluate_privately(hostile, *rows, epsilon=np.inf).histograms)
        assert (np.abs(found[1] - found[0]).sum(axis=(1, 2)) == 1).all()
