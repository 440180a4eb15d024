r"""Polynomials in place of the sigmoid function, on [-1, 1].

Phan, Wu and Dou (2017) print, as the Chebyshev series of degree 7,

.. math:: (-5X^7 + 21X^5 - 35X^3 + 35X + 16) / 2^5.

It does not belong to the sigmoid function: at 1 it is 1, where the sigmoid is 0.731. It is the
smoothstep polynomial, the distribution function of a Beta(4, 4) variable on [-1, 1]. The
coefficients below follow the paper's equations (9) to (11). Its "Taylor expansion of the
sigmoid", x - x³/3 + 2x⁵/15, belongs to tanh; here it belongs to the sigmoid function,
1/2 + tanh(x/2)/2.

This module needs no PyTorch.
"""

from math import factorial

import numpy as np
from numpy.polynomial import chebyshev, polynomial
from scipy.special import expit

# Nodes of the Gauss-Chebyshev quadrature: exact to rounding for the sigmoid function, whose
# coefficients fall by a factor of (π + sqrt(π² + 1)) = 6.4 with each degree (argued).
_N_NODES = 64

APPROXIMATIONS = ("chebyshev", "taylor", "piecewise")


def sigmoid_coefficients(approximation, degree):
    """Return coefficients α of powers, Σ α_l x^l ≈ 1 / (1 + exp(-x)) on [-1, 1].

    "piecewise" is the line of least squares, of degree 1 whatever the ``degree`` is.
    """
    # The other pieces of that approximation, the constants 0 and 1, begin beyond the interval.
    # Largest errors on it: Chebyshev 4.7e-3, 1.1e-4, 2.7e-6, 6.5e-8 at degrees 1, 3, 5, 7; Taylor
    # 1.9e-2, 1.9e-3, 1.9e-4, 1.9e-5; the line 7.3e-3.
    make = {"chebyshev": _chebyshev, "taylor": _taylor, "piecewise": _line}[approximation]
    return make(degree)


def _chebyshev(degree):
    """Return the powers of Phan, Wu and Dou (2017), equation (10), up to a degree."""
    series = chebyshev.chebinterpolate(expit, _N_NODES - 1)[: degree + 1]
    series[2::2] = 0  # the sigmoid less 1/2 is odd
    powers = chebyshev.cheb2poly(series)
    return np.pad(powers, (0, degree + 1 - len(powers)))


def _taylor(degree):
    """Return derivatives at zero over factorials; σ' = σ - σ² makes each a polynomial in σ."""
    derivative, powers = np.array([0.0, 1.0]), []
    for order in range(degree + 1):
        powers.append(polynomial.polyval(0.5, derivative) / factorial(order))
        derivative = polynomial.polymul(polynomial.polyder(derivative), [0.0, 1.0, -1.0])
    return np.array(powers)


def _line(degree):
    """Return the line of least squares: its slope is 3/2 ∫ x σ(x) dx over [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(_N_NODES)
    return np.array([0.5, 1.5 * np.sum(weights * nodes * expit(nodes))])
