"""Synthetic rows of tables: marginals, dependence and labels are those of the rows behind them."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, Schema

SCHEMA = Schema.from_mapping(
    {
        "version": 1,
        "classes": ["alive", "dead"],
        "columns": {
            "age": {"type": "numeric", "low": 0, "high": 100, "step": 1},
            "crp": {"type": "numeric", "low": 1, "high": 1000, "log": True, "missing": True},
            "sex": {"type": "category", "categories": ["F", "M"], "missing": True},
            "ward": {"type": "category", "categories": ["A", "B", "C"], "missing": True},
            "stage": {"type": "category", "categories": ["I", "II", "III"], "ordered": True},
        },
    }
)


def patients(n, seed):
    """Return rows whose columns depend on each other, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    ill = rng.normal(size=n)
    age = np.clip(np.round(55 + 12 * (0.6 * ill + 0.8 * rng.normal(size=n))), 0, 100)
    crp = np.clip(np.exp(2 + 0.7 * ill + 0.7 * rng.normal(size=n)), 1, 1000)
    ward = np.array(["A", "B", "C"])[np.digitize(0.7 * ill + 0.7 * rng.normal(size=n), [0, 1])]
    stage = np.array(["I", "II", "III"])[np.digitize(ill + rng.normal(size=n), [-0.5, 1])]
    dead = rng.random(n) < 1 / (1 + np.exp(-(1.5 * ill - 0.8)))
    frame = pd.DataFrame({"age": age, "crp": crp})
    frame["sex"] = np.where(rng.random(n) < 0.4, "M", "F").astype(object)
    frame["ward"] = ward.astype(object)
    frame["stage"] = stage.astype(object)
    for column, share in (("crp", 0.2), ("sex", 0.1), ("ward", 0.05)):
        frame[column] = frame[column].astype(object).mask(rng.random(n) < share, None)
    return frame, np.where(dead, "dead", "alive")


@pytest.fixture(scope="module")
def real():
    return patients(20_000, 0)


@pytest.fixture(scope="module")
def release(real):
    with warnings.catch_warnings(action="ignore"):
        return DPStatisticsSource(np.inf, encoder=SCHEMA).fit(*real).release_


@pytest.fixture(scope="module")
def synthetic(release):
    return release.sample(20_000, random_state=0, as_frame=True)


def test_cells_are_those_that_the_schema_allows(synthetic):
    frame, labels = synthetic
    assert frame.columns.tolist() == list(SCHEMA.names)
    assert (frame["age"] == frame["age"].round()).all()
    assert frame["age"].between(0, 100).all()
    crp = frame["crp"].astype(float)
    assert crp.dropna().between(1, 1000).all()
    assert set(frame["ward"].dropna()) == {"A", "B", "C"}
    assert set(labels) == {"alive", "dead"}


def test_marginals_are_those_of_the_rows(real, synthetic):
    (frame, labels), (drawn, drawn_labels) = real, synthetic
    assert np.mean(drawn_labels == "dead") == pytest.approx(np.mean(labels == "dead"), abs=0.015)
    for column in ("crp", "sex", "ward"):
        assert drawn[column].isna().mean() == pytest.approx(frame[column].isna().mean(), abs=0.015)
    for column in ("sex", "ward", "stage"):
        expected = frame[column].value_counts(normalize=True)
        found = drawn[column].value_counts(normalize=True)
        assert abs(found - expected).max() < 0.02, column
    quantiles = [0.05, 0.25, 0.5, 0.75, 0.95]
    age = frame["age"].quantile(quantiles) - drawn["age"].quantile(quantiles)
    assert abs(age).max() < 3  # of 100 years
    logs = [np.log(each["crp"].dropna().astype(float)) for each in (frame, drawn)]
    differences = logs[0].quantile(quantiles) - logs[1].quantile(quantiles)
    assert abs(differences).max() < 0.2


def test_columns_go_together_as_in_the_rows(real, synthetic):
    def numbers(frame):
        columns = {
            "age": frame["age"],
            "crp": np.log(frame["crp"].astype(float)),
            "stage": frame["stage"].map({"I": 0, "II": 1, "III": 2}),
            "C": (frame["ward"] == "C").astype(float),
        }
        return pd.DataFrame(columns).astype(float).corr()

    expected, found = numbers(real[0]), numbers(synthetic[0])
    assert abs(expected.loc["age", "crp"]) > 0.3
    assert abs(found - expected).to_numpy().max() < 0.08


def test_labels_are_drawn_by_the_probabilities_of_the_rows(release):
    rows, labels = release.sample(30_000, random_state=1)
    dead = release.predict_proba(rows)[:, 1]
    groups = np.minimum((dead * 8).astype(int), 7)
    for group in np.unique(groups):
        here = groups == group
        if here.sum() > 500:
            shares = np.mean(labels[here] == "dead"), dead[here].mean()
            assert shares[0] == pytest.approx(shares[1], abs=0.03)


@pytest.mark.filterwarnings("ignore")
def test_rows_of_next_to_no_information_are_rows_nevertheless():
    release = DPStatisticsSource(0.01, encoder=SCHEMA, random_state=0)
    frame, labels = release.fit(*patients(60, 3)).release_.sample(200, 0, as_frame=True)
    assert len(frame) == len(labels) == 200
    assert frame["age"].between(0, 100).all()
    again, _ = release.release_.sample(200, 0, as_frame=True)
    pd.testing.assert_frame_equal(frame, again)
