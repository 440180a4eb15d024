"""What a target's columns tell: other units, places that a source never saw, and records."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.preprocessing import StandardScaler

from skdp import DPSource, DPStatisticsSource, DPTransferClassifier, OptimalDPNoise
from skdp.release import Moments
from skdp.transfer._columns import (
    distances,
    far_columns,
    same_population,
    unseen_columns,
)
from skdp.transfer._task import has_indicators

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]


def moments_of(rows, noise=0.0):
    return Moments.measure(rows, np.ones((len(rows), 1)), np.full(rows.shape[1], noise))


def test_distances_are_in_standard_deviations_of_the_source(rng):
    source = rng.randn(5000, 3) * [1, 2, 4]
    target = rng.randn(400, 3) * [1, 2, 4] + [0, 10, 60]
    moments = moments_of(source)
    found = distances(moments, target)
    mean, deviation = source.mean(axis=0), source.std(axis=0, ddof=1)
    expected = np.sqrt((((target - mean) / deviation) ** 2).mean(axis=0))
    assert_allclose(found, expected, rtol=1e-5)
    assert_allclose(found, np.sqrt([1, 26, 226]), rtol=0.1)
    assert_array_equal(far_columns(moments, target), [False, True, True])
    assert_array_equal(unseen_columns(moments, target), [False, False, True])


def test_noise_of_rows_is_left_out_of_distances(rng):
    moments = moments_of(rng.rand(5000, 2) + 3 * rng.randn(5000, 2), noise=9.0)
    # Halves of a uniform column are 3.6 from each other, whatever the noise.
    found = distances(moments, np.full((5, 2), 1.0))
    assert ((found > 0.5) & (found < 4)).all()


def test_a_column_that_is_almost_constant_in_the_source_is_not_far(rng):
    source = rng.rand(1000, 3)
    source[:, 0] = 0
    assert not far_columns(moments_of(source), np.array([[0.05, 0.5, 0.5]] * 4)).any()


def test_a_same_population_has_the_odds_of_normal_means(rng):
    source, target = rng.randn(700, 3), rng.normal([0, 0.1, 0.4], size=(200, 3))
    moments = moments_of(source)
    variances = (moments.total_covariance().diagonal() + target.var(axis=0)) / 2
    away, errors = target.mean(axis=0) - source.mean(axis=0), variances * (1 / 700 + 1 / 200)
    same, other = (
        norm.logpdf(away, scale=np.sqrt(errors + shift * variances)).sum() for shift in (0, 0.09)
    )
    expected = 0.2 * np.exp(same) / (0.2 * np.exp(same) + 0.8 * np.exp(other))
    assert_allclose(same_population(moments, target), expected, rtol=1e-4)
    # Sums of many numbers in single precision would be off by more than their errors.
    many = np.tile(target, (4000, 1))
    found = [same_population(moments, rows) for rows in (many, many.astype(np.float32))]
    assert_allclose(*found, rtol=1e-4)


def test_rows_are_of_the_same_population_unless_columns_or_noise_say_otherwise(rng):
    source, target = moments_of(rng.rand(3000, 10)), rng.rand(500, 10)
    assert same_population(source, target) > 0.99
    assert same_population(source, target + np.eye(10)[0]) < 0.01
    # Nothing is seen through much noise, nor of other columns.
    drowned = replace(source, mean_noise=np.full((1, 10), 1e3))
    assert_allclose(same_population(drowned, target), 0.2, rtol=1e-3)
    assert same_population(source, target[:, :9]) == same_population(None, target) == 0


@pytest.mark.parametrize(
    ("n_indicators", "share", "expected"),
    [(1, 0.3, True), (0, 0.3, False), (1, 0.005, False), (1, 1.0, False)],
)
def test_records_have_indicators_in_a_tenth_of_the_columns(rng, n_indicators, share, expected):
    X = rng.rand(1000, 10)
    X[:, :n_indicators] = (np.arange(1000) < 1000 * share)[:, np.newaxis]
    assert has_indicators(X) is expected
    # Of eleven columns or more, one is less than a tenth.
    assert not has_indicators(np.hstack([X, rng.rand(1000, 1)]))


def test_the_same_rows_are_near_and_other_scales_are_far(rng):
    X = rng.rand(4000, 5) * [1, 0.5, 0.3, 0.2, 0.1]
    moments = moments_of(X + np.sqrt(0.05) * rng.randn(4000, 5), noise=0.05)
    assert not far_columns(moments, X[:300]).any()
    assert not far_columns(moments, X[X[:, 0] > 0.5][:300]).any()  # another population
    assert far_columns(moments, StandardScaler().fit_transform(X[:300])).sum() >= 2
    assert_array_equal(unseen_columns(moments, X[:300] * [1, 1, 1, 100, 1]), np.arange(5) == 3)


def people(rng, n, women):
    """Age decides for both; the source's are all women."""
    age = rng.rand(n)
    y = (rng.rand(n) < 1 / (1 + np.exp(-8 * (age - 0.5)))).astype(int)
    return np.column_stack([age, np.full(n, float(not women)), rng.rand(n)]), y


@pytest.mark.parametrize("kind", ["statistics", "rows"])
def test_what_a_source_never_saw_is_left_out(rng, kind):
    rows, labels = people(rng, 1500, women=True)
    if kind == "statistics":
        source = DPStatisticsSource(8.0, bounds=(0, 1), classes=[0, 1], random_state=0)
    else:
        # In one draw of six the column seems to vary at the source, and is not quite left out.
        noise = OptimalDPNoise(4.0, random_state=np.random.RandomState(0))
        settings = {"bounds": (0, 1), "n_components": 2, "n_layers": 1, "random_state": 0}
        source = DPSource(noise=noise, **settings)
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
