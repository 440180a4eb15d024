import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import (
    DPSource,
    OptimalDPNoise,
    RandomizedResponse,
)
from skdp.tabular import Schema, fitted_encoder

COLUMNS = {
    "age": {"type": "numeric", "low": 0, "high": 100, "missing": True},
    "ward": {"type": "category", "categories": ["A", "B", "C"]},
    "smokes": {"type": "category", "categories": ["no", "yes"]},
}
SCHEMA = {"version": 1, "columns": COLUMNS, "classes": ["well", "ill"]}
SETTINGS = {"n_components": 1, "n_layers": 1, "random_state": 0}


@pytest.fixture
def table(rng):
    age = rng.uniform(0, 100, 400)
    X = pd.DataFrame(
        {
            "smokes": rng.choice(["no", "yes"], 400),
            "age": np.where(rng.rand(400) < 0.1, np.nan, age),
            "ward": rng.choice(["A", "B", "C"], 400),
        }
    )
    return X, np.where(age > 50, "ill", "well")


def seeded(epsilon=8.0):
    return OptimalDPNoise(epsilon, random_state=np.random.RandomState(0))


def test_a_table_is_encoded_and_then_perturbed(table):
    X, y = table
    release = DPSource(encoder=SCHEMA, noise=seeded(), **SETTINGS).fit(X, y).release_
    rows = fitted_encoder(SCHEMA).transform(X)
    plain = DPSource(bounds=(0, 1), noise=seeded(), **SETTINGS).fit(rows, y).release_
    assert_array_equal(release.moments.means, plain.moments.means)
    assert_array_equal(release.bounds, np.repeat([[0.0], [1.0]], rows.shape[1], axis=1))
    assert release.encoder == Schema.from_mapping(SCHEMA)
    assert tuple(release.feature_names) == release.encoder.encoded_names


def test_rows_of_other_classes_are_left_out(table):
    X, y = table
    listed = np.arange(400) % 4 != 0
    other = np.where(listed, y, np.resize(np.array(["moved", None, np.nan], dtype=object), 400))
    release = DPSource(encoder=SCHEMA, noise=seeded(), **SETTINGS).fit(X, other).release_
    expected = DPSource(encoder=SCHEMA, noise=seeded(), **SETTINGS).fit(X[listed], y[listed])
    assert release.classes.tolist() == ["ill", "well"]
    assert_array_equal(release.moments.means, expected.release_.moments.means)
    assert release.moments.class_counts.sum() == 300
    # Where the schema lists none, they are those of y.
    three = DPSource(encoder=COLUMNS, noise=seeded(), **SETTINGS)
    assert len(three.fit(X, np.where(listed, y, "moved")).classes_) == 3
    with pytest.raises(ValueError, match="NaN"):
        three.fit(X, np.where(listed, y == "ill", np.nan))


def test_randomized_labels_are_among_the_classes_of_the_schema(table):
    X, y = table
    wide = SCHEMA | {"classes": ["dead", "ill", "well"]}
    source = DPSource(8.0, encoder=wide, label_noise=RandomizedResponse(1.0), **SETTINGS)
    release = source.fit(X, y).release_
    assert release.classes.tolist() == ["dead", "ill", "well"]  # that none is dead is private
    assert source.guarantee_for(X, y) == release.record_guarantee
    assert source.label_noise.classes is None
    with pytest.raises(ValueError, match="not in the 'classes'"):
        source.fit(X, np.where(np.arange(400) % 4, y, "moved"))


@pytest.mark.parametrize("noise", ["optimal", "gaussian", OptimalDPNoise(privacy_unit="record")])
def test_what_is_stated_before_is_stated_after(table, noise):
    source = DPSource(noise=noise, encoder=SCHEMA, **SETTINGS)
    stated = source.guarantee_for(*table)
    assert not hasattr(source, "n_features_in_")
    assert stated == source.fit(*table).guarantee_
    unit = "value" if isinstance(noise, str) else "record"
    assert (stated.unit, stated.n_features) == (unit, 6)
    assert source.release_.guarantee.epsilon == 1.0


def test_rows_without_a_label_are_refused_where_they_cannot_be_left_out(table):
    X, y = table
    y = y.astype(object)
    y[3] = None
    assert (
        DPSource(4.0, encoder=SCHEMA, **SETTINGS).fit(X, y).release_.moments.class_counts.sum()
        == 399
    )
    response = RandomizedResponse(1.0, classes=["ill", "well"])
    for settings in ({"encoder": COLUMNS}, {"encoder": SCHEMA, "label_noise": response}):
        with pytest.raises(ValueError, match="rows without a label"):
            DPSource(4.0, **settings, **SETTINGS).fit(X, y)


def test_labels_none_of_which_is_a_class_are_refused(table):
    with pytest.raises(ValueError, match=r"No label in y .* \['well', 'ill'\]"):
        DPSource(4.0, encoder=SCHEMA, **SETTINGS).fit(table[0], np.full(400, "Well"))


def test_bounds_scale_the_noise_of_each_column(rng):
    low, high = np.array([20.0, 0.0]), np.array([100.0, 2000.0])
    X, y = rng.uniform(low, high, (400, 2)), np.arange(400) % 2
    source = DPSource(bounds=(low, high), noise=seeded(4.0), **SETTINGS).fit(X, y)
    moments = source.release_.moments
    assert_allclose(moments.noise, 2 * ((high - low) / 4.0) ** 2, rtol=1e-6)
    found = np.abs(moments.means - X.reshape(-1, 2, 2).mean(axis=0)) / np.sqrt(moments.noise / 200)
    assert found.max() < 4
    assert_array_equal(source.release_.bounds, [low, high])
    assert source.guarantee_.sensitivity is None
    assert "anywhere within the bounds" in str(source.guarantee_)
    # Beyond the bounds nothing counts.
    outside = DPSource(bounds=(low, high), noise=seeded(), **SETTINGS).fit(X * [1, 1e6], y)
    ends = np.column_stack([X[:, 0], np.full(400, 2000.0)])
    at_them = DPSource(bounds=(low, high), noise=seeded(), **SETTINGS).fit(ends, y)
    assert_array_equal(outside.release_.moments.means, at_them.release_.moments.means)
