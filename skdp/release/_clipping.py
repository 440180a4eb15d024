"""How much clipping shortened rows, from noisy sums: the mean of c², where a row z became cz.

c = min(1, R/‖z‖). The effect on the rows of each class, in ``_unclipped``, starts from it.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.stats import gamma

# Shape of the gamma distribution of squared norms: their standard deviation is a third of their
# mean, as that of some twenty basis functions; rule of thumb.
_NORM_SHAPE = 10.0
# Prior standard deviation of the mean of c², in units of its guess (rule of thumb).
_CLIPPING_SPREAD = 0.2
# By how much the slope of the log-odds of normal rows of 2·_NORM_SHAPE equal variances grows when
# all are brought to one length, beyond the square root of the mean of c²: long rows have large
# scores.
_STEEPER = 0.041
# Least mean square of a row, in units of its public guess: what noise may leave of it.
_LEAST_SQUARE = 1e-4
# Least mean of c², by whose root rows are divided (rule of thumb).
_LEAST_SHRINKAGE = 1e-8
# Most root mean square error of a combination of squares that stands for the constant 1. With
# cosines of order 2 and 3 it is .014, without any .50.
_MOST_ERROR = 0.1


def clipping_effect(statistics, basis):
    """Return the mean of c², and how much wider variances are than they look.

    Of sums of some of the columns, what sums of all columns said.
    """
    # What is measured is weighed against what square_before_clipping says of mean squares alone,
    # by its noise. No more rows are clipped than can have a square of R² each.
    if statistics.of_all_columns is not None:
        return tuple(statistics.of_all_columns[1:].tolist())
    expected, square = basis.variances.sum(), statistics.radius**2
    clipped = statistics.second.trace() / statistics.row_counts.sum()
    clipped = max(clipped, _LEAST_SQUARE * expected)
    before = square_before_clipping(clipped, statistics.radius, expected)
    widening = float(1 + _STEEPER * gamma.sf(square, _NORM_SHAPE, scale=before / _NORM_SHAPE))
    measured = measured_shrinkage(statistics, basis)
    shrinkage, _ = posterior_shrinkage(clipped / before, _CLIPPING_SPREAD, *measured)
    ends = np.abs(basis.scale * np.array([basis.low - basis.center, basis.high - basis.center]))
    longest = (np.where(basis.order == 1, ends.max(axis=0), basis.scale) ** 2).sum()
    least = 1 - min(clipped / square, 1.0) * (1 - min(square / longest, 1.0))
    return max(shrinkage, least), widening


def square_before_clipping(clipped, radius, expected):
    """Return the mean square of rows of which only min(‖z‖, R)² was averaged."""
    # Squared norms are taken to be gamma distributed. Where nearly all rows were clipped, nothing
    # is known but the public expectation, which is also the most that is returned otherwise.

    def excess(square):
        scale = square / _NORM_SHAPE
        below = square * gamma.cdf(radius**2, _NORM_SHAPE + 1, scale=scale)
        return below + radius**2 * gamma.sf(radius**2, _NORM_SHAPE, scale=scale) - clipped

    if excess(clipped) >= 0 or expected <= clipped:
        return float(clipped)
    if excess(expected) <= 0:
        return float(expected)
    return float(brentq(excess, clipped, expected))


def constant_form(basis):
    """Return a quadratic form of basis functions that is the same for every row, nearly."""
    # Of one of two values and of the indicators of a category, the sum of squares is the same
    # whatever the value. Of a numeric column, a combination of squares and products of its linear
    # term and its cosines is: the one nearest to 1 by least squares, as far as it is near. So a
    # row that was shortened shows by how much.
    form = np.zeros((len(basis.column), len(basis.column)))
    single = basis.two_valued
    form[single, single] = 1.0
    constant = basis.variances[single].sum()
    for at, values in basis.numeric_tables():
        rows, columns = np.triu_indices(len(at))
        products = values[:, rows] * values[:, columns]
        weights = np.linalg.lstsq(products, np.ones(len(products)), rcond=None)[0]
        if np.sqrt(np.mean((products @ weights - 1) ** 2)) < _MOST_ERROR:
            size = basis.variances[at].sum()
            form[at[rows], at[columns]] += size / 2 * weights
            form[at[columns], at[rows]] += size / 2 * weights
            constant += size
    return form, float(constant)


def measured_shrinkage(statistics, basis):
    """Return the measured mean of c², and the variance of its noise."""
    # A quadratic form that is the same for every row is that times c² after clipping.
    form, constant = constant_form(basis)
    if not constant:
        return 1.0, np.inf
    divisor = statistics.row_counts.sum() * constant
    noise = statistics.second_sd * np.linalg.norm(form) / divisor
    return (form * statistics.second).sum() / divisor, noise**2


def posterior_shrinkage(guess, spread, measured, noise):
    """Return the mean of c² for a guess with a relative error, and its relative variance."""
    prior = (spread * guess) ** 2
    reliability = prior / (prior + noise)
    mean = guess + reliability * (measured - guess)
    # With noise, squares may add up to less than nothing.
    mean = float(np.clip(mean, _LEAST_SHRINKAGE, 1.0))
    return mean, prior * (1 - reliability) / mean**2
