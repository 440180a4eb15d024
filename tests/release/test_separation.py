"""How far classes lie apart along a direction: means, spreads and areas under the ROC curve."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr, softmax
from scipy.stats import norm

from skdp.release import LinearScores
from skdp.release._posterior import _NOTHING, difference_posteriors
from skdp.release._separation import (
    _D_PRIME_SPREAD,
    _MEDIAN_D_PRIME,
    _MEDIAN_VARIANCE,
    _N_VARIANCES,
    _RELATIVE_ERROR,
    _VARIANCE_SPREAD,
    Distances,
    Separation,
    corrected_frequency,
    d_primes,
    likely_posteriors,
    likely_variances,
)
from skdp.release._several_classes import _mean_posterior


def problem(rng, n_basis=6):
    A = 0.3 * rng.randn(n_basis, n_basis)
    W = A @ A.T + 0.2 * np.eye(n_basis)
    return W, np.zeros((n_basis, n_basis))


def drawn(rng, W, noise, size, noise_factor=1.0):
    """Return a difference by the prior, and the same with noise."""
    d_prime = _MEDIAN_D_PRIME * np.exp(_D_PRIME_SPREAD * rng.randn())
    exact = W @ rng.randn(len(W)) * d_prime / np.sqrt(W.trace())
    spread = noise * np.eye(len(W)) + W / size
    return exact, exact + noise_factor * np.linalg.cholesky(spread) @ rng.randn(len(W))


def test_without_noise_the_difference_is_known(rng):
    W, none = problem(rng)
    exact, _ = drawn(rng, W, 1.0, 1.0)
    u = np.linalg.solve(W, exact)
    distance, variance = u @ exact, u @ W @ u
    found = Distances.along(u, difference_posteriors(exact, W, none, none, 1e9))
    separation = Separation.of(found, 0.3, [variance + 0.3 * 0.7 * distance**2], variance)
    assert separation.mean_distance == pytest.approx(distance, rel=1e-3)
    assert separation.mean_variance == pytest.approx(variance, rel=1e-3)
    assert separation.slope == pytest.approx(distance / variance, rel=2e-3)
    mean, sd = separation.d_prime
    assert mean == pytest.approx(distance / np.sqrt(variance), rel=1e-3)
    assert sd < 1e-2 * mean


@pytest.mark.parametrize("frequency", [0.1, 0.5])
def test_slope_is_that_of_the_discriminant_of_all_scores(rng, frequency):
    """That of a linear discriminant of scores that are drawn from the posterior."""
    distances, variances = np.array([0.0, 1.0, 3.0]), np.array([2.0, 1.5, 0.5])
    separation = Separation(distances, variances, np.array([0.3, 0.5, 0.2]), frequency)
    k, y = rng.choice(3, 1_000_000, p=[0.3, 0.5, 0.2]), rng.rand(1_000_000) < frequency
    scores = distances[k] * (y - frequency) + np.sqrt(variances[k]) * rng.randn(len(y))
    distance = scores[y].mean() - scores[~y].mean()
    within = (1 - frequency) * scores[~y].var() + frequency * scores[y].var()
    assert separation.slope == pytest.approx(distance / within, rel=0.02)
    nothing = Separation(np.zeros(1), np.ones(1), np.ones(1), frequency)
    assert nothing.slope == 0


def test_frequency_is_learned_from_the_difference(rng):
    # A frequency that is .1 too high leaves -.1 n of the mean of all rows in the contrast.
    W, none = 0.2 * np.eye(20), np.zeros((20, 20))
    mean, size, wrong = rng.randn(20), 60.0, 0.1
    mean /= np.linalg.norm(mean)
    n, variance = size / 0.24, 0.1**2
    joint = -n / size * variance * mean
    for noise, expected in ((1e-6, 0.4), (1e6, 0.5)):
        known = noise * np.eye(20) + (n / size) ** 2 * variance * np.outer(mean, mean)
        difference = -n / size * wrong * mean
        posteriors = difference_posteriors(difference, W, none, known, size)
        found = corrected_frequency(0.5, variance, joint, posteriors)
        assert found == pytest.approx(expected, abs=0.02)
    assert corrected_frequency(0.5, 0.0, joint, posteriors) == 0.5


def test_the_mean_posterior_has_the_moments_of_what_is_drawn_from_all(rng):
    W, errors = problem(rng)
    _, noisy = drawn(rng, W, 0.1, 100.0)
    posteriors = difference_posteriors(noisy, W, errors, 0.1 * np.eye(6), 100.0)
    chosen = rng.choice(28, 100_000, p=likely_posteriors(posteriors))
    differences = np.concatenate(
        [
            rng.multivariate_normal(p.difference, p.covariance, n)
            for p, n in zip(posteriors, np.bincount(chosen, minlength=28), strict=True)
        ]
    )
    likely = likely_posteriors(posteriors)
    weights, mean, covariance = _mean_posterior(posteriors)
    assert_allclose(weights, sum(s * p.weights for s, p in zip(likely, posteriors, strict=True)))
    assert_allclose(mean, differences.mean(axis=0), atol=0.005)
    assert_allclose(covariance, np.cov(differences.T), atol=0.002)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.01, 0.3])
def test_posterior_has_its_spread(rng, noise):
    found = {factor: [] for factor in (1.0, 1.5)}
    for factor, errors in found.items():
        for _ in range(250):
            W, none = problem(rng)
            W = np.diag(W.diagonal())  # both models are the same
            exact, noisy = drawn(rng, W, noise, 200.0, factor)
            u = np.linalg.solve(W, noisy)  # a direction that follows the noise
            posteriors = difference_posteriors(noisy, W, none, noise * np.eye(6), 200.0)
            posterior = Distances.along(u, posteriors)
            prior = norm.pdf(
                np.log(posterior.d_primes[1:14] / _MEDIAN_D_PRIME), 0, _D_PRIME_SPREAD
            )
            prior = np.tile([_NOTHING, *(1 - _NOTHING) * prior * np.log(10) / 3], 2)
            likely = softmax(posterior.log_evidence + np.log(prior))
            assert_allclose(likely_posteriors(posteriors), likely)
            mean = likely @ posterior.means
            square = likely @ (posterior.variances + (posterior.means - mean) ** 2)
            errors.append((u @ exact - mean) / np.sqrt(square))
    right, wrong = (np.array(found[factor]) for factor in (1.0, 1.5))
    assert abs(right.mean()) < 0.25
    assert right.std() == pytest.approx(1, abs=0.15)
    assert np.mean(np.abs(right) < norm.ppf(0.9)) == pytest.approx(0.8, abs=0.07)
    assert wrong.std() > 1.15


def test_a_class_that_may_have_no_rows_is_a_mixture(rng):
    # With probability .3 both have rows, and d' is 2 then, 0 otherwise.
    pair = 1 - np.eye(2)
    apart, spread = d_primes(2 * pair, 0.5 * pair, pair, np.array([0.5, 0.6]))
    draws = (rng.rand(200_000) < 0.3) * rng.normal(2, np.hypot(0.5, 2 * _RELATIVE_ERROR), 200_000)
    assert apart[0, 1] == pytest.approx(draws.mean(), abs=0.01)
    assert spread[0, 1] == pytest.approx(draws.std(), abs=0.01)


@pytest.mark.parametrize(("d", "sd"), [(0.8, 0.0), (1.5, 0.6), (0.3, 1.0)])
def test_expected_area_is_the_mean_over_the_posterior(rng, d, sd):
    pair = 1 - np.eye(2)
    linear = LinearScores(np.eye(2), np.zeros(2), d * pair, None, sd * pair)
    areas = ndtr(rng.normal(d, sd, 400_000) / np.sqrt(2))
    assert linear.expected_auc[0, 1] == pytest.approx(areas.mean(), abs=2e-3)
    low, high = (ends[0, 1] for ends in linear.auc_interval)
    assert_allclose([low, high], np.maximum(np.quantile(areas, [0.1, 0.9]), 0.5), atol=4e-3)
    assert (linear.doubt() is not None) == (low == 0.5)


def test_variance_along_a_direction(rng):
    W, _ = problem(rng)
    u, guesses = rng.randn(6), np.full(6, 0.3)
    guess = 0.3 * (u @ u)
    known, median = likely_variances(u, W, 0.0, 1e9, guesses)
    assert median == pytest.approx(_MEDIAN_VARIANCE * guess)
    assert_allclose(known, u @ W @ u, rtol=1e-3)
    # Of 200 normal rows it is scaled chi-squared.
    sampled, _ = likely_variances(u, W * guess * _MEDIAN_VARIANCE / (u @ W @ u), 0.0, 200, guesses)
    assert sampled.std() / sampled.mean() == pytest.approx(0.1 * 0.93, rel=0.1)
    unknown, _ = likely_variances(u, 1.7 * W, 1e6, 1e9, guesses)
    places = norm.ppf((np.arange(_N_VARIANCES) + 0.5) / _N_VARIANCES)
    expected = _MEDIAN_VARIANCE * guess * np.exp(_VARIANCE_SPREAD * places)
    assert_allclose(unknown, expected, rtol=0.02)
