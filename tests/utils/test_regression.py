import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp.utils._regression import DiagonalRegression, regularised


def test_regularised_leaves_good_matrices_alone_and_mends_bad_ones(rng):
    A = rng.randn(5, 5)
    good = A @ A.T + np.eye(5)
    kept, rcond = regularised(good)
    assert_array_equal(kept, good)
    assert 0.1 < rcond * np.linalg.cond(good, 1) < 10
    singular = np.ones((5, 5))
    mended, _ = regularised(singular)
    assert_allclose(mended, singular, atol=1e-8)
    np.linalg.cholesky(mended)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        regularised(-np.eye(3))


@pytest.fixture
def moments(rng):
    psi, Y, A = rng.randn(40, 6), rng.randn(40, 3), rng.randn(6, 6)
    return psi.T @ psi, A @ A.T + np.eye(6), psi, Y


@pytest.mark.parametrize("with_kernel", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_coefficients_and_errors_are_those_of_direct_solves(moments, with_kernel, ridge):
    Phi, K, psi, Y = moments
    regression = DiagonalRegression.from_moments(Phi, K if with_kernel else None, psi, Y)
    K = K if with_kernel else np.eye(6)
    alpha = np.linalg.solve(Phi + ridge * K, psi.T @ Y)
    assert_allclose(regression.coef(ridge), alpha, rtol=1e-8)
    assert_allclose(regression.squared_error(ridge), ((Y - psi @ alpha) ** 2).sum(), rtol=1e-9)
    smoothed = ((Y - psi @ alpha) ** 2).sum() + 0.3 * np.trace(alpha.T @ K @ alpha)
    assert_allclose(regression.squared_error(ridge, smoothing=0.3), smoothed, rtol=1e-9)


def test_directions_without_signal_have_no_coefficients(rng):
    psi = np.repeat(rng.randn(30, 1), 2, axis=1)
    regression = DiagonalRegression.from_moments(psi.T @ psi, None, psi, rng.randn(30, 2))
    assert regression.eigenvalues.min() == 0
    assert np.abs(regression.targets).min() == 0
    assert np.isfinite(regression.coef(1e-300)).all()


def test_the_largest_precision_follows_the_outputs(rng):
    psi, Y = rng.randn(20, 3), rng.randn(20, 2)
    gram = psi.T @ psi
    one, zero = (DiagonalRegression.from_moments(gram, None, psi, s * Y) for s in (1, 0))
    ten = DiagonalRegression.from_moments(gram, None, psi, 10 * Y)
    assert_allclose(one.max_precision / ten.max_precision, 100)
    assert np.isfinite(zero.max_precision)
