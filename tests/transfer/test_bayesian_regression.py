"""Closed forms against conditioning of one large distribution, and limits."""

import numpy as np
import pytest
from scipy.stats import multivariate_t
from sklearn.linear_model import LinearRegression

from skdp.transfer._bayesian_regression import Posterior, Sums


@pytest.fixture
def rows(rng):
    X = np.column_stack([np.ones(9), rng.normal(size=(9, 3))])
    return X, X @ [0.2, 1.5, 0.0, -0.7] + rng.normal(size=9) / 3


MEAN = np.array([0.1, 1.0, 0.0, 0.3])
DEVIATIONS = np.array([0.5, 0.0, 2.0, 0.7])
VARIANCE, FREEDOM = 0.2, 5.0


def conditioned(X, t, asked):
    """Mean and variance of the outcomes of rows that are asked about, by brute force."""
    both = np.vstack([X, asked])
    shape = both @ np.diag(DEVIATIONS**2) @ both.T + np.eye(len(both))
    n = len(X)
    solved = np.linalg.solve(shape[:n, :n], np.column_stack([t - X @ MEAN, shape[:n, n:]]))
    mean = asked @ MEAN + shape[n:, :n] @ solved[:, 0]
    left = np.diag(shape[n:, n:] - shape[n:, :n] @ solved[:, 1:])
    square = (FREEDOM - 2) * VARIANCE + (t - X @ MEAN) @ solved[:, 0]
    return mean, left * square / (FREEDOM + n - 2)


def test_posterior_is_that_of_conditioning(rows, rng):
    X, t = rows
    asked = rng.normal(size=(5, 4))
    posterior = Posterior.of(Sums.of(X, t), MEAN, DEVIATIONS, VARIANCE, FREEDOM)
    mean, variance = conditioned(X, t, asked)
    np.testing.assert_allclose(asked @ posterior.coefficients, mean, rtol=1e-10)
    given = posterior.variance * (1 + posterior.leverage(asked))
    np.testing.assert_allclose(given, variance, rtol=1e-10)


def test_evidence_is_a_density_of_the_outcomes(rows):
    X, t = rows
    posterior = Posterior.of(Sums.of(X, t), MEAN, DEVIATIONS, VARIANCE, FREEDOM)
    shape = X @ np.diag(DEVIATIONS**2) @ X.T + np.eye(len(X))
    scale = (FREEDOM - 2) * VARIANCE / FREEDOM
    density = multivariate_t(X @ MEAN, scale * shape, FREEDOM)
    assert posterior.log_evidence == pytest.approx(density.logpdf(t), rel=1e-10)


def test_held_out_predictions_are_those_without_the_row(rows):
    X, t = rows
    given = Posterior.of(Sums.of(X, t), MEAN, DEVIATIONS, VARIANCE, FREEDOM).held_out(X, t)
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        alone = Posterior.of(Sums.of(X[others], t[others]), MEAN, DEVIATIONS, VARIANCE, FREEDOM)
        assert given[i] == pytest.approx(X[i] @ alone.coefficients, rel=1e-9)


def test_without_rows_the_posterior_is_the_prior():
    empty = Sums.of(np.empty((0, 4)), np.empty(0))
    posterior = Posterior.of(empty, MEAN, DEVIATIONS, VARIANCE, FREEDOM)
    np.testing.assert_array_equal(posterior.coefficients, MEAN)
    np.testing.assert_allclose(posterior.factor, np.diag(DEVIATIONS))
    assert posterior.variance == pytest.approx(VARIANCE)
    assert posterior.log_evidence == pytest.approx(0.0, abs=1e-12)


def test_with_many_rows_it_is_least_squares(rng):
    X = np.column_stack([np.ones(200_000), rng.normal(size=(200_000, 3))])
    t = X @ [0.2, 1.5, 0.0, -0.7] + rng.normal(size=len(X))
    posterior = Posterior.of(Sums.of(X, t), np.zeros(4), np.full(4, 3.0), 5.0, FREEDOM)
    least = LinearRegression(fit_intercept=False).fit(X, t)
    np.testing.assert_allclose(posterior.coefficients, least.coef_, atol=1e-5)
    assert posterior.variance == pytest.approx(np.mean((t - least.predict(X)) ** 2), rel=1e-3)
