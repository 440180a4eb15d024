"""Posterior means behind normal noise: against quadrature, and another form of the same."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import softmax
from scipy.stats import multivariate_normal

from skdp.release import positive_mean
from skdp.release._posterior import (
    WEIGHT_SCALES,
    ScaledPosterior,
    posteriors_by_scale,
    shrunk_correlations,
)


@pytest.mark.parametrize("estimate", [-300.0, -4.0, -0.5, 0.0, 1.0, 3.0, 80.0])
def test_positive_mean_is_that_of_the_truncated_distribution(estimate):
    sd = 2.0
    # In units relative to the density at zero or at the mode, against underflow.
    top = max(estimate, 0.0)

    def density(n):
        return np.exp(((top - estimate) ** 2 - (n - estimate) ** 2) / (2 * sd**2))

    low, high = max(top - 10 * sd, 0), top + min(10 * sd, 60 * sd**2 / max(-estimate, 1e-9))
    mass = quad(density, low, high)[0]
    expected = quad(lambda n: n * density(n), low, high)[0] / mass
    assert_allclose(positive_mean(estimate, sd), expected, rtol=1e-4)


def test_weights_are_the_posterior_mean(rng):
    t, size, v = 4, 30.0, rng.randn(4)
    noise = 0.02 * np.eye(t) + 0.1 * np.outer(v, v)
    A = rng.randn(t, t)
    W = A @ A.T / t + 0.2 * np.eye(t)
    errors = 0.01 * rng.rand(t, t)
    errors = errors + errors.T
    difference = 0.5 * rng.randn(t)
    likelihood, means = [], []
    for tau in WEIGHT_SCALES:
        e = noise + np.diag(errors @ np.full(t, tau**2)) + W / size
        joint = multivariate_normal(np.zeros(t), W @ (tau**2 * np.eye(t)) @ W.T + e)
        likelihood.append(joint.pdf(difference))
        # Precision form, not the covariance form of the code.
        precision = np.eye(t) / max(tau, 1e-9) ** 2 + W @ np.linalg.inv(e) @ W
        means.append(np.linalg.solve(precision, W @ np.linalg.solve(e, difference)))
    posteriors = posteriors_by_scale(difference, W, errors, noise, size)
    evidence = np.array([posterior.log_evidence for posterior in posteriors])
    assert_allclose(np.exp(evidence) / (2 * np.pi) ** (t / 2), likelihood, rtol=1e-6)
    for posterior, mean in zip(posteriors, means, strict=True):
        assert_allclose(posterior.weights, mean, rtol=1e-6, atol=1e-12)


def test_the_difference_has_the_spread_of_normal_numbers_given_their_sum(rng):
    A, B = rng.randn(2, 4, 4)
    prior, noise = A @ A.T, B @ B.T
    posterior = ScaledPosterior.of(2.0, prior, noise, rng.randn(4), np.eye(4))
    # By precisions; the code has the covariance form.
    expected = np.linalg.inv(np.linalg.inv(4 * prior) + np.linalg.inv(noise))
    assert_allclose(posterior.covariance, expected, atol=1e-6)


def test_weights_without_noise_are_those_of_the_discriminant(rng):
    A = rng.randn(5, 5)
    W, w = A @ A.T + np.eye(5), rng.randn(5)
    posteriors = posteriors_by_scale(W @ w, W, np.zeros((5, 5)), np.zeros((5, 5)), 1e7)
    likely = softmax([posterior.log_evidence for posterior in posteriors])
    assert_allclose(likely @ [posterior.weights for posterior in posteriors], w, rtol=1e-3)


def log_evidence(posteriors):
    return np.logaddexp.reduce([posterior.log_evidence for posterior in posteriors])


@pytest.mark.parametrize("error", [0.0, 0.01, 0.5])
def test_correlations_are_shrunk_by_the_share_of_noise_in_their_mean_square(error, rng):
    roots = rng.randn(6, 60)
    covariance = roots @ roots.T / 60
    variances = covariance.diagonal() * rng.uniform(0.5, 2, 6)
    found, left = shrunk_correlations(covariance, variances, error)
    signal, count = 0.0, 0
    for i, j in permutations(range(6), 2):
        square = variances[i] * variances[j]
        signal, count = signal + (covariance[i, j] ** 2 - error) / square, count + 1
    signal = max(signal / count, np.finfo(float).tiny)
    for i, j in permutations(range(6), 2):
        square = variances[i] * variances[j]
        share = signal / (signal + error / square)
        assert left[i, j] == pytest.approx(share)
        if error < 0.5:  # no eigenvalue needs the floor
            assert found[i, j] == pytest.approx(share * covariance[i, j])
    assert np.linalg.eigvalsh(found / np.sqrt(np.outer(variances, variances))).min() > 0.049
