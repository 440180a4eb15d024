"""What a target's columns tell: other units, values a source never saw, and records."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

from skdp import DPSource, DPStatisticsSource, DPTransferClassifier
from skdp.release.estimation import Moments
from skdp.transfer._columns import distances, far_columns, has_indicators, unseen_columns

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]


def moments_of(rng, X, variance):
    y = np.arange(len(X)) % 2
    noise = np.full(X.shape[1], variance)
    return Moments.measure(X + np.sqrt(variance) * rng.randn(*X.shape), np.eye(2)[y], noise)


@pytest.mark.parametrize("variance", [0.0, 0.02])
def test_distances_are_in_standard_deviations_of_the_source(rng, variance):
    X = 0.5 + 0.1 * rng.randn(20_000, 4)
    moments = moments_of(rng, X, variance)
    target = 0.5 + 0.1 * rng.randn(20_000, 4) * [1, 2, 1, 1] + [0, 0, 0.3, 0]
    assert_allclose(distances(moments, target), [1, 2, np.sqrt(10), 1], rtol=0.05)


def test_the_same_rows_are_near_and_other_scales_are_far(rng):
    X = rng.rand(4000, 5) * [1, 0.5, 0.3, 0.2, 0.1]
    moments = moments_of(rng, X, 0.05)
    assert not far_columns(moments, X[:300]).any()
    assert not far_columns(moments, X[X[:, 0] > 0.5][:300]).any()  # another population
    assert far_columns(moments, StandardScaler().fit_transform(X[:300])).sum() >= 2
    assert_array_equal(unseen_columns(moments, X[:300] * [1, 1, 1, 100, 1]), np.arange(5) == 3)


def test_indicators_tell_records(rng):
    X = rng.rand(300, 9)
    assert not has_indicators(X)
    X[:, 0] = np.arange(300) % 2
    assert has_indicators(X)
    X[:, 0] = np.arange(300) == 7  # as rare as a bright pixel in a corner
    assert not has_indicators(X)


def people(rng, n, women):
    """Age decides for both; the source's are all women."""
    age = rng.rand(n)
    y = (rng.rand(n) < 1 / (1 + np.exp(-8 * (age - 0.5)))).astype(int)
    return np.column_stack([age, np.full(n, float(not women)), rng.rand(n)]), y


@pytest.mark.parametrize("kind", ["statistics", "rows"])
def test_what_a_source_never_saw_is_left_out(rng, kind):
    rows, labels = people(rng, 1500, women=True)
    if kind == "statistics":
        source = DPStatisticsSource(1.0, bounds=(0, 1), classes=[0, 1], random_state=0)
    else:
        source = DPSource(4.0, bounds=(0, 1), n_components=2, n_layers=1, random_state=0)
    release = source.fit(rows, labels).release_
    X, y = people(rng, 800, women=False)
    with pytest.warns(
        UserWarning, match=r"columns \[1\] of X lie where the source has hardly any"
    ):
        model = DPTransferClassifier(release, random_state=0).fit(X)
    without = X.copy()
    without[:, 1] = release.moments.mean[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = DPTransferClassifier(release, random_state=0).fit(without)
    assert_allclose(model.predict_proba(X), other.predict_proba(without), atol=1e-6)
    assert model.score(X, y) > 0.7
