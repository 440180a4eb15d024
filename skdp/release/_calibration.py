"""Log-odds of two classes that are linear in a score, and calibrated."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

# Least variance of the score in a class, in units of that within both (rule of thumb).
_LEAST_VARIANCE = 0.25
# Nodes and probabilities of a standard normal distribution for sums in place of integrals.
_NODES, _PROBABILITIES = np.polynomial.hermite_e.hermegauss(61)
_PROBABILITIES = _PROBABILITIES / _PROBABILITIES.sum()
# Width by which a bracket of the root is extended, against rounding.
_SLACK = 1e-6


def calibrated_log_odds(separation, variance, unequal, frequency):
    r"""Return slope and intercept of the log-odds of class 1 in a score s.

    Where they are linear, one class has the other's density times :math:`e^{as}`: of cumulants
    up to the third, their means differ by a times the mean of their variances,

    .. math:: a = \frac{2(μ_1 - μ_0)}{σ_1^2 + σ_0^2},

    each class counted alike, whatever its frequency. Of normal classes of equal variance this is
    the linear discriminant. The intercept is such that the mean probability is the frequency,
    over normal scores of these means and variances.

    Parameters
    ----------
    separation : float
        μ₁ − μ₀, at least 0.

    variance : float
        Within classes: that of each, weighed by its frequency.

    unequal : float
        σ₁² − σ₀².

    frequency : float
        Of class 1.

    Returns
    -------
    slope : float

    intercept : float
        Of a score whose mean over all rows is 0.

    Examples
    --------
    >>> slope, intercept = calibrated_log_odds(1.5, 1.0, 0.0, 0.5)
    >>> float(slope), abs(round(intercept, 6))
    (1.5, 0.0)
    >>> slope, intercept = calibrated_log_odds(1.5, 1.0, 0.6, 0.1)
    >>> round(float(slope), 3), round(intercept, 3)
    (1.21, -2.819)
    """
    least = _LEAST_VARIANCE * variance
    squares = np.array(
        [
            max(variance - frequency * unequal, least),
            max(variance + (1 - frequency) * unequal, least),
        ]
    )
    slope = 2 * separation / squares.sum()
    means = np.array([-frequency * separation, (1 - frequency) * separation])
    scores = slope * (means[:, None] + np.sqrt(squares)[:, None] * _NODES)
    probabilities = np.array([1 - frequency, frequency])[:, None] * _PROBABILITIES

    def excess(intercept):
        return (probabilities * expit(scores + intercept)).sum() - frequency

    middle = logit(frequency)
    low, high = middle - scores.max() - _SLACK, middle - scores.min() + _SLACK
    return slope, float(brentq(excess, low, high))
