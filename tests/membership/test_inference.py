import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp.membership._inference import empirical_precision, gamma_precision
from skdp.utils._kernel_regression import DiagonalRegression


@pytest.fixture
def regression(rng):
    psi = rng.randn(50, 8)
    Y = psi @ rng.randn(8, 2) + 0.1 * rng.randn(50, 2)
    return DiagonalRegression.from_moments(psi.T @ psi, np.eye(8), psi, Y)


@pytest.mark.parametrize(
    "infer", [gamma_precision, lambda r, t, **k: empirical_precision(r, t, 1.0, **k)]
)
def test_iterations_stop_at_the_tolerance_or_at_the_limit(regression, infer):
    precision, n_iter = infer(regression, 0.1, tol=1e-10, max_iter=1000)
    assert n_iter < 1000
    assert_allclose(infer(regression, 0.1, tol=0.0, max_iter=2000)[0], precision, rtol=1e-6)
    assert infer(regression, 0.1, tol=1e-10, max_iter=3)[1] == 3


@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_the_empirical_precision_is_the_inverse_of_the_mean_squared_residual(regression, scale):
    precision, _ = empirical_precision(regression, 0.1, scale, tol=1e-12, max_iter=1000)
    error = regression.squared_error(0.1 + 1 / (scale * precision))
    assert_allclose(1 / precision, error / regression.n_values, rtol=1e-9)


def test_the_precision_of_a_perfect_fit_is_bounded(rng):
    psi = rng.randn(20, 3)
    exact = DiagonalRegression.from_moments(psi.T @ psi, np.eye(3), psi, psi @ rng.randn(3, 2))
    for precision, _ in (
        gamma_precision(exact, 0.0, tol=0.0, max_iter=500),
        empirical_precision(exact, 0.0, 1.0, tol=0.0, max_iter=500),
    ):
        assert 0 < precision <= exact.max_precision
