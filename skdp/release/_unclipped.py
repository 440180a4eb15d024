"""Means of rows before clipping, from noisy sums of clipped rows.

A row z is clipped to cz with c = min(1, R/‖z‖). Its squared norm is the same for every row except
for the contribution of numeric columns. Their distributions are estimated from the means of their
basis functions. This yields the distribution of the norm in each class, and the effect of
clipping on means: E[cz] = E[c] E[z] + cov(c, z).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from skdp.release._basis import PLACES, regression
from skdp.release._clipping import clipping_effect, measured_shrinkage, posterior_shrinkage
from skdp.release._posterior import shrunk_vectors
from skdp.tabular import CategoryColumn
from skdp.utils._linalg import NEGLIGIBLE

# Ridge penalty of the parameters of a maximum-entropy distribution, with which it exists for means
# that no distribution has: far below the uncertainty due to noise.
_RIDGE = 1e-4
# Smallest decrease for which Newton steps continue, and smallest length of a step.
_TOLERANCE = 1e-10
# Number of iterations between means and the norms that follow from them (measured: three or more
# give the same result).
_ROUNDS = 4
# Nodes of a normal distribution and their weights.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Relative error of E[c] of a class, and of cov(c, z); with them intervals of means of four tables
# have their nominal coverage.
_FACTOR_ERROR = 0.007
_COVARIANCE_ERROR = 0.5
# Relative error of the mean of c² by distributions of maximum entropy (measured on ten tables: .01
# to .08).
_SHRINKAGE_ERROR = 0.05
# Relative error of E[c] where the other columns of the rows are unknown.
_UNKNOWN_ERROR = 0.015


def maximum_entropy(table, means):
    """Return distributions (…, n_places) of maximum entropy whose means of a table are as given.

    The table is (n_places, n_functions), the means (…, n_functions); impossible ones are allowed.
    """
    wanted = np.atleast_2d(means)
    n_functions = table.shape[1]
    products = (table[:, :, np.newaxis] * table[:, np.newaxis]).reshape(len(table), -1)
    ridge = _RIDGE * np.eye(n_functions)
    parameters = np.zeros_like(wanted)
    value = _entropy_loss(parameters, table, wanted)
    for _ in range(100):
        p = _softmax(parameters @ table.T)
        expected = p @ table
        gradient = expected - wanted + _RIDGE * parameters
        curvature = (p @ products).reshape(-1, n_functions, n_functions) + ridge
        curvature -= expected[:, :, np.newaxis] * expected[:, np.newaxis]
        step = np.linalg.solve(curvature, -gradient[:, :, np.newaxis])[:, :, 0]
        decrease = -(gradient * step).sum(axis=1)
        if decrease.max() < _TOLERANCE:
            break
        length = np.ones((len(wanted), 1))
        while True:
            new = parameters + length * step
            new_value = _entropy_loss(new, table, wanted)
            short = new_value > value - 1e-4 * length[:, 0] * decrease
            if not (short & (length[:, 0] > _TOLERANCE)).any():
                break
            length[short] /= 2
        parameters, value = new, new_value
    return _softmax(parameters @ table.T).reshape(*np.shape(means)[:-1], len(table))


def _entropy_loss(parameters, table, wanted):
    """Return log Σ exp(λ · f) − λ · m with a weak ridge penalty, to be minimized by λ."""
    return (
        logsumexp(parameters @ table.T, axis=1)
        - (parameters * wanted).sum(axis=1)
        + _RIDGE / 2 * (parameters**2).sum(axis=1)
    )


def _softmax(logits):
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class NumericFunctions:
    """The basis functions of one numeric column.

    Attributes
    ----------
    places : ndarray of shape (n_functions,)
        Indices of the functions, the linear one first.

    values : ndarray of shape (n_places,)
        Possible values of the column, rescaled to 0–1: the steps of its schema if these are few,
        otherwise :data:`PLACES`.

    table : ndarray of shape (n_places, n_functions)
        Values of the functions at ``values``.

    missing : int or None
        Index of the function that indicates a missing value, if any.

    middle : ndarray of shape (n_functions,)
        Values of the functions for a missing value.
    """

    places: np.ndarray
    values: np.ndarray
    table: np.ndarray
    missing: int | None
    middle: np.ndarray

    def distributions(self, means):
        """Return the distributions of the nonmissing values, and the shares of missing ones."""
        missing = np.zeros(len(means))
        if self.missing is not None:
            missing = np.clip(means[:, self.missing] + 0.5, 0.0, 0.99)
        without_missing = means[:, self.places] - missing[:, np.newaxis] * self.middle
        return maximum_entropy(self.table, without_missing / (1 - missing)[:, np.newaxis]), missing


def numeric_functions(basis, schema):
    """Return the functions of each numeric column, a dict by the number of the column."""
    linear, missing, steps = basis.linear, {}, {}
    if schema is not None:
        for column, block in zip(schema.columns, schema.encoded_slices, strict=True):
            steps[block.start] = _steps(column)
            if column.missing and not column.is_one_hot:
                missing[block.start] = int(linear[block.start + 1])
    functions = {}
    for places, table in basis.numeric_tables():
        column = int(basis.column[places[0]])
        low, high = basis.low[places[0]], basis.high[places[0]]
        values = PLACES
        if steps.get(column) is not None:
            values = steps[column]
            table = _functions(basis, places, low + values * (high - low))
        middle = _functions(basis, places, np.array([(low + high) / 2]))[0]
        functions[column] = NumericFunctions(places, values, table, missing.get(column), middle)
    return functions


def _steps(column):
    """Return the possible values of a column on its scale, or None if there are many."""
    if isinstance(column, CategoryColumn):
        return np.linspace(0, 1, len(column.categories)) if column.ordered else None
    if column.step is None or (column.high - column.low) / column.step >= len(PLACES):
        return None
    n_steps = int((column.high - column.low) / column.step * (1 + NEGLIGIBLE))
    return column.positions(column.low + np.arange(n_steps + 1) * column.step)


def _functions(basis, places, values):
    """Return functions of one column at values of it, (n_values, n_places)."""
    rows = np.tile(values[:, np.newaxis], (1, int(basis.column.max()) + 1))
    return basis.encode(rows)[:, places]


@dataclass(frozen=True)
class Clipping:
    """The effect of clipping on the rows of each class: E[cz] = factor · E[z] + shift.

    Attributes
    ----------
    factors : ndarray of shape (n_classes,)
        E[c].

    shifts : ndarray of shape (n_classes, n_basis)
        cov(c, z).

    systematic_variance : ndarray of shape (n_classes, n_basis)
        Variances of the systematic error of the estimate of E[z].

    means : ndarray of shape (n_classes, n_basis)
        E[z]; for classes of few rows, shrunk towards the mean of all rows.

    square_factors : ndarray of shape (n_basis,)
        E[c²z²]/E[z²] over all rows, of linear functions of numeric columns.
    """

    factors: np.ndarray
    shifts: np.ndarray
    systematic_variance: np.ndarray
    means: np.ndarray
    square_factors: np.ndarray


def clipping_by_class(statistics, schema):
    """Return the effect of clipping on the rows of each class."""
    sums, basis = statistics.sums, statistics.basis
    shrinkage = clipping_effect(sums, basis)
    counts = sums.row_counts
    frequencies = counts / counts.sum()
    clipped = _reliable_means(sums, counts)
    factors = np.full(len(counts), np.sqrt(shrinkage))
    shifts = np.zeros_like(clipped)
    if sums.of_all_columns is not None:  # the norms include columns that are no longer known
        means = clipped / factors[:, np.newaxis]
        squares = np.full(len(basis.order), shrinkage)
        return Clipping(factors, shifts, (_UNKNOWN_ERROR * means) ** 2, means, squares)
    functions = list(numeric_functions(basis, schema).values())
    numeric = np.concatenate([f.places for f in functions] or [np.zeros(0, dtype=int)])
    # The squares of indicators of categories have, in any row, the sum of the public guesses.
    constant = np.delete(basis.variances, numeric).sum()
    measured, variance = measured_shrinkage(sums, basis, basis.numeric_tables())
    for _ in range(_ROUNDS):
        means = (clipped - shifts) / factors[:, np.newaxis]
        within = sums.second / (counts.sum() * shrinkage) - (means.T * frequencies) @ means
        norms = _SquaredNorms.of(functions, means, frequencies, within)
        squares, slopes = np.empty(len(counts)), np.empty(len(counts))
        for c in range(len(counts)):
            deviation = np.sqrt(norms.variances[c])
            nodes = constant + norms.means[c] + deviation * _NODES
            lengths = np.minimum(1.0, sums.radius / np.sqrt(np.maximum(nodes, NEGLIGIBLE)))
            factors[c], squares[c] = _WEIGHTS @ lengths, _WEIGHTS @ lengths**2
            slopes[c] = (_WEIGHTS * lengths**2) @ _NODES / deviation
            shifts[c] = (_WEIGHTS * lengths) @ _NODES / deviation * norms.covariances[c]
        # The mean over all rows is then moved towards the measured one, by their errors.
        expected = frequencies @ squares
        shrinkage, uncertain = posterior_shrinkage(expected, _SHRINKAGE_ERROR, measured, variance)
        scale = np.sqrt(shrinkage / expected)
        factors, shifts = np.minimum(factors * scale, 1.0), shifts * scale
    means = (clipped - shifts) / factors[:, np.newaxis]
    # A factor is the root of a mean of c², nearly, and has half its relative error.
    systematic_variance = (_FACTOR_ERROR**2 + uncertain / 4) * means**2
    systematic_variance += (_COVARIANCE_ERROR * shifts / factors[:, np.newaxis]) ** 2
    return Clipping(
        factors,
        shifts,
        systematic_variance,
        means,
        shrinkage + (frequencies @ slopes) * norms.with_squares,
    )


def _reliable_means(sums, counts):
    """Return means of clipped rows by class, shrunk towards the overall mean by their noise."""
    means = sums.class_sums / counts[:, np.newaxis]
    noise = means.shape[1] * (sums.contrast_sd / counts) ** 2
    return shrunk_vectors(means, sums.total.sum(axis=0) / counts.sum(), noise)


@dataclass(frozen=True)
class _SquaredNorms:
    """The numeric columns' share of ‖z‖² in each class, and its covariance with z."""

    means: np.ndarray  # (n_classes,)
    variances: np.ndarray  # (n_classes,)
    covariances: np.ndarray  # (n_classes, n_basis): with each basis function
    # (n_basis,): with squares of linear functions of numeric columns, in units of their means
    with_squares: np.ndarray

    @classmethod
    def of(cls, functions, means, frequencies, within):
        """Return it for means of the classes, their frequencies and the covariance within them."""
        K, t = means.shape
        expected, variances, within_column = np.zeros(K), np.zeros(K), np.zeros((K, t))
        with_squares = np.zeros(t)
        slopes = np.zeros(t)  # of squares, as linear functions of the basis functions
        for f in functions:
            at, squares = f.places, (f.table**2).sum(axis=1)
            distributions, missing = f.distributions(means)
            values = np.vstack([f.table, f.middle])
            both = np.append(squares, (f.middle**2).sum())
            moments = np.zeros(2)
            for c in range(K):
                p = np.append((1 - missing[c]) * distributions[c], missing[c])
                mean = p @ both
                expected[c] += mean
                variances[c] += p @ both**2 - mean**2
                within_column[c, at] = p @ (values * (both - mean)[:, np.newaxis])
                linear = values[:, 0] ** 2
                moments += frequencies[c] * np.array([p @ (linear * (both - mean)), p @ linear])
            with_squares[at[0]] = moments[0] / max(moments[1], NEGLIGIBLE)
            slopes[at] = regression(f.table, squares, frequencies @ distributions)
        cross = slopes @ within
        inner = 0.0
        for f in functions:
            block = slopes[f.places] @ within[np.ix_(f.places, f.places)]
            cross[f.places] -= block
            inner += block @ slopes[f.places]
        between = slopes @ within @ slopes - inner
        return cls(
            expected,
            np.maximum(variances + between, NEGLIGIBLE),
            cross + within_column,
            with_squares,
        )
