"""A target's model: Bayesian regressions around releases, averaged by their evidence.

Each regression is linear in the prediction of a release, an intercept, and functions of the
columns. The regressions differ in their priors: how far coefficients may deviate from the release.
Outcomes enter by one of three likelihoods, for numbers, classes or times.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp, softmax

from skdp.release import LEAST_ROWS, NumberDistribution
from skdp.transfer._columns import same_population
from skdp.transfer._likelihoods import CoxLikelihood, GaussianLikelihood, Posterior
from skdp.utils._linalg import TINY

# Assumed standard deviation of columns that the release lacks, as for a binary column.
_OWN_DEVIATION = 0.5
# Relative variation below which columns are treated as constant; rule of thumb.
_MIN_VARIATION = 1e-5
# Kinds of candidates around a source, besides the unchanged source; the first has no functions.
SHIFTED, CHANGED, TARGET = ", own level and slope", ", own coefficients", "target alone"


@dataclass(frozen=True)
class Beliefs:
    """Prior of a target's deviation from a source: standard deviations and probabilities.

    Attributes
    ----------
    levels : tuple of float
        Equally probable standard deviations of the intercept.

    slope : float
        Standard deviation of the slope about 1.

    strengths : tuple of float
        Standard deviations of the sum of functions of the columns over the target's rows.

    own_strengths : tuple of float
        The same for the target alone.

    own_level : float
        Standard deviation of the intercept of the target alone.

    unchanged : float, default=1/3
        Probability of an unchanged source.

    same : float, default=4/5
        The same if the target's rows are of the source's population.

    alone : float, default=1/50
        Probability of the target alone, relative to all sources.
    """

    levels: tuple
    slope: float
    strengths: tuple = ()
    own_strengths: tuple = ()
    own_level: float = 1.0
    unchanged: float = 1 / 3
    same: float = 4 / 5
    alone: float = 1 / 50

    def given(self, alike: float) -> Self:
        """Return the beliefs, given the probability that both populations are the same."""
        unchanged = (1 - alike) * self.unchanged + alike * self.same
        rest = (1 - unchanged) / (1 - self.unchanged)
        return replace(self, unchanged=unchanged, alone=self.alone * rest)


# For numbers, in standard deviations about the prediction; see benchmarks/bench_numbers.py. With
# .8 as the largest, a hundred labels cannot reach the R² of .98 that is possible for a price.
_STRENGTHS = (0.2, 0.6, 2.0, 6.0, 20.0)
# Degrees of freedom of the prior of the variance about the prediction; it counts as two rows.
# With 8, labels show too late that a target has less variance than the source; with 2.5, ten
# labels with one far away among them cost .3 of R² on visits to a doctor.
_FREEDOM = 4.0
# Number of known outcomes that tell as much of the shape of residuals as a release does.
_SHAPE_ROWS = 100.0
# Standard deviations of residuals that coefficients follow, and the share of the reach of a row.
_NEAR = 3.0
# Least share of a residual that a known outcome leaves itself (rule of thumb).
_LEAST_LEFT = 0.1
# Weight, in events, of the prior of the level of a baseline: the log level then has the standard
# deviation .7, like the intercepts of sites. With fewer events, the release remains unchanged: the
# partial likelihood of a single event is hardly informative.
_LEVEL_EVENTS = 2.0
# Weight, in events, of the prior of the shape of the baseline, over all intervals: with
# 2, the integrated Brier score after 20 outcomes is .0021 worse; 10 and 40 differ by .0005.
_SHAPE_EVENTS = 20.0


@dataclass(frozen=True)
class Terms:
    """Functions of the columns: the basis of a release and the target's own columns.

    Attributes
    ----------
    basis : BasisFunctions or None
        None: the functions are the columns.

    n_shared : int
        Number of columns shared with the release; they come first.

    means, scales : ndarray of shape (n_functions,)
        Subtracted from the functions, and divided by.

    spread : float
        Standard deviation of the sum of independent functions over the target's rows.

    directions : ndarray of shape (n_directions, n_functions) or None
        Orthogonal directions onto which functions are projected, or None.
    """

    basis: Any = None
    n_shared: int = 0
    means: Any = ()
    scales: Any = ()
    spread: float = 1.0
    directions: np.ndarray | None = None

    @classmethod
    def of(cls, basis: Any, n_shared: int, rows: np.ndarray) -> Self:
        """Return functions that have mean 0 over the target's rows."""
        functions = _functions(basis, n_shared, rows)
        deviations, n_own = functions.std(axis=0), rows.shape[1] - n_shared
        scales = np.ones(len(deviations))
        own = slice(len(scales) - n_own, None)
        scales[own] = np.where(deviations[own] > 0, deviations[own] / _OWN_DEVIATION, 1.0)
        spread = np.linalg.norm(deviations / scales) or 1.0
        return cls(basis, n_shared, functions.mean(axis=0), scales, float(spread))

    @classmethod
    def of_columns(cls, rows: np.ndarray, widths: np.ndarray) -> Self:
        """Return the columns, of mean 0, divided by the roots of deviations and of widths.

        With the widths between public bounds, the prior allows larger coefficients for rare
        values, as in the release. NaN, for a column without bounds, standardizes the column.
        """
        means, deviations = rows.mean(axis=0, dtype=float), rows.std(axis=0, dtype=float)
        constant = deviations <= _MIN_VARIATION * np.abs(means)
        deviations = np.where(constant, 1.0, deviations)
        scales = np.sqrt(deviations * np.where(np.isnan(widths), deviations, widths))
        spread = np.linalg.norm(np.where(constant, 0.0, deviations) / scales) or 1.0
        return cls(None, rows.shape[1], means, scales, float(spread))

    def rotated(self, rows: np.ndarray, most: int) -> Self:
        """Return at most as many functions as rows; the prior is invariant to rotation."""
        if len(self.means) <= min(len(rows), most):
            return self
        directions = np.linalg.svd(self(rows), full_matrices=False)[2][:most]
        return replace(self, directions=directions)

    @property
    def n_functions(self) -> int:
        """Number of functions."""
        return len(self.means if self.directions is None else self.directions)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return the functions of rows."""
        if not len(self.means):  # densities have no functions
            return np.empty((len(rows), 0))
        values = (_functions(self.basis, self.n_shared, rows) - self.means) / self.scales
        return values if self.directions is None else values @ self.directions.T


def _functions(basis, n_shared, rows):
    rows = rows.astype(np.float64, copy=False)
    if basis is None:
        return rows
    return np.hstack([basis.encode(rows[:, :n_shared]), rows[:, n_shared:]])


@dataclass(frozen=True)
class Source:
    """The center of candidates: a release, an adapted release, or nothing.

    Attributes
    ----------
    name : str

    probability : float
        Prior probability.

    predict : callable or None
        Predictions of rows of the target; None for the target alone.

    terms : Terms

    beliefs : Beliefs

    release : Release or None, default=None

    stated : tuple of float, default=(0, 0)
        Standard deviations of slope and level that the release states.

    unit : float, default=1
        Unit of the prediction, which applies to the slope and to stated errors.

    center : float or ndarray of shape (n_classes,), default=0
        Mean number, or logarithms of class frequencies, subtracted before the slope applies.

    source_weight : float, default=1
        Weight of releases in this source.
    """

    name: str
    probability: float
    predict: Callable[..., np.ndarray] | None
    terms: Terms
    beliefs: Beliefs
    release: Any = None
    stated: tuple = (0.0, 0.0)
    unit: float = 1.0
    center: Any = 0.0
    source_weight: float = 1.0

    @property
    def is_alone(self) -> bool:
        """bool: whether this is the target alone, which predicts its center."""
        return self.predict is None

    def predicted(self, rows: np.ndarray) -> np.ndarray:
        """Return predictions about the center; 0 for the target alone."""
        if self.predict:
            return self.predict(rows) - self.center
        return np.zeros((len(rows), *np.shape(self.center)))

    def design(self, rows: np.ndarray) -> np.ndarray:
        """Return the prediction, 1, and the functions."""
        return np.column_stack([self.predicted(rows), np.ones(len(rows)), self.terms(rows)])

    def priors(self, *, tells: bool) -> Iterator[tuple[str, float, np.ndarray, np.ndarray]]:
        """Yield name, probability, and mean and deviations of slope, level and functions.

        If outcomes are not informative, only the unchanged source remains.
        """
        beliefs, n = self.beliefs, self.terms.n_functions
        mean, as_it_is = np.zeros((2, 2 + n))
        if self.is_alone:
            for strength, share in _shares(beliefs.own_strengths):
                deviations = np.full(2 + n, strength / self.terms.spread)
                deviations[:2] = 0.0, beliefs.own_level / self.unit
                yield self.name, share, mean, deviations
            return
        mean[0], as_it_is[:2] = 1.0, np.divide(self.stated, self.unit)
        unchanged = beliefs.unchanged if tells else 1.0
        if unchanged:
            yield self.name, unchanged, mean, as_it_is
        if unchanged == 1:
            return
        part, name = (1 - unchanged) / len(beliefs.levels), self.name + (CHANGED if n else SHIFTED)
        for level, (strength, share) in product(beliefs.levels, _shares(beliefs.strengths)):
            changed = as_it_is.copy()
            changed[:2] = np.hypot(as_it_is[:2], (beliefs.slope / self.unit, level))
            changed[2:] = strength / self.terms.spread
            yield name, part * share, mean, changed


def _of_first(predict, n_shared, rows):
    """Return predictions from the first columns, which the release has too."""
    return predict(rows[:, :n_shared])


def _shares(strengths):
    """Return strengths with probabilities that are inversely proportional to them."""
    shares = 1 / np.array(strengths)
    return zip(strengths, shares / shares.sum(), strict=True)


@dataclass(frozen=True)
class Contribution:
    """A kind of candidate that was considered for a model.

    Attributes
    ----------
    name : str
        Name of the part.

    side : {"source", "target", "both"}
        Whether it is based on the source, the target or both.

    weight : float
        Weight in the model, from 0 (excluded) to 1.

    log_odds : float, default=nan
        Log-odds of its evidence, compared with the first part.

    log_likelihood : float, default=nan
        Mean log-likelihood of the labels, each predicted from those before it.
    """

    name: str
    side: str
    weight: float
    log_odds: float = np.nan
    log_likelihood: float = np.nan


@dataclass(frozen=True)
class Candidate:
    """A regression fitted to outcomes.

    Attributes
    ----------
    name : str
        Name of its kind; the report has one row for each name.

    source : Source
        The source that its prior is centered on.

    posterior : Posterior

    log_prior : float
        Logarithm of its prior probability, up to a constant.
    """

    name: str
    source: Source
    posterior: Posterior
    log_prior: float

    @property
    def log_odds(self) -> float:
        """Logarithm of its prior probability times its evidence, up to a constant."""
        return self.log_prior + self.posterior.log_evidence


class TargetModel:
    """Average of regressions around sources, by their evidence.

    Parameters
    ----------
    sources : list of Source

    likelihoods : list
        Likelihood of the outcomes for each source.

    n_labels : int
        Number of informative outcomes.

    tells : bool
        Whether outcomes are informative enough to change the sources.

    Attributes
    ----------
    beliefs : Beliefs
        Prior of the deviation from a release.
    """

    beliefs: Beliefs
    _prediction_of: Any  # a release's predictions, and settings of its Source

    def __init__(self, sources, likelihoods, n_labels, *, tells):
        self.sources, self.likelihoods = sources, likelihoods
        self.candidates = [
            Candidate(
                name,
                source,
                likelihood.posterior(mean, deviations),
                float(np.log(source.probability * probability)),
            )
            for source, likelihood in zip(sources, likelihoods, strict=True)
            for name, probability, mean, deviations in source.priors(tells=tells)
        ]
        self.weights = softmax([candidate.log_odds for candidate in self.candidates])
        shares = [candidate.source.source_weight for candidate in self.candidates]
        self.source_weight = float(min(self.weights @ shares, 1.0))  # in spite of rounding
        self.contributions = self._contributions(n_labels)

    @classmethod
    def sources_of(cls, named, n_shared, rows, *, any_label):
        """Return the sources of named releases and, if there are labels, the target alone."""
        if not named:
            terms = Terms.of(None, 0, rows)
            return [Source(TARGET, 1.0, None, terms, cls.beliefs, source_weight=0.0)]
        sources = []
        for name, release, probability in named:
            terms = Terms.of(release.statistics.basis, n_shared, rows)
            predict, settings = cls._prediction_of(release)
            predict = partial(_of_first, predict, n_shared)
            beliefs = cls.beliefs.given(same_population(release.moments, rows[:, :n_shared]))
            sources.append(Source(name, probability, predict, terms, beliefs, release, **settings))
        alone = sources[0].beliefs.alone
        if any_label and alone:
            changes: dict = {"probability": alone, "source_weight": 0.0}
            sources.append(replace(sources[0], name=TARGET, predict=None, **changes))
        return sources

    def _contributions(self, n_labels) -> list[Contribution]:
        """Weight, evidence and log-likelihood of each kind of candidate."""
        parts: list[Contribution] = []
        pairs = list(zip(self.candidates, self.weights, strict=True))
        first = None
        for name in dict.fromkeys(candidate.name for candidate in self.candidates):
            kind = [(candidate, weight) for candidate, weight in pairs if candidate.name == name]
            odds = logsumexp([candidate.log_odds for candidate, _ in kind])
            evidence = odds - logsumexp([candidate.log_prior for candidate, _ in kind])
            first = odds if first is None else first
            share = kind[0][0].source.source_weight
            side = {0.0: "target", 1.0: "source"}.get(share, "both")
            side = "both" if ", own " in name else side
            weight = float(min(sum(weight for _, weight in kind), 1.0))
            likely = float(evidence / n_labels) if n_labels else np.nan
            parts.append(Contribution(name, side, weight, float(odds - first), likely))
        return parts

    def _kept(self):
        """Yield each source with its likelihood and its candidates with nonzero weight."""
        for source, likelihood in zip(self.sources, self.likelihoods, strict=True):
            pairs = zip(self.candidates, self.weights, strict=True)
            kept = [(c.posterior, w) for c, w in pairs if c.source is source and w > TINY]
            if kept:
                yield source, likelihood, kept


class NumberModel(TargetModel):
    """Average of candidates for a number, rescaled to 0–1 between its bounds.

    Parameters
    ----------
    sources : list of Source

    rows : ndarray of shape (n_samples, n_features)
        All rows of the target.

    labeled : ndarray of shape (n_samples,)
        Whether each row has a known number.

    places : ndarray of shape (n_labeled,)
        Rescaled numbers of the labeled rows.

    keeps_mean : bool
        Whether the mean prediction over all rows is kept at the releases' mean prediction.
    """

    # With an unchanged source of probability .1, a hundred outcomes of rows like the source's move
    # totals of visits and costs by .10 to .32 (root mean square), now by .08 to .28; between
    # sites R² is the same. If populations are the same, .8 in place of .6 lowers R² with a hundred
    # outcomes: a noisy release can be improved.
    beliefs = Beliefs((1.0,), 0.3, _STRENGTHS, _STRENGTHS, same=0.6, alone=0.0)

    def __init__(self, sources, rows, labeled, places, keeps_mean=False):
        known = rows[labeled]
        likelihoods = [
            GaussianLikelihood(
                s.design(known), within_reach(s, known, places), s.unit**2, _FREEDOM
            )
            for s in sources
        ]
        super().__init__(sources, likelihoods, len(known), tells=len(known) > 0)
        self.offset = 0.0
        self.distribution = self._distribution(known, places)
        if keeps_mean:
            means = [source.center + source.predicted(rows).mean() for source in sources]
            expected = np.average(means, weights=[source.probability for source in sources])
            self.offset = float(expected - self.predict(rows)[0].mean())

    @staticmethod
    def _prediction_of(release):
        """Return the function that predicts rescaled numbers, and what the release states."""
        regression, counts = release.regression, release.statistics.sums.row_counts
        # Numbers are divided between two classes, the bounds: the upper one's share is the mean.
        return release.model.places, {
            "stated": (regression.coefficient_sd[0], regression.intercept_sd[0]),
            "unit": float(np.sqrt(regression.variance[0])),
            "center": float(counts[1] / counts.sum()),
        }

    def _distribution(self, known, places):
        """Return the distribution about predictions, by the sources and by known outcomes.

        The latter are predicted by each candidate from the others.
        """
        parts = [(source, sum(w for _, w in kept)) for source, _, kept in self._kept()]
        shares = np.array([share for _, share in parts]) / sum(share for _, share in parts)
        self.unit = float(shares @ [source.unit for source, _ in parts])
        if self.sources[0].predict is None:
            prior = NumberDistribution.normal(0.0, 1.0, self.unit)
        else:
            releases = [source.release.regression.distribution for source, _ in parts]
            prior = NumberDistribution.mean(releases, shares)
        left = np.zeros(len(known))
        for source, _, kept in self._kept():
            X = source.design(known)
            for posterior, weight in kept:
                off = places - source.center - X @ posterior.coefficients
                left += weight * off / np.maximum(1 - posterior.leverage(X), _LEAST_LEFT)
        # Where zero is a class, it is no residual.
        tells = (places > 0) | ~prior.zeros.any()
        predicted, wider = self.predict(known)
        # Distributions are widened about their centers: where zero is a class, the other numbers
        # lie far from the prediction on average.
        away = prior.centers(predicted) - predicted
        return prior.updated((away + (left - away) / wider)[tells], _SHAPE_ROWS)

    def predict(self, rows):
        """Return the expected rescaled number of each row, and what widens its distribution."""
        mean, square = np.zeros(len(rows)), np.zeros(len(rows))
        for source, _, kept in self._kept():
            X = source.design(rows)
            for posterior, weight in kept:
                places = source.center + X @ posterior.coefficients
                mean += weight * places
                square += weight * places**2
                square += weight * posterior.variance * (1 + posterior.leverage(X))
        return mean + self.offset, np.sqrt(np.maximum(square - mean**2, 0.0)) / self.unit


def within_reach(source, rows, places):
    """Return rescaled numbers minus the center, with outliers moved towards the others."""
    # One row moves the mean by at most one standard error, of the deviation about the prediction.
    # Without this limit, R² on CD4 cells with 30 labels is .2 lower. Coefficients follow residuals
    # of three deviations, or of a third of that reach: R² of a hundred visits to a doctor is .02
    # to .5 higher. With three however many are known, that of 1,000 prices is .010 lower.
    expected, left = source.predicted(rows), places - source.center
    if source.is_alone or not len(places):
        return left
    left, reach = left - expected, source.unit * np.sqrt(len(places))
    middle, near = np.median(left), min(max(reach / _NEAR, source.unit * _NEAR), reach)
    far, left = (middle + np.clip(left - middle, -most, most) for most in (reach, near))
    return expected + left + far.mean() - left.mean()


class TimeModel(TargetModel):
    """Average of candidates for log-hazards, and the baseline of the target.

    Parameters
    ----------
    sources : list of Source

    rows : ndarray of shape (n_samples, n_features)
        All rows of the target.

    known : ndarray of shape (n_samples,)
        Whether each row has an outcome.

    events, times : ndarray of shape (n_known,)
        Events and times of the rows with an outcome, followed up to the horizon.

    outcome : EventOutcome
    """

    # See benchmarks/bench_times.py. If half of the probability is that of an unchanged source or
    # of another level and slope, the concordance after 20, 60 and 200 outcomes is .001, .003 and
    # .004 lower.
    beliefs = Beliefs((0.0,), 0.3, (0.5, 2.0), (0.5, 1.0, 2.0, 4.0), own_level=0.0, unchanged=0.1)

    def __init__(self, sources, rows, known, events, times, outcome):
        seen = rows[known]
        likelihoods = [CoxLikelihood.of(s.design(seen), events, times) for s in sources]
        super().__init__(sources, likelihoods, int(events.sum()), tells=self.tells(events))
        self.baseline = self._baseline(rows, known, events, times, outcome)

    @staticmethod
    def _prediction_of(release):
        """Return the function that predicts log-hazards, and their stated errors."""
        return release.model.risks, {"stated": (release.regression.coefficient_sd[0], 0.0)}

    @staticmethod
    def tells(events):
        """Return whether the events are informative enough to change the sources."""
        return bool(events.sum() >= _LEVEL_EVENTS)

    def log_hazards(self, rows: np.ndarray) -> np.ndarray:
        """Return the log-hazard of each row, relative to the baseline."""
        return sum(
            source.design(rows) @ sum(w * posterior.coefficients for posterior, w in kept)
            for source, _, kept in self._kept()
        )

    def _baseline(self, rows, known, events, times, outcome):
        """Return the cumulative hazard within each interval followed, at log-hazard 0."""
        log_hazards, n_events = self.log_hazards(rows), _LEVEL_EVENTS
        starts, ends = np.append(0.0, outcome.ends[:-1]), outcome.ends
        parts = [
            (source, sum(weight for _, weight in kept))
            for source, _, kept in self._kept()
            if not source.is_alone
        ]
        n_followed = len(ends)
        if self.sources[0].is_alone:
            before, n_events = (ends - starts) / outcome.horizon, 0.0
        else:
            # Where enough rows are left, of a source or of the target.
            followed: list[int] = [len(source.release.model.baseline) for source, _ in parts]
            own = (times >= ends[:, np.newaxis]).sum(axis=1) >= LEAST_ROWS
            n_followed = max(*followed, int(np.count_nonzero(own)))
            whole = sum(w for _, w in parts)
            before = sum(w / whole * s.release.model.hazards.baseline for s, w in parts)
            # The mean hazard of the target's rows is the one that the releases expect.
            by_releases = sum(w / whole * source.predicted(rows) for source, w in parts)
            before = before * np.exp(logsumexp(by_releases) - logsumexp(log_hazards))
        if not len(times):
            return before[:n_followed]
        passed = np.clip((times[:, np.newaxis] - starts) / (ends - starts), 0, 1)
        expected = before * (np.exp(log_hazards[known]) @ passed)
        counts = np.bincount(np.searchsorted(ends, times[events]), minlength=len(ends))
        level = (n_events + counts.sum()) / max(n_events + expected.sum(), TINY)
        prior = _SHAPE_EVENTS * before / before.sum()
        scale = level * (prior + counts) / np.maximum(prior + level * expected, TINY)
        return (before * scale)[:n_followed]
