"""The effect of clipping on row norms, from noisy sums: the mean of c² for rows z clipped to cz.

Here c = min(1, R/‖z‖). ``_unclipped`` computes the effect on each class from it.
"""

import numpy as np

from skdp.utils._linalg import NEGLIGIBLE, TINY

# Prior standard deviation of the mean of c², in units of its guess, and the least guess. Squared
# norms that are gamma distributed in place of this guess gain .0001 in log loss (± .0002, 378
# releases).
_CLIPPING_SPREAD, _LEAST_GUESS = 0.2, 0.3
# Relative error of the measured mean of c²: of functions of two values, where a missing value has
# none of them, and of numbers whose values lie close together (measured on ten tables: up to .017
# and .035).
_INDICATOR_ERROR, _FORM_ERROR = 0.01, 0.03
# Smallest mean of c², by whose root rows are divided.
_LEAST_SHRINKAGE = 1e-8
# Largest root mean square error of a combination of squares that approximates 1. With
# cosines of order 2 and 3 it is .014, without any .50.
_MOST_ERROR = 0.1


def clipping_effect(statistics, basis):
    """Return the mean of c²; for sums of some of the columns, the result for all columns."""
    # The measured value and the public guess are averaged by their errors.
    # At most as many rows are clipped as can have a square of R²; none if no row can be longer.
    if statistics.of_all_columns is not None:
        return float(statistics.of_all_columns[1])
    size, square = basis.variances.sum(), statistics.radius**2
    mean_square = statistics.second.trace() / statistics.row_counts.sum()
    guess = np.clip(mean_square / size, _LEAST_GUESS, 1.0)
    measured = measured_shrinkage(statistics, basis, basis.numeric_tables())
    shrinkage, _ = posterior_shrinkage(guess, _CLIPPING_SPREAD, *measured)
    ends = np.abs(basis.scale * np.array([basis.low - basis.center, basis.high - basis.center]))
    longest = (np.where(basis.order == 1, ends.max(axis=0), basis.scale) ** 2).sum()
    clipped = np.clip(mean_square / square, 0.0, 1.0)
    return float(max(shrinkage, 1 - clipped * (1 - min(square / longest, 1.0))))


def constant_form(basis, tables):
    """Return a quadratic form of basis functions that is nearly the same for every row."""
    # Of one of two values and of the indicators of a category, the sum of squares is the same
    # whatever the value. Of a numeric column, a combination of squares and products of its linear
    # term and its cosines is: the one nearest to 1 by least squares, as far as it is near. So a
    # row that was shortened shows by how much.
    form = np.zeros((len(basis.column), len(basis.column)))
    single = basis.two_valued
    form[single, single] = 1.0
    constant = basis.variances[single].sum()
    for at, values in tables:
        rows, columns = np.triu_indices(len(at))
        products = values[:, rows] * values[:, columns]
        weights = np.linalg.lstsq(products, np.ones(len(products)), rcond=None)[0]
        if np.sqrt(np.mean((products @ weights - 1) ** 2)) < _MOST_ERROR:
            size = basis.variances[at].sum()
            form[at[rows], at[columns]] += size / 2 * weights
            form[at[columns], at[rows]] += size / 2 * weights
            constant += size
    return form, float(constant)


def measured_shrinkage(statistics, basis, tables):
    """Return the measured mean of c², and the variance of its error."""
    # A quadratic form that is the same for every row is that times c² after clipping. That of
    # two-valued functions and that of numeric ones have independent noise, and other errors.
    form, constant = constant_form(basis, tables)
    n_rows = statistics.row_counts.sum()
    single = np.isin(np.arange(len(form)), basis.two_valued)[:, np.newaxis]
    of_single = basis.variances[basis.two_valued].sum()
    values, variances = [], []
    for part, size, error in (
        (np.where(single, form, 0.0), of_single, _INDICATOR_ERROR),
        (np.where(single, 0.0, form), constant - of_single, _FORM_ERROR),
    ):
        if size > NEGLIGIBLE * constant:
            value = (part * statistics.second).sum() / (n_rows * size)
            noise = statistics.second_sd * np.linalg.norm(part) / (n_rows * size)
            values.append(value)
            variances.append(noise**2 + (error * value) ** 2)
    if not values:
        return 1.0, np.inf
    weights = 1 / np.maximum(variances, TINY)
    return float(weights @ values / weights.sum()), float(1 / weights.sum())


def posterior_shrinkage(guess, spread, measured, noise):
    """Return the mean of c² for a guess with a relative error, and its relative variance."""
    prior = (spread * guess) ** 2
    reliability = prior / (prior + noise)
    mean = guess + reliability * (measured - guess)
    # With noise, a sum of squares may be negative.
    mean = float(np.clip(mean, _LEAST_SHRINKAGE, 1.0))
    return mean, prior * (1 - reliability) / mean**2
