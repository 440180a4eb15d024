"""Comparing tables: what is the same is found so, and each thing that is not by its own figure."""

import numpy as np
import pandas as pd
import pytest

from skdp.tabular import Schema, compare_tables

SCHEMA = Schema.from_mapping(
    {
        "age": {"type": "numeric", "low": 0, "high": 100},
        "crp": {"type": "numeric", "low": 1, "high": 1000, "log": True, "missing": True},
        "ward": {"type": "category", "categories": ["A", "B", "C"], "missing": True},
        "stage": {"type": "category", "categories": ["I", "II", "III"], "ordered": True},
    }
)


def patients(n, seed):
    rng = np.random.default_rng(seed)
    ill = rng.normal(size=n)
    frame = pd.DataFrame({"age": np.clip(50 + 15 * ill, 0, 100)})
    frame["crp"] = np.where(rng.random(n) < 0.2, np.nan, np.exp(rng.normal(2, 0.5, n)))
    frame["ward"] = rng.choice(np.array(["A", "B", "C"], dtype=object), n, p=[0.5, 0.3, 0.2])
    frame["stage"] = np.array(["I", "II", "III"])[np.digitize(rng.normal(size=n), [0, 1])]
    frame["outcome"] = np.where(ill + 0.5 * rng.normal(size=n) > 0, "dead", "alive")
    return frame


@pytest.fixture(scope="module")
def real():
    return patients(1200, 0)


def test_rows_of_one_population_are_alike(real):
    found = compare_tables(real, patients(1200, 1), SCHEMA, label="outcome")
    assert found.columns["distance"].max() < 0.05
    assert found.told_apart == pytest.approx(0.5, abs=0.04)
    assert found.columns["told_apart"].between(0.46, 0.54).all()
    assert found.correlation_difference < 0.04
    assert found.utility == pytest.approx(found.real_utility, abs=0.02)
    assert found.utility > 0.9


def test_each_difference_has_its_figure(real):
    other = patients(1200, 1)
    other["age"] += 15  # a standard deviation
    other["ward"] = other["ward"].replace("B", "A")
    other.loc[:239, "ward"] = None
    other["crp"] = other["crp"].fillna(10)
    found = compare_tables(real, other, SCHEMA)
    # Two normal distributions a standard deviation apart: 2 Φ(1/2) − 1; boosting: Φ(1/√2).
    assert found.columns.loc["age", "distance"] == pytest.approx(0.383, abs=0.03)
    assert found.columns.loc["age", "told_apart"] == pytest.approx(0.76, abs=0.03)
    # A .8 · .8 for .5, C .8 · .2 for .2, B none for .3, missing .2 for none: half of the sum.
    assert found.columns.loc["ward", "distance"] == pytest.approx(0.34, abs=0.03)
    assert found.columns.loc["ward", "synthetic_missing"] == 0.2
    assert found.columns.loc["crp", "missing"] == real["crp"].isna().mean()
    assert found.columns.loc["crp", "synthetic_missing"] == 0
    assert np.isnan(found.columns.loc["stage", "missing"])
    assert found.columns.loc["stage", "distance"] < 0.05
    assert found.told_apart > 0.8
    assert found.utility is None


def test_labels_without_meaning_are_of_no_use(real):
    other = patients(1200, 1)
    other["outcome"] = np.random.default_rng(0).permutation(other["outcome"])
    found = compare_tables(real, other, SCHEMA, label="outcome")
    assert found.utility == pytest.approx(0.5, abs=0.06)
    assert found.real_utility > 0.9


def test_the_report_says_first_that_it_is_private(real):
    text = str(compare_tables(real[:100], patients(100, 1), SCHEMA, label="outcome"))
    assert text.splitlines()[0].startswith("This report is private")
    assert "stage" in text
    assert "area under the ROC curve" in text.replace("\n", " ")


def test_the_same_seed_says_the_same(real):
    real, other = real[:100], patients(100, 1)
    first, again = (compare_tables(real, other, SCHEMA, label="outcome") for _ in range(2))
    assert str(first) == str(again)
    assert str(first) != str(compare_tables(real, other, SCHEMA, label="outcome", random_state=1))


@pytest.mark.parametrize(
    ("tables", "label", "said"),
    [
        (lambda r: (r.to_numpy(), r), None, "'real' parameter .* must be a DataFrame"),
        (lambda r: (r, r.drop(columns="ward")), None, r"'synthetic' .* lacks .*\['ward'\]"),
        (lambda r: (r, r), "died", r"'real' .* lacks the columns \['died'\]"),
        (lambda r: (r, r.iloc[:9]), None, "'synthetic' .* ten rows or more, got 9"),
        (lambda r: (r[:100], r[:100].assign(outcome="dead")), "outcome", "two or more classes"),
    ],
)
def test_refusals(real, tables, label, said):
    with pytest.raises(ValueError, match=said):
        compare_tables(*tables(real), SCHEMA, label=label)


def test_times_are_compared_by_the_concordance():
    rng = np.random.default_rng(0)
    columns = {"dose": {"type": "numeric", "low": 0, "high": 1}}
    outcome = {"type": "event", "horizon": 8, "event": "death", "time": "years"}
    schema = {"version": 1, "columns": columns, "outcome": outcome}

    def drawn(effect):
        dose = rng.uniform(0, 1, 3000)
        years, left = rng.exponential(6 * np.exp(-effect * dose)), rng.uniform(0, 12, 3000)
        exits = {"death": years <= left, "years": np.minimum(years, left)}
        return pd.DataFrame({"dose": dose, **exits})

    real = drawn(2.5)
    found = compare_tables(real, drawn(2.5), schema)
    assert found.utility_name == "index of concordance"
    assert abs(found.utility - found.real_utility) < 0.03
    assert found.real_utility > 0.65
    assert compare_tables(real, drawn(-2.5), schema).utility < 0.4
    assert compare_tables(real[["dose"]], real[["dose"]], schema).utility is None
    with pytest.raises(ValueError, match="'label' parameter of compare_tables must be None"):
        compare_tables(real, real, schema, label="death")
    with pytest.raises(ValueError, match="must have rows with the event"):
        compare_tables(real, real.assign(death=False), schema)
