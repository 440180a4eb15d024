"""How much longer rows are than they look after they were clipped."""

import numpy as np
from scipy.optimize import brentq
from scipy.stats import gamma

from skdp.release._marginals import constant_form

# Shape of the gamma distribution of squared norms: their standard deviation is a third of their
# mean, as that of some twenty terms; rule of thumb.
_SHAPE = 10.0
# Prior standard deviation of the mean of c², in units of its guess (rule of thumb).
_SPREAD = 0.2
# By how much the slope of the log-odds of normal rows of 2·_SHAPE equal variances grows when all
# are brought to one length, beyond the square root of the mean of c²: long rows have large scores.
_STEEPER = 0.041
# Least mean square of a row, in units of its public guess: what noise may leave of it.
_LEAST_SQUARE = 1e-4


def square_before_clipping(clipped, radius, expected):
    """Return the mean square of rows of which only min(‖z‖, R)² was averaged.

    Squared norms are taken to be gamma distributed. Where nearly all rows were clipped, nothing
    is known but the public expectation, which is also the most that is returned otherwise.

    Parameters
    ----------
    clipped : float
        Mean of min(‖z‖², R²).

    radius : float
        R.

    expected : float
        Public guess of the mean of ‖z‖².

    Returns
    -------
    square : float
        At least ``clipped``.

    Examples
    --------
    >>> round(square_before_clipping(0.2, 1.0, 2.0), 3)  # hardly a row is longer than 1
    0.2
    >>> round(square_before_clipping(0.6, 1.0, 2.0), 3)
    0.604
    >>> square_before_clipping(1.0, 1.0, 2.0)  # all are
    2.0
    """

    def excess(square):
        scale = square / _SHAPE
        below = square * gamma.cdf(radius**2, _SHAPE + 1, scale=scale)
        return below + radius**2 * gamma.sf(radius**2, _SHAPE, scale=scale) - clipped

    if excess(clipped) >= 0 or expected <= clipped:
        return float(clipped)
    if excess(expected) <= 0:
        return float(expected)
    return float(brentq(excess, clipped, expected))


def clipping_effect(statistics, basis, n_rows):
    """Return the mean of c², where rows z became cz with c = min(1, R/‖z‖), and what it hides.

    A quadratic form that is the same for every row is that times c² after clipping, so that its
    noisy mean says how much rows were shortened. Noise is weighed against what
    :func:`square_before_clipping` says of mean squares alone. No more rows are clipped than can
    have a square of R² each.

    Parameters
    ----------
    statistics : NoisyStatistics

    basis : BasisFunctions

    n_rows : float

    Returns
    -------
    shrinkage : float
        The mean of c², in (0, 1].

    widening : float
        The variance of a score of rows, in units of what the mean of c² makes of that of clipped
        ones: at least 1, and larger the more rows are clipped.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import BasisFunctions
    >>> from skdp.release import NoisyStatistics
    >>> basis = BasisFunctions.of_columns([1] * 4)  # each square is 1/4
    >>> z = 0.8 * basis.encode(np.random.RandomState(0).randint(2, size=(50, 4)))
    >>> none = np.zeros(4)
    >>> statistics = NoisyStatistics(
    ...     np.array([50.0]), none, none, np.ones(1), z.T @ z, 0.8, 0.0, 0.0, 0.0, 0.0
    ... )
    >>> shrinkage, widening = clipping_effect(statistics, basis, 50)
    >>> round(shrinkage, 3), round(widening, 3)
    (0.64, 1.036)
    """
    expected, square = basis.variances.sum(), statistics.radius**2
    clipped = max(statistics.second.trace() / n_rows, _LEAST_SQUARE * expected)
    before = square_before_clipping(clipped, statistics.radius, expected)
    widening = float(1 + _STEEPER * gamma.sf(square, _SHAPE, scale=before / _SHAPE))
    guess = clipped / before
    form, constant = constant_form(basis)
    if not constant:
        return guess, widening
    measured = (form * statistics.second).sum() / (n_rows * constant)
    noise = (statistics.second_sd * np.linalg.norm(form) / (n_rows * constant)) ** 2
    prior = (_SPREAD * guess) ** 2
    measured = (prior * measured + noise * guess) / (prior + noise)
    ends = np.abs(basis.scale * np.array([basis.low - basis.centre, basis.high - basis.centre]))
    longest = (np.where(basis.order == 1, ends.max(axis=0), basis.scale) ** 2).sum()
    least = 1 - min(clipped / square, 1.0) * (1 - min(square / longest, 1.0))
    return float(np.clip(measured, least, 1.0)), widening
