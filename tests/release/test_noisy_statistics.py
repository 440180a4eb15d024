"""Moments of columns: those of the rows, whether these were clipped or not."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skdp import DPStatisticsSource, PrivacyLeakWarning, TabularEncoder
from skdp.release import BasisFunctions, NoisyStatistics, measure_moments


def statistics_of(z, y, radius, sd):
    counts = np.bincount(y).astype(float)
    pi = counts / counts.sum()
    contrast = (np.eye(len(pi))[y] - pi).T @ z
    return NoisyStatistics(counts, z.sum(axis=0), contrast, pi, z.T @ z, radius, *([sd] * 4))


def test_without_noise_they_are_those_of_the_rows(rng):
    X, y = rng.rand(500, 3), rng.randint(2, size=500)
    basis = BasisFunctions.of_columns([0, 0, 0])
    moments = measure_moments(statistics_of(basis.encode(X), y, 100.0, 0.0), basis)
    assert_allclose(moments.means, [X[y == c].mean(axis=0) for c in (0, 1)], rtol=1e-3)
    within = sum(np.mean(y == c) * np.cov(X[y == c].T, bias=True) for c in (0, 1))
    assert_allclose(moments.within_covariance(), within, rtol=1e-3, atol=1e-4)


def test_rows_that_were_shortened_alike_are_lengthened_with_their_noise(rng):
    X, y = rng.rand(500, 3), rng.randint(2, size=500)
    basis = BasisFunctions.of_columns([0, 0, 0])
    z = basis.encode(X)
    plain = measure_moments(statistics_of(z, y, 100.0, 0.0), basis)
    shortened = measure_moments(statistics_of(0.7 * z, y, 100.0, 0.0), basis, shrinkage=0.49)
    assert_allclose(shortened.means, plain.means)
    assert_allclose(shortened.covariances, plain.covariances, rtol=1e-5, atol=1e-7)
    one, other = (
        measure_moments(statistics_of(z, y, 9.0, 1.0), basis, shrinkage=s) for s in (1.0, 0.49)
    )
    assert_allclose(other.mean_noise, one.mean_noise / 0.49)
    assert_allclose(other.covariance_noise, one.covariance_noise / 0.49**2)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [np.inf, 1.0])
def test_a_table_of_clipped_rows_has_its_own_moments(rng, epsilon):
    schema = {f"x{i}": {"type": "numeric", "low": 0, "high": 1} for i in range(6)}
    schema |= {f"k{i}": {"type": "category", "categories": ["a", "b", "c"]} for i in range(6)}
    y = rng.randint(2, size=30_000)
    columns = {f"x{i}": rng.beta(1 + y, 3) for i in range(6)}
    columns |= {f"k{i}": rng.choice(list("abc"), len(y), p=[0.7, 0.2, 0.1]) for i in range(6)}
    table = pd.DataFrame(columns)
    rows = TabularEncoder(schema).fit_transform(table)
    source = DPStatisticsSource(
        epsilon, encoder=schema, classes=[0, 1], random_state=np.random.RandomState(17)
    )
    if epsilon == np.inf:
        with pytest.warns(PrivacyLeakWarning):
            source.fit(table, y)
    else:
        source.fit(table, y)
    moments = source.release_.moments
    means = np.array([rows[y == c].mean(axis=0) for c in (0, 1)])
    assert np.sqrt(np.mean((moments.means - means) ** 2)) < 0.02  # .046 as they were clipped
    variances = sum(np.mean(y == c) * rows[y == c].var(axis=0) for c in (0, 1))
    ratios = moments.within_covariance().diagonal() / variances
    assert np.median(ratios) == pytest.approx(1, rel=0.05)
    X, labels = source.release_.sample(30_000, random_state=0)
    sampled = np.array([X[labels == c, 0].mean() for c in (0, 1)])
    assert_allclose(sampled, means[:, 0], atol=0.04)  # within the bounds
