"""The additive model: linear scores, and shape functions of the columns by noisy boosting."""

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
# Number of rows, relative to the noise in one bin of all rounds, from which "auto" is additive:
# for ten columns 6,600 at ε = .5, 3,300 at 1 and 960 at 4. Of 2,000 rows or fewer the AUC of
# additive models is .002 to .007 lower than that of linear ones, of 4,000 .000 (-.001 to .003), of
# 8,000 .002 higher (eight tables, ε = .5, 1 and 4, four draws; the log loss is lower from 700).
_LEAST_SIGNAL = 200.0
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

    def shares(self, n_classes, grid, number=False):
        shares = _scaled(self._linear.shares(n_classes, grid), _LINEAR)
        numbers = n_classes * int(grid.bins.offsets[-1])
        shares["residuals"] = Share(1 - _LINEAR, numbers, grid.sensitivity, N_ROUNDS, 1)
        return shares

    def learn(self, rows, grid, queries):
        sums = rows.sums(grid)
        statistics = Statistics(perturb_sums(sums, grid, queries), grid.basis)
        # A release keeps what is read-only as it is, and with it the scores that boosting reads.
        statistics = statistics.freeze(copy=False)
        return self._learn_more(rows, sums, grid, statistics, queries)

    def _learn_more(self, rows, sums, grid, statistics, queries):
        """Return a model, from linear statistics and the rest of the budget."""
        return TableModel(statistics, boosted_shapes(rows, grid, statistics, queries))


class ChosenModel(AdditiveModel):
    """The additive model where noisy counts show enough rows for it, otherwise the linear one.

    The linear model uses the whole budget: its sums are perturbed twice, with half of it each.
    """

    @property
    def branches(self):
        return [self, AdditiveModel()]

    def shares(self, n_classes, grid, number=False):
        shares = super().shares(n_classes, grid)
        again = _scaled(self._linear.shares(n_classes, grid), 1 - _LINEAR, option=2)
        return shares | {f"{name}{AGAIN}": share for name, share in again.items()}

    def _learn_more(self, rows, sums, grid, statistics, queries):
        deviation = _deviation_of_rounds(grid, queries) / np.sqrt(N_ROUNDS)
        if statistics.sums.row_counts.sum() >= _LEAST_SIGNAL * deviation:
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
    bins, K = grid.bins, rows.n_classes
    binned = BinnedRows.of(rows, grid, statistics.linear)
    deviation = _deviation_of_rounds(grid, queries)
    n_rows = statistics.sums.row_counts.sum()
    rate = boosting_rate(n_rows, deviation)
    values = np.zeros((K, bins.offsets[-1]))
    for _ in range(N_ROUNDS):
        noisy = queries.add("residuals", binned.residual_sums(bins, K), grid.sensitivity)
        sums = noisy / (WEIGHT_GRID * n_rows)
        step = rate * bins.smoothed(sums - sums.mean(axis=0))
        values += step
        binned.add(bins, step)
    # An upper bound, as if no round corrected the noise of earlier rounds.
    noise = rate * np.sqrt(N_ROUNDS) * deviation / n_rows * np.sqrt(1 - 1 / K)
    return ShapeFunctions(
        **{key: getattr(bins, key) for key in _PUBLIC},
        values=values,
        deviations=noise * bins.smoothed_deviations(),
        intercepts=np.zeros(K),
    )


def _deviation_of_rounds(grid, queries):
    """Return the standard deviation of the noise of a round in one bin, in rows."""
    return queries.deviation("residuals", grid.sensitivity) / WEIGHT_GRID


_PUBLIC = ("start", "width", "one_hot", "n_bins", "low", "high")


def boosting_rate(n_rows, deviation):
    """Return the size of a step, by a noisy number of rows and the noise of each round."""
    once = max(deviation / np.sqrt(N_ROUNDS) / n_rows, _NOISE / _MOST_STEPS)
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
    def of(cls, rows, grid, linear):
        """Return rows with their linear scores, each of which depends on its row alone."""
        codes, scores, class_indices, weights = [], [], [], []
        for X, classes, sizes in rows.blocks(_CHUNK):
            Z = grid.basis.encode(X)
            # No matrix product, whose last bits may depend on the other rows.
            total = np.tile(linear.intercepts, (len(Z), 1))
            for column, coefficients in zip(Z.T, linear.coefficients.T, strict=True):
                total += column[:, np.newaxis] * coefficients
            codes.append(grid.bins.codes(X))
            scores.append(total)
            class_indices.append(classes)
            weights.append(integer_weights(sizes, len(Z)))
        return cls(codes, scores, class_indices, weights)

    def residual_sums(self, bins, n_classes):
        """Return exact sums of residuals by bin, (n_classes, n_bins), in multiples of 2⁻²⁰."""
        sums = np.zeros((n_classes, bins.offsets[-1]), dtype=np.int64)
        chunks = zip(self.codes, self.scores, self.class_indices, self.weights, strict=True)
        for codes, scores, class_indices, weights in chunks:
            residuals = balanced_residuals(scores, class_indices, weights)
            for j, first in enumerate(bins.offsets[:-1]):
                column = slice(first, bins.offsets[j + 1])
                for c in range(n_classes):
                    # Whole numbers below 2^53, whose sums are exact in any order.
                    bin_sums = np.bincount(codes[:, j], residuals[:, c], bins.n_bins[j])
                    sums[c, column] += bin_sums.astype(np.int64)
        return sums

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
