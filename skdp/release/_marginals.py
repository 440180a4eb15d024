"""What the moments of the terms of a column say of its distribution."""

import numpy as np
from scipy.stats import beta

# Values of a column between its bounds at which its terms are tabulated (rule of thumb).
_GRID = (np.arange(256) + 0.5) / 256
# Most root mean square error of a combination of squares that stands for the constant 1. With
# cosines of order 2 and 3 it is .014, without any .50.
_MOST_ERROR = 0.1
# Bounds of the mean of a column between 0 and 1, of its variance, and of that in units of the
# largest there is with this mean: beta distributions beyond are narrower than the grid, or two
# points (rule of thumb).
_LEAST_MEAN = 0.02
_LEAST_VARIANCE = 2e-3
_MOST_VARIANCE = 0.95


def constant_form(basis):
    r"""Return a quadratic form of the terms that is the same for every row, nearly.

    Of one of two values and of the indicators of a category, the sum of squares is the same
    whatever the value. Of a numeric column, a combination of squares and products of its linear
    term and its cosines is: the one nearest to 1 by least squares, as far as it is near. So a row
    that was shortened shows by how much.

    Parameters
    ----------
    basis : BasisFunctions

    Returns
    -------
    form : ndarray of shape (n_basis, n_basis)
        Symmetric Q; zero for columns that have no such form.

    constant : float
        :math:`z^T Q z`: the expected square of the columns that have one, 0 where none does.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import BasisFunctions
    >>> basis = BasisFunctions.of_columns([0, 1, 2, 2])  # a number, one of two values, a category
    >>> form, constant = constant_form(basis)
    >>> Z = basis.encode(np.array([[0.1, 0.0, 0.0, 1.0], [0.7, 1.0, 1.0, 0.0]]))
    >>> ((Z @ form * Z).sum(axis=1) / constant).round(2)
    array([0.99, 1.  ])
    """
    form = np.zeros((len(basis.column), len(basis.column)))
    single = _of_two_values(basis)
    form[single, single] = 1.0
    constant = basis.variances[single].sum()
    for at, values in _numeric(basis):
        rows, columns = np.triu_indices(len(at))
        products = values[:, rows] * values[:, columns]
        weights = np.linalg.lstsq(products, np.ones(len(_GRID)), rcond=None)[0]
        if np.sqrt(np.mean((products @ weights - 1) ** 2)) < _MOST_ERROR:
            size = basis.variances[at].sum()
            form[at[rows], at[columns]] += size / 2 * weights
            form[at[columns], at[rows]] += size / 2 * weights
            constant += size
    return form, float(constant)


def variance_difference(basis, weights, middle, difference, variances):
    """Return by how much the variance of a score differs between two classes.

    A class has means of all terms of a column, which say how its values spread: the square of
    what the column adds to the score is regressed on its terms, by a beta distribution with the
    mean and variance of the column. Covariances of different columns are taken to be the same
    in both classes, and so are variances of numeric columns without cosines.

    Parameters
    ----------
    basis : BasisFunctions

    weights : ndarray of shape (n_basis,)
        Of the score.

    middle, difference : ndarray of shape (n_basis,)
        The mean of the means of the two classes, and that of the second less that of the first.

    variances : ndarray of shape (n_basis,)
        Of all rows.

    Returns
    -------
    difference : float
        The variance in the second class less that in the first.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import BasisFunctions
    >>> basis = BasisFunctions.of_columns([1])  # ones: 10 % of the first class
    >>> w, middle, difference = np.array([2.0]), np.array([-0.2]), np.array([0.4])
    >>> float(round(variance_difference(basis, w, middle, difference, np.array([0.2])), 3))
    0.64
    """
    single = _of_two_values(basis)
    ends = basis.scale * (basis.low + basis.high - 2 * basis.centre)
    found = (weights**2 * difference * (ends - 2 * middle))[single].sum()
    for at, values in _numeric(basis):
        if len(at) > 1:
            w, mean, apart = weights[at], middle[at], difference[at]
            density = _density(values[:, 0], mean[0], variances[at[0]])
            slopes = _regression(values, (values @ w) ** 2, density)
            found += slopes @ apart - 2 * (w @ mean) * (w @ apart)
    return float(found)


def _of_two_values(basis):
    """Return the indices of terms that have two values: their guess is a Bernoulli variance."""
    ends = (basis.centre - basis.low) * (basis.high - basis.centre) * basis.scale**2
    return np.flatnonzero((basis.order == 1) & np.isclose(basis.variances, ends))


def _numeric(basis):
    """Yield the indices of the terms of each numeric column, the linear first, and a table."""
    order = np.lexsort((basis.order, basis.column))
    starts = np.flatnonzero(np.diff(basis.column[order], prepend=-1))
    low, high = basis.low[order[starts]], basis.high[order[starts]]
    table = basis.encode(low + _GRID[:, None] * (high - low))
    single = set(_of_two_values(basis).tolist())
    for at in np.split(order, starts[1:]):
        if at[0] not in single:
            yield at, table[:, at]


def _density(values, mean, variance):
    """Return probabilities of the values of a linear term, of a beta distribution."""
    low, high = values[0], values[-1]
    mean = np.clip((mean - low) / (high - low), _LEAST_MEAN, 1 - _LEAST_MEAN)
    most = mean * (1 - mean)
    variance = np.clip(variance / (high - low) ** 2, _LEAST_VARIANCE, _MOST_VARIANCE * most)
    size = most / variance - 1
    density = beta.pdf(_GRID, mean * size, (1 - mean) * size)
    return density / density.sum()


def _regression(values, target, density):
    """Return the slopes of the regression of a function of a column on its terms."""
    root = np.sqrt(density)
    centred = root[:, None] * (values - density @ values)
    return np.linalg.lstsq(centred, root * (target - density @ target), rcond=None)[0]
