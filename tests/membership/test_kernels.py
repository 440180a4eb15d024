import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp.membership._kernels import averaged_products, averaged_scale, averaged_weights
from skdp.utils._kernel_regression import inverse_squared_range, squared_exponential


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
def problem(rng):
    x = rng.randn(30, 2) * [1.0, 3.0] + [0.0, 5.0]
    return x, rng.randn(6, 2) * [1.0, 3.0] + [0.0, 5.0], inverse_squared_range(x) * 9


@pytest.mark.parametrize("s", [0.0, 0.01, 0.5])
def test_phi_is_the_double_loop(problem, s):
    x, a, w = problem
    assert_allclose(averaged_products(x, a, w, s), slow_phi(x, a, w, s), rtol=1e-10)


@pytest.mark.parametrize("s", [0.01, 0.5])
def test_averages_are_those_over_uncertain_inputs(problem, s):
    # Independent of the closed forms (154) and (155): integrate the kernel numerically.
    x, a, w = problem
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


def test_phi_without_uncertainty_is_a_gram_matrix(problem):
    x, a, w = problem
    K = squared_exponential(x, a, w)
    assert_allclose(averaged_products(x, a, w, 0.0), K.T @ K, rtol=1e-12)
