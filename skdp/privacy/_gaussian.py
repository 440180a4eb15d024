"""Exact privacy arithmetic of Gaussian noise (Balle & Wang, 2018)."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtr

from skdp.utils._sklearn import Interval, validate_params

# Largest argument of exp that float64 holds, rounded down.
MOST_EXPONENT = 700.0


@dataclass(frozen=True)
class _Numerics:
    """Margins and limits of the arithmetic."""

    # Relative margin of calibrated values towards more noise, because the last digit of a root
    # may be on the wrong side: far above the precision, and negligible for users.
    safety: float = 1e-10
    precision: float = 1e-12  # relative error of δ (tests/privacy/test_gaussian.py)
    # Half the distance of two neighbors, in units of σ, up to which δ is computed as an integral
    # and not as a difference: both have full precision near here.
    close: float = 0.5
    farthest: float = 40.0  # deviations beyond which a normal tail is below the smallest float
    # Of a root finder: halving an interval of 1 down to 1e-305 takes a thousand steps, and Brent's
    # method may need twice as many.
    max_steps: int = 4000


# Nodes and weights on [-1, 1]; the integrand is smooth, and over a width of 2 · _Numerics.close
# the error of 20 nodes is below rounding (tests/privacy/test_gaussian.py).
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)

_CONSTRAINTS = {
    "epsilon": [Interval(Real, 0, None, closed="both")],
    "delta": [Interval(Real, 0, 1, closed="neither")],
    "sigma": [Interval(Real, 0, None, closed="left")],
    "sensitivity": [Interval(Real, 0, None, closed="neither")],
}


def _validated(*names):
    """Return a decorator that checks these parameters, and the sensitivity."""
    constraints = {name: _CONSTRAINTS[name] for name in (*names, "sensitivity")}
    return validate_params(constraints, prefer_skip_nested_validation=True)


def _solve(excess, low, high):
    """Return the root of a decreasing function to 14 digits, given a finite bracket.

    The digits hold however small the root is.
    """
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(
            "epsilon, delta, sigma or sensitivity is too extreme for double precision. "
            "Bring them closer to 1."
        )
    return brentq(excess, low, high, xtol=1e-305, rtol=1e-14, maxiter=_Numerics.max_steps)


@_validated("sigma", "epsilon")
def gaussian_delta(sigma: float, epsilon: float, sensitivity: float = 1.0) -> float:
    r"""Return the smallest δ for which Gaussian noise is (ε, δ)-private.

    Theorem 8 of Balle & Wang (2018), valid for every ε ≥ 0, with Δ the sensitivity:

    .. math:: δ = Φ\Big(\frac{Δ}{2σ} - \frac{εσ}{Δ}\Big)
              - e^{ε}\,Φ\Big(-\frac{Δ}{2σ} - \frac{εσ}{Δ}\Big)

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in the units of the data.

    epsilon : float
        Privacy-loss bound, ≥ 0.

    sensitivity : float, default=1.0
        Euclidean distance between the values of two neighbors.

    Returns
    -------
    delta : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    References
    ----------
    Balle, B. and Wang, Y.-X., "Improving the Gaussian mechanism for differential
    privacy: analytical calibration and optimal denoising", ICML 2018.

    Examples
    --------
    >>> from skdp.privacy import gaussian_delta
    >>> f"{gaussian_delta(sigma=4.0, epsilon=1.0):.1e}"
    '2.9e-06'
    """
    if np.isinf(epsilon):
        return 0.0
    if sigma == 0:
        return 1.0
    return _delta(float(sigma) / float(sensitivity), float(epsilon))


def _delta(ratio, epsilon):
    half = 0.5 / ratio
    shift = epsilon * ratio
    if half > _Numerics.close:
        # e^ε Φ(·) in log space: e^ε alone overflows long before the product does.
        return float(ndtr(half - shift) - np.exp(epsilon + log_ndtr(-half - shift)))
    if shift - half > _Numerics.farthest:
        return 0.0
    # The two terms nearly cancel. Since φ(half − shift) = e^ε φ(half + shift), they are this
    # density times Mills ratios R, whose difference is the integral of −R'(x) = 1 − x R(x).
    x = shift + half * _NODES
    slopes = 1 - x * np.sqrt(np.pi / 2) * erfcx(x / np.sqrt(2))
    density = np.exp(-((half - shift) ** 2) / 2) / np.sqrt(2 * np.pi)
    return float(density * half * (_WEIGHTS @ slopes))


@_validated("epsilon", "delta")
def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the smallest standard deviation that makes Gaussian noise (ε, δ)-private.

    The inverse of :func:`gaussian_delta` in ``sigma``, for any ε > 0.

    Parameters
    ----------
    epsilon : float
        Privacy-loss bound, > 0.

    delta : float
        In (0, 1).

    sensitivity : float, default=1.0
        Euclidean distance between the values of two neighbors.

    Returns
    -------
    sigma : float
        In the units of the data.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the result exceeds double precision.

    Examples
    --------
    >>> from skdp.privacy import gaussian_sigma
    >>> round(gaussian_sigma(epsilon=1.0, delta=1e-5), 3)
    3.731
    """
    if np.isinf(epsilon):
        return 0.0

    def excess(log_sigma):
        return _delta(np.exp(log_sigma), float(epsilon)) - delta

    low, high = -1.0, 1.0
    while excess(low) < 0 and low > -300:
        low -= 2.0
    while excess(high) > 0 and high < 300:
        high += 2.0
    bracketed = excess(low) >= 0 >= excess(high)
    root = _solve(excess, low, high if bracketed else np.inf)
    return float(sensitivity * np.exp(root) * (1 + _Numerics.safety))


@_validated("sigma", "delta")
def gaussian_epsilon(sigma: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the smallest ε for which Gaussian noise is (ε, δ)-private.

    The inverse of :func:`gaussian_delta` in ``epsilon``.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in the units of the data; 0 gives infinity.

    delta : float
        In (0, 1).

    sensitivity : float, default=1.0
        Euclidean distance between the values of two neighbors.

    Returns
    -------
    epsilon : float
        ≥ 0, infinite without noise.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the result exceeds double precision.

    Examples
    --------
    >>> from skdp.privacy import gaussian_epsilon
    >>> round(gaussian_epsilon(sigma=3.7304, delta=1e-5), 3)
    1.0
    """
    if sigma == 0:
        return float("inf")

    ratio = float(sigma) / float(sensitivity)

    def excess(epsilon):
        # Slightly below δ, in case ε is so small that _Numerics.safety of it does not change δ.
        return _delta(ratio, epsilon) - delta * (1 - _Numerics.precision)

    if excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0 and high < 1e150:
        high *= 2.0
    root = _solve(excess, 0.0, high if excess(high) <= 0 else np.inf)
    return float(root * (1 + _Numerics.safety))
