"""Rows that a release is asked about: encoded by its schema, and decoded again."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context

from skdp import DPStatisticsSource, TabularEncoder

pytestmark = pytest.mark.filterwarnings("ignore:.*were drawn before")
SCHEMA = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "dose": {"type": "numeric", "low": 1, "high": 1000, "log": True, "missing": True},
    "ward": {"type": "category", "categories": ["A", "B", "C"]},
}


def table(n=300, seed=0):
    rng = np.random.RandomState(seed)
    dose = np.where(rng.rand(n) < 0.3, np.nan, np.exp(rng.uniform(0, 6, n)))
    return pd.DataFrame(
        {"age": rng.uniform(0, 100, n), "dose": dose, "ward": rng.choice(list("ABC"), n)}
    )


@pytest.fixture(scope="module")
def release():
    noise = np.random.RandomState(0)
    source = DPStatisticsSource(8.0, encoder=SCHEMA, classes=[0, 1], random_state=noise)
    return source.fit(table(), np.arange(300) % 2).release_


@pytest.fixture(scope="module")
def plain():
    noise, X = np.random.RandomState(0), np.random.RandomState(0).rand(300, 2)
    bounds = ([0, 0], [10, 200])
    source = DPStatisticsSource(8.0, bounds=bounds, classes=[0, 1], random_state=noise)
    return source.fit(X * [10, 200], np.arange(300) % 2).release_


def test_tables_and_encoded_rows_are_read_alike(release):
    X = table(20, seed=1)
    expected = TabularEncoder(SCHEMA).fit_transform(X)
    encoded = pd.DataFrame(expected, columns=release.feature_names)
    for rows in (X, X[["ward", "dose", "age"]], expected, encoded, encoded[encoded.columns[::-1]]):
        assert_array_equal(release.encode(rows), expected)
    with pytest.raises(ValueError, match="lacks the columns 'ward'"):
        release.encode(X[["age", "dose"]])
    with pytest.raises(ValueError, match="X has 3 features, but Release is expecting 6"):
        release.encode(expected[:, :3])


def test_a_table_is_read_as_an_array_whatever_output_is_configured(release):
    X = table(20, seed=1)
    with config_context(transform_output="pandas"):
        rows = release.encode(X)
    assert type(rows) is np.ndarray
    assert_array_equal(rows, release.encode(X))
    single = X[["age", "dose"]].astype(np.float32).assign(ward=X["ward"])
    assert release.encode(single).dtype == np.float64  # categories are as they are


def test_other_units_warn_and_name_the_columns(plain, rng):
    X = rng.rand(50, 2) * [10, 200]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain.predict_proba(X)
        plain.predict_proba(X * 1.1)  # 5 % of the rows are just beyond the bounds
        some = X.copy()
        some[:24, 0] = 1e6  # fewer than half of the rows
        plain.predict_proba(some)
    for perturb_sums in (plain.predict_proba, plain.predict, plain.encode):
        with pytest.warns(UserWarning, match=r"columns \['x0'\] of X .* other units"):
            perturb_sums(X * [1000, 1])
        with pytest.warns(UserWarning, match=r"columns \['x0', 'x1'\] of X .* other units"):
            perturb_sums(-X - 100)
        with pytest.warns(UserWarning, match=r"\['x1'\]"):
            perturb_sums(np.full((3, 2), [10.9, -20.1]))  # a tenth of the width is 1, and 20


def test_other_units_of_a_table_warn_before_they_are_clipped(release):
    X = table(50, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release.predict(X)
    with pytest.warns(UserWarning, match=r"columns \['age'\] of X .* other units"):
        release.predict(X.assign(age=X["age"] * 12 + 120))
    with pytest.warns(UserWarning, match=r"columns \['dose'\]"):
        release.predict(X.assign(dose=1e6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release.predict(X.assign(dose=np.nan))


def test_samples_of_a_table_are_a_table(release):
    rows, labels = release.sample(200, random_state=0)
    frame, same = release.sample(200, random_state=0, as_frame=True)
    assert_array_equal(labels, same)
    assert list(frame.columns) == list(SCHEMA)
    assert set(frame["ward"]) == {"A", "B", "C"}
    assert frame["age"].between(0, 100).all()
    assert frame["dose"].dropna().between(1, 1000).all()
    assert 0.1 < frame["dose"].isna().mean() < 0.5
    decoded = TabularEncoder(SCHEMA).fit(table()).inverse_transform(rows)
    pd.testing.assert_frame_equal(frame, decoded)
    assert np.isfinite(release.scores(frame)).all()


def test_values_that_cannot_be_read_warn_and_say_what_is_expected(release):
    X = table(50, seed=1)
    doses = X["dose"].astype(str).str.replace(".", ",").where(X["dose"].notna(), None)
    for changed, said in (
        (X.assign(ward=X["ward"].str.lower()), r"\['ward'\] of X .*: 'ward': category, 'A', 'B'"),
        (X.assign(age=X["age"].astype(str) + " years"), r"\['age'\] .*: 'age': numeric, 0 to 100"),
        (X.assign(dose=doses), r"\['dose'\]"),
        (X.assign(age="old", ward=1), r"\['age', 'ward'\]"),
    ):
        with pytest.warns(UserWarning, match=f"Many values of the columns {said}"):
            release.encode(changed)
