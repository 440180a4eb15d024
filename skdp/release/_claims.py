r"""The calibration and performance that a release claims for its score, from a noisy table.

:mod:`skdp.release._score_table` describes the table. The outcome given a standardized score x is
modeled as follows:

- two classes: log-odds a x plus quadratic and cubic terms, with the measured mean probability;
- pairs of more classes: log-odds a x that a row belongs to the first class of the pair;
- a number: location ρ x, with residuals that may be skewed and heavy-tailed;
- a time: hazards exp(a x) times the hazard of the interval.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp, ndtr

from skdp.release._exits import N, pairs_within
from skdp.release._number_distribution import NumberDistribution
from skdp.release._parts import LARGEST
from skdp.release._score_table import EFFECT, PARTS, OutcomeModel, posterior_rows
from skdp.utils._linalg import NEGLIGIBLE, TINY

# Share of the budget of the table. With .08 the log loss of two classes at 250 to 16,000 rows is
# .004 higher.
CLAIMS_SHARE = 0.15
# Quantiles of the 80% interval, and its half width without noise (chosen on five tables of two
# classes, two of numbers).
_ENDS, _LEAST_HALF = (0.1, 0.9), 0.005
# Prior of effects: median, log spread, the probability that the score is useless or misleading,
# and the standard deviation of effects in that case.
_OF_CLASSES, _OF_NUMBERS, _OF_TIMES = (1.2, 1.0), (0.5, 0.6), (0.9, 0.8)
_OF_PAIRS = (0.8, 0.6)  # of the log-odds that a score claims
_ASTRAY, _FAR_ASTRAY = 0.1, 0.3
# Standard deviations of the quadratic and cubic terms of log-odds and log-hazards.
_BENDS = (0.2, 0.06)
# Largest score in public units for which they count.
_FARTHEST = 3.0
# Bin edges of a number about its mean, in expected standard deviations, of which those up to the
# bounds count: with no edges beyond 8, a hundred of 10,000 rows have half of the squares of the
# visits of doctor, whose deviation is claimed .8 times too small.
_EDGES = np.array([0.3, 0.7, 1.2, 1.9, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 55.0, 90.0])
# Rows per standard deviation of noise in a cell from which all these edges are used, below it
# every second one: fewer cells have less noise. With all of them, R² is .027 lower on four tables
# of 300 rows and .009 on five that did not choose, .005 and .007 of 700 and 1,800 rows; with half
# of them, quantiles of 20,000 rows are up to 5% worse.
_FINE = 500.0
# Expected standard deviation of a number, on the scale from -1 to 1, and at most relative to the
# distance of the mean from the bounds; and the parts of a bin in which rows are evaluated.
_NUMBER_UNIT, _OF_DISTANCE, _NUMBER_PARTS = 0.28, 1.2, 3
# Largest cumulative hazard in a residual of a time.
MOST_HAZARD = 3.0
# Largest number of groups of intervals of a time.
_MOST_GROUPS, _ROWS_OF_GROUP = 5, 4.0
# The concordance, which is slow, is computed for one in so many draws.
_THINNED = 2
# Error of the mean of numbers by the table, in their standard deviations, besides its noise.
_MISFIT = 0.02
# If zero is a class: prior standard deviations of the location of other numbers, and of the
# intercept and slope of the log-odds that a number is not zero; and the least share of these.
_OF_OTHERS, _OF_ZEROS, _LEAST_OTHERS = 1.5, (2.0, 1.0), 0.05
# Prior standard deviations of the skewness and tails of the residuals of a number.
_SHAPES = (0.2, 0.12)
# Where a bound is farther from the mean than so many units, some residuals may have Student's
# distribution with three degrees of freedom: prior mean and standard deviation of the log-odds of
# their share. Of the visits of doctor, expected R² is then .004 too high instead of .028. Where
# both bounds are nearer, R² of expenditure and prices would be expected .01 too low.
_FAR, _HEAVY, _NOT_HEAVY = 5.0, (-4.0, 1.5), (-30.0, 1e-3)
# Prior standard deviation of the slope of residuals' log spread, by the score in public units.
# Chosen on expenditure, visits, and simulated amounts with and without zeros: with .01, half the
# zeros are not seen at ε = 1 (an interval of 80% holds 49%, R² .08 for .15); with .2, visits have
# R² .002 less.
_TREND = 0.1
_MOST_STEPS, _TOLERANCE = 50, 1e-9
# Steps of Newton's method for the intercept that gives the mean probability.
_SOLVED = 8
# Variance of scores within bins, in squared widths, that is not known: a slope counts by the
# variance between bins relative to it. With 0, mean probabilities are up to 5 times too high
# where bounds are so wide that scores of almost all rows are in one bin.
_WITHIN = 0.02


@dataclass(frozen=True)
class Claims:
    """The expected performance of a score on new rows from the distribution of its source.

    Attributes
    ----------
    slope, intercept : float
        The calibrated score is slope · score + intercept.

    value : ndarray of shape (3,)
        Expected AUC, accuracy, R² or concordance of very many new rows, and the bounds of its 80%
        interval. That of few rows varies more, by their own sampling error.

    distribution : NumberDistribution or None
        Of a number about its calibrated prediction, both rescaled to 0–1.
    """

    slope: float
    intercept: float
    value: np.ndarray
    distribution: NumberDistribution | None = None


def _interval(values, least, most):
    """Return the mean of draws and their interval, of a least width."""
    mean = values.mean()
    away = np.quantile(values, _ENDS) - mean
    ends = mean + np.hypot(away, _LEAST_HALF) * [-1, 1]
    return np.clip(np.array([mean, *ends]), least, most)


def _log_density(effects, unit, median, spread):
    """Return the prior log-density of effects: log-normal, or near zero if the score is noise.

    The constants of the prior are about ``unit`` times the effect.
    """
    effects = effects * unit
    positive = np.maximum(effects, NEGLIGIBLE)
    right = np.exp(-((np.log(positive / median) / spread) ** 2) / 2) / (spread * positive)
    astray = np.exp(-((effects / _FAR_ASTRAY) ** 2) / 2) / _FAR_ASTRAY
    density = (1 - _ASTRAY) * np.where(effects > 0, right, 0) + _ASTRAY * astray
    return np.log(np.maximum(density, TINY) * unit / np.sqrt(2 * np.pi))


class _Classes(OutcomeModel):
    """Two classes: log-odds of the mean probability, effect, quadratic and cubic terms."""

    others = (-0.5, 0.0, 0.0), (1.3, *_BENDS)
    widest, bounds, usual = 10.0, (-3.0, 40.0), np.geomspace(0.1, 16, 12)

    def log_prior(self, effects, parameters):
        return _log_density(effects, self.spread(parameters), *_OF_CLASSES)

    def outcomes(self, t, x, density):
        effect, logit, square, cube = t[:, EFFECT:].T[..., np.newaxis]

        def curve(x):
            near = np.clip(x, -_FARTHEST, _FARTHEST)
            return effect * x + square * (near**2 - 1) + cube * (near**3 - 3 * near)

        away = curve(self.scores(density))
        # The intercept that gives the mean probability.
        intercept = logit * np.sqrt(1 + np.pi / 8 * effect**2)  # of normal scores, to begin with
        shares = density / density.sum(axis=1, keepdims=True)
        for _ in range(_SOLVED):
            p = expit(intercept + away)
            excess = expit(logit) - (shares * p).sum(axis=1, keepdims=True)
            information = (shares * p * (1 - p)).sum(axis=1, keepdims=True)
            intercept = intercept + np.clip(excess / np.maximum(information, 1e-3), -1.5, 1.5)
        p = expit(intercept + curve(x))
        return np.stack([1 - p, p], axis=1)

    def residuals(self):
        p = expit(self.bins.scores)
        return np.stack([p, p - 1]), p * (1 - p)


def class_claims(table, variances, counts, deviation):
    """Return :class:`Claims` about the log-odds of the second of two classes, and its AUC.

    Parameters
    ----------
    table : ScoreTable
        Rows of the first and second class by score.

    variances : ndarray of shape (n_basis,)
        Variances of the functions of columns that the score is linear in.

    counts : ndarray of shape (2,)
        Separately measured noisy numbers of rows of both classes.

    deviation : float
        Standard deviation of the noise in ``counts``.
    """
    model = _Classes(table, variances, counts, deviation, np.eye(2))
    _, rows = posterior_rows(model)
    first, second = rows.transpose(1, 0, 2)
    below = np.cumsum(first, axis=1) - first / 2
    area = (second * below).sum(axis=1) / (first.sum(axis=1) * second.sum(axis=1))
    of_first, of_second = rows.mean(axis=0)
    slope, intercept = _logistic(of_first, of_second, model.bins)
    return Claims(slope, intercept, _interval(area, 0.0, 1.0))


def _resolved(rows, bins):
    """Return the share of a slope that is known without the place of scores within bins.

    It is 0 if all rows are in one bin: a slope would then change the mean of predictions.
    """
    of_bins, centers = rows.reshape(bins.n, PARTS).sum(axis=1), np.arange(bins.n)
    center = of_bins @ centers / of_bins.sum()
    variance = of_bins @ (centers - center) ** 2 / of_bins.sum()
    return variance / (variance + _WITHIN)


def _logistic(first, second, bins, fixed=False):
    """Return slope and intercept of the log-odds of the second; ``fixed``: without intercept."""
    rows, scores = first + second, bins.scores
    mean = 0.0 if fixed else (rows @ scores) / rows.sum()
    unit = np.sqrt(rows @ (scores - mean) ** 2 / rows.sum())
    columns = np.column_stack([(scores - mean) / unit, np.ones_like(scores)])
    columns = columns[:, : 1 if fixed else 2]
    weights = np.zeros(columns.shape[1])
    for _ in range(_MOST_STEPS):
        p = expit(columns @ weights)
        curvature = (columns.T * (rows * p * (1 - p))) @ columns
        curvature += NEGLIGIBLE * rows.sum() * np.eye(len(weights))
        step = np.linalg.solve(curvature, columns.T @ (second - rows * p))
        weights += step / max(np.abs(step).max(), 1.0)
        if np.abs(step).max() < _TOLERANCE:
            break
    if weights[0] <= 0:
        return 0.0, 0.0 if fixed else float(np.log(second.sum() / first.sum()))
    slope = float(weights[0] / unit)
    if fixed:
        return slope, 0.0
    slope *= _resolved(rows, bins)
    return slope, float(weights[1] - slope * mean)


class _Pairs(OutcomeModel):
    """The class of a row against each other class, by the difference of their scores.

    The outcomes are: the other class scores higher; the true class scores higher, but a third
    class scores highest; the true class scores highest. The effect is the log-odds of the first
    outcome. Other parameters are the log-odds of the third outcome against the second, and their
    dependence on the log-odds of the first.
    """

    folded = True
    others = (0.0, 0.5), (1.5, 1.0)
    widest, bounds, usual = 10.0, (-3.0, 40.0), np.geomspace(0.1, 16, 12)

    def __init__(self, *given):
        super().__init__(*given)
        # Differences are not negative: their density is one-sided, without location and skewness.
        self.sd[[1, 3]] = 1e-3

    def log_prior(self, effects, parameters):
        return _log_density(effects, 1 / self.bins.unit, *_OF_PAIRS)

    def outcomes(self, t, x, density):
        effect, level, slope = t[:, EFFECT:].T[..., np.newaxis]
        right, highest = expit(effect * x), expit(level + slope * np.minimum(effect * x, 5.0))
        return np.stack([1 - right, right * (1 - highest), right * highest], axis=1)

    def residuals(self):
        right = expit(self.bins.scores)
        return np.stack([right, right - 1, right - 1]), right * (1 - right)


def pair_claims(table, variances, n_classes, n_rows, deviation):
    """Return :class:`Claims` about the scores of several classes, and their accuracy.

    Parameters
    ----------
    table : ScoreTable
        Absolute differences between the score of a row's true class and of each other class. Each
        difference counts 1/(K − 1). Outcomes: the other class scores higher, the true class scores
        higher than the other but not highest, the true class scores highest.

    variances : ndarray of shape (n_basis,)
        As in :func:`class_claims`.

    n_classes : int

    n_rows, deviation : float
        Separately measured noisy number of rows, and the standard deviation of its noise.
    """
    model = _Pairs(table, variances, n_rows, deviation, np.ones(3))
    model.n_classes = n_classes
    _, rows = posterior_rows(model)
    shares = rows.sum(axis=2)
    wrong, *right = rows.mean(axis=0)
    slope, _ = _logistic(wrong, sum(right), model.bins, fixed=True)
    return Claims(slope, 0.0, _interval(shares[:, 2] / shares.sum(axis=1), 0.0, 1.0))


@dataclass(frozen=True)
class NumberBins:
    """Public bins of a number between -1 and 1.

    Of its residual, wider far from 0; or, if zero is a class, of the number itself, wider far
    from zero by a power, and the last bin holds the zeros.
    """

    mean: float
    unit: float
    zero: bool = False
    power: float = 1.0
    fine: bool = True

    @classmethod
    def of(cls, mean, fine=True):
        """Return the bins for a noisy mean of the number."""
        mean = float(np.clip(mean, -0.98, 0.98))
        # The spread of numbers near a bound is about their distance from it.
        return cls(mean, min(_NUMBER_UNIT, _OF_DISTANCE * (1 - abs(mean))), fine=fine)

    @classmethod
    def of_sums(cls, sums, zero, deviation):
        """Return the bins for noisy sums of the number, rescaled to 0–1, and noise in a cell."""
        n, mean = sums.row_counts.sum(), sums.row_counts[1] / sums.row_counts.sum()
        bins = cls.of(2 * mean - 1, fine=bool(n > _FINE * deviation))
        if not zero:
            return bins
        # The mean of numbers that count by their size does not depend on how many are zero.
        size = np.clip((sums.squares[0] / n + mean**2) / mean, 0.06, 0.5)
        unit = _NUMBER_UNIT * 2 * size
        return cls(bins.mean, unit, True, float(np.log2(1 / size)), bins.fine)

    @property
    def _steps(self):
        return _EDGES if self.fine else _EDGES[1::2]

    @property
    def _sides(self):
        """Numbers of bins of residuals below and above the mean, up to the bounds."""
        unit = NumberBins.of(self.mean).unit  # whether or not zero is a class
        return np.searchsorted(self._steps, (1 + self.mean * np.array([1, -1])) / unit) + 1

    @property
    def n(self):
        """Number of bins."""
        return int(self._sides.sum()) + self.zero

    @property
    def edges(self):
        """Edges of all bins but that of zeros."""
        if self.zero:
            return 2 * np.linspace(0, 1, self.n) ** self.power - 1
        below, above = (self._steps[:n] for n in self._sides)
        return self.unit * np.concatenate([-below[::-1], [0.0], above])

    def start(self, scores):
        """Return where bins of rows with these scores start from."""
        return np.zeros_like(scores) if self.zero else scores

    def index(self, numbers, scores):
        """Return the bin of each number with a score."""
        bins = np.searchsorted(self.edges[1:-1], numbers - self.start(scores), side="right")
        return np.where(self.zero & (numbers <= -1), self.n - 1, bins)


def _student(x):
    """Return Student's distribution function with three degrees of freedom."""
    x = np.clip(x / np.sqrt(3.0), -LARGEST, LARGEST)  # of which the square is finite
    return 0.5 + (x / (1 + x**2) + np.arctan(x)) / np.pi


class _Numbers(OutcomeModel):
    """A number: slope; location, log spread, skewness and tails of the residuals of a line.

    The log spread is linear in the score. Where a bound is far away, some residuals may have heavy
    tails. If zero is a class, the log-odds that a number is not zero are linear, too, and the line
    is of the other numbers.
    """

    parts, scale = _NUMBER_PARTS, 2.0
    widest, bounds, usual = 3.0, (-1.0, 8.0), np.geomspace(0.05, 4, 8)

    def __init__(self, table, variances, numbers, mean_sd, n_rows, deviation):
        self.numbers = numbers
        of_mean = self.scale * table.residual_sd(mean_sd / self.scale)
        # Residuals are clipped, so that those of skewed numbers have a mean of their own.
        of_location = np.hypot(0.15, min(of_mean / numbers.unit, 1.5))
        of_location = _OF_OTHERS if numbers.zero else of_location
        is_far = not numbers.zero and 1 + abs(numbers.mean) > _FAR * numbers.unit
        heavy = _HEAVY if is_far else _NOT_HEAVY
        means = [0.0, -0.2, 0.0, 0.0, 0.0, heavy[0]]
        sds = [of_location, 0.6, *_SHAPES, _TREND, heavy[1]]
        self.others = means + [0.0, 0.0] * numbers.zero, sds + list(_OF_ZEROS) * numbers.zero
        inside = np.diff(numbers.edges)[:, np.newaxis] * np.arange(self.parts) / self.parts
        inside = inside + numbers.edges[:-1, np.newaxis]
        self.edges = np.append(inside.ravel(), numbers.edges[-1])
        self.middles = (self.edges[:-1] + self.edges[1:]) / 2
        super().__init__(table, variances, n_rows, deviation, np.ones(len(table.counts)))
        starts = numbers.start(self.bins.scores)
        self.numbers_of_cells = np.clip(np.add.outer(self.middles, starts), -1, 1)
        if numbers.zero:
            zeros = np.full((self.parts, len(starts)), -1.0)
            self.numbers_of_cells = np.concatenate([self.numbers_of_cells, zeros])

    def log_prior(self, effects, parameters):
        # The prior is about the correlation a s / √(a² s² + r²) of effect a, with standard
        # deviations s of scores and r of residuals. ``_log_density`` has s / √(a² s² + r²) of
        # its derivative by a, and the rest is r² / (a² s² + r²).
        score_sd = self.spread(parameters) * self.bins.unit / self.numbers.unit
        residual_sd = np.exp(parameters[:, EFFECT + 2])
        total_sd = np.hypot(effects * score_sd, residual_sd)
        rest = np.log(residual_sd**2 / total_sd**2)
        return _log_density(effects, score_sd / total_sd, *_OF_NUMBERS) + rest

    def outcomes(self, t, x, density):
        columns = t[:, EFFECT:].T[..., np.newaxis]
        effect, location, spread, skewness, tails, trend, heavy, *zeros = columns
        spread = spread + trend * np.clip(x, -_FARTHEST, _FARTHEST)
        # Difference between the line's prediction and the start of bins, in units of numbers. Bins
        # stay where they are if x moves, see ``optimism``.
        numbers = self.numbers
        unit = self.bins.unit / numbers.unit
        center = (2 * 0.5**numbers.power - 1) / numbers.unit
        start = center if numbers.zero else -unit * self.scores(density)
        ahead = start + location + effect * unit * x
        edges = (self.edges / self.numbers.unit)[:, np.newaxis] - ahead[:, np.newaxis]
        away = np.exp(tails)[:, np.newaxis] * np.arcsinh(edges / np.exp(spread)[:, np.newaxis])
        away = np.sinh(away - skewness[:, np.newaxis])
        below = ndtr(away) + expit(heavy)[:, np.newaxis] * (_student(away) - ndtr(away))
        below[:, 0], below[:, -1] = 0, 1
        shares = np.maximum(np.diff(below, axis=1), 1e-12)
        if not zeros:
            return shares
        others = expit(zeros[0] + zeros[1] * np.clip(x, -_FARTHEST, _FARTHEST))[:, np.newaxis]
        same = np.repeat(1 - others, self.parts, axis=1) / self.parts
        return np.concatenate([others * shares, same], axis=1)

    def residuals(self):
        return self.bins.scores - self.numbers_of_cells, 1.0


def number_claims(table, variances, numbers, mean_sd, n_rows, deviation):
    """Return :class:`Claims` about predictions of a number between -1 and 1, and their R².

    Parameters
    ----------
    table : ScoreTable
        Rows by prediction and by the bin of their residual in ``numbers``.

    variances : ndarray of shape (n_basis,)
        As in :func:`class_claims`.

    numbers : NumberBins

    mean_sd : float
        Standard deviation of the noise in the mean of the numbers.

    n_rows, deviation : float
        Separately measured noisy number of rows, and the standard deviation of its noise.
    """
    model = _Numbers(table, variances, numbers, mean_sd, n_rows, deviation)
    _, rows = posterior_rows(model)
    scores = model.bins.scores
    numbers_of_cells, n = model.numbers_of_cells, rows.sum(axis=(1, 2))
    x = rows.sum(axis=1) @ scores / n
    xx = rows.sum(axis=1) @ scores**2 / n - x**2
    flat, u_of_cells = rows.reshape(len(rows), -1), numbers_of_cells.ravel()
    u = flat @ u_of_cells / n
    uu = flat @ u_of_cells**2 / n - u**2
    xu = flat @ (numbers_of_cells * scores).ravel() / n - x * u
    mean_x, mean_u = x.mean(), u.mean()
    # The slope of least expected squared error.
    slope = np.mean(xu + (x - mean_x) * (u - mean_u)) / np.mean(xx + (x - mean_x) ** 2)
    slope = max(float(slope), 0.0) * _resolved(rows.sum(axis=(0, 1)), model.bins)
    off = u - mean_u - slope * (x - mean_x)
    left = uu - 2 * slope * xu + slope**2 * xx + off**2
    # The mean of the numbers was also measured by itself. The table knows it less well if many
    # numbers are equal: a model of residuals does not know where in a bin they are.
    unknown = off.var() + _MISFIT**2 * uu.mean()
    known = unknown / max(unknown + mean_sd**2 + slope**2 * x.var(), TINY)
    shift = known * (numbers.mean - mean_u)
    intercept = float(mean_u + shift - slope * mean_x)
    groups, mean_rows, n_others = (model.bins.n, PARTS), rows.mean(axis=0), len(model.middles)
    zeros = mean_rows[n_others:].reshape(-1, *groups).sum(axis=(0, 2))
    # Zeros are known to be zeros: the others are off.
    shift = shift / max(1 - zeros.sum() / mean_rows.sum(), _LEAST_OTHERS)
    places, others = (
        of_cells[:n_others].reshape(-1, *groups).transpose(1, 2, 0)
        for of_cells in ((1 + np.clip(numbers_of_cells + shift, -1, 1)) / 2, mean_rows)
    )
    predictions = (1 + slope * scores + intercept).reshape(groups) / 2
    distribution = NumberDistribution.measured(predictions, places, others, zeros)
    return Claims(slope, intercept, _interval(1 - left / uu, -np.inf, 1.0), distribution)


@dataclass(frozen=True)
class TimeCells:
    """Public cells of exits: with or without the event by group of intervals; the horizon."""

    groups: np.ndarray  # of each interval

    @classmethod
    def of(cls, exits, deviation):
        """Return groups with about equally many events; a noisier table gets fewer groups."""
        events = np.cumsum(exits.rows[:N])
        n = int(np.clip(events[-1] / (_ROWS_OF_GROUP * max(deviation, 1.0)), 2, _MOST_GROUPS))
        groups = np.floor(n * (events - exits.rows[:N] / 2) / events[-1])
        return cls(np.unique(np.clip(groups, 0, n - 1), return_inverse=True)[1])

    @property
    def n_groups(self):
        """Number of groups."""
        return int(self.groups[-1]) + 1

    @property
    def n(self):
        """Number of cells."""
        return 2 * self.n_groups + 1

    @property
    def cells(self):
        """Cell of each kind of exit, (n_ways,)."""
        return np.concatenate([self.groups, self.groups + self.n_groups, [2 * self.n_groups]])


class _Times(OutcomeModel):
    """A time: slope and quadratic term of log-hazards, baseline, log-odds of censoring."""

    widest, bounds, usual = 3.0, (-1.5, 4.0), np.geomspace(0.1, 3, 8)

    def __init__(self, table, variances, times, exits, deviation):
        cells, g = times.cells, times.n_groups
        summing = np.zeros((times.n, len(cells)))
        summing[cells, np.arange(len(cells))] = 1
        totals = summing @ exits.rows
        there = np.cumsum(totals[:g] + totals[g:-1])
        there = totals.sum() - there + totals[:g] + totals[g:-1]
        hazards = -np.log1p(-np.clip(totals[:g] / there, 1e-4, 0.98))
        leaves = np.clip(totals[g:-1] / np.maximum(there - totals[:g], TINY), 1e-4, 1 - 1e-4)
        means = np.concatenate([[0.0], np.log(hazards), np.log(leaves / (1 - leaves))])
        self.others = tuple(means), (_BENDS[0], *[1.0] * (2 * g))
        of_totals = deviation * np.sqrt(summing.sum(axis=1))
        super().__init__(table, variances, totals, of_totals, np.eye(times.n))
        cumulative = np.cumsum(exits.hazards)
        middle = cumulative - exits.hazards / 2
        of_exits = np.concatenate([middle, middle, cumulative[-1:]])
        self.cumulative = summing @ (exits.rows * of_exits) / totals
        self.n_groups = g

    def log_prior(self, effects, parameters):
        return _log_density(effects, self.spread(parameters), *_OF_TIMES)

    def hazards(self, t, x, density):
        """Return hazards of scores in public units in each group."""
        effect, bend = t[:, EFFECT, np.newaxis], t[:, EFFECT + 1, np.newaxis]

        def log_ratios(x):
            return effect * x + bend * (np.clip(x, -_FARTHEST, _FARTHEST) ** 2 - 1)

        # Parameters are log-hazards of all rows, which noisy totals know best.
        log_ratios_of_all = log_ratios(self.scores(density))
        of_all = logsumexp(log_ratios_of_all, axis=1, b=density, keepdims=True)
        of_groups = t[:, EFFECT + 2 : EFFECT + 2 + self.n_groups] + t[:, :1] - of_all
        ratios = log_ratios(x)[:, np.newaxis]
        return np.exp(np.clip(of_groups[:, :, np.newaxis] + ratios, -20.0, 5.0))

    def outcomes(self, t, x, density):
        leaves = expit(t[:, EFFECT + 2 + self.n_groups :, np.newaxis])
        stays = np.exp(-self.hazards(t, x, density))
        there = np.cumprod(stays * (1 - leaves), axis=1)
        before = np.concatenate([np.ones_like(there[:, :1]), there[:, :-1]], axis=1)
        ways = [before * (1 - stays), before * stays * leaves, there[:, -1:]]
        return np.maximum(np.concatenate(ways, axis=1), 1e-12)

    def residuals(self):
        expected = self.cumulative[:, np.newaxis] * np.exp(np.minimum(self.bins.scores, 20.0))
        events = np.arange(len(expected))[:, np.newaxis] < self.n_groups
        return np.minimum(expected, MOST_HAZARD) - events, expected * (expected < MOST_HAZARD)


def time_claims(table, variances, times, exits, deviation):
    """Return :class:`Claims` about log-hazards, and their concordance; the intercept is 0.

    Parameters
    ----------
    table : ScoreTable
        Rows by log-hazard and by their cell in ``times``.

    variances : ndarray of shape (n_basis,)
        As in :func:`class_claims`.

    times : TimeCells

    exits : Exits
        Separately measured exits of all rows.

    deviation : float
        Standard deviation of the noise in the number of rows of each kind of exit.
    """
    model = _Times(table, variances, times, exits, deviation)
    parameters, rows = posterior_rows(model)
    density = model.density(parameters)
    hazards = model.hazards(parameters, model.scores(density), density)
    some = slice(None, None, _THINNED)
    concordance = np.array(list(map(_concordance, rows[some], hazards[some])))
    slope = _hazard_slope(rows.mean(axis=0), model.bins.scores, model.n_groups)
    return Claims(slope, 0.0, _interval(concordance, 0.0, 1.0))


def _concordance(rows, hazards):
    """Return Harrell's concordance of scores for expected rows by kind of exit.

    Parameters
    ----------
    rows : ndarray of shape (n_outcomes, n_scores)

    hazards : ndarray of shape (n_groups, n_scores)
        Hazards in each group of intervals, which order two rows with the event in the same group.
    """
    # A row with the event is compared with rows that leave later.
    n_groups = len(hazards)
    events, others = rows[:n_groups], rows[n_groups:-1]
    after = rows.sum(axis=0) - np.cumsum(events + others, axis=0) + others / 2
    pairs = events.T @ after + pairs_within(events, hazards)
    higher = np.tri(len(pairs), k=-1) + np.eye(len(pairs)) / 2
    return (pairs * higher).sum() / max(pairs.sum(), TINY)


def _hazard_slope(rows, scores, n_groups):
    """Return the slope of log-hazards in scores by Cox's partial likelihood in groups."""
    events, others = rows[:n_groups], rows[n_groups:-1]
    there = rows.sum(axis=0) - np.cumsum(events + others, axis=0) + (events + others)
    exposed = np.maximum(there - (events + others) / 2, 0)
    total = rows.sum(axis=0)
    mean = total @ scores / total.sum()
    unit = np.sqrt(total @ (scores - mean) ** 2 / total.sum())
    x, slope = (scores - mean) / unit, 0.0
    for _ in range(_MOST_STEPS):
        weights = exposed * np.exp(np.clip(slope * x, -30, 30))
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), TINY)
        means = weights @ x
        gradient = (events * (x - means[:, np.newaxis])).sum()
        curvature = events.sum(axis=1) @ (weights @ x**2 - means**2)
        step = float(np.clip(gradient / max(curvature, TINY), -1, 1))
        slope += step
        if abs(step) < _TOLERANCE:
            break
    return max(slope, 0.0) / float(unit)
