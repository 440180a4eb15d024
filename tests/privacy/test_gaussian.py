import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from skdp.privacy import gaussian_delta, gaussian_epsilon, gaussian_sigma

SETTINGS = [(eps, delta) for eps in (0.1, 1.0, 8.0, 50.0) for delta in (1e-9, 1e-5, 0.1)]


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_delta_is_the_hockey_stick_divergence(epsilon, sigma):
    # The definition: δ(ε) = ∫ max(0, p(v) − e^ε·q(v)) dv for the densities of two neighbors.
    def gap(v):
        return max(
            0.0, stats.norm.pdf(v, 1, sigma) - np.exp(epsilon) * stats.norm.pdf(v, 0, sigma)
        )

    crossing = epsilon * sigma**2 + 0.5
    slow, _ = integrate.quad(gap, crossing, crossing + 12 * sigma, epsabs=1e-13)
    assert_allclose(gaussian_delta(sigma, epsilon), slow, rtol=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
def test_sigma_is_private_and_no_larger_than_needed(epsilon, delta):
    sigma = gaussian_sigma(epsilon, delta)
    assert gaussian_delta(sigma, epsilon) <= delta
    assert gaussian_delta(sigma * (1 - 1e-6), epsilon) > delta


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
def test_epsilon_inverts_sigma(epsilon, delta):
    sigma = gaussian_sigma(epsilon, delta, sensitivity=3.0)
    assert_allclose(gaussian_epsilon(sigma, delta, sensitivity=3.0), epsilon, rtol=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.99])
def test_analytic_is_below_classical_where_both_hold(epsilon):
    classical = np.sqrt(2 * np.log(1.25 / 1e-5)) / epsilon
    assert gaussian_sigma(epsilon, 1e-5) < classical
    assert gaussian_delta(classical, epsilon) < 1e-5


def test_limits():
    assert gaussian_sigma(np.inf, 1e-5) == 0.0
    assert gaussian_epsilon(0.0, 1e-5) == np.inf
    assert gaussian_epsilon(1e6, 1e-5) == 0.0
    assert gaussian_delta(0.0, 1.0) == 1.0
    assert gaussian_delta(1.0, np.inf) == 0.0
    assert gaussian_delta(6.0, 0.5, sensitivity=3.0) == gaussian_delta(2.0, 0.5)


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (gaussian_delta, (-1.0, 1.0), "sigma"),
        (gaussian_delta, (1.0, -1.0), "epsilon"),
        (gaussian_delta, (1.0, 1.0, 0.0), "sensitivity"),
        (gaussian_sigma, (1.0, 0.0), "delta"),
        (gaussian_sigma, (1.0, 2.0), "delta"),
        (gaussian_sigma, (-1.0, 1e-5), "epsilon"),
        (gaussian_sigma, (np.nan, 1e-5), "epsilon"),
        (gaussian_epsilon, (-1.0, 1e-5), "sigma"),
        (gaussian_epsilon, (1.0, 0.0), "delta"),
    ],
)
def test_impossible_arguments_are_named(function, arguments, name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of {function.__name__} must be"):
        function(*arguments)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(gaussian_epsilon, (1e-160, 1e-5)), (gaussian_sigma, (1e300, 1e-5))],
)
def test_extreme_arguments_end_with_an_error(function, arguments):
    with pytest.raises(ValueError, match="too extreme for double precision"):
        function(*arguments)


def slow_delta(sigma, epsilon):
    """δ by its formula, in 120 digits."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(120):
        sigma, epsilon = mpmath.mpf(sigma), mpmath.mpf(epsilon)
        half, shift = 1 / (2 * sigma), epsilon * sigma
        return mpmath.ncdf(half - shift) - mpmath.exp(epsilon) * mpmath.ncdf(-half - shift)


@pytest.mark.parametrize("epsilon", [0.0, 1e-15, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 50.0])
def test_delta_has_twelve_digits_however_small(epsilon):
    for sigma in (0.05, 0.3, 0.99, 1.0, 1.01, 3.0, 100.0, 1e4, 1e8, 1e12):
        slow = slow_delta(sigma, epsilon)
        if slow > 1e-290:
            assert abs(gaussian_delta(sigma, epsilon) / slow - 1) < 1e-12


@pytest.mark.parametrize("epsilon", [1e-15, 1e-12, 1e-10, 1e-9, 1e-8, 1e-3, 1.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-5, 0.1])
def test_tiny_epsilons_keep_what_they_promise(epsilon, delta):
    sigma = gaussian_sigma(epsilon, delta)
    assert slow_delta(sigma, epsilon) <= delta
    assert slow_delta(sigma * (1 - 1e-6), epsilon) > delta
    assert slow_delta(sigma, gaussian_epsilon(sigma, delta)) <= delta
