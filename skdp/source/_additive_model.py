"""The additive model: linear scores, and shape functions of the columns by noisy boosting.

As Nori et al. (2021) and Lou, Caruana and Gehrke (2012) boost, with other rounds.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from skdp.noise import Share
from skdp.release import ShapeFunctions, Statistics, TableModel
from skdp.source._integers import (
    SLACK,
    WEIGHT_BITS,
    WEIGHT_GRID,
    RowGrid,
    integer_weights,
    row_probabilities,
    squared_norms,
)
from skdp.source._linear_model import AGAIN, LinearModel, StatisticsModel, is_narrow, perturb_sums
from skdp.utils._linalg import TINY

# Rounds of boosting. More rounds mean more noise in each and smaller steps, with the same
# information in total. On adult at ε = 4 the AUC is .913 with 100 rounds, of steps up to 2, and
# .914 with 200 of up to 1.
N_ROUNDS = 200
# Share of the budget for the sums behind the linear scores, from which boosting starts; the rest
# is for the rounds. With .3 and .5 the AUC on adult is .9060 and .9053 at ε = .5, .910 and
# .909 at 1, .913 and .913 at 4; that of tables of 1,000 rows is larger with .5.
_LINEAR = 0.5
# Length of boosting, in steps of rate 1: until the noise in the score of a bin that holds all rows
# would be the first number, and at most the second (measured on six tables and four hospitals;
# .2 is better for adult, .1 for the others).
_NOISE, _MOST_STEPS = 0.1, 200.0
# Noise in one bin of all rounds, in rows, from which less changes nothing: rows differ by chance,
# too. Without noise the AUC of 300 and 1,000 rows of six tables is .813 and .823 with it, .796 and
# .817 without, and .813 and .824 of linear models; the log loss .356 and .339, .378 and .345, .357
# and .342.
_LEAST_NOISE = 4.0
# Number of rows, relative to the noise in one bin of all rounds, from which "auto" is additive:
# for ten columns 6,600 at ε = .5, 3,300 at 1 and 960 at 4. Of 2,000 rows or fewer the AUC of
# additive models is .002 to .007 lower than that of linear ones, of 4,000 .000 (-.001 to .003), of
# 8,000 .002 higher (eight tables, ε = .5, 1 and 4, four draws; the log loss is lower from 700).
_LEAST_SIGNAL = 200.0
# The same of a number: with 1,000 rows and ε = 1 R² is .40 and .40, .77 and .90, -.13 and -.12,
# .03 and .03 of linear and additive models (expenditure, diamonds, visits and their logarithm).
_LEAST_SIGNAL_OF_NUMBERS = 70.0
# Of a number: most of a residual, in standard deviations of what the linear regression leaves, and
# the share of the budget that says what the shapes leave of that.
_RESIDUALS, _UNEXPLAINED = 2.0, 0.02
# Most of a row's residual that all columns' steps take together.
_OVERSHOOT = 1.5
# Norm of a row's residuals, in multiples of 2^-20, with a margin for rounding.
_LONGEST = WEIGHT_GRID * SLACK
# Rows at a time (measured: 2^12 to 2^15 take equally long).
_CHUNK = 2**14


@dataclass(frozen=True)
class BinnedGrid(RowGrid):
    """A public map of rows to whole numbers, and to bins of their columns."""

    bins: ShapeFunctions

    @property
    def sensitivity(self):
        """Return the norm of what one record changes in the sums of residuals by bin.

        It is in one bin of each of p columns, with residuals of norm 1: √p, in multiples of 2⁻²⁰.
        """
        return int(np.ceil(np.sqrt(len(self.bins.start)) * WEIGHT_GRID))


class AdditiveModel(StatisticsModel):
    """Sums of nonlinear functions of single columns."""

    _linear = LinearModel()

    def grid(self, columns, radius):
        if not is_narrow(columns):
            raise ValueError(
                "The 'model' parameter of DPStatisticsSource is 'additive', which is for tables "
                f"and for arrays of up to 100 columns, got {columns.n_features}. Use 'mixtures' "
                "or 'logistic'."
            )
        grid = self._linear.grid(columns, radius)
        bins = (
            ShapeFunctions.of_columns(2, columns.sizes, *columns.bounds)
            if columns.schema is None
            else ShapeFunctions.of_schema(2, columns.schema)
        )
        return BinnedGrid(**{f.name: getattr(grid, f.name) for f in fields(RowGrid)}, bins=bins)

    def shares(self, outcome, grid):
        shares = _scaled(self._linear.shares(outcome, grid), _LINEAR)
        n_bins, left = int(grid.bins.offsets[-1]), 1 - _LINEAR
        if outcome.has_squares:
            left -= _UNEXPLAINED
            shares["unexplained"] = Share(_UNEXPLAINED, 2, np.sqrt(2) * WEIGHT_GRID, 1, 1)
        numbers = n_bins if outcome.has_squares else outcome.n_sums * n_bins
        shares["residuals"] = Share(left, numbers, grid.sensitivity, N_ROUNDS, 1)
        return shares

    def learn(self, rows, grid, queries):
        sums = rows.sums(grid)
        statistics = Statistics(perturb_sums(sums, grid, queries), grid.basis)
        # A release keeps what is read-only as it is, and with it the scores that boosting reads.
        statistics = statistics.freeze(copy=False)
        return self._learn_more(rows, sums, grid, statistics, queries)

    def _learn_more(self, rows, sums, grid, statistics, queries):
        """Return a model, from linear statistics and the rest of the budget."""
        if rows.outcome.has_squares:
            return TableModel(statistics, *boosted_regression(rows, grid, statistics, queries))
        return TableModel(statistics, boosted_shapes(rows, grid, statistics, queries))


class ChosenModel(AdditiveModel):
    """The additive model where noisy counts show enough rows for it, otherwise the linear one.

    The linear model uses the whole budget: its sums are perturbed twice, with half of it each.
    """

    @property
    def branches(self):
        return [self, AdditiveModel()]

    def shares(self, outcome, grid):
        shares = super().shares(outcome, grid)
        again = _scaled(self._linear.shares(outcome, grid), 1 - _LINEAR, option=2)
        return shares | {f"{name}{AGAIN}": share for name, share in again.items()}

    def _learn_more(self, rows, sums, grid, statistics, queries):
        noise = max(_deviation_of_rounds(grid, queries), _LEAST_NOISE)
        least = _LEAST_SIGNAL_OF_NUMBERS if rows.outcome.has_squares else _LEAST_SIGNAL
        if statistics.sums.row_counts.sum() >= least * noise:
            return super()._learn_more(rows, sums, grid, statistics, queries)
        sums = perturb_sums(sums, grid, queries, statistics.sums)
        return TableModel(Statistics(sums, grid.basis))


def _scaled(shares, factor, option=0):
    """Return shares of a part of the budget."""
    return {
        name: replace(share, fraction=factor * share.fraction, option=option)
        for name, share in shares.items()
    }


def boosted_shapes(rows, grid, statistics, queries):
    """Return shape functions that improve linear scores; spends the share "residuals"."""
    # In each round the residuals w(p)(e_y - p) of all rows are summed by the bin of each column,
    # with noise, and each shape makes a step along the sums, smoothed over neighbors. The weight
    # w(p) = 1/\max_c \|e_c - p\| gives every row the same largest possible residual: 1. For two
    # classes that is 1/\max(p, 1 - p), twice the weight of logistic regression where p is 1/2,
    # with the same noise and the same minimizer: for every p, E[w(p)(e_y - p)] = 0 where p is the
    # probability of y.
    bins, K = grid.bins, rows.outcome.n_sums
    binned = BinnedRows.of(
        rows, grid, statistics.linear.coefficients, statistics.linear.intercepts
    )
    deviation = _deviation_of_rounds(grid, queries)
    n_rows = statistics.sums.row_counts.sum()
    rate = boosting_rate(n_rows, deviation)
    values = np.zeros((K, bins.offsets[-1]))
    for _ in range(N_ROUNDS):
        sums = binned.sums_by_bin(bins, balanced_residuals, K)
        noisy = queries.add("residuals", sums, grid.sensitivity)
        sums = noisy / (WEIGHT_GRID * n_rows)
        step = rate * bins.smoothed(sums - sums.mean(axis=0))
        values += step
        binned.add(bins, step)
    # An upper bound, as if no round corrected the noise of earlier rounds.
    noise = rate * N_ROUNDS * deviation / n_rows * np.sqrt(1 - 1 / K)
    return ShapeFunctions(
        **{key: getattr(bins, key) for key in _PUBLIC},
        values=values,
        deviations=noise * bins.smoothed_deviations(),
        intercepts=np.zeros(K),
    )


def boosted_regression(rows, grid, statistics, queries):
    """Return shape functions that improve a linear regression, and what they leave unexplained.

    Spends the shares "residuals" and "unexplained".
    """
    # As for classes, by residuals of squared error, each clipped to some standard deviations of
    # what the linear regression leaves, so that outliers do not set the noise. Half of a value is
    # that of the upper bound, and the other half, negative, that of the lower.
    bins, regression = grid.bins, statistics.regression
    limit = _RESIDUALS * float(np.sqrt(regression.variance[0]))
    coefficients = regression.coefficients[np.newaxis], regression.intercept
    binned = BinnedRows.of(rows, grid, *coefficients)

    def residuals(scores, places, weights):
        return clipped_residuals(scores, places, weights, limit)

    deviation = _deviation_of_rounds(grid, queries)
    n_rows = statistics.sums.row_counts.sum()
    # A step moves a row by its residuals' mean in each column at most, smoothed or not: with all
    # columns alike, twice the residual would be as far away on the other side.
    rate = min(boosting_rate(n_rows, deviation), _OVERSHOOT / len(bins.start))
    values, before = np.zeros((1, bins.offsets[-1])), binned.sum_of_squares(residuals)
    for _ in range(N_ROUNDS):
        sums = binned.sums_by_bin(bins, residuals, 1)
        noisy = queries.add("residuals", sums, grid.sensitivity)
        step = rate * limit * bins.smoothed(noisy / (WEIGHT_GRID * n_rows))
        values += step
        binned.add(bins, step)
    squares = np.array([before, binned.sum_of_squares(residuals)])
    before, after = queries.add("unexplained", squares, np.sqrt(2) * WEIGHT_GRID) / WEIGHT_GRID
    sd = queries.deviation("unexplained", np.sqrt(2))
    before = max(before, sd, TINY)
    noise = rate * limit * N_ROUNDS * deviation / n_rows
    shapes = ShapeFunctions(
        **{key: getattr(bins, key) for key in _PUBLIC},
        values=np.concatenate([-values, values]) / 2,
        deviations=noise * bins.smoothed_deviations(),
        intercepts=np.zeros(2),
    )
    left = np.clip([after / before, np.sqrt(2) * sd / before], 0.0, 1.0)
    return shapes, left


def _deviation_of_rounds(grid, queries):
    """Return the standard deviation of the noise in one bin, in rows, of the mean round."""
    deviation = queries.deviation("residuals", grid.sensitivity) / WEIGHT_GRID
    return deviation / np.sqrt(N_ROUNDS)


_PUBLIC = ("start", "width", "one_hot", "n_bins", "low", "high")


def boosting_rate(n_rows, deviation):
    """Return the size of a step, by a noisy number of rows and the noise of the mean round."""
    once = max(max(deviation, _LEAST_NOISE) / n_rows, _NOISE / _MOST_STEPS)
    return float(_NOISE / once / N_ROUNDS / np.sqrt(2))


@dataclass(frozen=True, eq=False, repr=False)
class BinnedRows:
    """Private rows by the bins of their columns, with their scores, which change in each round.

    Attributes
    ----------
    codes : list of ndarray of shape (n_chunk, n_shapes), dtype uint16

    scores : list of ndarray of shape (n_chunk, n_classes)

    class_indices : list of ndarray of shape (n_chunk,)

    weights : list of ndarray of shape (n_chunk,), dtype int64
        In multiples of 2⁻²⁰: the weights of a person's rows add up to one at most.
    """

    codes: list
    scores: list
    class_indices: list
    weights: list

    @classmethod
    def of(cls, rows, grid, coefficients, intercepts):
        """Return rows with their linear scores, each of which depends on its row alone."""
        codes, scores, class_indices, weights = [], [], [], []
        for X, classes, sizes in rows.blocks(_CHUNK):
            Z = grid.basis.encode(X)
            # No matrix product, whose last bits may depend on the other rows.
            total = np.tile(intercepts, (len(Z), 1))
            for column, of_column in zip(Z.T, coefficients.T, strict=True):
                total += column[:, np.newaxis] * of_column
            codes.append(grid.bins.codes(X))
            scores.append(total)
            class_indices.append(classes)
            weights.append(integer_weights(sizes, len(Z)))
        return cls(codes, scores, class_indices, weights)

    def sums_by_bin(self, bins, residuals, n_scores):
        """Return exact sums of residuals by bin, (n_scores, n_bins), in multiples of 2⁻²⁰."""
        sums = np.zeros((n_scores, bins.offsets[-1]), dtype=np.int64)
        for codes, of_rows in zip(self.codes, self._residuals(residuals), strict=True):
            for j, first in enumerate(bins.offsets[:-1]):
                column = slice(first, bins.offsets[j + 1])
                for c, of_score in enumerate(of_rows.T):
                    # Whole numbers below 2^53, whose sums are exact in any order.
                    bin_sums = np.bincount(codes[:, j], of_score, bins.n_bins[j])
                    sums[c, column] += bin_sums.astype(np.int64)
        return sums

    def sum_of_squares(self, residuals):
        """Return the exact sum of squared residuals, in multiples of 2⁻²⁰."""
        squares = 0
        for of_rows, weights in zip(self._residuals(residuals), self.weights, strict=True):
            # Of weighted residuals, the square over the weight: at most the weight.
            shares = np.trunc(of_rows[:, 0] ** 2 / np.maximum(weights, 1))
            squares += int(shares.sum())
        return squares

    def _residuals(self, residuals):
        return map(residuals, self.scores, self.class_indices, self.weights)

    def add(self, bins, values):
        """Add values by bin to the scores of each row."""
        for codes, scores in zip(self.codes, self.scores, strict=True):
            scores += bins.added(codes, values)


def balanced_residuals(scores, class_indices, weights):
    """Return weighted residuals in multiples of 2⁻²⁰, truncated toward zero."""
    # Those of a row, e_y - p, are divided by the norm of the longest that the row could have with
    # any class, so that they have norm 1 at most.
    probabilities = np.rint(row_probabilities(scores) * WEIGHT_GRID)
    # Squared norms of whole numbers, which are exact.
    squares = squared_norms(probabilities)
    longest = squares + WEIGHT_GRID**2 - 2 * WEIGHT_GRID * probabilities.min(axis=1)
    residuals = -probabilities
    residuals[np.arange(len(scores)), class_indices] += WEIGHT_GRID
    factors = _LONGEST / np.sqrt(longest) * weights * 2.0**-WEIGHT_BITS
    return np.trunc(residuals * factors[:, np.newaxis])


def clipped_residuals(scores, places, weights, limit):
    """Return weighted residuals of numbers, clipped to a limit, in multiples of 2⁻²⁰ of it."""
    residuals = places[:, np.newaxis] * 2.0**-WEIGHT_BITS - scores
    residuals = np.clip(residuals / limit, -1.0, 1.0)
    return np.trunc(residuals * weights[:, np.newaxis] * SLACK)
