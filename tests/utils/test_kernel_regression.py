"""Kernel regression: centers, kernel, and its diagonal form."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp.utils._kernel_regression import (
    DiagonalRegression,
    inverse_squared_range,
    kmeans_centers,
    log_kernel,
    regularized,
    resolve_count,
    squared_exponential,
)


@pytest.mark.parametrize(
    ("value", "n", "expected"),
    [(0.5, 7, 4), (1.0, 7, 7), (0.01, 7, 1), (3, 7, 3), (100, 7, 7), (1, 7, 1)],
)
def test_resolve_count(value, n, expected):
    assert resolve_count(value, n) == expected


def test_centers_are_a_fixed_point_of_lloyds_iteration(rng):
    x = rng.rand(200, 2)
    centers = kmeans_centers(x, 5, np.random.RandomState(0))
    labels = ((x[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    means = np.array([x[labels == k].mean(axis=0) for k in range(5)])
    np.testing.assert_allclose(centers, means, atol=0.02)


def test_no_more_centers_than_distinct_rows():
    x = np.repeat(np.eye(3), 4, axis=0)
    assert_array_equal(kmeans_centers(x, 12, None), np.unique(x, axis=0))
    assert len(kmeans_centers(x, 2, np.random.RandomState(0))) == 2


def kr(x, z, w):
    """The kernel of two single points, as the paper writes it."""
    return np.exp(-0.5 * sum(w[k] * (x[k] - z[k]) ** 2 for k in range(len(x))))


@pytest.fixture
def problem(rng):
    x = rng.randn(30, 2) * [1.0, 3.0] + [0.0, 5.0]
    return x, rng.randn(6, 2) * [1.0, 3.0] + [0.0, 5.0], inverse_squared_range(x) * 9


def test_kernel_is_the_papers(problem):
    x, a, w = problem
    slow = [[kr(xi, am, w) for am in a] for xi in x]
    assert_allclose(squared_exponential(x, a, w), slow, rtol=1e-12)


def test_kernel_far_from_the_origin(problem):
    x, a, w = problem
    shift = 1e6
    assert_allclose(
        squared_exponential(x + shift, a + shift, w), squared_exponential(x, a, w), rtol=1e-8
    )


def test_log_kernel_is_a_squared_distance_and_never_positive(problem):
    x, a, w = problem
    slow = [[-0.5 * np.sum(w * (xi - am) ** 2) for am in a] for xi in x]
    assert_allclose(log_kernel(x, a, w), slow, rtol=1e-9)
    assert log_kernel(1e8 + x, 1e8 + x, w).max() <= 0


def test_negligible_coordinates_have_no_weight():
    x = np.array([[0.0, 5.0, 1.0], [2.0, 5.0, 1.0 + 1e-9], [4.0, 5.0, 1.0]])
    assert_array_equal(inverse_squared_range(x), [1 / 16, 0.0, 0.0])
    assert_array_equal(inverse_squared_range(np.ones((3, 2))), [0.0, 0.0])


def test_regularized_leaves_good_matrices_alone_and_mends_bad_ones(rng):
    A = rng.randn(5, 5)
    good = A @ A.T + np.eye(5)
    kept, rcond = regularized(good)
    assert_array_equal(kept, good)
    assert 0.1 < rcond * np.linalg.cond(good, 1) < 10
    singular = np.ones((5, 5))
    mended, _ = regularized(singular)
    assert_allclose(mended, singular, atol=1e-8)
    np.linalg.cholesky(mended)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        regularized(-np.eye(3))


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
