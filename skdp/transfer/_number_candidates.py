"""Candidates for a number at the target, and their average by evidence.

A candidate is a Bayesian linear regression of the place of the number, between its bounds, on an
intercept, on the prediction of a release, and on functions of the columns. It differs from the
others in how far these may lie from the release before labels are seen.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp, softmax

from skdp.release import Release
from skdp.transfer._bayesian_regression import Posterior, Sums

# Constants were chosen by R² on other sites of several tables, see
# benchmarks/bench_numbers.py.

# Prior standard deviations of the intercept about that of the source, in standard deviations of
# the number about its prediction. With .1 as a third one, or instead of .3, 10 labels of another
# site move predictions too little: mean R² .015 to .03 lower.
_INTERCEPTS = (0.3, 1.0)
# Prior standard deviation of the slope about 1, and of the mean of a target about that of the
# source if all is learned from labels, in places. Rules of thumb: 1 instead of .3 changes little.
_SLOPE, _LEVEL = 0.3, 0.3
# Prior standard deviations of the part of the outcome that functions of the columns explain, in
# those about the prediction. The probability of each is inversely proportional to it: with equal
# ones, ten labels with one far away among them cost up to .17 of R² on visits to a doctor. With
# .8 as the largest, a hundred labels cannot explain a price as well as it can be, .98 of R².
_STRENGTHS = np.array([0.2, 0.6, 2.0, 6.0, 20.0])
_SHARES = 1 / _STRENGTHS / (1 / _STRENGTHS).sum()
# Standard deviation of columns that the release lacks, as terms: that of a binary one there.
_OWN_DEVIATION = 0.5
# Degrees of freedom of the prior of the variance about the prediction, which counts for two rows.
# With 8, labels show too late that a target has less variance than the source; with 2.5, ten
# labels with one far away among them cost .3 of R² on visits to a doctor.
_FREEDOM = 4.0
# Without a source, outcomes are scaled to unit variance, and half of it is unexplained at first,
# which counts for one row (rule of thumb).
_UNEXPLAINED, _OWN_FREEDOM = 0.5, 3.0
# Kinds of candidates, which are equally probable at first: the release as it is, with another
# intercept and slope, with other coefficients, and no release.
_SHIFTED, _CHANGED, TARGET = ", own intercept and slope", ", own coefficients", "target alone"
# How far a labeled place may lie from what the source expects, beyond the median of these
# differences, in standard deviations about the prediction times the square root of the number of
# labels: so far one row alone moves the mean by as many standard errors.
_REACH = 1.0
# Largest number of labeled rows from which errors are reported.
_MOST_REPORTED = 2000


@dataclass(frozen=True)
class Terms:
    """What the regressions of one release are linear in: 1, its prediction, functions of columns.

    Attributes
    ----------
    release : Release or None
        None: there is no prediction, and the functions are the columns.

    n_shared : int
        Number of columns, the first ones, that are those of the release.

    means, scales : ndarray of shape (n_functions,)
        Subtracted from the functions, and divided by.

    spread : float
        Standard deviation of the sum of independent functions over the target's rows.
    """

    release: Release | None
    n_shared: int
    means: np.ndarray
    scales: np.ndarray
    spread: float

    @classmethod
    def of(cls, release: Release | None, n_shared: int, rows: np.ndarray) -> Self:
        """Return the terms whose functions have mean 0 over the target's rows."""
        functions = _functions(release, n_shared, rows)
        deviations, n_own = functions.std(axis=0), rows.shape[1] - n_shared
        scales = np.ones(len(deviations))
        own = slice(len(scales) - n_own, None)
        scales[own] = np.where(deviations[own] > 0, deviations[own] / _OWN_DEVIATION, 1.0)
        spread = np.linalg.norm(deviations / scales) or 1.0
        return cls(release, n_shared, functions.mean(axis=0), scales, float(spread))

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return the terms of rows, (n_samples, 2 + n_functions)."""
        places = self.places(rows) - self.center
        return np.column_stack([np.ones(len(rows)), places, self.functions(rows)])

    def functions(self, rows: np.ndarray) -> np.ndarray:
        """Return the functions of the columns, of mean 0 over the target's rows."""
        return (_functions(self.release, self.n_shared, rows) - self.means) / self.scales

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the places that the release predicts, 0 without one."""
        if self.release is None:
            return np.zeros(len(rows))
        model: Any = self.release.model
        return model.places(rows[:, : self.n_shared])

    @property
    def center(self) -> float:
        """Mean place at the source, 0 without one."""
        if self.release is None:
            return 0.0
        counts = self.release.statistics.sums.row_counts
        return float(counts[1] / counts.sum())

    @property
    def variance(self) -> float:
        """Variance of the place about its prediction, before labels are seen."""
        model: Any = None if self.release is None else self.release.model
        return _UNEXPLAINED if model is None else model.variance


def _functions(release, n_shared, rows):
    """Return functions of the columns: the basis of the release, and the target's own columns."""
    rows = rows.astype(np.float64, copy=False)
    if release is None:
        return rows
    basis = release.regression.basis
    return np.hstack([basis.encode(rows[:, :n_shared]), rows[:, n_shared:]])


@dataclass(frozen=True)
class Prior:
    """The prior of one candidate.

    Attributes
    ----------
    name : str
        Of its kind; candidates of one name are one part of the report.

    mean, deviations : ndarray of shape (n_terms,)
        See :meth:`Posterior.of`.

    share : float
        Its probability among those of its kind.
    """

    name: str
    mean: np.ndarray
    deviations: np.ndarray
    share: float = 1.0


def source_priors(terms: Terms, name: str, keeps_mean: bool) -> Iterator[Prior]:
    """Yield the priors of candidates around a release, first of the release as it is."""
    assert terms.release is not None
    regression, unit = terms.release.regression, np.sqrt(terms.variance)
    mean = np.zeros(2 + len(terms.means))
    mean[1] = 1.0
    as_it_is = np.zeros_like(mean)
    # What the release says of its own errors.
    as_it_is[:2] = regression.intercept_sd[0] / unit, regression.coefficient_sd[0] / unit
    if keeps_mean:
        as_it_is[0] = np.hypot(as_it_is[0], _LEVEL / unit)
    yield Prior(name, mean, as_it_is)
    for deviation in _INTERCEPTS:
        part = 1 / len(_INTERCEPTS)
        shifted = as_it_is.copy()
        shifted[0] = np.hypot(as_it_is[0], deviation)
        yield Prior(name + _SHIFTED, mean, shifted, part / 2)
        sloped = shifted.copy()
        sloped[1] = np.hypot(as_it_is[1], _SLOPE / unit)
        yield Prior(name + _SHIFTED, mean, sloped, part / 2)
        for strength, share in zip(_STRENGTHS, _SHARES, strict=True):
            changed = shifted.copy()
            changed[2:] = strength / terms.spread
            yield Prior(name + _CHANGED, mean, changed, part * share)


def target_priors(terms: Terms) -> Iterator[Prior]:
    """Yield the priors of candidates that know nothing of a release but its mean."""
    level = 1.0 if terms.release is None else _LEVEL
    for strength, share in zip(_STRENGTHS, _SHARES, strict=True):
        deviations = np.full(2 + len(terms.means), strength / terms.spread)
        deviations[:2] = level / np.sqrt(terms.variance), 0.0
        yield Prior(TARGET, np.zeros_like(deviations), deviations, share)


def active_priors(
    around: Iterable[Prior], alone: Iterable[Prior], *, is_first: bool, any_label: bool
) -> list[Prior]:
    """Return the priors around a source, and with the first one those of the target alone.

    Without labels nothing is known but the source as it is, the first one.
    """
    priors = list(around)
    if priors and not any_label:
        return priors[:1]
    return [*priors, *alone] if is_first else priors


@dataclass(frozen=True)
class Candidate:
    """A candidate after the labels were seen.

    Attributes
    ----------
    name : str
        Of its kind.

    terms : Terms

    posterior : Posterior

    log_odds : float
        Logarithm of its probability at first and its evidence, up to a constant.

    held_out : ndarray of shape (n_reported,)
        Places that it expects of labeled rows that it has not seen.
    """

    name: str
    terms: Terms
    posterior: Posterior
    log_odds: float
    held_out: np.ndarray

    def places(self, X: np.ndarray) -> np.ndarray:
        """Return the expected places of rows by their terms."""
        return self.terms.center + X @ self.posterior.coefficients


def candidates_of(sources, rows, places, keeps_mean, step) -> Iterator[Candidate]:
    """Yield the candidates of several sources, given labeled rows and their places."""
    for k, (name, probability, terms) in enumerate(sources):
        X, outcome = terms(rows), within_reach(terms, rows, places) - terms.center
        sums = Sums.of(X, outcome)
        around = source_priors(terms, name, keeps_mean) if terms.release is not None else ()
        for prior in active_priors(
            around, target_priors(terms), is_first=k == 0, any_label=len(rows) > 0
        ):
            scale = terms.variance, _OWN_FREEDOM if terms.release is None else _FREEDOM
            posterior = Posterior.of(sums, prior.mean, prior.deviations, *scale)
            share = prior.share * (1.0 if prior.name == TARGET else probability)
            log_odds = float(np.log(share) + posterior.log_evidence)
            held_out = terms.center + posterior.held_out(X[::step], outcome[::step])
            yield Candidate(prior.name, terms, posterior, log_odds, held_out)


def within_reach(terms, rows, places):
    """Return places with those that lie far from all others moved towards them."""
    if terms.release is None or not len(places):
        return places
    expected = terms.places(rows)
    left = places - expected
    reach = _REACH * np.sqrt(terms.variance * len(places))
    return expected + np.clip(left, np.median(left) - reach, np.median(left) + reach)


class Average:
    """Candidates of several kinds, and their weights by evidence."""

    candidates: list[Any]
    weights: np.ndarray

    @property
    def source_weight(self) -> float:
        """Weight of the candidates with a release."""
        uses = [candidate.name != TARGET for candidate in self.candidates]
        return float(min(self.weights[uses].sum(), 1.0))  # in spite of rounding

    def kinds(self) -> Iterator[tuple[str, str, float, float, np.ndarray]]:
        """Yield name, side, weight and log-odds of each kind, and which candidates are of it."""
        names = np.array([candidate.name for candidate in self.candidates])
        log_odds = np.array([candidate.log_odds for candidate in self.candidates])
        for name in dict.fromkeys(names.tolist()):
            of = names == name
            side = "both" if ", own " in name else "source"
            side = "target" if name == TARGET else side
            yield name, side, float(self.weights[of].sum()), float(logsumexp(log_odds[of])), of


class NumberModel(Average):
    """Average of candidates for the place of a number, by their evidence.

    Parameters
    ----------
    sources : list of (str, float, Terms)
        Name, probability at first and terms of each release; one without release is alone.

    rows : ndarray of shape (n_samples, n_features)
        All rows of the target.

    labeled : ndarray of shape (n_samples,)
        Which of them have a place.

    places : ndarray of shape (n_labeled,)
        Of the labeled rows.

    keeps_mean : bool
        Whether the mean prediction over all rows stays that of the releases.
    """

    def __init__(self, sources, rows, labeled, places, keeps_mean):
        known = rows[labeled]
        self.step = max(-(-len(known) // _MOST_REPORTED), 1)
        self.candidates = list(candidates_of(sources, known, places, keeps_mean, self.step))
        self.weights = softmax([candidate.log_odds for candidate in self.candidates])
        self.offset = 0.0
        if keeps_mean and sources[0][2].release is not None:
            expected = sum(share * terms.places(rows).mean() for _, share, terms in sources)
            self.offset = float(expected - self.predict(rows)[0].mean())

    def predict(self, rows, with_variance=False):
        """Return the expected place of each row, and its variance about that or None."""
        mean, square = np.zeros(len(rows)), np.zeros(len(rows))
        for X, candidate, weight in self._weighted(rows):
            places, posterior = candidate.places(X), candidate.posterior
            mean += weight * places
            if with_variance:
                square += weight * places**2
                square += weight * posterior.variance * (1 + posterior.leverage(X))
        return mean + self.offset, np.maximum(square - mean**2, 0.0) if with_variance else None

    def reported(self):
        """Yield name, side, weight, log-odds and held-out predictions of each kind."""
        held_out = np.array([candidate.held_out for candidate in self.candidates])
        log_odds = np.array([candidate.log_odds for candidate in self.candidates])
        for *kind, of in self.kinds():
            yield *kind, softmax(log_odds[of]) @ held_out[of]

    def _weighted(self, rows):
        """Yield the terms of rows, each candidate and its weight."""
        terms = X = None
        for candidate, weight in zip(self.candidates, self.weights, strict=True):
            if candidate.terms is not terms:
                terms, X = candidate.terms, candidate.terms(rows)
            yield X, candidate, weight
