"""One membership-mapping: averaged kernel, inference, fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp.membership._mapping_inference import (
    averaged_products,
    averaged_scale,
    averaged_weights,
    empirical_precision,
    fit_layer,
    gamma_precision,
)
from skdp.utils._kernel_regression import (
    DiagonalRegression,
    inverse_squared_range,
    squared_exponential,
)


@pytest.fixture
def problem(rng):
    x = rng.rand(60, 3)
    return x, np.c_[np.sin(4 * x[:, 0]), x[:, 1] * x[:, 2]]


def fit(x, Y, **settings):
    settings = {"n_inducing": 15, "inference": "gamma", "nu": 2.1} | settings
    return fit_layer(x, Y, random_state=np.random.RandomState(0), **settings)


@pytest.mark.parametrize("inference", ["gamma", "empirical"])
def test_fitted_values_are_the_predictions_of_the_training_inputs(problem, inference):
    x, Y = problem
    layer, fitted = fit(x, Y, inference=inference)
    assert_allclose(layer.predict(x), fitted, rtol=1e-7, atol=1e-9)
    kernel = squared_exponential(x, layer.inducing_points, layer.weights)
    assert_allclose(layer.predict(x), kernel @ layer.coef)


def test_given_points_are_used_and_other_dtypes_follow(problem):
    x, Y = problem
    layer, _ = fit(x, Y, inducing_points=x[:7])
    assert_allclose(layer.inducing_points, x[:7])
    single = layer.astype(np.float32)
    assert single.predict(x.astype(np.float32)).dtype == np.float32
    assert_allclose(single.predict(x.astype(np.float32)), layer.predict(x), atol=1e-4)
    assert single.precision == layer.precision


def kr(x, z, w):
    """The kernel of two single points, as the paper writes it."""
    return np.exp(-0.5 * sum(w[k] * (x[k] - z[k]) ** 2 for k in range(len(x))))


def slow_phi(x, a, w, s):
    """Kumar and Moser, equation (155), by its double loop, with a_k for its misprinted a_j."""
    phi = np.empty((len(a), len(a)))
    for m in range(len(a)):
        for j in range(len(a)):
            phi[m, j] = sum(
                np.exp(
                    -0.25 * np.sum(w * (a[m] - a[j]) ** 2)
                    - np.sum(w * (0.5 * (a[m] + a[j]) - xi) ** 2 / (1 + 2 * w * s))
                )
                for xi in x
            )
    return phi / np.sqrt(np.prod(1 + 2 * w * s))


def hermite_average(function, x, s):
    """Average of function(x') over x' ~ N(x, s·I) in two dimensions, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    return sum(
        p * q * function(x + np.sqrt(s) * np.array([u, v]))
        for u, p in zip(nodes, weights, strict=True)
        for v, q in zip(nodes, weights, strict=True)
    )


@pytest.fixture
def kernel_problem(rng):
    x = rng.randn(30, 2) * [1.0, 3.0] + [0.0, 5.0]
    return x, rng.randn(6, 2) * [1.0, 3.0] + [0.0, 5.0], inverse_squared_range(x) * 9


@pytest.mark.parametrize("s", [0.0, 0.01, 0.5])
def test_phi_is_the_double_loop(kernel_problem, s):
    x, a, w = kernel_problem
    assert_allclose(averaged_products(x, a, w, s), slow_phi(x, a, w, s), rtol=1e-10)


@pytest.mark.parametrize("s", [0.01, 0.5])
def test_averages_are_those_over_uncertain_inputs(kernel_problem, s):
    # Independent of the closed forms (154) and (155): integrate the kernel numerically.
    x, a, w = kernel_problem
    x, a = x[:3], a[:3]
    psi = squared_exponential(x, a, averaged_weights(w, s)) * averaged_scale(w, s)
    slow_psi = [[hermite_average(lambda u, am=am: kr(u, am, w), xi, s) for am in a] for xi in x]
    assert_allclose(psi, slow_psi, rtol=1e-9)
    slow = [
        [
            sum(hermite_average(lambda u, p=p, q=q: kr(u, p, w) * kr(u, q, w), xi, s) for xi in x)
            for q in a
        ]
        for p in a
    ]
    assert_allclose(averaged_products(x, a, w, s), slow, rtol=1e-9)


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
