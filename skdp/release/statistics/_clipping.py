"""How much longer rows are than they look after they were clipped."""

from scipy.optimize import brentq
from scipy.stats import gamma

# Shape of the gamma distribution of squared norms: their standard deviation is a third of their
# mean, as that of some twenty terms; rule of thumb.
_SHAPE = 10.0


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
