r"""The model learned by noisy gradient descent, for every kind of outcome.

Each step sums r zᵀ over all rows, for residuals r and rows z with an appended constant. The norm
of each product is clipped, and noise is added to the sum (Abadi et al., 2016). The result is the
mean of the last steps (Polyak and Juditsky, 1992). A gradient has p noisy numbers for each score,
whereas the second moments of the linear model have p². Finally rows are counted by score and
outcome, with noise. A release's claims about its performance are computed from these counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from skdp.noise import Share
from skdp.release import (
    CLAIMS_SHARE,
    CONSTANT,
    MOMENTUM,
    MOST_CELLS,
    TAIL,
    Descent,
    ScoreTable,
    Statistics,
    TableModel,
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
    squared_norms,
)
from skdp.source._linear_model import LinearModel, StatisticsModel, is_narrow, perturb_sums
from skdp.source._problems import problem_of

# Candidates for the highest order of cosines of numeric columns; the first one as in sums.
_ORDERS = (3, 4, 5, 6, 7, 8)
# Shares of the budget: for the sums without counts, for counts, and for exits instead of counts.
# The final table of scores has its own share. The rest is for gradients.
_SUMS, _COUNTS, _EXITS = 0.18, 0.05, 0.08
# Clipping norm of rows, in roots of their expected squares. Rows between the bounds are never
# longer: the square of a number, uniform over [-1, 1], or of a cosine is at most three times its
# expectation.
_RADIUS = np.sqrt(3.0)
_LEAST_STEPS, MOST_STEPS = 3, 200
# Largest μ by which functions are chosen: about that of ε = 10.
_MOST_DISTANCE = 2.0
# The largest norm of a row's gradient for residuals of scale 1: the first factor times the norm of
# a row with its constant; the second one gives that row's norm in roots of its expected square. If
# rows are also clipped to this norm, AUC is .002 lower and R² .015 lower.
_CLIP, _USUAL = 0.5, 0.8
# Where noise is large, the norm is smaller, and grows with the root of N μ/√p up to twice the
# N μ/√p from which more cosines are used. With a constant of 1 and this factor 1 always, AUC is
# .006 lower on seven tables of two classes, and .003 on seven that did not choose. Smaller norms
# cost .003 of adult's AUC at 4,000 and 16,000 rows.
_TIGHT = 0.7
# Largest product of the length of a step, the curvature of the loss, and the largest mean square
# of rows along a direction: with momentum, a descent diverges from 3.6.
_STABLE = 2.0
# Rows in one matrix product, whose sums are exact, few enough for the processor's cache (60,000
# rows of 400 take a quarter longer with 2^12); and the most elements of rows kept in memory.
_ROWS, _MOST_KEPT = 2**9, 2**26


@dataclass(frozen=True)
class GradientGrid(RowGrid):
    """A public map from rows to whole numbers, with an appended constant."""

    @property
    def constant(self) -> int:
        """Return the appended constant in steps of the grid."""
        return max(round(CONSTANT * GRID / self.radius), 1)

    @property
    def clip(self) -> float:
        """Return the largest norm of the gradient of a row, for residuals of scale 1."""
        return _CLIP * float(np.hypot(_USUAL / _RADIUS * self.radius, CONSTANT))

    @property
    def sensitivity(self) -> int:
        """Return the norm of what one record adds to a gradient.

        A residual has at most the norm 2²⁰, which only a row of zeros and its constant reaches.
        """
        return WEIGHT_GRID * self.constant


@dataclass(frozen=True)
class DescentGrid(RowGrid):
    """A public map from rows to whole numbers for sums, and candidate maps for gradients.

    Attributes
    ----------
    descents : tuple of GradientGrid
    """

    descents: tuple[GradientGrid, ...]


class GradientModel(StatisticsModel):
    """Noisy sums, and coefficients of further functions of the columns by gradient descent."""

    _linear = LinearModel()

    def grid(self, columns):
        grids = []
        for last in _ORDERS if is_narrow(columns) else [1]:
            basis = columns.basis(range(2, last + 1))
            radius = float(_RADIUS * np.sqrt(basis.variances.sum()))
            grids.append(GradientGrid(basis, np.zeros(len(basis.column)), radius))
        return DescentGrid(**_fields(self._linear.grid(columns)), descents=tuple(grids))

    def shares(self, outcome, grid):
        sums = self._linear.shares(outcome, grid).items()
        shares = {name: replace(share, fraction=_SUMS * share.fraction) for name, share in sums}
        counts = _COUNTS if grid.exits is None else _EXITS
        shares["counts"] = replace(shares["counts"], fraction=counts)
        n_scores = 1 if outcome.n_sums == 2 else outcome.n_sums
        numbers = n_scores * (max(of.n_basis for of in grid.descents) + 1)
        largest = max(of.sensitivity for of in grid.descents)
        left = 1 - sum(share.fraction for share in shares.values())
        shares["gradients"] = Share(left - CLAIMS_SHARE, numbers, largest, MOST_STEPS)
        shares["claims"] = Share(CLAIMS_SHARE, MOST_CELLS, ROW)
        return shares

    def learn(self, rows, grid, queries):
        return self.descended(rows, grid, queries, *self.start(rows.sums(grid), grid, queries))

    def start(self, sums, grid, queries):
        """Return noisy sums, and the problem that they pose; spends their shares."""
        statistics = Statistics(perturb_sums(sums, grid, queries), grid.basis)
        return statistics, problem_of(statistics, grid.zero)

    def descended(self, rows, grid, queries, statistics, problem):
        """Return the model by a descent from noisy sums; spends the other shares."""
        descent = chosen_grid(problem, grid, queries.distance)
        encoded = rows.encoded(descent)
        indices = statistics.basis.places_in(descent.basis)
        weights, fit = descend(encoded, problem, queries, indices)
        table = score_table(encoded, problem, weights, fit, queries)
        constant = descent.constant * descent.step
        found = Descent(weights[:-1].T, weights[-1] * constant, descent.basis, table)
        return TableModel(statistics, found)


def _fields(grid):
    return {f.name: getattr(grid, f.name) for f in fields(RowGrid)}


def chosen_grid(problem, grid, distance):
    """Return the grid of gradients, with more functions for more rows."""
    # Even without noise, few rows cannot show many functions.
    signal = _signal(problem, grid.descents[0], min(distance, _MOST_DISTANCE))
    more = int(np.log2(max(signal / problem.base_signal, 1.0)))
    return grid.descents[min(more, len(grid.descents) - 1)]


def number_of_steps(problem, grid, distance):
    """Return the number and the length of steps, from noisy and public numbers.

    If the limit on their number makes steps too few, they are up to twice as long.
    """
    most = int(problem.most_steps * MOST_STEPS)
    wanted = problem.steps_per_signal * _signal(problem, grid, distance)
    length = problem.step_length * np.clip(wanted / most, 1, 2)
    stable = _STABLE / (problem.curvature * problem.largest_square)
    return int(np.clip(wanted, _LEAST_STEPS, most)), min(length, stable)


def tightness(problem, grid, distance):
    """Return the factor of the norm to which gradients of rows are clipped."""
    signal = _signal(problem, grid, distance) / problem.base_signal
    return float(np.clip(_TIGHT * np.sqrt(signal), problem.tightest, 1.0))


def _signal(problem, grid, distance):
    """Return N μ/√p."""
    n_numbers = (grid.n_basis + 1) * max(len(problem.start) / 2, 1)
    return problem.n_rows * distance / np.sqrt(n_numbers)


def descend(encoded, problem, queries, indices):
    """Return the mean coefficients of the last steps, and how they are fitted to the rows.

    The latter is ``fit`` of :class:`~skdp.release.ScoreTable`. Coefficients are
    (n_basis + 1, n_scores); the last row multiplies the constant. The descent starts at
    ``problem.start`` and ``problem.first``, whose functions have these ``indices`` among all
    functions. It has momentum, and spends the share "gradients".
    """
    grid = encoded.grid
    n_steps, rate = number_of_steps(problem, grid, queries.distance)
    queries.divide("gradients", n_steps)
    constant = grid.constant * grid.step
    clip = problem.scale * grid.clip * tightness(problem, grid, queries.distance)
    weights = np.zeros((grid.n_basis + 1, len(problem.start)))
    weights[-1] = problem.start / constant
    if problem.first is not None:
        weights[indices] = problem.first.T
    velocity, average = np.zeros_like(weights), np.zeros_like(weights)
    n_tail = max(int(TAIL * n_steps), 1)
    for k in range(n_steps):
        exact = exact_gradient(encoded, problem.residuals, weights, clip)
        noisy = queries.add("gradients", exact, grid.sensitivity)
        # A record adds at most ``clip`` to a gradient, which is ``grid.sensitivity`` steps.
        gradient = noisy * (clip / grid.sensitivity / problem.n_rows)
        velocity = MOMENTUM * velocity - rate * gradient
        weights = weights + velocity
        if k >= n_steps - n_tail:
            average += weights / n_tail
    usual = np.hypot(grid.radius / _RADIUS, CONSTANT)
    noise = queries.deviation("gradients", clip) / problem.n_rows
    return average, np.array([n_steps, rate, clip / usual, noise])


class EncodedRows:
    """Private rows as whole numbers: few rows are kept, many are encoded again for each step."""

    def __init__(self, rows, grid):
        self._rows, self.grid = rows, grid
        elements = len(rows.codes) * grid.n_basis
        self._kept = list(self._encoded()) if elements <= _MOST_KEPT else None

    def __iter__(self) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield chunks of rows, their outcomes, and the largest norms of weighted residuals."""
        kept = self._encoded() if self._kept is None else self._kept
        for Q, outcomes, limits in kept:
            yield Q.astype(np.float64), outcomes, limits

    def scored(self, weights: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield the same with scores, bit for bit independent of other rows."""
        scores = exact_scores(self.grid, weights)
        for Q, outcomes, limits in self:
            yield Q, scores(Q), outcomes, limits

    def _encoded(self):
        for Q, outcomes, weights in self._rows.weighted_chunks(self.grid):
            # The norm of a row with its constant; the sensitivity is this times the residual.
            norms = np.sqrt(squared_norms(Q) + self.grid.constant**2)
            largest = self.grid.sensitivity * SLACK**2 / norms
            for start in range(0, len(Q), _ROWS):
                part = slice(start, start + _ROWS)
                # Whole numbers below 2²⁴.
                yield Q[part].astype(np.float32), outcomes[part], (largest[part], weights[part])


def exact_scores(grid, weights):
    """Return a function from integer rows to scores, which do not depend on other rows.

    Weights are rounded to integers times a power of two: sums of integers are exact in any order.
    """
    units = grid.radius, grid.radius * grid.constant
    scores = IntegerMap.nearest(weights[:-1] * units[0], weights[-1] * units[1])
    scale = 2.0 ** -(scores.bits + GRID_BITS)
    return lambda Q: scores.scaled(Q) * scale


def score_table(encoded, problem, weights, fit, queries):
    """Return noisy rows by outcome and bin of a fixed score; spends the share "claims"."""
    grid, deviation = encoded.grid, queries.deviation("claims", 1.0)
    constant = grid.constant * grid.step
    variances = grid.basis.variances
    bins = problem.bins(weights[:-1].T, weights[-1] * constant, variances, deviation)
    counts = np.zeros(problem.n_outcomes * bins.n, dtype=np.int64)
    for _, scores, codes, (_, row_weights) in encoded.scored(weights):
        measured, outcomes = problem.cells(scores, codes)
        cells = outcomes * bins.n + bins.index(measured)
        # Sums of whole numbers are exact; a row, or a person, adds at most one.
        parts = row_weights * (ROW // WEIGHT_GRID) // cells.shape[1]
        parts = np.repeat(parts, cells.shape[1])
        counts += np.bincount(cells.ravel(), parts, len(counts)).astype(np.int64)
    noisy = queries.add("claims", counts, ROW) / ROW
    return ScoreTable(
        counts=noisy.reshape(problem.n_outcomes, bins.n),
        deviation=np.array([deviation]),
        bins=bins.as_array(),
        fit=fit,
    )


def exact_gradient(encoded, residuals, weights, clip):
    """Return Σ r zᵀ of clipped residuals as an exact integer sum."""
    grid, constant = encoded.grid, encoded.grid.constant
    gradient = np.zeros(weights.T.shape, dtype=np.int64)
    for Q, scores, outcomes, limits in encoded.scored(weights):
        of_rows = residuals(scores, outcomes)
        whole = integer_residuals(of_rows, clip / (constant * grid.step), *limits)
        gradient[:, :-1] += (whole.T @ Q).astype(np.int64)
        gradient[:, -1] += constant * whole.sum(axis=0).astype(np.int64)
    return gradient.T


def integer_residuals(residuals, unit, largest, weights):
    """Return weighted residuals, clipped to their largest norms, in multiples of 2⁻²⁰ of a unit.

    Multiples are truncated towards zero.
    """
    # Residuals of classes are at most two units; a single score's residual is clipped below.
    whole = np.trunc(np.clip(residuals / unit, -2.0, 2.0) * WEIGHT_GRID)
    norms = np.sqrt(squared_norms(whole))
    factors = largest / np.maximum(norms, largest) * weights * 2.0**-WEIGHT_BITS
    return np.trunc(whole * factors[:, np.newaxis])
