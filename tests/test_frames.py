"""What takes a table takes those of all libraries, with the same result: all of the core."""

import importlib
import inspect
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import skdp
from skdp import (
    CDMMA,
    CDMMAClassifier,
    DeepFuzzyAutoencoder,
    DeepFuzzyClassifier,
    DeepFuzzyRegressor,
    DPNoiseRegressor,
    DPSource,
    DPStatisticsSource,
    DPTransferClassifier,
    DPTransferRegressor,
    DPTransferSurvival,
    GaussianDPNoise,
    LabeledScorer,
    LabeledSplit,
    MembershipMapping,
    OptimalDPNoise,
    OrientedGradients,
    Release,
    StaircaseDPNoise,
    TabularEncoder,
    WideCDMMA,
    WideCDMMAClassifier,
    evaluate_privately,
    quantile_bounds,
    schema_from,
)
from skdp.privacy import PrivacyLedger
from skdp.tabular import (
    CategoryColumn,
    NumberOutcome,
    NumericColumn,
    check_table,
    explain_prediction,
)

pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
pl = pytest.importorskip("polars", reason="compares with polars")

# Seeded noise and tiny samples warn, but nothing is asked for here but equal results.
pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMA = {
    "version": 1,
    "columns": {
        "age": {"type": "numeric", "low": 0, "high": 100},
        "dose": {"type": "numeric", "low": 0, "high": 10, "missing": True},
        "visits": {"type": "numeric", "low": 0, "high": 9, "missing": True},
        "ward": {"type": "category", "categories": ["A", "B"], "missing": True},
        "smokes": {"type": "category", "categories": ["False", "True"]},
    },
    "classes": ["no", "yes"],
}


class Stream:
    """A table with Arrow's interface and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def arrow(values):
    if isinstance(values, pd.DataFrame):
        return pa.Table.from_pandas(values, preserve_index=False)
    return pa.chunked_array([pa.array(values, from_pandas=True)])


def polars(values):
    return pl.from_arrow(arrow(values))


def lazy(values):
    return polars(values).lazy() if isinstance(values, pd.DataFrame) else polars(values)


def stream(values):
    return Stream(arrow(values)) if isinstance(values, pd.DataFrame) else arrow(values)


FORMS = {
    "pyarrow": arrow,
    "polars": polars,
    "polars, lazy": lazy,
    "pandas, Arrow's types": lambda values: arrow(values).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, nullable": lambda values: values.convert_dtypes(),
    "stream": stream,
}


@dataclass
class Tables:
    """Rows in the form of one library.

    Attributes
    ----------
    mixed, labeled, numbers : table
        All kinds of columns, with missing values; these with labels and IDs of people; and numbers
        alone.

    first : table
        The first row of numbers.

    times : table
        Outcomes that are times to an event, some of them unknown.

    all_times : table
        The same, all of them known.

    y, whole, real, groups : column
        Labels that are text, labels that are whole numbers, outputs, and people.
    """

    mixed: Any
    labeled: Any
    numbers: Any
    first: Any
    times: Any
    all_times: Any
    y: Any
    whole: Any
    real: Any
    groups: Any


@cache
def plain():
    """Return rows in NumPy's types."""
    rng, n = np.random.RandomState(0), 80
    whole, absent = np.arange(n) % 2, rng.rand(n) < 0.2
    signal = np.clip(rng.rand(n) + 0.3 * whole, 0, 1)
    numbers = pd.DataFrame(
        {"a": signal, "b": rng.rand(n), "c": rng.randint(2, size=n), "d": signal < 0.5}
    )
    mixed = pd.DataFrame(
        {
            "age": rng.randint(100, size=n),
            "dose": np.where(absent, np.nan, signal * 10),
            "visits": np.where(absent, np.nan, rng.randint(9, size=n)),
            "ward": pd.Series(np.where(absent, None, rng.choice(["B", "A"], n)), dtype=object),
            "smokes": rng.rand(n) < 0.5,
        }
    )
    y = pd.Series(np.where(whole, "yes", "no"), dtype=object)
    groups = pd.Series(np.arange(n) // 4 * 2 + whole)
    labeled = mixed.assign(y=y, who=groups)
    columns = y, pd.Series(whole), pd.Series(rng.rand(n)), groups
    times = pd.DataFrame({"event": whole == 1, "time": np.where(absent, np.nan, 9 - 9 * signal)})
    all_times = times.assign(time=9 - 9 * signal)
    return Tables(mixed, labeled, numbers, numbers[:1], times, all_times, *columns)


@cache
def tables(form):
    return Tables(*(FORMS[form](getattr(plain(), field.name)) for field in fields(Tables)))


def source(**settings):
    settings = {"encoder": SCHEMA, "random_state": 0, "model": "linear", **settings}
    return DPStatisticsSource(8.0, **settings)


@cache
def number_release():
    outcome = {"type": "number", "low": 0, "high": 1}
    schema = {"version": 1, "columns": SCHEMA["columns"], "outcome": outcome}
    return source(encoder=schema).fit(plain().mixed, plain().real).release_


@cache
def release_of_numbers():
    settings = {"bounds": (-9, 9), "classes": ["no", "yes"], "model": "linear"}
    return DPStatisticsSource(8.0, **settings).fit(plain().numbers, plain().y).release_


@cache
def time_release():
    outcome = {"type": "event", "horizon": 1}
    schema = {"version": 1, "columns": SCHEMA["columns"], "outcome": outcome}
    exits = pd.DataFrame({"event": True, "time": np.abs(plain().real)})
    return source(encoder=schema).fit(plain().mixed, exits).release_


@cache
def number_transfer():
    return DPTransferRegressor(number_release()).fit(plain().mixed, plain().real)


@cache
def times_transfer():
    """A target with times: unknown ones are no outcome of a source."""
    outcome = {"type": "event", "horizon": 9}
    schema = {"version": 1, "columns": SCHEMA["columns"], "outcome": outcome}
    release = source(encoder=schema).fit(plain().mixed, plain().times.fillna(9)).release_
    return DPTransferSurvival(release).fit(plain().mixed, plain().times)


def fuzzy():
    return DeepFuzzyClassifier(2, 5, random_state=0)


def noisy_regressor():
    noises = [OptimalDPNoise(100.0, bounds=(0, 1), random_state=seed) for seed in (0, 1)]
    return DPNoiseRegressor(LinearRegression(), noise=noises[0], target_noise=noises[1])


# Models of numbers, and labels or outputs that they learn.
MAKERS = {
    "CDMMA": (partial(CDMMA, 2, 5, 2, random_state=0), None),
    "WideCDMMA": (partial(WideCDMMA, 2, 5, 2, random_state=0), None),
    "DeepFuzzyAutoencoder": (partial(DeepFuzzyAutoencoder, 2, 5, random_state=0), None),
    "OptimalDPNoise": (partial(OptimalDPNoise, random_state=0), None),
    "StaircaseDPNoise": (partial(StaircaseDPNoise, random_state=0), None),
    "GaussianDPNoise": (partial(GaussianDPNoise, random_state=0), None),
    "OrientedGradients": (partial(OrientedGradients, (2, 2), scales=[1.0]), None),
    "CDMMAClassifier": (partial(CDMMAClassifier, 2, 5, 2, random_state=0), "y"),
    "WideCDMMAClassifier": (partial(WideCDMMAClassifier, 2, 5, 2, random_state=0), "y"),
    "DeepFuzzyClassifier": (fuzzy, "y"),
    "MembershipMapping": (partial(MembershipMapping, 5, random_state=0), "real"),
    "DeepFuzzyRegressor": (partial(DeepFuzzyRegressor, 2, 5, random_state=0), "real"),
    "DPNoiseRegressor": (noisy_regressor, "real"),
    "DecisionTreeClassifier": (partial(DecisionTreeClassifier, max_depth=2, random_state=0), "y"),
    "LogisticRegression": (LogisticRegression, "y"),
}


@cache
def model(name):
    """Return a model of rows in NumPy's types."""
    make, y = MAKERS[name]
    return make().fit(plain().numbers, y and getattr(plain(), y))


@cache
def release():
    return source().fit(plain().mixed, plain().y).release_


@cache
def transfer():
    return DPTransferClassifier(release(), random_state=0).fit(plain().mixed, plain().y)


def add(t):
    accumulator = source().accumulator()
    accumulator.add(t.mixed, t.y)
    return accumulator._exact()


AUTOENCODER = "transform reconstruct reconstruction_error"
CLASSIFIER = "predict predict_proba decision_function log_odds reconstruction_errors score"
METHODS = {
    "CDMMA": f"{AUTOENCODER} layer_outputs fit_transform",
    "WideCDMMA": f"{AUTOENCODER} layer_outputs fit_transform",
    "DeepFuzzyAutoencoder": f"{AUTOENCODER} membership fit_transform",
    "OrientedGradients": "transform fit_transform",
    "OptimalDPNoise": "transform inverse_transform fit_transform guarantee_for",
    "StaircaseDPNoise": "transform inverse_transform fit_transform guarantee_for",
    "GaussianDPNoise": "transform inverse_transform fit_transform guarantee_for",
    "CDMMAClassifier": CLASSIFIER,
    "WideCDMMAClassifier": CLASSIFIER,
    "DeepFuzzyClassifier": f"{CLASSIFIER} memberships",
    "MembershipMapping": "predict score",
    "DeepFuzzyRegressor": "predict score",
    "DPNoiseRegressor": "predict score",
}


def call(name, method, t):
    """Call a method of a model of numbers."""
    make, y = MAKERS[name]
    outputs = y and getattr(t, y)
    if method == "fit" or method == "fit_transform":
        return getattr(make(), method)(t.numbers, outputs)
    rest = (outputs,) if method == "score" else ()
    return getattr(model(name), method)(t.numbers, *rest)


# What is called with tables, by the name of each public function and method.
CALLS = {
    f"{name}.{method}": partial(call, name, method)
    for name, methods in METHODS.items()
    for method in ["fit", *methods.split()]
}
CALLS |= {
    f"DPTransferClassifier.{method}": lambda t, method=method: getattr(transfer(), method)(t.mixed)
    for method in (
        *("predict", "predict_proba", "decision_function", "source_scores", "target_scores"),
    )
}
CALLS |= {
    f"Release.{method}": lambda t, method=method: getattr(release(), method)(t.mixed)
    for method in ("encode", "predict", "predict_proba", "scores")
}
TREE, LOGISTIC = (
    partial(model, name) for name in ("DecisionTreeClassifier", "LogisticRegression")
)
CALLS |= {
    "CDMMA.inverse_transform": lambda t: (
        CDMMA(4, 5, 2, random_state=0).fit(plain().numbers).inverse_transform(t.numbers)
    ),
    "DeepFuzzyAutoencoder.inverse_transform": lambda t: (
        DeepFuzzyAutoencoder(4, 5, random_state=0).fit(plain().numbers)
    ).inverse_transform(t.numbers),
    "WideCDMMA.partial_fit": lambda t: MAKERS["WideCDMMA"][0]().partial_fit(t.numbers),
    "WideCDMMAClassifier.partial_fit": lambda t: (
        MAKERS["WideCDMMAClassifier"][0]().partial_fit(t.numbers, t.y).partial_fit(t.numbers, t.y)
    ),
    "DeepFuzzyClassifier.fit": lambda t: fuzzy().fit(t.numbers, t.y, groups=t.whole),
    "DeepFuzzyClassifier.explain": lambda t: model("DeepFuzzyClassifier").explain(t.first),
    "DPStatisticsSource.fit": lambda t: [
        source().fit(t.mixed, t.y),
        source(encoder=None, classes=[0, 1]).fit(t.numbers, t.whole),
        source(privacy_unit="group").fit(t.mixed, t.y, t.groups),
    ],
    "DPStatisticsSource.guarantee_for": lambda t: source().guarantee_for(t.mixed, t.y),
    "StatisticsAccumulator.add": add,
    "DPSource.fit": lambda t: rows_source(encoder=SCHEMA).fit(t.mixed, t.y),
    "DPSource.guarantee_for": lambda t: rows_source().guarantee_for(t.numbers, t.y),
    "quantile_bounds": lambda t: quantile_bounds(
        t.mixed, ["age", "dose"], ["ward"], epsilon=50.0, groups=t.groups, random_state=0
    ),
    "evaluate_privately": lambda t: [
        evaluate_privately(release(), t.mixed, t.y, groups=t.groups, random_state=0),
        evaluate_privately(LOGISTIC(), t.numbers, t.y, random_state=0),
    ],
    "PrivacyLedger.release": lambda t: PrivacyLedger(20.0).release(source(), t.mixed, t.y),
    "Release.score": lambda t: release().score(t.mixed, t.y),
    "Release.explain": lambda t: release_of_numbers().explain(t.first),
    "Release.predict_proba_at": lambda t: time_release().predict_proba_at(t.mixed, [0.3]),
    **{
        f"Release.predict_{curve}_function": lambda t, curve=curve: getattr(
            time_release(), f"predict_{curve}_function"
        )(t.mixed, return_array=True)
        for curve in ("survival", "cumulative_hazard")
    },
    "DPTransferClassifier.fit": lambda t: [
        DPTransferClassifier(release(), random_state=0).fit(t.mixed, t.y),
        DPTransferClassifier(random_state=0).fit(t.numbers, t.whole),
    ],
    "DPTransferClassifier.score": lambda t: transfer().score(t.mixed, t.y),
    "DPTransferRegressor.fit": lambda t: [
        DPTransferRegressor(number_release()).fit(t.mixed, t.real),
        DPTransferRegressor().fit(t.numbers, t.whole),
    ],
    "DPTransferRegressor.predict": lambda t: number_transfer().predict(t.mixed),
    "DPTransferRegressor.score": lambda t: number_transfer().score(t.mixed, t.real),
    "DPTransferSurvival.fit": lambda t: [
        clone(times_transfer()).fit(t.mixed, t.times),
        DPTransferSurvival().fit(t.numbers, t.times),
    ],
    "DPTransferSurvival.predict": lambda t: times_transfer().predict(t.mixed),
    "DPTransferSurvival.predict_proba_at": lambda t: times_transfer().predict_proba_at(
        t.mixed, [2.0]
    ),
    "DPTransferSurvival.score": lambda t: times_transfer().score(t.mixed, t.all_times),
    "DPTransferRegressor.explain": lambda t: (
        DPTransferRegressor().fit(plain().numbers, plain().real).explain(t.first)
    ),
    "DPTransferSurvival.explain": lambda t: (
        DPTransferSurvival().fit(plain().numbers, plain().times).explain(t.first)
    ),
    **{
        f"DPTransferSurvival.predict_{curve}_function": lambda t, curve=curve: getattr(
            times_transfer(), f"predict_{curve}_function"
        )(t.mixed, return_array=True)
        for curve in ("survival", "cumulative_hazard")
    },
    "DPTransferClassifier.explain": lambda t: (
        DPTransferClassifier(random_state=0).fit(plain().numbers, plain().y).explain(t.first)
    ),
    "LabeledScorer.__call__": lambda t: LabeledScorer("roc_auc")(LOGISTIC(), t.numbers, t.y),
    "LabeledSplit.split": lambda t: list(LabeledSplit(3).split(t.numbers, t.y, t.groups)),
    "TabularEncoder.fit": lambda t: [
        TabularEncoder(SCHEMA).fit(t.mixed),
        TabularEncoder().fit(t.numbers),
    ],
    "TabularEncoder.transform": lambda t: (
        TabularEncoder(SCHEMA).fit(plain().mixed).transform(t.mixed)
    ),
    "TabularEncoder.fit_transform": lambda t: TabularEncoder(SCHEMA).fit_transform(t.mixed),
    "TabularEncoder.inverse_transform": lambda t: (
        TabularEncoder({name: {"type": "numeric", "low": 0, "high": 9} for name in "abcd"})
        .fit(plain().numbers)
        .inverse_transform(t.numbers)
    ),
    "NumericColumn.encode": lambda t: NumericColumn("real", 0, 1).encode(t.real),
    "NumericColumn.positions": lambda t: NumericColumn("real", 0, 1).positions(t.real),
    "NumberOutcome.positions": lambda t: NumberOutcome(0, 1).positions(t.real),
    "CategoryColumn.encode": lambda t: CategoryColumn("y", ("no", "yes")).encode(t.y),
    "CategoryColumn.codes": lambda t: CategoryColumn("y", ("no", "yes")).codes(t.y),
    "CategoryColumn.positions": lambda t: CategoryColumn("y", ("no", "yes")).positions(t.y),
    "schema_from": lambda t: schema_from(t.labeled, public=True, label="y").to_json(),
    "check_table": lambda t: check_table(t.labeled, SCHEMA, label="y", group="who"),
    "explain_prediction": lambda t: explain_prediction(lambda X: X[:, :2], t.first, ["a", "b"]),
}
# What takes more than 0.1 s is called with two forms: the nearest to NumPy's, and the farthest.
SLOW = {
    *("DPStatisticsSource.fit", "PrivacyLedger.release", "DPTransferClassifier.fit"),
    *("DPTransferClassifier.explain", "DeepFuzzyClassifier.explain"),
}
# What takes a table that it does not read, or one of a single library.
UNREAD = {"LabeledSplit.get_n_splits", "Release.fit"}
UNREAD |= {"StatisticsAccumulator.add_dask", "StepFunction.__call__"}

ROWS = {"X", "x", "frame", "table", "rows", "data", "values"}


def rows_source(**settings):
    settings = settings or {"bounds": (0, 1)}
    noise = OptimalDPNoise(8.0, random_state=0)
    return DPSource(noise=noise, n_components=2, n_layers=1, random_state=0, **settings)


def takes_a_table(function):
    """Tell whether a function has a parameter of rows that need not be an array."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # of a class that is written in C
        return False
    named = (p for p in parameters if p.name in ROWS or "DataFrame" in str(p.annotation))
    return any(p.annotation is not np.ndarray for p in named)


def public_functions(modules):
    """Yield the name of each public function and method, and the function."""
    for module in modules:
        names = getattr(module, "__all__", ()) if module.__name__ != "skdp.neural" else ()
        for name in names:  # skdp.neural needs PyTorch; test_architecture.py looks at its files
            public = getattr(module, name)
            if not inspect.isclass(public):
                yield name, public
                continue
            for method in dir(public):
                listed = not method.startswith(("_", "set_")) or method == "__call__"
                if listed and callable(getattr(public, method)):
                    yield f"{name}.{method}", getattr(public, method)


def core():
    """Return the packages of the core; satellites read tables by its functions."""
    names = ("source", "transfer", "release", "tabular", "noise", "privacy", "membership")
    return [skdp, *(importlib.import_module(f"skdp.{name}") for name in names)]


def test_no_function_that_takes_a_table_is_forgotten():
    found = {name for name, each in public_functions(core()) if takes_a_table(each)}
    assert found - UNREAD == set(CALLS)


def test_a_new_function_would_be_found():
    def new(release: Release, patients: pd.DataFrame):
        """Something with a table of any name."""

    def another(rows):
        """Something with rows."""

    def numbers_only(rows: np.ndarray):
        """Something that takes arrays alone."""

    assert takes_a_table(new)
    assert takes_a_table(another)
    assert not takes_a_table(numbers_only)


def content(result):
    """Return what two equal results have in common, as plain values and arrays."""
    if isinstance(result, Release):
        return [result.feature_names, result.classes, *result.sample(9, random_state=0)]
    if isinstance(result, BaseEstimator):
        return {k: content(v) for k, v in vars(result).items() if k.endswith("_")}
    if is_dataclass(result):
        return {each.name: content(getattr(result, each.name)) for each in fields(result)}
    if isinstance(result, list | tuple):
        return [content(each) for each in result]
    if isinstance(result, dict):
        return {k: content(v) for k, v in result.items()}
    if hasattr(result, "__dict__") and not isinstance(result, pd.DataFrame):
        return type(result)
    return result


def assert_same(ours, theirs):
    if isinstance(ours, pd.DataFrame):
        assert_frame_equal(ours, theirs, check_dtype=False)  # text has several
    elif isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for name, value in ours.items():
            assert_same(value, theirs[name])
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    else:
        assert type(ours) is type(theirs)
        if np.asarray(ours).dtype.kind == "f":  # sums of columns in another order in memory
            assert_allclose(ours, theirs, rtol=1e-11)
        else:
            assert_array_equal(ours, theirs)
        assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)


@cache
def expected(name):
    result = content(CALLS[name](plain()))
    assert not isinstance(result, type), "an empty result equals any other"
    return result


@pytest.mark.parametrize("name", sorted(CALLS))
def test_tables_of_all_libraries_give_the_same_result(name):
    for form in ("pandas, nullable", "stream") if name in SLOW else FORMS:
        assert_same(content(CALLS[name](tables(form))), expected(name))
