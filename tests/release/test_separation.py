"""How far classes lie apart along a direction: means, spreads and areas under the ROC curve."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr
from scipy.stats import norm

from skdp.release import LinearScores
from skdp.release._posterior import (
    _D_PRIME_SPREAD,
    _LARGEST,
    _MEDIAN_D_PRIME,
    _RELATIVE_ERROR,
    _WIDER,
    d_primes,
    posterior_separation,
    variance_of_scores,
)


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
    u = rng.randn(6)
    mean, sd = posterior_separation(u, exact, none, 1e9, W, none)
    assert mean == pytest.approx(u @ exact, rel=1e-3)
    assert sd < 1e-2 * abs(mean)


@pytest.mark.parametrize("noise", [0.01, 0.3])
def test_posterior_has_its_spread(rng, noise):
    found = {factor: [] for factor in (1.0, 1.4)}
    for factor, errors in found.items():
        for _ in range(250):
            W, none = problem(rng)
            W = np.diag(W.diagonal())  # both models are the same
            exact, noisy = drawn(rng, W, noise, 200.0, factor)
            u = np.linalg.solve(W, noisy)  # a direction that follows the noise
            mean, sd = posterior_separation(u, noisy, noise * np.eye(6), 200.0, W, none)
            errors.append((u @ exact - mean) / (sd / _WIDER))
    right, wrong = (np.array(found[factor]) for factor in (1.0, 1.4))
    assert abs(right.mean()) < 0.25
    assert right.std() == pytest.approx(1, abs=0.15)
    assert np.mean(np.abs(right) < norm.ppf(0.9)) == pytest.approx(0.8, abs=0.07)
    assert wrong.std() > 1.15


def test_d_primes_are_those_of_normal_scores():
    means, sds = np.array([[0, 1.5], [1.5, 0]]), np.zeros((2, 2))
    apart, spread = d_primes(means, sds, np.full((2, 2), 4.0), np.ones(2))
    assert_allclose(apart, means / 2)
    assert_allclose(spread, _RELATIVE_ERROR * means / 2)
    huge, _ = d_primes(1e200 * means, sds, np.zeros((2, 2)), np.ones(2))
    assert huge.max() == _LARGEST


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


def test_doubts_are_said_as_far_as_they_go():
    pair = 1 - np.eye(2)

    def doubt(d, sd):
        return LinearScores(np.eye(2), np.zeros(2), d * pair, None, sd * pair).doubt()

    assert "does not separate the classes" in doubt(0.02, 0.05)
    assert "between 0.5 and 0.7" in doubt(0.3, 0.4)
    assert doubt(1.0, 0.3) is None
    assert LinearScores(np.eye(2), np.zeros(2)).doubt() is None


def test_variance_along_a_direction(rng):
    W, _ = problem(rng)
    u = rng.randn(6)
    u /= np.sqrt(u @ W @ u)
    # Known: the noisy one; unknown, the guess.
    found, error = variance_of_scores(u, 1.7 * W, 0.0, 1e9, W)
    assert found == pytest.approx(1.7, rel=1e-3)
    assert error < 1e-3
    found, error = variance_of_scores(u, 1.7 * W, 1e6, 1e9, W)
    assert found == pytest.approx(1.0, rel=1e-3)
    assert error == pytest.approx(0.25, rel=1e-2)
