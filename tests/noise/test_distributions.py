from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate

from skdp.noise import GaussianDistribution, OptimalDistribution, StaircaseDistribution


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.2])
def test_optimal_cdf_inverts_the_published_quantiles(delta):
    # Kumar and Moser, equation (116), which the sampler does not use.
    epsilon, d = 0.7, 2.0
    t = np.array([1e-9, 0.1, 0.5 * (1 - delta) * 0.999, 0.5 * (1 + delta) * 1.001, 0.95])
    low = d / epsilon * np.log(2 * t / (1 - delta))
    high = -d / epsilon * np.log(2 * (1 - t) / (1 - delta))
    quantiles = np.where(t < (1 - delta) / 2, low, high)
    assert_allclose(OptimalDistribution(d / epsilon, delta).cdf(quantiles), t, rtol=1e-12)


def staircase_density(v, epsilon, d, gamma):
    # Equation (13) of Geng & Viswanath, step by step.
    a = (1 - np.exp(-epsilon)) / (2 * d * (gamma + np.exp(-epsilon) * (1 - gamma)))
    k = int(abs(v) // d)
    upper = abs(v) < (k + gamma) * d
    return a * np.exp(-k * epsilon) * (1 if upper else np.exp(-epsilon))


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 8.0])
def test_staircase_cdf_integrates_its_density(epsilon):
    distribution, d = StaircaseDistribution(epsilon, 1.5), 1.5
    edges = np.sort(np.concatenate([np.arange(4) * d, (np.arange(4) + distribution.gamma) * d]))
    mass = 0.5
    for low, high in pairwise(edges):
        mass += staircase_density((low + high) / 2, epsilon, d, distribution.gamma) * (high - low)
        assert_allclose(distribution.cdf(high), mass, rtol=1e-12)
        assert_allclose(distribution.cdf(-high), 1 - mass, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 8.0])
def test_staircase_is_the_least_of_its_family(epsilon):
    distribution = StaircaseDistribution(epsilon, 1.0)

    def magnitude(gamma):
        # E|v| by quadrature over the steps, for any γ.
        edges = np.sort(np.concatenate([np.arange(200.0), np.arange(200) + gamma]))
        middles, widths = (edges[:-1] + edges[1:]) / 2, np.diff(edges)
        density = [staircase_density(v, epsilon, 1.0, gamma) for v in middles]
        return 2 * np.sum(density * middles * widths)

    assert_allclose(distribution.expected_magnitude, magnitude(distribution.gamma), rtol=1e-6)
    assert magnitude(distribution.gamma * 0.9) > distribution.expected_magnitude
    assert magnitude(distribution.gamma * 1.1) > distribution.expected_magnitude
    assert distribution.expected_magnitude < OptimalDistribution(1 / epsilon).expected_magnitude


@pytest.mark.parametrize(
    "distribution", [OptimalDistribution(1.5, 0.2), StaircaseDistribution(1.5, 2.0, 0.2)]
)
def test_atom_is_delta(distribution):
    jump = distribution.cdf(0.0) - distribution.cdf(-1e-300)
    assert_allclose(jump, 0.2, atol=1e-15)


DISTRIBUTIONS = [
    *(OptimalDistribution(1.5, 0.2), OptimalDistribution(0.3), GaussianDistribution(2.0)),
    *(StaircaseDistribution(0.5, 1.0), StaircaseDistribution(4.0, 2.0, 0.3)),
]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_moments_are_those_of_the_cdf(distribution):
    # E|v| = ∫ P(|v| > t) dt and Var v = ∫ 2t·P(|v| > t) dt, with P(|v| > t) = 2·(1 − F(t)),
    # over pieces between which a staircase has its kinks.
    d, gamma = getattr(distribution, "sensitivity", 1.0), getattr(distribution, "gamma", 0.5)
    periods = np.arange(60 * max(distribution.expected_magnitude, d) // d) * d
    knots = np.sort(np.concatenate([periods, periods + gamma * d]))
    mean = variance = 0.0
    for low, high in pairwise(knots):
        mean += integrate.fixed_quad(lambda t: 2 * (1 - distribution.cdf(t)), low, high)[0]
        variance += integrate.fixed_quad(lambda t: 4 * t * (1 - distribution.cdf(t)), low, high)[0]
    assert_allclose(distribution.expected_magnitude, mean, rtol=1e-6)
    assert_allclose(distribution.variance, variance, rtol=1e-6)


@pytest.mark.parametrize("delta", [1e-5, 1e-3])
def test_ratio_of_magnitudes_is_the_published_one(delta):
    # r(δ) of SERUMS D3.1 (2019), Fig. 2.1, with the classical σ.
    sigma = np.sqrt(2 * np.log(1.25 / delta)) / 0.5
    ratio = (
        GaussianDistribution(sigma).expected_magnitude
        / OptimalDistribution(1 / 0.5, delta).expected_magnitude
    )
    expected = 2 * np.sqrt(np.log(1.25 / delta)) / ((1 - delta) * np.sqrt(np.pi))
    assert_allclose(ratio, expected, rtol=1e-12)
