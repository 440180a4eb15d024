"""Private tables, labels and person ids: the same checks for everything that takes them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skdp import (
    DPSource,
    DPStatisticsSource,
    GaussianDPNoise,
    PrivacyLeakWarning,
    evaluate_privately,
    quantile_bounds,
)
from skdp.commands import main
from skdp.privacy import PrivacyLedger
from skdp.source._door import read_persons

N = 400
LARGE = 2**53 + np.arange(N) // 2  # of two rows each; as floats, two people become one


@pytest.fixture
def rows(rng):
    return pd.DataFrame({"age": rng.uniform(20, 80, N), "ward": rng.choice(["A", "B"], N)})


def summed(rows, groups, **settings):
    source = DPStatisticsSource(
        1.0, bounds=(0, 100), classes=["A", "B"], privacy_unit="group", **settings
    )
    return source.fit(rows[["age"]], rows["ward"], groups=groups).release_


def evaluated(rows, groups, **settings):
    model = LogisticRegression().fit([[20], [80]], ["A", "B"])
    return evaluate_privately(
        model, rows[["age"]].to_numpy(), rows["ward"], groups=groups, **settings
    )


def bounded(rows, groups, **settings):
    return quantile_bounds(rows, ["age"], ["ward"], epsilon=8.0, groups=groups, **settings)


callers = pytest.mark.parametrize("call", [summed, evaluated, bounded])
BROKEN = [
    LARGE.astype(float),
    pd.Series([*LARGE[:-1], 1.5]),
    np.array([*LARGE[:-1], 1.5], dtype=object),
    np.array(["2020-01-01"] * N, dtype="M8[D]"),
    np.array([True, False] * (N // 2)),
    np.array([1j] * N),
]


@callers
@pytest.mark.parametrize("groups", BROKEN, ids=range(len(BROKEN)))
def test_ids_that_can_collide_are_refused_everywhere(rows, call, groups):
    ledger = PrivacyLedger()
    with pytest.raises(ValueError, match=r"whole numbers only, or text only.*leave such rows out"):
        call(rows, groups, ledger=ledger)
    assert ledger.entries == []


@callers
@pytest.mark.parametrize("mark", [None, np.nan, pd.NA, "", "NA"])
def test_missing_ids_are_refused_everywhere(rows, call, mark):
    ledger = PrivacyLedger()
    with pytest.raises(ValueError, match="lacks the group of some rows"):
        call(rows, np.array([mark, *map(str, LARGE[1:])], dtype=object), ledger=ledger)
    with pytest.raises(ValueError, match="one entry for each row"):
        call(rows, LARGE[1:], ledger=ledger)
    assert ledger.entries == []


def test_large_ids_stay_different_people():
    for ids in (LARGE, LARGE.astype(object), LARGE.astype(str), pd.Series(LARGE, dtype="Int64")):
        assert len(set(read_persons(ids, N, "f").tolist())) == N // 2


def test_ids_in_both_forms_of_unicode_are_one_person():
    ids = np.array(["Jo\u0308rg", "J\u00f6rg", "Jorg"], dtype=object)
    assert len(set(read_persons(ids, 3, "f").tolist())) == 2


@pytest.mark.parametrize("command", ["evaluate", "bounds"])
def test_commands_refuse_them_too(rows, command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    schema = {"version": 1, "classes": ["A", "B"]}
    schema["columns"] = {"age": {"type": "numeric", "low": 0, "high": 100}}
    release = DPStatisticsSource(8.0, encoder=schema).fit(rows[["age"]], rows["ward"]).release_
    release.save("public.skdp")
    rows.assign(id=BROKEN[1]).to_parquet("rows.parquet")
    what = {
        "evaluate": ["evaluate", "public.skdp", "rows.parquet", "--label", "ward"],
        "bounds": ["bounds", "rows.parquet", "--numeric", "age"],
    }[command]
    budget = ["--ledger", "l.json", "--budget-epsilon", "9", "--budget-delta", "1e-3"]
    assert main([*what, "--group", "id", "--epsilon", "1", *budget, "-o", "out.json"]) == 1
    assert "whole numbers only, or text only" in capsys.readouterr().err
    assert PrivacyLedger(path="l.json").entries == []


OTHER_TYPES = [
    pd.Timestamp("2020-01-01"),
    pd.Timedelta("1D"),
    1j,
]


@pytest.mark.parametrize("value", OTHER_TYPES)
@pytest.mark.parametrize("kind", ["numeric", "categories"])
def test_types_are_refused_before_the_charge(rows, value, kind):
    ledger = PrivacyLedger()
    with pytest.raises(ValueError, match="dates, durations or complex numbers in the columns 'c'"):
        quantile_bounds(rows.assign(c=value), **{kind: ["c"]}, epsilon=1.0, ledger=ledger)
    assert ledger.entries == []


def test_a_column_without_numbers_is_refused_before_the_charge(rows):
    ledger = PrivacyLedger()
    with pytest.raises(ValueError, match="'ward', a column without any number"):
        quantile_bounds(rows, ["ward"], epsilon=1.0, ledger=ledger)
    assert ledger.entries == []


@pytest.mark.parametrize("make", [DPStatisticsSource, DPSource])
def test_measurements_are_no_labels(make, rng):
    ledger, X = PrivacyLedger(), rng.rand(3000, 2)
    source = make(8.0, bounds=(0, 1), ledger=ledger)
    for y in (rng.randint(1000, size=3000), [f"p{i}" for i in range(3000)]):
        with pytest.raises(ValueError, match=r"more than 50 different.*numpy\.digitize"):
            source.fit(X, np.array(y))
    assert ledger.entries == []


def test_many_classes_that_are_listed_or_repeat_are_taken(rng):
    y = rng.randint(60, size=3000)
    X = rng.rand(3000, 2)
    release = DPStatisticsSource(8.0, classes=range(60)).fit(X, y).release_
    assert len(release.classes) == 60
    with pytest.warns(PrivacyLeakWarning, match="names of the classes"):
        named = DPStatisticsSource(8.0).fit(X, np.array([f"code {c}" for c in y])).release_
    assert len(named.classes) == 60


def test_what_very_many_columns_cost_is_said_first():
    source = DPStatisticsSource(classes=[0, 1], model="linear")
    with pytest.warns(UserWarning, match=r"6,000 functions.* 1\.9 GB of memory, and 86 seconds"):
        source.accumulator(n_features=6000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source.accumulator(n_features=5000)


def delta_of_statistics(rows):
    DPStatisticsSource(delta=0.5, bounds=(0, 100), classes=["A", "B"]).fit(
        rows[["age"]], rows["ward"]
    )


def delta_of_rows(rows):
    DPSource(1.0, 0.5, noise="gaussian", bounds=(0, 100)).fit(rows[["age"]], rows["ward"])


@pytest.mark.parametrize(
    "call",
    [
        delta_of_statistics,
        delta_of_rows,
        lambda rows: GaussianDPNoise(delta=0.5).fit(rows[["age"]]),
        lambda rows: bounded(rows, None, delta=0.5),
        lambda rows: evaluated(rows, None, delta=0.5),
    ],
)
def test_a_large_delta_is_warned_of_everywhere(rows, call):
    with pytest.warns(PrivacyLeakWarning, match="'delta' parameter of .*, 0.5, is about the prob"):
        call(rows)


def test_a_guarantee_names_bounds_that_were_found_in_rows(rows):
    found = bounded(rows, None, classes=["A", "B"]).schema.restrict(["age"])
    source = DPStatisticsSource(8.0, encoder=found)
    excludes = source.guarantee_for(rows[["age"]], rows["ward"]).excludes
    assert "what the schema says of 'age', which was found in private rows with noise" in excludes
    public = {"columns": {"age": {"type": "numeric", "low": 0, "high": 100}}, "version": 1}
    source.set_params(encoder=public, classes=["A", "B"])
    assert "found" not in source.guarantee_for(rows[["age"]], rows["ward"]).excludes


@pytest.mark.parametrize("model", ["linear", "gradients", "mixtures", "logistic"])
def test_bounds_in_seconds_give_a_release(model, rng):
    y = np.arange(N) % 2
    X = rng.uniform(0, 2147483647, (N, 2))
    source = DPStatisticsSource(8.0, bounds=(0, 2147483647), classes=[0, 1], model=model)
    assert np.isfinite(source.fit(X, y).release_.predict_proba(X)).all()
