r"""The model of coefficients by gradient descent with noise on every gradient, for every outcome.

A step sums r zᵀ over all rows, of residuals r and rows z with a one appended, each product clipped
to a norm (Abadi et al., 2016), with noise. The result is the mean of the last steps (Polyak and
Juditsky, 1992). Second moments, which the sums of the linear model have, are p² numbers with
noise, and a gradient p. In the end rows are counted by their score and outcome, with noise: all
that a release claims of itself is measured.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from skdp.noise import Share
from skdp.release import (
    CLAIMS_SHARE,
    MOST_CELLS,
    Descent,
    ScoreTable,
    Statistics,
    TableModel,
    degrees_of_freedom,
)
from skdp.source._integers import (
    GRID,
    GRID_BITS,
    ROW,
    SLACK,
    WEIGHT_BITS,
    WEIGHT_GRID,
    IntegerMap,
    RowGrid,
    integer_weights,
    squared_norms,
)
from skdp.source._linear_model import LinearModel, StatisticsModel, is_narrow, perturb_sums
from skdp.source._problems import problem_of

# Last orders of cosines of numeric columns, the first one as in sums.
_ORDERS = (3, 4, 5, 6, 7, 8)
# Shares of the budget: of the sums without counts, of counts, and of exits in their place; what is
# measured of the scores in the end has its own. The rest is for gradients.
_SUMS, _COUNTS, _EXITS = 0.18, 0.05, 0.08
# Radius of rows, in roots of their expected squares: none of columns between their bounds is
# longer, as those of a number, uniform over [-1, 1] or a cosine, are three times as long at most.
_RADIUS = np.sqrt(3.0)
_LEAST_STEPS, _MOST_STEPS = 3, 200
_MOMENTUM, _TAIL = 0.8, 0.5
# Largest μ by which functions are chosen: about that of ε = 10.
_MOST_DISTANCE = 2.0
# Largest norm of a row's gradient, for residuals of scale 1: this times that of a row and its
# constant, of which the row is so much of the root of its expected square. With rows clipped to
# that, too, the AUC is .002 lower, the log loss .0017 higher and R² .015 lower.
_CLIP, _USUAL = 0.5, 0.8
# Rows of one product of matrices, whose sums are exact, and elements of rows that are kept.
_ROWS, _MOST_KEPT = 2**12, 2**26


@dataclass(frozen=True)
class GradientGrid(RowGrid):
    """A public map of rows to whole numbers, to which a constant is appended."""

    @property
    def constant(self) -> int:
        """Return what is appended in steps of the grid: one, but for rounding."""
        return max(round(GRID / self.radius), 1)

    @property
    def clip(self) -> float:
        """Return the largest norm of the gradient of a row, for residuals of scale 1."""
        return _CLIP * float(np.hypot(_USUAL / _RADIUS * self.radius, 1.0))

    @property
    def sensitivity(self) -> int:
        """Return the norm of what one record adds to a gradient.

        A residual of the largest norm, 2²⁰, which only a row that is nothing but its constant has.
        """
        return WEIGHT_GRID * self.constant


@dataclass(frozen=True)
class DescentGrid(RowGrid):
    """A public map of rows to whole numbers for sums, and those of gradients: one is used.

    Attributes
    ----------
    descents : tuple of GradientGrid
    """

    descents: tuple[GradientGrid, ...]


class GradientModel(StatisticsModel):
    """Noisy sums, and coefficients of more functions of the columns by gradient descent."""

    _linear = LinearModel()

    def grid(self, columns, radius):
        sums = self._linear.grid(columns, radius)
        # A radius that was given is that of sums.
        longer = 1.0 if radius is None else radius / self._linear.grid(columns, None).radius
        grids = []
        for last in _ORDERS if is_narrow(columns) else [1]:
            basis = columns.basis(range(2, last + 1))
            expected = float(_RADIUS * np.sqrt(basis.variances.sum()))
            grids.append(GradientGrid(basis, np.zeros(len(basis.column)), expected * longer))
        return DescentGrid(**_fields(sums), descents=tuple(grids))

    def shares(self, outcome, grid):
        sums = self._linear.shares(outcome, grid).items()
        shares = {name: replace(share, fraction=_SUMS * share.fraction) for name, share in sums}
        counts = _COUNTS if grid.exits is None else _EXITS
        shares["counts"] = replace(shares["counts"], fraction=counts)
        n_scores = 1 if outcome.n_sums == 2 else outcome.n_sums
        numbers = n_scores * (max(of.n_basis for of in grid.descents) + 1)
        largest = max(of.sensitivity for of in grid.descents)
        left = 1 - sum(share.fraction for share in shares.values())
        shares["gradients"] = Share(left - CLAIMS_SHARE, numbers, largest, _MOST_STEPS)
        shares["claims"] = Share(CLAIMS_SHARE, MOST_CELLS, ROW)
        return shares

    def learn(self, rows, grid, queries):
        statistics = Statistics(perturb_sums(rows.sums(grid), grid, queries), grid.basis)
        problem = problem_of(statistics)
        descent = chosen_grid(problem, grid, queries.distance)
        encoded = EncodedRows(rows, descent)
        places = statistics.basis.places_in(descent.basis)
        weights, freedom = descend(encoded, problem, queries, places)
        table = score_table(encoded, problem, weights, freedom, queries)
        constant = descent.constant * descent.step
        found = Descent(weights[:-1].T, weights[-1] * constant, descent.basis, table)
        return TableModel(statistics, found)


def _fields(grid):
    return {f.name: getattr(grid, f.name) for f in fields(RowGrid)}


def chosen_grid(problem, grid, distance):
    """Return the grid of gradients: that of more functions where there are more rows."""
    # Without noise too, few rows do not tell of many functions.
    signal = _signal(problem, grid.descents[0], min(distance, _MOST_DISTANCE)) / problem.doubled
    more = int(np.log2(max(signal, 1.0)))
    return grid.descents[min(more, len(grid.descents) - 1)]


def number_of_steps(problem, grid, distance):
    """Return how many steps the descent makes, and how long they are, by noisy and public numbers.

    Where more steps would be better than are made, these are up to twice as long.
    """
    wanted = problem.length * _signal(problem, grid, distance)
    return int(np.clip(wanted, _LEAST_STEPS, _MOST_STEPS)), problem.rate * np.clip(
        wanted / _MOST_STEPS, 1, 2
    )


def _signal(problem, grid, distance):
    """Return N μ/√p."""
    n_numbers = (grid.n_basis + 1) * max(len(problem.start) / 2, 1)
    return problem.n_rows * distance / np.sqrt(n_numbers)


def descend(encoded, problem, queries, places):
    """Return coefficients after some steps, and their degrees of freedom; spends "gradients".

    Functions in the sums are at some places among those of the gradients.
    """
    grid = encoded.grid
    n_steps, rate = number_of_steps(problem, grid, queries.distance)
    queries.divide("gradients", n_steps)
    constant = grid.constant * grid.step  # one, but for rounding
    clip = problem.scale * grid.clip
    weights = np.zeros((grid.n_basis + 1, len(problem.start)))
    weights[-1] = problem.start / constant
    if problem.first is not None:
        weights[places] = problem.first.T
    velocity, average = np.zeros_like(weights), np.zeros_like(weights)
    n_tail = max(int(_TAIL * n_steps), 1)
    for k in range(n_steps):
        exact = exact_gradient(encoded, problem.residuals, weights, clip)
        noisy = queries.add("gradients", exact, grid.sensitivity)
        gradient = noisy * (clip / grid.sensitivity / problem.n_rows)
        velocity = _MOMENTUM * velocity - rate * gradient
        weights = weights + velocity
        if k >= n_steps - n_tail:
            average += weights / n_tail
    variances = grid.basis.variances
    freedom = degrees_of_freedom(variances, n_steps, rate, problem.curvature)
    return average, problem.n_fits * freedom


class EncodedRows:
    """Private rows as whole numbers: kept where they are few, otherwise encoded for each step."""

    def __init__(self, rows, grid):
        self._rows, self.grid = rows, grid
        elements = len(rows.class_indices) * grid.n_basis
        self._kept = list(self._encoded()) if elements <= _MOST_KEPT else None

    def __iter__(self) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield some rows each, their outcomes, and largest norms of residuals with weights."""
        kept = self._encoded() if self._kept is None else self._kept
        for Q, outcomes, limits in kept:
            yield Q.astype(np.float64), outcomes, limits

    def scored(self, weights: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield the same with scores, each of its row alone, to the last bit."""
        units = self.grid.radius, self.grid.radius * self.grid.constant
        scores = IntegerMap.nearest(weights[:-1] * units[0], weights[-1] * units[1])
        scale = 2.0 ** -(scores.bits + GRID_BITS)
        for Q, outcomes, limits in self:
            yield Q, scores.scaled(Q) * scale, outcomes, limits

    def _encoded(self):
        for Q, outcomes, sizes in self._rows.chunks(self.grid):
            # A row with its constant has this norm, and times its residuals the sensitivity.
            norms = np.sqrt(squared_norms(Q) + self.grid.constant**2)
            largest = self.grid.sensitivity * SLACK**2 / norms
            weights = integer_weights(sizes, len(Q))
            for start in range(0, len(Q), _ROWS):
                part = slice(start, start + _ROWS)
                # Whole numbers below 2²⁴.
                yield Q[part].astype(np.float32), outcomes[part], (largest[part], weights[part])


def score_table(encoded, problem, weights, freedom, queries):
    """Return noisy rows by outcome and bin of a score that is fixed; spends the share "claims"."""
    grid, deviation = encoded.grid, queries.deviation("claims", 1.0)
    constant = grid.constant * grid.step
    variances = grid.basis.variances
    bins = problem.bins(weights[:-1].T, weights[-1] * constant, variances, deviation)
    counts = np.zeros(problem.n_outcomes * bins.n, dtype=np.int64)
    for _, scores, codes, (_, row_weights) in encoded.scored(weights):
        measured, outcomes = problem.cells(scores, codes)
        cells = outcomes * bins.n + bins.index(measured)
        # Whole numbers, whose sums are exact: a row, and a person, adds up to one at most.
        parts = np.repeat(row_weights // cells.shape[1], cells.shape[1])
        counts += np.bincount(cells.ravel(), parts, len(counts)).astype(np.int64)
    noisy = queries.add("claims", counts * (ROW // WEIGHT_GRID), ROW) / ROW
    return ScoreTable(
        counts=noisy.reshape(problem.n_outcomes, bins.n),
        deviation=np.array([deviation]),
        bins=np.array([bins.low, bins.width, bins.n, bins.unit]),
        optimism=np.array([freedom]),
    )


def exact_gradient(encoded, residuals, weights, clip):
    """Return Σ r zᵀ of clipped residuals as an exact integer sum."""
    grid, constant = encoded.grid, encoded.grid.constant
    gradient = np.zeros(weights.shape, dtype=np.int64)
    for Q, scores, outcomes, limits in encoded.scored(weights):
        of_rows = residuals(scores, outcomes)
        whole = integer_residuals(of_rows, clip / (constant * grid.step), *limits)
        gradient[:-1] += (Q.T @ whole).astype(np.int64)
        gradient[-1] += constant * whole.sum(axis=0).astype(np.int64)
    return gradient


def integer_residuals(residuals, unit, largest, weights):
    """Return weighted residuals in multiples of 2⁻²⁰ of a unit, each of a norm up to its largest.

    Truncated towards zero.
    """
    # Those of classes are no larger than two units; a single one is brought to its largest below.
    whole = np.trunc(np.clip(residuals / unit, -2.0, 2.0) * WEIGHT_GRID)
    norms = np.sqrt(squared_norms(whole))
    factors = largest / np.maximum(norms, largest) * weights * 2.0**-WEIGHT_BITS
    return np.trunc(whole * factors[:, np.newaxis])
