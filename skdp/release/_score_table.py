r"""Noisy counts of a source's rows by bin of a fixed score and by outcome, and their posterior.

The score is already learned and public when rows are counted. A row therefore adds 1 to one cell,
and the noise does not depend on the number of columns. A release's claims about its own
performance follow from the posterior of the expected number of rows λ in each cell,

.. math:: h ∼ N(λ, λ + σ^2), λ_{ob} = n f(b) g(o | b) (1 + v_{ob}),

where h are the noisy counts with noise of variance σ² and sampling variance λ, f is a density of
the score with few parameters, g is a model of the outcome with one effect of the score, and the
normal variables v are errors of both. The effect is scanned on a grid. Given the effect, the other
parameters are normal about their mode (Laplace's approximation).

The score was fitted to the rows in the table. A row with residual r moved its own score by
−h ψ(r), where ψ clips residuals as the descent did, and h is the mean leverage,

.. math:: h = \frac{1}{N v} \sum_j a_j(v),  v = \frac{1}{N} \sum_i r'_i [ψ(r_i) = r_i],

where :math:`a_j(v)` is the progress of coefficient j from start to optimum. Only rows that are not
clipped hold a score back: if few are, each moves its own score far. The prior is about the effect
on other rows, which is less than that on the rows in the table by ``OutcomeModel.optimism``.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtr

from skdp.release._parts import LARGEST_MEAN, Part, array, require
from skdp.utils._linalg import TINY

# Score bins cover so many expected deviations on both sides; outer bins include all scores beyond.
_REACH = 5.0
# Widths of bins in expected deviations: the width when the noise in a cell is 1/26 of all rows,
# the power of (number of rows / noise) by which it decreases, and the smallest width.
_WIDEST, _WIDEST_AT, _NARROWING, _NARROWEST = 1.2, 26.0, 0.125, 0.5
# Relative rounding of a frame by another version of a linear algebra library.
_ROUNDING = 1e-6
# Largest number of cells of a table.
MOST_CELLS = 320
# Limit of each number that describes the fit in a file.
_MOST_OF_FIT = 5000.0
# Parts of a bin in which densities are evaluated.
PARTS = 6
# Candidates for the prior standard deviation of v. Errors shared by the cells of a bin besides, of
# .25, made intervals of all kinds of outcomes a few percent wider, and no value better.
_OF_CELLS = (0.1, 0.3, 0.6)
# Error of the density's shares of bins, in shares of equal bins: where noise is smaller, the
# measured shares count. Scores of few categories have few values. Without it, mean costs of three
# categories (24,000 rows, ε = 100) are up to 5 times too high or all equal; on 41 cells of other
# tables log loss and R² are equal within .001.
_OF_SHARES = 0.05
# Rows of a bin that count in these shares, in standard deviations of noise: of bins without rows,
# positive noise would make the distribution of scores too wide.
_EVIDENT = 2.0
# Prior standard deviations of the score's location and log scale in expected units, its skewness
# and its tails.
_SCORES, _SCORE_SDS = (0.0, 0.15, 0.0, 0.0), (1.5, 0.3, 0.4, 0.25)
# Index of the effect among the parameters, after the log number of rows and the four above.
EFFECT = 5
# Least mean curvature of the loss of a fit.
_LEAST_CURVATURE = 1e-6
# Prior probability that the score is uninformative.
_NOTHING = 0.1
# Least probability of an outcome or a bin, whose logarithm is finite.
_LEAST_PROBABILITY = 1e-12
# Least variance of a count, so that it is never 0.
_LEAST_VARIANCE = 0.5
_STEPS, _TRIES, _TOLERANCE, _DIFFERENCE = 12, 7, 1e-3, 1e-4
# Relative amount that is added to the diagonal of a precision.
_RIDGE = 1e-13
_N_DRAWS = 400
# Momentum of the descent, the share of its last steps whose mean is released, and the constant
# that is appended to rows.
MOMENTUM, TAIL, CONSTANT = 0.8, 0.5, 0.4


def score_frame(coefficients, intercept, variances):
    """Return the mean and standard deviation of scores by public guesses of variances."""
    variance = np.square(coefficients, dtype=np.float64) @ variances
    return float(intercept), max(float(np.sqrt(variance)), 1e-6)


def pair_frame(coefficients, variances):
    """Return the same for differences between class scores, from (n_classes, n_basis)."""
    apart = coefficients - coefficients.mean(axis=0)
    return 0.0, max(float(np.sqrt(np.mean(apart**2 @ variances) * 2)), 1e-6)


def trajectory(squares, n_steps, rate, curvature):
    """Return how far a descent has moved its mean coefficients, and the noise in them.

    Parameters
    ----------
    squares : ndarray of shape (n_basis,)
        Mean square of each function.

    n_steps, rate, curvature : float
        Number and length of steps, and the mean second derivative of the loss by the score.

    Returns
    -------
    progress : ndarray of shape (n_basis,)
        0 at the start, 1 at the optimum.

    noise : ndarray of shape (n_basis,)
        Variance for noise of variance 1 in the gradient of each step.
    """
    n_steps, speed = int(n_steps), np.full(len(squares), rate)  # 0 steps if rows are others
    at, sums = np.zeros(len(squares)), np.zeros((n_steps + 1, len(squares)))
    for step in range(n_steps):
        at = at + speed
        sums[step + 1] = sums[step] + at
        speed = MOMENTUM * speed - rate * curvature * squares * at
    n_tail = max(int(TAIL * n_steps), 1)
    until = np.arange(n_steps, 0, -1)  # from each step to the last one
    responses = (sums[until] - sums[np.maximum(until - n_tail, 0)]) / n_tail
    return curvature * squares * responses.sum(axis=0), (responses**2).sum(axis=0)


@dataclass(frozen=True)
class ScoreBins:
    """Public bins of a score, of equal width; the outer bins include all scores beyond."""

    low: float
    width: float
    n: int
    unit: float

    @classmethod
    def of(cls, center, unit, n_rows, deviation, folded=False):
        """Return bins about a center, narrower with less noise; ``folded``: only above it."""
        rows = n_rows / max(deviation, TINY * max(n_rows, 1.0), 1e-9)
        width = _WIDEST * (_WIDEST_AT / max(rows, 1.0)) ** _NARROWING
        width = float(np.clip(width, _NARROWEST, _WIDEST))
        n = int(np.ceil(_REACH / width))
        if folded:
            return cls(center, width * unit, n, unit)
        return cls(center - n * width * unit, width * unit, 2 * n, unit)

    def are_about(self, center, unit):
        """Return whether these may be the bins about a center, apart from rounding."""
        start = self.low, self.low + self.n / 2 * self.width  # folded, or not
        near = np.abs(np.subtract(start, center)).min() <= _ROUNDING * max(unit, abs(center))
        widths = np.array([_NARROWEST, _WIDEST]) * [1 - _ROUNDING, 1 + _ROUNDING]
        usual = widths[0] <= self.width / self.unit <= widths[1]
        return near and usual and abs(self.unit - unit) <= _ROUNDING * unit

    def as_array(self):
        """Return lower end, width, number and unit."""
        return np.array([self.low, self.width, self.n, self.unit])

    def index(self, scores):
        """Return the bin of each score; NaN counts in the middle bin."""
        places = np.nan_to_num((scores - self.low) / self.width, nan=self.n / 2)
        return np.clip(np.floor(places), 0, self.n - 1).astype(np.int64)

    @property
    def edges(self):
        """Edges of the subdivisions of bins, (n · PARTS + 1,)."""
        return self.low + self.width / PARTS * np.arange(self.n * PARTS + 1)

    @property
    def scores(self):
        """Scores in the middle of each subdivision."""
        return self.edges[:-1] + self.width / PARTS / 2


@dataclass(frozen=True)
class ScoreTable(Part):
    """Noisy rows of a source by outcome and by bin of a score.

    Attributes
    ----------
    counts : ndarray of shape (n_outcomes, n_bins)

    deviation : ndarray of shape (1,)
        Standard deviation of the noise in each count.

    bins : ndarray of shape (4,)
        Lower end, width, number and unit of the bins.

    fit : ndarray of shape (4,)
        How the score was fitted to the same rows: number and length of the steps of the descent,
        the largest residual of a row of usual norm that is not clipped, and the standard
        deviation of the noise in the mean gradient of a step.
    """

    counts: np.ndarray = array("o s", "f", below=LARGEST_MEAN)
    deviation: np.ndarray = array("1", "f", least=0, below=LARGEST_MEAN)
    bins: np.ndarray = array("4", "f")
    fit: np.ndarray = array("4", "f", least=0, below=_MOST_OF_FIT)

    @property
    def score_bins(self):
        """Bins of the score."""
        low, width, n, unit = self.bins.tolist()
        return ScoreBins(low, width, int(n), unit)

    def residual_sd(self, start_sd: float) -> float:
        """Return the standard deviation of the mean residual of numbers that the descent has left.

        The appended constant has moved from a start with error ``start_sd`` to a residual of 0.
        """
        n_steps, rate, _, noise = self.fit
        progress, squares = trajectory(np.array([CONSTANT**2]), n_steps, rate, curvature=1.0)
        left = np.clip(1 - progress[0], 0, 1) * start_sd
        return float(np.hypot(left, noise * CONSTANT * np.sqrt(squares[0])))

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless each column of counts has a bin."""
        fits = self.bins[2] == self.counts.shape[1] and (self.bins[[1, 3]] > 0).all()
        require(fits and self.counts.size <= MOST_CELLS, f"{name}.bins", "must fit the counts")


class OutcomeModel:
    """How outcomes depend on a score: the prior of the parameters, and expected rows.

    ``mean`` and ``sd`` describe the prior of the parameters in this order: log number of rows;
    location, log scale, skewness and tails of the scores; the effect; further parameters.
    ``totals`` are separately measured noisy sums over all bins with standard deviation
    ``total_sd``; ``summing`` states which outcomes each total includes.
    """

    # Prior means and deviations of the further parameters, prior deviation of the effect, and the
    # effects to scan.
    others: Any
    widest: ClassVar[float]
    bounds: ClassVar[tuple[float, float]]
    usual: ClassVar[Any]
    parts = 1  # of an outcome, in which expected rows are evaluated
    folded = False
    n_classes, scale = 2, 1.0  # of scores, relative to those of the descent
    of_cells = _OF_CELLS[0]

    def __init__(self, table, variances, totals, total_sd, summing):
        self.table, self.variances, self.bins = table, variances, table.score_bins
        self.totals, self.summing = np.atleast_1d(totals), np.atleast_2d(summing)
        self.total_variances = np.broadcast_to(np.square(total_sd), self.totals.shape)
        self.center = self.bins.low + (0 if self.folded else self.bins.n * self.bins.width / 2)
        n = max(float(self.totals.sum()), 30.0)
        rows, noise = table.counts.sum(axis=0), len(table.counts) * table.deviation[0] ** 2
        rows = np.where(rows > _EVIDENT * np.sqrt(noise), rows, TINY)
        self.shares = rows / rows.sum()
        error = (_OF_SHARES * n / self.bins.n) ** 2
        self.reliability = float(error / (error + noise + _LEAST_VARIANCE))
        self.mean = np.array([np.log(n), *_SCORES, 0.0, *self.others[0]])
        self.sd = np.array([0.7, *_SCORE_SDS, self.widest, *self.others[1]])

    def log_prior(self, effects, parameters):
        """Return the prior log-density of each effect, given its ``parameters``."""
        raise NotImplementedError

    def outcomes(self, t, x, density):
        """Return probabilities of outcomes by score, (n, n_outcomes · parts, n_scores)."""
        raise NotImplementedError

    def residuals(self):
        """Return the descent's residuals by outcome and score, and their derivative by score.

        Both are (n_outcomes · parts, n_scores).
        """
        raise NotImplementedError

    def optimism(self, t):
        """Return by how much the effect is larger on the rows of the fit than on others.

        A row with residual r has moved its own score by −h ψ(r), where ψ clips residuals and h is
        the mean leverage. The effect of largest likelihood moves accordingly.
        """
        n_steps, rate, clip, _ = self.table.fit * [1.0, 1.0, self.scale, 1.0]
        residuals, slopes = self.residuals()
        changed = t.copy()
        changed[EFFECT] += _DIFFERENCE
        both = np.array([t, changed])
        density = self.density(both)
        x = self.scores(density)
        at, moved = (
            np.log(np.maximum(self.outcomes(both, x + d, density), _LEAST_PROBABILITY))
            for d in (0.0, _DIFFERENCE)
        )
        rows = density[0] * np.exp(at[0])
        n, by_effect = rows.sum(), (at[1] - at[0]) / _DIFFERENCE
        by_score = ((moved[1] - moved[0]) / _DIFFERENCE - by_effect) / _DIFFERENCE
        curvature = max((rows * slopes * (np.abs(residuals) < clip)).sum() / n, _LEAST_CURVATURE)
        of_class = self.n_classes / 2
        progress, _ = trajectory(self.variances, n_steps, rate, curvature / of_class)
        freedom = np.clip(progress, 0, 1).sum()
        leverage = of_class * freedom / (curvature * n * self.bins.unit)
        added = -leverage * (rows * np.clip(residuals, -clip, clip) * by_score).sum()
        return added / max((rows * by_effect**2).sum(), TINY)

    def scores(self, density):
        """Return scores in the subdivisions of bins minus their mean, in public units."""
        x = (self.bins.scores - self.center) / self.bins.unit
        if self.folded:
            return np.tile(x, (len(density), 1))
        return x - (density @ x / density.sum(axis=1))[:, np.newaxis]

    def density(self, t):
        """Return expected rows in the subdivisions of bins."""
        edges = (self.bins.edges - self.center) / self.bins.unit
        # The sinh-arcsinh density of Jones and Pewsey (2009).
        away = np.arcsinh((edges - t[:, 1:2]) / np.exp(t[:, 2:3]))
        below = ndtr(np.sinh(np.exp(t[:, 4:5]) * away - t[:, 3:4]))
        if self.folded:
            below = 2 * below - 1
        below[:, 0], below[:, -1] = 0, 1
        shares = np.maximum(np.diff(below), _LEAST_PROBABILITY)
        within = shares.reshape(len(t), self.bins.n, PARTS)
        measured = within * (self.shares / within.sum(axis=2))[..., np.newaxis]
        shares += self.reliability * (measured.reshape(shares.shape) - shares)
        return np.exp(t[:, :1]) * shares

    def spread(self, t):
        """Return the standard deviation of scores, (n,), in units of the publicly expected one."""
        density = self.density(t)
        squares = (density * self.scores(density) ** 2).sum(axis=1)
        return np.sqrt(squares / density.sum(axis=1))

    def rows(self, t):
        """Return expected rows, (n, n_outcomes · parts, n_bins · PARTS)."""
        density = self.density(t)
        return density[:, np.newaxis] * self.outcomes(t, self.scores(density), density)

    def cells(self, rows):
        """Return rows in the cells of the table, (n, n_outcomes, n_bins)."""
        shape = len(rows), -1, self.parts, self.bins.n, PARTS
        return rows.reshape(shape).sum(axis=(2, 4))

    def expected(self, t):
        """Return expected cells and totals in one vector for each set of parameters."""
        cells = self.cells(self.rows(t))
        totals = cells.sum(axis=2) @ self.summing.T
        return np.concatenate([cells.reshape(len(t), -1), totals], axis=1)


def _variances(model, expected):
    """Return variances of cells and totals about their expected values."""
    m = model.table.counts.size
    noise = np.concatenate([np.full(m, model.table.deviation[0] ** 2), model.total_variances])
    variances = expected + noise + _LEAST_VARIANCE
    variances[:m] += (model.of_cells * expected[:m]) ** 2
    return variances


@dataclass(frozen=True)
class _Fit:
    """The mode of a posterior, a root of its precision, and the logarithm of the evidence."""

    mode: np.ndarray
    free: np.ndarray
    root: np.ndarray
    log_evidence: float

    @classmethod
    def of(cls, model, start, effect=None, fixed=None) -> Self:
        """Return the fit by Gauss–Newton steps, with effect and variances fixed if given."""
        t, free = start.copy(), np.arange(len(start))
        if effect is not None:
            t[EFFECT], free = effect, np.delete(free, EFFECT)
        seen = np.concatenate([model.table.counts.ravel(), model.totals])
        mean, sd = model.mean[free], model.sd[free]
        small, damping = _DIFFERENCE * sd, 1e-4
        [expected] = model.expected(t[np.newaxis])

        def loss(t, expected):
            left = seen - expected
            return ((left**2 / variances).sum() + (((t[free] - mean) / sd) ** 2).sum()) / 2

        for _ in range(_STEPS):
            variances = _variances(model, expected) if fixed is None else fixed
            before, nearby = loss(t, expected), np.tile(t, (len(free), 1))
            nearby[np.arange(len(free)), free] += small
            slopes = ((model.expected(nearby) - expected) / small[:, np.newaxis]).T
            weighted = (slopes.T / variances).T
            gradient = weighted.T @ (seen - expected) - (t[free] - mean) / sd**2
            curvature = slopes.T @ weighted + np.diag(sd**-2.0)
            for _ in range(_TRIES):
                damped = curvature + damping * np.diag(curvature.diagonal())
                step, trial = np.linalg.solve(damped, gradient), t.copy()
                trial[free] += np.clip(step, -2 * sd, 2 * sd)
                [of_trial] = model.expected(trial[np.newaxis])
                if (after := loss(trial, of_trial)) <= before:
                    break
                damping = max(10 * damping, _TOLERANCE)
            else:
                break
            t, expected, damping = trial, of_trial, damping / 10
            if before - after < _TOLERANCE:
                break
        variances = _variances(model, expected) if fixed is None else fixed
        # Positive definite despite rounding, where counts contradict each other.
        curvature += _RIDGE * np.diag(curvature.diagonal())
        root = np.linalg.cholesky(curvature)
        log_evidence = -np.log(variances).sum() / 2 - loss(t, expected)
        log_evidence -= np.log(root.diagonal()).sum() + np.log(sd).sum()
        return cls(t, free, root, log_evidence)

    def draw(self, n, random_state):
        """Return draws of the parameters; fixed parameters do not vary."""
        drawn = np.tile(self.mode, (n, 1))
        normal = np.clip(random_state.standard_normal((len(self.free), n)), -3, 3)
        drawn[:, self.free] += np.linalg.solve(self.root.T, normal).T
        return drawn


def _scan(model):
    """Return fits at some effects, their probabilities, and the width that each one represents."""
    whole: Any = None
    for of_cells in _OF_CELLS:
        before, model.of_cells = model.of_cells, of_cells
        fit = _Fit.of(model, model.mean if whole is None else whole.mode)
        if whole is not None and fit.log_evidence <= whole.log_evidence:
            model.of_cells = before
            break
        whole = fit
    least, most = model.bounds
    sd = np.linalg.inv(whole.root @ whole.root.T)[EFFECT, EFFECT] ** 0.5
    at, sd = np.clip(whole.mode[EFFECT], least, most), min(sd, (most - least) / 4)
    shift = np.round(model.optimism(whole.mode), 7)
    effects = np.concatenate([at + sd * np.linspace(-3, 3, 11), [shift], shift + model.usual])
    effects = effects[(np.abs(effects - at) < 6 * sd) | (effects == shift)]
    effects = np.unique(np.round(effects[(effects >= least) & (effects <= most)], 7))
    if len(effects) < 2:  # a mode at a bound, hardly any noise
        effects = np.unique([least, *effects, most])
    # The same for all effects: if cells vary less than expected, smaller variances would count
    # in favor of the effects that imply them.
    [expected] = model.expected(whole.mode[np.newaxis])
    variances = _variances(model, expected)
    fits: list[Any] = [None] * len(effects)
    middle = int(np.argmin(np.abs(effects - at)))
    for order in (range(middle, len(effects)), range(middle - 1, -1, -1)):
        start = whole.mode
        for k in order:
            fits[k] = _Fit.of(model, start, effects[k], variances)
            start = fits[k].mode
    evidence = np.array([fit.log_evidence for fit in fits])
    steps = np.gradient(effects)
    density = model.log_prior(effects - shift, np.array([fit.mode for fit in fits]))
    likely = np.exp(evidence - evidence.max()) * steps * np.exp(density) * (1 - _NOTHING)
    nothing = effects == shift
    likely[nothing] = np.exp(evidence - evidence.max())[nothing] * _NOTHING
    return fits, likely / likely.sum(), np.where(nothing, 0.0, steps), shift


def posterior_rows(model):
    """Return draws of the parameters, and of expected counts of new rows.

    Returns
    -------
    parameters : ndarray of shape (n_draws, n_parameters)

    rows : ndarray of shape (n_draws, n_outcomes · parts, n_bins · PARTS)
    """
    random_state = np.random.RandomState(0)  # the table already includes noise
    fits, likely, steps, shift = _scan(model)
    chosen = np.sort(random_state.choice(len(fits), _N_DRAWS, p=likely))
    drawn = np.concatenate(
        [fits[k].draw(np.sum(chosen == k), random_state) for k in np.unique(chosen)]
    )
    within = random_state.uniform(-0.5, 0.5, _N_DRAWS) * steps[chosen]
    drawn[:, EFFECT] = np.clip(drawn[:, EFFECT] + within, *model.bounds)
    rows = model.rows(drawn)
    cells = model.cells(rows)
    ratio = _with_deviations(model, cells, random_state) / np.maximum(cells, TINY)
    weaker = drawn.copy()
    weaker[:, EFFECT] -= shift
    weaker[:, EFFECT] = np.clip(weaker[:, EFFECT], *model.bounds)
    return weaker, model.rows(weaker) * _spread(ratio, model.parts)


def _spread(ratio, parts):
    return np.repeat(np.repeat(ratio, parts, axis=1), PARTS, axis=2)


def _with_deviations(model, cells, random_state):
    """Return expected rows in cells with errors of the model, drawn from their posterior."""
    counts, noise = model.table.counts, model.table.deviation[0] ** 2 + _LEAST_VARIANCE
    prior = (model.of_cells * cells) ** 2
    reliable = prior / (prior + cells + noise)
    drawn = cells + reliable * (counts - cells)
    drawn += np.sqrt((1 - reliable) * prior) * random_state.standard_normal(cells.shape)
    return np.maximum(drawn, 0.05 * cells)
