import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate

from skdp.noise import GaussianLaw, OptimalLaw
from skdp.noise._laws import add_noise


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.2])
def test_optimal_cdf_inverts_the_papers_quantiles(delta):
    # Equation (116) of 004, which the sampler does not use.
    epsilon, d = 0.7, 2.0
    t = np.array([1e-9, 0.1, 0.5 * (1 - delta) * 0.999, 0.5 * (1 + delta) * 1.001, 0.95])
    low = d / epsilon * np.log(2 * t / (1 - delta))
    high = -d / epsilon * np.log(2 * (1 - t) / (1 - delta))
    quantiles = np.where(t < (1 - delta) / 2, low, high)
    assert_allclose(OptimalLaw(d / epsilon, delta).cdf(quantiles), t, rtol=1e-12)


@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_optimal_atom_is_delta(delta):
    law = OptimalLaw(1.5, delta)
    jump = law.cdf(0.0) - law.cdf(-1e-300)
    assert_allclose(jump, delta, atol=1e-15)


@pytest.mark.parametrize("law", [OptimalLaw(1.5, 0.2), OptimalLaw(0.3), GaussianLaw(2.0)])
def test_moments_are_those_of_the_cdf(law):
    # E|v| = ∫ P(|v| > t) dt and Var v = ∫ 2t·P(|v| > t) dt, with P(|v| > t) = 2·(1 − F(t)).
    def tail(t):
        return 2 * (1 - law.cdf(t))

    limit = 40 * law.scale
    mean, _ = integrate.quad(tail, 0, limit, epsabs=1e-12, limit=200)
    variance, _ = integrate.quad(lambda t: 2 * t * tail(t), 0, limit, epsabs=1e-12, limit=200)
    assert_allclose(law.expected_magnitude, mean, rtol=1e-7)
    assert_allclose(law.variance, variance, rtol=1e-7)


@pytest.mark.parametrize("delta", [1e-5, 1e-3])
def test_ratio_of_magnitudes_is_that_of_the_report(delta):
    # r(δ) of Fig. 2.1 in 000, with the classical σ.
    sigma = np.sqrt(2 * np.log(1.25 / delta)) / 0.5
    ratio = GaussianLaw(sigma).expected_magnitude / OptimalLaw(1 / 0.5, delta).expected_magnitude
    expected = 2 * np.sqrt(np.log(1.25 / delta)) / ((1 - delta) * np.sqrt(np.pi))
    assert_allclose(ratio, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_add_noise_covers_every_block_and_rounds_once(dtype):
    # More than one block of rows, the last one incomplete; Fortran order must not matter.
    X = np.asfortranarray(np.full((70_001, 7), 0.25, dtype=dtype))
    law = OptimalLaw(1.0)
    noisy = add_noise(X, law, np.random.default_rng(3))
    assert noisy.dtype == dtype
    assert (noisy != X).mean() > 0.9999
    rng = np.random.default_rng(3)
    rows = (1 << 18) // 7
    slow = [law.sample((min(rows, 70_001 - i), 7), rng) for i in range(0, 70_001, rows)]
    assert_array_equal(noisy, (0.25 + np.concatenate(slow)).astype(dtype))


def test_atoms_fall_anywhere():
    noise = OptimalLaw(1.0, 0.5).sample(100_000, np.random.default_rng(0))
    zeros = (noise == 0).reshape(10, -1).mean(axis=1)
    assert np.abs(zeros - 0.5).max() < 0.03
