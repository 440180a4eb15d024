"""Candidates for a target, averaged by evidence: corrected, adapted, and from labels alone."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from skdp.transfer._evidence import (
    agrees_with_source,
    average_posteriors,
    candidate_weights,
    certainty,
    contradicts,
    effective_rows,
    errs_as_claimed,
    held_out_probabilities,
    log_evidence,
    prior_odds,
)
from skdp.transfer._inspection import candidate_contributions
from skdp.transfer._label_correction import (
    AveragedCorrection,
    LabeledRows,
    Standardizer,
    sampling_offsets,
    warn_of_frequencies,
)
from skdp.transfer._scorers import (
    Scorer,
    adapted_class_means,
    adapted_mixtures,
    normalized_log_posteriors,
    on_all_columns,
    source_scorer,
)
from skdp.transfer._strategy import TransferModel, TransferResult
from skdp.utils._labels import stratified_folds

# Prior log-odds of adapted class means, compared with the source. On human activity with 10 labels
# per class, 0, 1, 2 and 3 gain 10.7, 11.2, 11.6 and 12.1 points; without labels, log loss is
# .2-.45 with 0, at the same accuracy.
_MEANS_LOG_ODDS = 2.0
# Power of the prior odds of a source among several. For four hospitals, each with the three others
# as sources and 30 labels, log loss is .417 and .434 (ε = 4 and 1), and .420 and .440 with power
# 1.
_SINGLE_POWER = 0.5


@dataclass
class Candidate:
    """Log-posteriors for a target, their correction by labels, and the evidence for them.

    Attributes
    ----------
    name : str
        Name of the candidate.

    scorer : Scorer or TransferModel
        Log-posteriors, up to a constant for each row.

    log_odds : float
        Prior log-odds; the evidence of labels is added later.

    source_weight : float, default=1
        Weight of the source in it, from 0 to 1.

    standardizer : Standardizer or None, default=None
        Standardizer of the columns of a correction.

    correction : AveragedCorrection or None, default=None
        Correction of the log-posteriors by labels; None for no correction.

    adapt : callable or None, default=None
        ``adapt(labels=labels)`` returns a scorer adapted to labels.

    held_out : ndarray of shape (n_labeled,) or None, default=None
        Held-out probability of the label of each labeled row. None without labels.
    """

    name: str
    scorer: Scorer | TransferModel
    log_odds: float
    source_weight: float = 1.0
    standardizer: Standardizer | None = None
    correction: AveragedCorrection | None = None
    adapt: Callable | None = None
    held_out: np.ndarray | None = None

    def learn(self, log_posteriors, rows, offsets):
        """Learn from labeled rows; return their held-out log-posteriors."""
        if self.correction is not None:
            fitted = self.correction.cross_fit(log_posteriors, rows, offsets)
            self.correction, log_posteriors = fitted
        if self.adapt is not None:
            self.scorer = self.adapt(labels=rows.all_labels)
            self.adapt = None  # to release all rows from memory
        return log_posteriors

    def log_posteriors(self, X):
        """Return log-posteriors of target rows."""
        log_posteriors = normalized_log_posteriors(self.scorer, X)
        if self.correction is None or self.standardizer is None:
            return log_posteriors
        return self.correction.apply(log_posteriors, self.standardizer.transform(X))


class Candidates:
    """Candidates for a target, weighted by evidence.

    They are used if classes overlap, with releases of statistics, or without labels. Posteriors
    are averaged. Each candidate is weighted by the likelihood of held-out labels, and by prior
    odds that favor the source.

    Parameters
    ----------
    task : Task
        With a release that has moments, or a label of each of two classes.
    """

    def __init__(self, task):
        self._task = task
        self._standardizer = Standardizer(task.X)
        self._is_labeled = ~task.unlabeled
        self._labels = task.labels[self._is_labeled]
        self._pairs = [pair for pair in task.pairs if pair.release.moments is not None]
        self.scorers = self._source_scorers(self._pairs)
        self._candidates: list = []
        self._history: dict = {}  # of self-training
        self._log_posteriors: list = []  # of all rows by each, before any label is used

    def _source_scorers(self, pairs):
        return [on_all_columns(self._task, source_scorer(pair)) for pair in pairs]

    def learn(self):
        """Collect all candidates, weight them by the labels, return self."""
        for candidate, log_posteriors in self._all():
            candidate.standardizer = self._standardizer
            self._candidates.append(candidate)
            self._log_posteriors.append(log_posteriors)
        if self._is_labeled.any():
            self._learn_from_labels()
        return self

    def _all(self):
        """Yield all candidates but self-training, and their log-posteriors of all rows.

        The source is the first, and added before the next are made: these are compared with it.
        """
        has_labels = self._is_labeled.any()
        if self._pairs:
            # The score of all sources together.
            yield self._all_sources()
        if self._pairs and has_labels:
            # That of each source: the prior odds depend on its effective sample size.
            yield from self._single_sources()
        if self._pairs and not self._task.has_indicators:  # these create clusters of their own
            # Densities of the sources adapted to the target's rows, if the two agree. In the
            # average they decide on rows of which they are certain and the source is not.
            for pair in self._pairs:
                yield from self._class_means(pair)
                yield from self._mixtures(pair)
        if has_labels:
            # A logistic regression of the labeled rows.
            yield self._target_alone()
        # Self-training, by add_trained, depends on the evidence for these.

    def named(self, name):
        """Return the candidates with a name."""
        return [candidate for candidate in self._candidates if candidate.name == name]

    @property
    def labels_log_odds(self):
        """Prior log-odds of candidates that are learned from labels."""
        if not self._pairs:
            return 0.0
        n_rows = sum(effective_rows(pair.release) for pair in self._pairs)
        return prior_odds(n_rows, len(self._labels) / self._task.n_classes)

    @property
    def reference(self):
        """Posteriors of all target rows by the sources, uncorrected."""
        return np.exp(self._log_posteriors[0])

    @property
    def labels_favor_target(self):
        """Whether there are labels, and they favor the target alone over the source."""
        alone = self.named("target alone")
        return bool(alone) and alone[0].log_odds > self._candidates[0].log_odds

    def _all_sources(self):
        """Return all sources together, weighted by precision."""
        if len(self._pairs) == 1:
            return self._source("source", self.scorers[0], 0.0, self._pairs[0].release)
        rows = np.array([effective_rows(pair.release) for pair in self._pairs])
        pool = Scorer(partial(log_linear_pool, self.scorers, rows / rows.sum()))
        return self._source("source", pool, 0.0)

    def _single_sources(self):
        """Yield each of several sources, merged or not."""
        n_rows = np.sum([effective_rows(pair.release) for pair in self._pairs])
        pairs, scorers = self._task.single_pairs, self._source_scorers(self._task.single_pairs)
        if len(self._pairs) > 1:
            pairs, scorers = [*self._pairs, *pairs], [*self.scorers, *scorers]
        for pair, scorer in zip(pairs, scorers, strict=True):
            log_odds = _SINGLE_POWER * prior_odds(n_rows, effective_rows(pair.release))
            yield self._source(pair.name, scorer, log_odds, pair.release)

    def _source(self, name, scorer, log_odds, release=None):
        """Return the scores of a source, corrected such that few labels can hardly harm."""
        log_posteriors = normalized_log_posteriors(scorer, self._task.X)
        sites: tuple = ()
        if release is not None and release.statistics is not None:
            spread = release.linear.intercept_sd
            sites = () if spread is None else (float(spread[0]), release.statistics.n_sources)
        size = self._task.X.shape[1], self._task.sampling
        correction = AveragedCorrection.of_source(log_posteriors, *size, *sites)
        return Candidate(name, scorer, log_odds, correction=correction), log_posteriors

    def _class_means(self, pair):
        """Yield class means by the likelier of two starts, if the source errs as it claims.

        Labels only scale their log-posteriors.
        """
        starts = [partial(adapted_class_means, pair, start) for start in (None, self.reference)]
        scorers = [adapt() for adapt in starts]
        if scorers[0] is None:
            return
        scores = [np.asarray(scorer.scores(self._task.X), np.float64) for scorer in scorers]
        best = np.argmax([logsumexp(log_densities, axis=1).mean() for log_densities in scores])
        log_posteriors = log_softmax(scores[best], axis=1)
        posteriors = np.exp(log_posteriors)
        agrees = agrees_with_source(posteriors, self.reference)
        if agrees and errs_as_claimed(posteriors, self.reference):
            candidate = Candidate("adapted class means", scorers[best], _MEANS_LOG_ODDS)
            candidate.correction = AveragedCorrection.of_slope()
            candidate.adapt = starts[best] if self._is_labeled.any() else None
            yield candidate, log_posteriors

    def _mixtures(self, pair):
        """Yield mixtures, if they separate classes better; labels do not change them."""
        # On digits of other writers this gains 2-6 points. Without a shift, as on Fashion-MNIST,
        # and on human activity, certainty decreases, and .5 to 17 points would be lost.
        scorer = adapted_mixtures(pair)
        if scorer is None:
            return
        log_posteriors = normalized_log_posteriors(scorer, self._task.X)
        posteriors = np.exp(log_posteriors)
        better = certainty(posteriors) >= certainty(self.reference)
        if better and agrees_with_source(posteriors, self.reference):
            yield Candidate("adapted mixtures", scorer, 0.0), log_posteriors

    def _target_alone(self):
        """Return a logistic regression around the frequencies of the target's classes."""
        if self.scorers:
            frequencies = self.reference.mean(axis=0) + 1e-6
        else:
            frequencies = np.bincount(self._labels) / len(self._labels)
        scorer = Scorer(partial(constant_scores, np.log(frequencies)))
        correction = AveragedCorrection.of_labels_alone(self._task.sampling)
        odds = self.labels_log_odds
        candidate = Candidate("target alone", scorer, odds, 0.0, correction=correction)
        return candidate, normalized_log_posteriors(scorer, self._task.X)

    def _learn_from_labels(self):
        """Let all candidates learn from the labeled rows, and weight them by these."""
        folds = stratified_folds(self._labels, 5, self._task.random_state)
        Z = self._standardizer.transform(self._task.X[self._is_labeled])
        rows = LabeledRows(self._is_labeled, self._labels, folds, Z)
        if self._task.label_sampling == "auto" and self._pairs and not self._is_labeled.all():
            warn_of_frequencies(self._labels, self.reference.mean(axis=0), self._task.sampling)
        for candidate, log_posteriors in zip(self._candidates, self._log_posteriors, strict=True):
            offsets = self._sampling_offsets(np.exp(log_posteriors))
            held_out = candidate.learn(log_posteriors[self._is_labeled], rows, offsets)
            self._weigh(candidate, held_out, offsets)

    def _sampling_offsets(self, posteriors):
        """Return log-ratios of class frequencies among labels and in the posteriors of all rows.

        They are due to the choice of labels; for a random sample they are evidence, and 0 here.
        """
        if self._task.sampling == "random":
            return np.zeros(self._task.n_classes)
        return sampling_offsets(self._labels, posteriors)

    def _weigh(self, candidate, log_posteriors, offsets):
        """Add the evidence of labels for a candidate, given held-out log-posteriors."""
        candidate.held_out = held_out_probabilities(log_posteriors, self._labels, offsets)
        candidate.log_odds += log_evidence(candidate.held_out, log_posteriors.shape[1])

    def add_trained(self, trained, log_posteriors, log_odds):
        """Add self-training."""
        model = trained.model
        candidate = Candidate("self-training", model, log_odds, model.source_weight)
        offsets = self._sampling_offsets(trained.distributions)
        self._weigh(candidate, log_posteriors, offsets)
        self._candidates.append(candidate)
        self._history = trained.history

    def average(self):
        """Return the average of all candidates by the evidence for them."""
        weights = candidate_weights([candidate.log_odds for candidate in self._candidates])
        model = EvidenceAverage(self._candidates, weights)
        if self._pairs:
            model.is_contradicted = contradicts(
                self._labels, self._log_posteriors[0][self._is_labeled]
            )
        distributions = model.probabilities(self._task.X)
        distributions[self._is_labeled] = np.eye(distributions.shape[1])[self._labels]
        return TransferResult(distributions, self._history, model)


class EvidenceAverage(TransferModel):
    """Model whose posteriors are averages over candidates.

    Parameters
    ----------
    candidates : list of Candidate

    weights : ndarray of shape (n_candidates,)
        Candidates of weight 0 are dropped, except for their ``contributions``.
    """

    # Weight below which the labels favor the target alone.
    min_source_weight = 0.5

    def __init__(self, candidates, weights):
        self.contributions = candidate_contributions(candidates, weights)
        kept = np.flatnonzero(weights)
        self.candidates = [candidates[k] for k in kept]
        self._weights = weights[kept]
        shares = np.array([candidate.source_weight for candidate in self.candidates])
        self._source_weights = self._weights * (shares > 0)
        self.source_weight = min(float(self._weights @ shares), 1.0)  # in spite of rounding
        scorers: list[Any] = [candidate.scorer for candidate in self.candidates]
        trained = [scorer for scorer in scorers if isinstance(scorer, TransferModel)]
        self.target_classifier = trained[0].target_classifier if trained else None

    def _mixed(self, X, weights):
        """Return logarithms of posteriors averaged by weights of the kept candidates."""
        used = np.flatnonzero(weights)
        log_posteriors = [self.candidates[k].log_posteriors(X) for k in used]
        return average_posteriors(log_posteriors, weights[used])

    def log_posteriors(self, X):
        """Return log-posteriors."""
        return self._mixed(X, self._weights).astype(X.dtype)

    def source_scores(self, X):
        """Return log-posteriors by the candidates with a source, 0 without any."""
        if not self._source_weights.any():
            return np.zeros((len(X), self.log_posteriors(X[:1]).shape[1]), dtype=X.dtype)
        return self._mixed(X, self._source_weights / self._source_weights.sum()).astype(X.dtype)

    def target_scores(self, X):
        """Return the change of these by the target alone."""
        return self.log_posteriors(X) - self.source_scores(X)


def log_linear_pool(scorers, weights, X):
    """Return log-posteriors of several scorers, averaged by weights that sum to 1."""
    return np.tensordot(weights, [normalized_log_posteriors(scorer, X) for scorer in scorers], 1)


def constant_scores(scores, X):
    """Return the same scores for each row."""
    return np.tile(scores, (len(X), 1))
