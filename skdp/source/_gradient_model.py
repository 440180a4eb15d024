r"""The model of coefficients by gradient descent with noise on every gradient, for every outcome.

Of each row z, a one appended, and scores s = W z, the residual r(s) is

- of classes :math:`\mathrm{softmax}(s) - e_y`; of two, of the second alone,
- of a number s − y, for its place y between the bounds,
- of a time :math:`\min(Λ_0(t) e^s, 3) - δ`, the negative martingale residual.

A step sums r zᵀ over all rows, each clipped to a norm (Abadi et al., 2016), with noise, and the
result is the mean of the last steps (Polyak and Juditsky, 1992). Second moments, which the sums
of the linear model have, are p² numbers with noise, and a gradient p.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from skdp.noise import Share
from skdp.release import Descent, Statistics, TableModel
from skdp.source._integers import (
    GRID,
    GRID_BITS,
    SLACK,
    WEIGHT_BITS,
    WEIGHT_GRID,
    IntegerMap,
    RowGrid,
    integer_weights,
    row_exponentials,
    row_logistic,
    row_probabilities,
    squared_norms,
)
from skdp.source._linear_model import AGAIN, LinearModel, StatisticsModel, is_narrow, perturb_sums

# Last orders of cosines of numeric columns, the first one as in sums.
_ORDERS = (3, 4, 5, 6, 7, 8)
# Shares of the budget: of the sums, of which those of exits have one of their own, and of what is
# measured of the scores in the end. The rest is for gradients.
_SUMS, _EXITS = 0.2, 0.08
# Radius of rows, in roots of their expected squares.
_RADIUS = 0.8
_LEAST_STEPS, _MOST_STEPS = 3, 200
_MOMENTUM, _TAIL = 0.8, 0.5
# Largest norm of a row's gradient, in units of the largest row and of a residual's scale.
_CLIP = 0.5
# Scale of the residuals of numbers, in their standard deviations, of which there is a least.
_OF_NUMBERS, _LEAST_DEVIATION = 1.2, 0.01
# Most of a cumulative hazard in a residual.
_MOST_HAZARD = 3.0
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
    def longest(self) -> float:
        """Return the largest norm of a row with its constant."""
        return self.step * float(np.hypot(GRID, self.constant))

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

    @property
    def branches(self):
        return [self, _AlwaysDescends()]

    def grid(self, columns, radius):
        sums = self._linear.grid(columns, radius)
        # A radius that was given is that of sums.
        longer = 1.0 if radius is None else radius / self._linear.grid(columns, None).radius
        grids = []
        for last in _ORDERS if is_narrow(columns) else [1]:
            basis = columns.basis(range(2, last + 1))
            expected = _RADIUS * float(np.sqrt(basis.variances.sum()))
            grids.append(GradientGrid(basis, np.zeros(len(basis.column)), expected * longer))
        return DescentGrid(**_fields(sums), descents=tuple(grids))

    def shares(self, n_classes, grid, number=False):
        sums = self._linear.shares(n_classes, grid, number)
        shares = _scaled(sums, _SUMS)
        if grid.exits is not None:
            shares["counts"] = replace(shares["counts"], fraction=_EXITS)
        n_scores = 1 if n_classes == 2 or grid.exits is not None else n_classes
        numbers = n_scores * (max(of.n_basis for of in grid.descents) + 1)
        largest = max(of.sensitivity for of in grid.descents)
        left = 1 - sum(share.fraction for share in shares.values())
        shares["gradients"] = Share(left, numbers, largest, _MOST_STEPS, 1)
        again = _scaled(sums, left, option=2)
        return shares | {f"{name}{AGAIN}": share for name, share in again.items()}

    def learn(self, rows, grid, queries):
        sums = rows.sums(grid)
        statistics = Statistics(perturb_sums(sums, grid, queries), grid.basis)
        problem = Problem.of(statistics, grid)
        descent = chosen_grid(problem, grid, queries.distance)
        if number_of_steps(problem, descent, queries.distance)[0] < self._fewest(problem):
            noisy = perturb_sums(sums, grid, queries, statistics.sums)
            return TableModel(Statistics(noisy, grid.basis))
        return TableModel(statistics, descend(rows, descent, problem, queries))

    def _fewest(self, problem):
        """Return the fewest steps that are made."""
        return problem.fewest


class _AlwaysDescends(GradientModel):
    """What happens where noisy counts show many rows, for a rehearsal of none."""

    def _fewest(self, problem):
        return 0


def _fields(grid):
    return {f.name: getattr(grid, f.name) for f in fields(RowGrid)}


def _scaled(shares, factor, option=0):
    """Return shares of a part of the budget."""
    return {
        name: replace(share, fraction=factor * share.fraction, option=option)
        for name, share in shares.items()
    }


@dataclass(frozen=True)
class Problem:
    """What the descent asks of an outcome, by what is public or noisy.

    Attributes
    ----------
    residuals : callable
        Of scores, (n_rows, n_scores), and the codes of outcomes: those of rows, of the same shape.

    start : ndarray of shape (n_scores,)
        The constants that all rows have in common.

    scale : float
        Of residuals.

    rate : float
        Length of a step.

    length : float
        Steps in units of N μ/√p.

    fewest : int
        Steps with which coefficients are more accurate than what follows from sums.

    doubled : float
        N μ/√p from which there are more cosines.

    n_rows : float
    """

    residuals: Callable[[np.ndarray, np.ndarray], np.ndarray]
    start: np.ndarray
    scale: float
    rate: float
    length: float
    fewest: int
    doubled: float
    n_rows: float

    @classmethod
    def of(cls, statistics, grid):
        """Return it by noisy sums."""
        sums = statistics.sums
        n_rows = float(sums.row_counts.sum())
        if grid.exits is not None:
            residuals = _residuals_of_times(statistics.exits)
            return cls(residuals, np.zeros(1), 1.0, 1.0, 0.25, 1, 80.0, n_rows)
        if statistics.is_number:
            mean = sums.row_counts[1:] / n_rows
            deviation = np.sqrt(max(float(sums.squares[0]) / n_rows, _LEAST_DEVIATION**2))
            scale = min(_OF_NUMBERS * deviation, 0.5)
            return cls(_residuals_of_numbers, mean, scale, 0.5, 0.25, 1, 20.0, n_rows)
        log_odds = np.log(sums.row_counts)
        if len(log_odds) == 2:
            return cls(_residuals_of_two, np.diff(log_odds), 1.0, 1.0, 0.5, 5, 80.0, n_rows)
        start = log_odds - log_odds.mean()
        return cls(_residuals_of_classes, start, 1.0, 3.0, 0.5, 5, 80.0, n_rows)


def _residuals_of_classes(scores, classes):
    residuals = row_probabilities(scores)
    residuals[np.arange(len(scores)), classes] -= 1
    return residuals


def _residuals_of_two(scores, classes):
    return row_logistic(scores) - classes[:, np.newaxis]


def _residuals_of_numbers(scores, places):
    return scores - (places * 2.0**-WEIGHT_BITS)[:, np.newaxis]


def _residuals_of_times(exits):
    """Return the residuals of rows that leave by cells."""
    cumulative = np.cumsum(exits.hazards)
    middle = cumulative - exits.hazards / 2
    hazards = np.concatenate([middle, middle, cumulative[-1:]])
    events = np.arange(len(hazards)) < len(middle)

    def residuals(scores, cells):
        expected = hazards[cells, np.newaxis] * row_exponentials(scores)
        return np.minimum(expected, _MOST_HAZARD) - events[cells, np.newaxis]

    return residuals


def chosen_grid(problem, grid, distance):
    """Return the grid of gradients: that of more functions where there are more rows."""
    signal = _signal(problem, grid.descents[0], distance) / problem.doubled
    more = int(np.log2(max(signal, 1.0))) if signal < np.inf else len(grid.descents)
    return grid.descents[min(more, len(grid.descents) - 1)]


def number_of_steps(problem, grid, distance):
    """Return how many steps the descent makes, and how long they are, by noisy and public numbers.

    Where more steps would be better than are made, these are up to twice as long.
    """
    wanted = problem.length * _signal(problem, grid, distance)
    return int(min(wanted, _MOST_STEPS)), problem.rate * np.clip(wanted / _MOST_STEPS, 1, 2)


def _signal(problem, grid, distance):
    """Return N μ/√p."""
    n_numbers = (grid.n_basis + 1) * max(len(problem.start) / 2, 1)
    return problem.n_rows * distance / np.sqrt(n_numbers)


def descend(rows, grid, problem, queries):
    """Return the coefficients after some steps; spends the share "gradients"."""
    n_steps, rate = number_of_steps(problem, grid, queries.distance)
    n_steps = max(n_steps, _LEAST_STEPS)
    queries.divide("gradients", n_steps)
    constant = grid.constant * grid.step  # one, but for rounding
    clip = _CLIP * problem.scale * grid.longest
    encoded = EncodedRows(rows, grid)
    weights = np.zeros((grid.n_basis + 1, len(problem.start)))
    weights[-1] = problem.start / constant
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
    return Descent(average[:-1].T, average[-1] * constant, grid.basis)


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


def exact_gradient(encoded, residuals, weights, clip):
    """Return Σ r zᵀ of clipped residuals as an exact integer sum."""
    grid = encoded.grid
    constant = grid.constant
    scores = IntegerMap.nearest(weights[:-1] * grid.radius, weights[-1] * constant * grid.radius)
    scale = 2.0 ** -(scores.bits + GRID_BITS)
    gradient = np.zeros(weights.shape, dtype=np.int64)
    for Q, outcomes, limits in encoded:
        of_rows = residuals(scores.scaled(Q) * scale, outcomes)
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
