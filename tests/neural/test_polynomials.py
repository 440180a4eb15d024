import numpy as np
import pytest
from numpy.polynomial import chebyshev, polynomial
from scipy.integrate import quad
from scipy.special import expit

from skdp.neural._polynomials import sigmoid_coefficients

X = np.linspace(-1, 1, 2001)


def largest_error(approximation, degree):
    found = polynomial.polyval(X, sigmoid_coefficients(approximation, degree))
    return np.abs(found - expit(X)).max()


@pytest.mark.parametrize("degree", [1, 2, 5, 7, 10])
def test_chebyshev_coefficients_are_the_integrals_of_the_paper(degree):
    series = [
        2 / np.pi * quad(lambda t, k=k: expit(np.cos(t)) * np.cos(k * t), 0, np.pi)[0]
        for k in range(degree + 1)
    ]
    series[0] /= 2
    np.testing.assert_allclose(
        sigmoid_coefficients("chebyshev", degree), chebyshev.cheb2poly(series), atol=1e-12
    )


def test_taylor_coefficients_are_those_of_the_sigmoid_and_not_of_tanh():
    known = [1 / 2, 1 / 4, 0, -1 / 48, 0, 1 / 480, 0, -17 / 80640]
    np.testing.assert_allclose(sigmoid_coefficients("taylor", 7), known, atol=1e-15)
    # tanh x = x - x³/3 + 2x⁵/15 - …, and σ(x) = 1/2 + tanh(x / 2) / 2.
    tanh = np.array([0, 1, 0, -1 / 3, 0, 2 / 15])
    of_tanh = tanh / 2 * 0.5 ** np.arange(6) + [0.5, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(sigmoid_coefficients("taylor", 5), of_tanh, atol=1e-15)


def test_the_line_is_that_of_least_squares():
    slope, offset = np.polyfit(np.linspace(-1, 1, 200_001), expit(np.linspace(-1, 1, 200_001)), 1)
    np.testing.assert_allclose(sigmoid_coefficients("piecewise", 7), [offset, slope], rtol=1e-5)


@pytest.mark.parametrize(
    ("approximation", "errors"),
    [
        ("chebyshev", [4.7e-3, 1.1e-4, 2.7e-6, 6.5e-8]),
        ("taylor", [1.9e-2, 1.9e-3, 1.9e-4, 1.9e-5]),
        ("piecewise", [7.3e-3] * 4),
    ],
)
def test_errors_are_those_documented(approximation, errors):
    found = [largest_error(approximation, degree) for degree in (1, 3, 5, 7)]
    np.testing.assert_allclose(found, errors, rtol=0.03)
