"""The interface of models, their noisy sums with the sensitivity of each, and the linear model."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from skdp.noise import Share
from skdp.release import (
    COSINE_ORDERS,
    Exits,
    NoisyStatistics,
    Statistics,
    TableModel,
    positive_counts,
)
from skdp.source._integers import GRID, ROW, SQUARE_BITS, SQUARE_ROW, RowGrid
from skdp.tabular import N_INTERVALS, Outcome

# Most columns of an array for which "auto" is "linear", and cosines are used: noise grows with
# their number (rule of thumb).
_MAX_LINEAR = 100

# Steps of class frequencies in the contrast, small enough for sums of 64 bits.
_FREQUENCY_STEPS = 2**14
# Share of the budget of the squared deviations of a number from its mean, which are one number
# (rule of thumb).
_SQUARES = 0.05
# Bound of the rounding of a norm that is computed in floating point.
_ROUNDING = 1 + 1e-12


class StatisticsModel(ABC):
    """A model that a source learns from rows by queries that share one budget.

    Attributes
    ----------
    one_pass : bool
        Whether sums of the rows suffice.
    """

    one_pass: bool = False

    @abstractmethod
    def grid(self, columns: Any) -> RowGrid:
        """Return the public grid of the rows."""

    @abstractmethod
    def shares(self, outcome: Outcome, grid: RowGrid) -> dict[str, Any]:
        """Return the public split of the budget, a dict of :class:`~skdp.noise.Share` by query."""

    @abstractmethod
    def learn(self, rows: Any, grid: RowGrid, queries: Any) -> dict[str, Any]:
        """Return the parts of a release."""


class LinearModel(StatisticsModel):
    """Moments, and linear scores of public basis functions of the columns, in one pass."""

    one_pass = True
    # Of the radius that bounds each row: the root of its expected square, times this. On six
    # tables .7 to 1.0 do nearly as well.
    _RADIUS = 0.8

    def grid(self, columns):
        basis = columns.basis(COSINE_ORDERS if is_narrow(columns) else ())
        # Variances guessed from public bounds and categories; measured ones would reveal rows.
        radius = self._RADIUS * np.sqrt(basis.variances.sum())
        return RowGrid(basis, np.zeros(len(basis.column)), float(radius))

    def shares(self, outcome, grid):
        # Most of it for the differences of the classes. On ten tables (bench_owners: 850 cells
        # of 100 rows or more, ε = .5 to 8) the mean log loss is .384, and .387 with .05, .05, .70
        # and .20, where the AUC is .001 higher; .384 with .10, .10, .60 and .20.
        fractions = {"counts": 0.10, "total": 0.10, "contrast": 0.65, "second": 0.15}
        if grid.exits is not None:
            # 41 ways to leave. On four tables (ε = .5 and 1, eight draws) the integrated Brier
            # score is .180, and .182 with .05 more for the contrast; concordance is the same.
            fractions |= {"counts": 0.15, "contrast": 0.60}
        shares = shares_of_sums(fractions, outcome.n_sums, grid.n_basis)
        if outcome.has_squares:
            # How far numbers lie from their mean: at most 1 each, to the square.
            contrast = shares["contrast"]
            left = contrast.fraction - _SQUARES
            shares["contrast"] = replace(contrast, fraction=left)
            shares["squares"] = Share(_SQUARES, 1, SQUARE_ROW * 4**SQUARE_BITS)
        if grid.exits is not None:
            # A row is in one cell, and in one sum: of those with the event, with a competing one,
            # or without.
            n_numbers = grid.exits.n_cells + 2 + bool(grid.exits.competing)
            shares["counts"] = Share(fractions["counts"], n_numbers, np.sqrt(2) * ROW)
        return shares

    def learn(self, rows, grid, queries):
        return TableModel(Statistics(perturb_sums(rows.sums(grid), grid, queries), grid.basis))


def shares_of_sums(fractions, n_classes, n_basis):
    """Return the shares of :func:`perturb_sums`, by the fractions of the budget that they are."""
    # Between neighbors, one of which has one more row z of norm ‖z‖ ≤ R and class y, the answers
    # differ by no more than
    # - 1 in the counts of the classes,
    # - R in the total Σz,
    # - R\,\max_c \|e_c - π\| in the contrast \sum (e_y - π) z^T, with π the noisy
    #   frequencies of the classes, known by then, so that each class may have its own sums at the
    #   cost of one; √2 at most,
    # - R² in the second moment Σzzᵀ, off the diagonal weighted by √2: \|zz^T\| = \|z\|^2.
    largest = GRID * _FREQUENCY_STEPS * np.sqrt(2) * _ROUNDING
    return {
        "counts": Share(fractions["counts"], n_classes, ROW),
        "total": Share(fractions["total"], n_basis, GRID),
        "contrast": Share(fractions["contrast"], n_classes * n_basis, largest),
        "second": Share(fractions["second"], n_basis * (n_basis + 1) // 2, GRID**2),
    }


def perturb_sums(sums, grid, queries):
    """Return noisy statistics; spends the shares "counts", "total", "contrast" and "second"."""
    t = sums.sums.shape[1]
    counts, count_sd, codes, exits = perturb_counts(sums.counts, grid, queries, "counts")
    steps = frequency_steps(counts, count_sd)
    total = sums.sums.sum(axis=0)
    contrast = codes @ sums.sums - np.outer(steps, total)
    contrast_norm = np.linalg.norm(codes.T - steps, axis=1).max() * _ROUNDING
    upper = np.triu_indices(t)
    # Off the diagonal half the variance, as ‖zzᵀ‖ counts each product twice.
    scales = np.where(upper[0] == upper[1], 1.0, np.sqrt(0.5))
    packed = queries.add("second", sums.second[upper], GRID**2, scales)
    second = np.zeros((t, t))
    second[upper] = packed * grid.step**2
    noisy_total = queries.add("total", total, GRID)
    noisy_contrast = queries.add("contrast", contrast, GRID * contrast_norm)
    return NoisyStatistics(
        counts=counts,
        total=noisy_total * grid.step,
        contrast=noisy_contrast * (grid.step / _FREQUENCY_STEPS),
        frequencies=steps / _FREQUENCY_STEPS,
        second=second + np.triu(second, 1).T,
        radius=grid.radius,
        count_sd=count_sd,
        total_sd=queries.deviation("total", grid.radius),
        contrast_sd=queries.deviation("contrast", grid.radius * contrast_norm / _FREQUENCY_STEPS),
        second_sd=queries.deviation("second", grid.radius**2),
        **_perturb_squares(sums.squares, steps, queries, "squares"),
        **exits,
    )


def perturb_counts(counts, grid, queries, name):
    """Return noisy counts of the classes, their deviation, codes, and noisy exits.

    The codes are the weights of each class of the sums in each class of the contrast, in steps.
    """
    if grid.exits is None:
        codes = _FREQUENCY_STEPS * np.eye(len(counts), dtype=np.int64)
        return queries.add(name, counts, ROW) / ROW, queries.deviation(name, 1.0), codes, {}
    exits = _perturb_exits(counts, queries, name)
    places = exits["exit_places"]
    places = np.append(places, places[len(places) // 2 : -1])[: len(counts)]
    codes = np.rint(np.array([1 - places, places]) * _FREQUENCY_STEPS).astype(np.int64)
    return exits.pop("counts"), exits.pop("count_sd"), codes, exits


def _perturb_exits(counts, queries, name):
    """Return the noisy rows of each kind of exit, and the counts of two pseudo-classes.

    The pseudo-classes are the smallest and the largest residual of the null model, −1 and 1; each
    row is split between them by its residual. Competing events are censored, and counted.
    """
    n, half = 2 * N_INTERVALS + 1, N_INTERVALS
    competing, counts = counts[n:], counts[:n].copy()
    counts[half : half + len(competing)] += competing
    sums = [counts[:half].sum(), counts[half:].sum() - competing.sum(), competing.sum()]
    sums = sums[: 2 + bool(len(competing))]
    noisy = queries.add(name, np.array([*counts, *sums]), np.sqrt(2) * ROW) / ROW
    exits, sums, deviation = noisy[:n], noisy[n:], queries.deviation(name, np.sqrt(2))
    # Least squares of cells and their sums, whose noise has the same variance.
    for cells, parts in ((exits[:half], sums[:1]), (exits[half:], sums[1:])):
        cells += (parts.sum() - cells.sum()) / (len(cells) + len(parts))
    known = Exits.of(exits, deviation)
    places, rows = known.places, known.rows
    mean = places @ rows / rows.sum()
    return {
        "counts": exits.sum() * np.array([1 - mean, mean]),
        # Of their sum, √2 of this.
        "count_sd": deviation,
        "exits": exits,
        "exit_sd": np.array([deviation]),
        "exit_places": places,
        "competing": sums[2:] if len(competing) else None,
        "squares": np.array([rows @ (places - mean) ** 2]),
        "square_sd": np.array([deviation * np.linalg.norm((places - mean) ** 2)]),
    }


def _perturb_squares(squares, steps, queries, name):
    """Return the noisy squared deviations of a number from its mean; nothing for classes."""
    if not squares.size:
        return {}
    n_rows, total, square = squares
    # The noisy mean, which is the frequency of the upper end, in steps of these sums.
    mean = round(int(steps[1]) * 2**SQUARE_BITS / _FREQUENCY_STEPS)
    deviations = np.array([square - 2 * mean * total + mean**2 * n_rows])
    # No row is farther from the mean than the farther end.
    largest = SQUARE_ROW * max(mean, 2**SQUARE_BITS - mean) ** 2
    unit = SQUARE_ROW * 4**SQUARE_BITS
    return {
        "squares": queries.add(name, deviations, largest) / unit,
        "square_sd": np.array([queries.deviation(name, largest / unit)]),
    }


def frequency_steps(counts, deviation):
    """Return class frequencies by noisy counts as whole numbers of steps, of fixed sum."""
    counts = positive_counts(counts, deviation)
    parts = np.maximum(np.floor(counts / counts.sum() * _FREQUENCY_STEPS), 1).astype(np.int64)
    parts[np.argmax(parts)] += _FREQUENCY_STEPS - parts.sum()
    return parts


def is_narrow(columns):
    """Return whether all columns, and cosines of them, are used rather than a subspace."""
    return columns.schema is not None or columns.n_features <= _MAX_LINEAR
