import contextlib
import copy
import pickle
import re
import traceback
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context, set_config
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skdp import (
    DPSource,
    DPStatisticsSource,
    OptimalDPNoise,
    PrivacyLeakWarning,
    RandomizedResponse,
    quantile_bounds,
)
from skdp.noise import GaussianQueries
from skdp.privacy import BudgetExceededError, PrivacyLedger
from skdp.source import _rows_source

# What a release of few rows warns of, after all is done.
OF_FEW_ROWS = "This release (does not|may) separate the classes"
SMALL = {"n_components": 1, "n_layers": 1, "random_state": 0}


def rows_source(epsilon=1.0, **settings):
    return DPSource(epsilon, **{"bounds": (0, 1), **SMALL, **settings})


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
            drawn.append((len(X), len(ledger.entries)))
            return super()._perturb(X)

    class Response(RandomizedResponse):
        def transform(self, y):
            drawn.append((len(y), len(ledger.entries)))
            return super().transform(y)

    ledger = PrivacyLedger(epsilon=8.0)
    settings = {"noise": Noise(1.0), "label_noise": Response(1.0), "ledger": ledger}
    source = DPSource(bounds=(0, 1), **settings, **SMALL).fit(*small)
    # First of two public rows of each class, then of private ones.
    n = len(small[0])
    assert drawn == [(6, 0), (6, 0), (n, 1), (n, 1)]
    assert ledger.total == source.release_.record_guarantee  # 6 elements at 1, and a label
    with pytest.raises(BudgetExceededError):
        source.fit(*small)
    assert drawn[4:] == [(6, 1), (6, 1)]


def test_statistics_are_booked_before_anything_is_drawn(small, monkeypatch):
    drawn = []
    add = GaussianQueries.add

    def watch(self, *query):
        drawn.append(len(ledger.entries))
        return add(self, *query)

    monkeypatch.setattr(GaussianQueries, "add", watch)
    ledger = PrivacyLedger(epsilon=1.2)
    generator = np.random.RandomState(0)
    settings = {"ledger": ledger, "random_state": generator, "model": "linear"}
    source = statistics_source(**settings).fit(*small)
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
def test_a_search_stops_where_the_budget_ends(small, make):
    ledger = PrivacyLedger(epsilon=3.3)
    grid = {"epsilon": [1.0, 4.0]}
    search = GridSearchCV(
        make(ledger=ledger), grid, scoring=accuracy, cv=2, error_score="raise", refit=False
    )
    with pytest.raises(BudgetExceededError):
        search.fit(*small)
    assert [round(guarantee.epsilon, 6) for _, guarantee in ledger.entries] == [1.0, 1.0]


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
    with pytest.raises(FileNotFoundError, match=r"The ledger .* does not exist"):
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
        with pytest.raises(ValueError, match="its own 'ledger'"):
            PrivacyLedger().release(unbooked, *small)
    assert len(ledger.entries) == 1
    copied = copy.deepcopy(source).set_params(ledger=ledger).fit(*small)
    assert len(ledger.entries) == 2
    assert copied.release_ is not source.release_
    assert pickle.loads(pickle.dumps(make().fit(*small))).ledger is None


@sources
def test_no_fit_is_booked_twice(small, make):
    ledger = PrivacyLedger()
    with pytest.raises(ValueError, match="its own 'ledger'"):
        ledger.release(make(ledger=ledger), *small)
    assert ledger.entries == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=OF_FEW_ROWS)
        source = ledger.release(make(), *small)
    assert source.ledger is None  # which is for one fit
    assert len(ledger.entries) == 1


def schema_and_table(rng):
    schema = {
        "columns": {
            "age": {"type": "numeric", "low": 0, "high": 100},
            "ward": {"type": "category", "categories": ["A", "B", "C"]},
        },
        "classes": [0, 1, 2],
        "version": 1,
    }
    table = pd.DataFrame(
        {"age": rng.randint(100, size=60), "ward": np.resize(["A", "B", "C"], 60)}
    )
    return schema, table


SETTINGS = [
    {"transform_output": "pandas"},
    {"transform_output": "polars"},
    {"assume_finite": True},
    {"working_memory": 0},
    {"array_api_dispatch": True},
    {"enable_metadata_routing": True},
    {"skip_parameter_validation": True},
    {"enable_cython_pairwise_dist": False},
]


@contextlib.contextmanager
def set_globally(settings):
    """Set what belongs to scikit-learn, NumPy, pandas, joblib or the warnings of Python."""
    with contextlib.ExitStack() as stack:
        for name, value in settings.items():
            if name == "errstate":
                stack.enter_context(np.errstate(all=value))
            elif name == "warnings":
                stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter(value)
                warnings.filterwarnings("ignore", message=OF_FEW_ROWS)
            elif name == "backend":
                stack.enter_context(joblib.parallel_config(value, n_jobs=2))
            elif "." in name:
                stack.enter_context(pd.option_context(name, value))
            else:
                stack.enter_context(config_context())
                try:
                    set_config(**{name: value})
                except RuntimeError:  # SciPy's own support is off, or polars is not there
                    pytest.skip(f"{name} cannot be set here")
        yield


@pytest.mark.parametrize("encoded", [False, True])
@sources
@pytest.mark.parametrize(
    "settings",
    [
        *SETTINGS,
        {"errstate": "raise"},
        {"errstate": "warn", "warnings": "error"},
        {"warnings": "error"},
        {"mode.copy_on_write": True},
        {"future.infer_string": True},
        {"future.infer_string": False},
        {"mode.string_storage": "python"},
        {"backend": "threading"},
        {"backend": "loky"},
        {"transform_output": "pandas", "errstate": "raise", "warnings": "error"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
def test_no_global_setting_stops_a_fit_halfway(rng, small, make, encoded, settings):
    ledger = PrivacyLedger()
    source, (X, y) = make(ledger=ledger), small
    if encoded:
        schema, X = schema_and_table(rng)
        y = rng.randint(3, size=60)
        source.set_params(encoder=schema)
        source.set_params(bounds=(0, 1) if "model" in source.get_params() else None)
    with set_globally(settings):
        source.fit(X, y)
    assert [guarantee for _, guarantee in ledger.entries] == [source.guarantee_]
    assert np.isfinite(source.release_.predict_proba(X)).all()


@sources
@pytest.mark.parametrize("settings", [{"epsilon": np.inf}, {"epsilon": -1.0}])
def test_what_warnings_or_parameters_stop_is_not_charged(small, make, settings):
    ledger = PrivacyLedger()
    with config_context(skip_parameter_validation=True), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            (PrivacyLeakWarning, ValueError), match=r"no noise|'epsilon' parameter"
        ):
            make(**settings, ledger=ledger).fit(*small)
    assert ledger.entries == []


def test_warnings_of_a_noise_which_may_quote_rows_are_not_shown(small, recwarn):
    class Warns(OptimalDPNoise):
        def _perturb(self, X):
            warnings.warn(f"the first row is {X[0]}", stacklevel=1)
            return super()._perturb(X)

    DPSource(noise=Warns(1.0), bounds=(0, 1), **SMALL).fit(*small)
    assert not [w for w in recwarn if "first row" in str(w.message)]


def few_rows(ledger):
    source = statistics_source(1e-2, ledger=ledger)
    return source.fit(np.zeros((30, 2)), np.arange(30) % 3).release_


def few_values(ledger):
    return quantile_bounds(pd.DataFrame({"age": [40.0, 50.0]}), ["age"], ledger=ledger)


@pytest.mark.parametrize(
    ("make", "said"),
    [(few_rows, "doubt about it"), (few_values, "Noise hides the values")],
)
def test_warnings_behind_the_charge_do_not_raise(make, said, monkeypatch):
    ledger, made = PrivacyLedger(), []
    doubt = "skdp.source._statistics_source.warn_of_doubt"  # which depends on the noise
    monkeypatch.setattr(doubt, lambda release: warnings.warn("doubt about it", stacklevel=1))

    def under_strict_filters():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made.append(make(ledger))

    with pytest.warns(UserWarning, match=said):
        under_strict_filters()
    assert [guarantee for _, guarantee in ledger.entries] == [made[0].guarantee]


@pytest.mark.parametrize("where", ["GaussianQueries.add", "noise", "Release"])
def test_what_fails_behind_the_charge_shows_nothing(small, where, monkeypatch):
    ledger = PrivacyLedger()

    def fail(*args, **settings):
        if ledger.entries:  # not in the rehearsal, which would refuse
            raise KeyError("Ann has 7391")
        return release(**settings)

    class Noise(OptimalDPNoise):
        def _perturb(self, X):
            if len(X) == len(small[0]):
                raise KeyError("Ann has 7391")
            return super()._perturb(X)

    release = _rows_source.Release
    make = statistics_source if where == "GaussianQueries.add" else rows_source
    settings = {"noise": Noise(1.0)} if where == "noise" else {}
    if where == "Release":
        monkeypatch.setattr(_rows_source, "Release", fail)
    monkeypatch.setattr(GaussianQueries, "add", fail)
    with pytest.raises(RuntimeError, match=r"failed with KeyError at .*test_publica") as error:
        make(ledger=ledger, **settings).fit(*small)
    shown = "".join(traceback.format_exception(error.value))
    assert not re.search("Ann|7391", shown)
    assert len(ledger.entries) == 1


def test_rows_and_noise_of_extreme_size_are_refused_before_the_charge(small):
    X, y = small
    ledger = PrivacyLedger()
    for factor, sensitivity in ((1e13, 1.0), (1.0, 1e12), (1e-14, 1e-14)):
        source = DPSource(sensitivity=sensitivity, ledger=ledger, **SMALL)
        with pytest.raises(ValueError, match="must have its largest magnitude between") as error:
            source.fit(factor * X, y)
        assert "got" not in str(error.value)
    source = DPSource(sensitivity=1.0, ledger=ledger, **SMALL)
    with pytest.raises(ValueError, match="is the noise too small for it"):
        source.fit((1e9 * X).astype(np.float32), y)
    assert ledger.entries == []


def test_noise_that_the_grid_does_not_hold_is_refused_before_the_charge(small):
    ledger = PrivacyLedger()
    source = DPStatisticsSource(3e-7, 1e-100, classes=[0, 1, 2], ledger=ledger, model="linear")
    with pytest.raises(ValueError, match="epsilon is too small for the grid"):
        source.fit(small[0][:, :2], small[1])
    assert ledger.entries == []


@pytest.mark.parametrize("model", ["linear", "gradients"])
def test_more_rows_than_are_summed_exactly_are_refused_before_the_charge(model, monkeypatch):
    monkeypatch.setattr("skdp.source._private_rows.MAX_ROWS", 9)
    ledger = PrivacyLedger()
    source = DPStatisticsSource(8.0, classes=[0, 1], model=model, ledger=ledger)
    with pytest.raises(ValueError, match="more than 9 rows"):
        source.fit(np.full((10, 2), 0.5), np.arange(10) % 2)
    assert not ledger.entries
