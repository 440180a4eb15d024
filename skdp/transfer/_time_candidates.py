"""Candidates for a time to an event at the target, their average by evidence, and its baseline.

A candidate is a Bayesian Cox regression of the rows whose outcome is known on the log-hazard of a
release and on functions of the columns. It differs from the others in how far these may lie from
the release before events are seen. The partial likelihood says nothing about the baseline, which
is estimated for their average.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax

from skdp.transfer._number_candidates import TARGET, Average, Prior, Terms, active_priors
from skdp.transfer._partial_likelihood import HazardPosterior, PartialLikelihood
from skdp.utils._linalg import TINY

# Constants were chosen by concordance and integrated Brier score on nwtco and heart_failure, see
# benchmarks/bench_times.py; figures are means over its six cases there and both ε.

# Prior standard deviation of the slope about 1, as of numbers; .6 and 1 differ by .0015 at most.
_SLOPE = 0.3
# Prior standard deviations of the part of the log-hazard that functions of the columns explain.
# The probability of each is inversely proportional to it. With .1, .3, 1 and 3, 20 outcomes give
# a concordance of .641 instead of .652, and 60 of .663 instead of .669.
_STRENGTHS = np.array([0.5, 1.0, 2.0, 4.0])
_SHARES = 1 / _STRENGTHS / (1 / _STRENGTHS).sum()
# Least events from which anything but the release as it is can be told: the partial likelihood of
# a single one hardly says anything.
_LEAST_EVENTS = 2
# Events for which the prior of the level counts: the logarithm has the standard deviation .7 that
# intercepts of sites have, see _SPREAD_OF_SITES in skdp/transfer/_scorers.py.
_LEVEL_EVENTS = 2.0
# Events for which the prior of the shape of the baseline counts, in all intervals together: with
# 2, the integrated Brier score after 20 outcomes is .0021 worse; 10 and 40 differ by .0005.
_SHAPE_EVENTS = 20.0
# Kinds of candidates, which are equally probable at first: the release as it is, with another
# slope, with other coefficients, and no release.
_SLOPED, _CHANGED = ", own slope", ", own coefficients"


def covariates(terms: Terms, rows: np.ndarray) -> np.ndarray:
    """Return the log-hazard of a release, 0 without one, and functions of the columns."""
    log_hazards = np.zeros(len(rows))
    if terms.release is not None:
        log_hazards = terms.release.model.risks(rows[:, : terms.n_shared])
    return np.column_stack([log_hazards, terms.functions(rows)])


def source_priors(terms: Terms, name: str) -> Iterator[Prior]:
    """Yield the priors of candidates around a release, first of the release as it is."""
    assert terms.release is not None
    mean = np.zeros(1 + len(terms.means))
    mean[0] = 1.0
    as_it_is = np.zeros_like(mean)
    # What the release says of its own error.
    as_it_is[0] = terms.release.regression.coefficient_sd[0]
    yield Prior(name, mean, as_it_is)
    sloped = as_it_is.copy()
    sloped[0] = np.hypot(as_it_is[0], _SLOPE)
    yield Prior(name + _SLOPED, mean, sloped)
    for strength, share in zip(_STRENGTHS, _SHARES, strict=True):
        changed = as_it_is.copy()
        changed[1:] = strength / terms.spread
        yield Prior(name + _CHANGED, mean, changed, share)


def target_priors(terms: Terms) -> Iterator[Prior]:
    """Yield the priors of candidates that know nothing of a release."""
    for strength, share in zip(_STRENGTHS, _SHARES, strict=True):
        deviations = np.full(1 + len(terms.means), strength / terms.spread)
        deviations[0] = 0.0
        yield Prior(TARGET, np.zeros_like(deviations), deviations, share)


@dataclass(frozen=True)
class TimeCandidate:
    """A candidate after the events were seen.

    Attributes
    ----------
    name : str
        Of its kind.

    source : int
        Number of the source whose terms it has.

    coefficients : ndarray of shape (n_terms,)

    log_odds : float
        Logarithm of its probability at first and its evidence, up to a constant.
    """

    name: str
    source: int
    coefficients: np.ndarray
    log_odds: float


def candidates_of(sources, rows, events, times) -> Iterator[TimeCandidate]:
    """Yield the candidates of several sources, given rows whose outcome is known."""
    for k, (name, probability, terms) in enumerate(sources):
        likelihood = PartialLikelihood.of(covariates(terms, rows), events, times)
        around = source_priors(terms, name) if terms.release is not None else ()
        tells = bool(events.sum() >= _LEAST_EVENTS)
        for prior in active_priors(around, target_priors(terms), is_first=k == 0, any_label=tells):
            posterior = HazardPosterior.of(likelihood, prior.mean, prior.deviations)
            share = prior.share * (1.0 if prior.name == TARGET else probability)
            log_odds = float(np.log(share) + posterior.log_evidence)
            yield TimeCandidate(prior.name, k, posterior.coefficients, log_odds)


class TimeModel(Average):
    """Average of candidates for log-hazards, by their evidence, and the baseline of the target.

    Parameters
    ----------
    sources : list of (str, float, Terms)
        Name, probability at first and terms of each release; one without release is alone.

    rows : ndarray of shape (n_samples, n_features)
        All rows of the target.

    known : ndarray of shape (n_samples,)
        Which of them have an outcome.

    events, times : ndarray of shape (n_known,)
        Of the rows with an outcome, followed up to the horizon.

    outcome : EventOutcome
    """

    def __init__(self, sources, rows, known, events, times, outcome):
        self.candidates = list(candidates_of(sources, rows[known], events, times))
        self.weights = softmax([candidate.log_odds for candidate in self.candidates])
        self.parts = []
        for k, (_, _, terms) in enumerate(sources):
            of = [
                (c, w) for c, w in zip(self.candidates, self.weights, strict=True) if c.source == k
            ]
            weight = float(sum(w for _, w in of))
            self.parts.append((terms, weight, sum(w * c.coefficients for c, w in of)))
        self.baseline = self._baseline(rows, known, events, times, outcome)

    def log_hazards(self, rows: np.ndarray) -> np.ndarray:
        """Return the log-hazard of each row, relative to the baseline."""
        return sum(covariates(terms, rows) @ mean for terms, _, mean in self.parts)

    def _baseline(self, rows, known, events, times, outcome):
        """Return the cumulative hazard within each interval at log-hazard 0."""
        log_hazards, n_events = self.log_hazards(rows), _LEVEL_EVENTS
        starts, ends = np.append(0.0, outcome.ends[:-1]), outcome.ends
        if self.parts[0][0].release is None:
            before, n_events = (ends - starts) / outcome.horizon, 0.0
        else:
            before = sum(w * terms.release.model.hazards.baseline for terms, w, _ in self.parts)
            # Rows of the target have the hazards, on average, that the releases expect.
            by_releases = sum(w * covariates(terms, rows)[:, 0] for terms, w, _ in self.parts)
            before = before * np.exp(logsumexp(by_releases) - logsumexp(log_hazards))
        if not len(times):
            return before
        passed = np.clip((times[:, np.newaxis] - starts) / (ends - starts), 0, 1)
        expected = before * (np.exp(log_hazards[known]) @ passed)
        counts = np.bincount(np.searchsorted(ends, times[events]), minlength=len(ends))
        level = (n_events + counts.sum()) / max(n_events + expected.sum(), TINY)
        prior = _SHAPE_EVENTS * before / before.sum()
        return level * before * (prior + counts) / np.maximum(prior + level * expected, TINY)
