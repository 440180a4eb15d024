"""The strategy "noise_aware": self-training, candidates by evidence, or both."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.neighbors import NearestNeighbors

from skdp.transfer._candidates import Candidates
from skdp.transfer._evidence import (
    AGREED,
    agrees,
    certainty,
    mean_margin,
    scorer_weights,
)
from skdp.transfer._inspection import of_scorers
from skdp.transfer._priors_and_costs import prior_shift_offsets
from skdp.transfer._scorers import fit_mixtures, source_scorers
from skdp.transfer._self_training import (
    SelfTrainingSchedule,
    Step,
    first_round,
    out_of_fold_scores,
    scores_by,
)
from skdp.transfer._strategy import Model
from skdp.utils._labels import stratified_folds

# Certainty after the first round of self-training from which it needs no other evidence. Digits
# have .93 or more with five labels a class, human activity .79; tables .74 or less, where all that
# is trained further is worse than a logistic regression.
_SEPARATED = 0.75
# The same below which there is nothing to train by. Images by their local features (Office) have
# .36 or more; rule of thumb.
_LEAST_CERTAIN = 0.3
# Folds of labels that runs of self-training are held out from; rule of thumb.
_N_FOLDS = 3

# Neighbours of a row; rule of thumb.
_N_NEIGHBOURS = 10
# Share of a posterior that comes from the neighbours; rule of thumb.
_FROM_NEIGHBOURS = 0.8
# Steps, after which what is left to spread is 0.8³⁰, a thousandth.
_N_STEPS = 30


class NoiseAware:
    """Ours, which knows the distribution of the source's noise; see DPTransferClassifier."""

    name = "noise_aware"
    has_probabilities = True
    reconstructs_rows = False
    # Components follow the number of rows.
    schedule = SelfTrainingSchedule(n_inducing=0.5, n_layers=1, n_folds=4, inference="gamma")

    def learn(self, task, training):
        """Return what is learned of a target.

        Self-training stands by itself where classes are well separated. Where they overlap, or
        with a release of statistics or of a table, or without labels, candidates are weighted by
        evidence instead: what is guessed there confirms itself. In between, self-training is a
        candidate among others.

        Parameters
        ----------
        task : Task

        training : SelfTraining

        Returns
        -------
        result : TransferResult
        """
        if training.n_folds == 1:
            raise ValueError(
                "The 'n_folds' parameter of SelfTrainingSchedule must be at least 2 with "
                "strategy='noise_aware', got 1: rows are scored by models that left them out."
            )
        if task.is_calibrated or task.unlabelled.all():
            candidates = Candidates(task)
            if _may_train_itself(task, candidates):
                _add_self_training(task, training, candidates)
            return candidates.average()
        found = None
        if _has_all_classes(task) and not task.has_indicators:
            found = training.run(NoiseAwareRounds(task, training), task.labels, _LEAST_CERTAIN)
        if found is not None and found.certainty >= _SEPARATED:
            return found
        logs = None if found is None else held_out_log_posteriors(task, training)
        candidates = Candidates(task)
        if logs is not None:
            candidates.add_trained("self-training", found, logs, candidates.labels_log_odds)
        return candidates.average()


def _has_all_classes(task):
    return len(np.unique(task.labels[~task.unlabelled])) == task.n_classes


def _may_train_itself(task, candidates):
    """Return whether self-training may add to candidates of a calibrated source."""
    if not task.unlabelled.any() or not _has_all_classes(task) or task.has_indicators:
        return False
    # Class means that agree have been trained by the target's rows already.
    mixtures = candidates.named("adapted mixtures")
    follow = mixtures and not candidates.named("adapted class means")
    return bool(follow) or candidates.favour_the_target()


def _add_self_training(task, training, candidates):
    """Add self-training by the sources to candidates, where classes are separated."""
    mixtures = [each.scorer for each in candidates.named("adapted mixtures")]
    rounds = NoiseAwareRounds(task, training, [*candidates.scorers, *mixtures])
    found = training.run(rounds, task.labels, _SEPARATED)
    if found is None:
        return
    agreed = agrees(np.exp(rounds.log_posteriors), candidates.reference)
    log_odds = AGREED if agreed else candidates.labels_log_odds
    logs = rounds.log_posteriors[~task.unlabelled]
    candidates.add_trained("self-training", found, logs, log_odds)


def held_out_log_posteriors(task, training):
    """Return log-posteriors of labelled rows by runs of self-training without their labels.

    Parameters
    ----------
    task : Task

    training : SelfTraining

    Returns
    -------
    logs : ndarray of shape (n_labelled, n_classes) or None
        None where a class has a single label, without which no run can start.
    """
    known = np.flatnonzero(~task.unlabelled)
    true = task.labels[known]
    if np.bincount(true).min() < 2:
        return None
    folds = stratified_folds(true, _N_FOLDS, task.random_state)
    logs = np.zeros((len(known), task.n_classes))
    for k in range(folds.max() + 1):
        labels, hidden = task.labels.copy(), known[folds == k]
        labels[hidden] = -1
        rounds = NoiseAwareRounds(replace(task, labels=labels), training)
        training.run(rounds, labels)
        logs[folds == k] = rounds.log_posteriors[hidden]
    return logs


@dataclass(frozen=True)
class Combination:
    """How scores of source and target add up to log-posteriors.

    Attributes
    ----------
    weights : ndarray of shape (n_source_scorers + 1,)
        The target's is the last.

    units : list of float
        Unit of each of these scores, see :func:`mean_margin`.

    target_units : list of float
        Unit of each of the target's own scorers, which count alike.

    offsets : ndarray of shape (n_classes,)
        Prior-shift correction.
    """

    weights: np.ndarray
    units: list
    target_units: list
    offsets: np.ndarray

    def weighted(self, scores, k):
        """Return the scores of scorer k as its part of the log-posteriors."""
        return (self.weights[k] / self.units[k]) * scores

    @property
    def source_weight(self):
        """Return the weight of the source among all."""
        return float(self.weights[:-1].sum() / self.weights.sum())


class NoiseAwareRounds:
    """Self-training in the target's subspace, with scorers weighted on the labelled rows.

    Every round has the same four steps: two target models, fuzzy sets and mixtures of normal
    distributions, score each fold of the rows without having seen it, and count alike; their
    scores and those of the source are weighted by how well they explain the labelled rows;
    guesses are moved towards the class frequencies of the source; and rows whose neighbours
    disagree with their guess are left out of training in the next round.

    After each step, ``log_posteriors`` has those of all rows by models that left them out,
    labelled rows included.

    Parameters
    ----------
    task : Task

    training : SelfTraining

    scorers : list of Scorer or None, default=None
        Of the source; None stands for :func:`source_scorers`.
    """

    def __init__(self, task, training, scorers=None):
        self._task, self._training = task, training
        self._scorers = source_scorers(task) if scorers is None else scorers
        self._codes = task.subspace.encode(task.X)
        self._known = ~task.unlabelled
        self._true = task.labels[self._known]
        self._trusted = self._known
        self._graph = None
        if task.unlabelled.any():
            self._graph = neighbour_graph(self._codes, task.n_jobs)
        scores = [scorer.scores(task.X) for scorer in self._scorers]
        self._source_units = [mean_margin(each) for each in scores]
        self._source_scores = [
            each / unit for each, unit in zip(scores, self._source_units, strict=True)
        ]
        self._fits = (training.fit_autoencoders, self._fit_mixtures)
        self._combination = None
        self.log_posteriors = np.zeros((len(task.X), task.n_classes))

    def _fit_mixtures(self, settings, rows, labels):
        return fit_mixtures(rows, labels, self._task.random_state)

    def start(self, settings, labels):
        """Return class distributions by the labelled rows alone."""
        return self._combine([self._first_scores(fit, settings) for fit in self._fits])

    def step(self, settings, labels):
        """Return class distributions by models that left each row out."""
        # Depth is for the model that remains.
        settings = replace(settings, n_layers=1)
        folds = stratified_folds(labels, self._training.n_folds, self._task.random_state)
        data = (self._codes, labels, self._trusted, folds)
        return self._combine([out_of_fold_scores(fit, settings, *data) for fit in self._fits])

    def finish(self, settings, labels):
        """Return the model of all rows, with the weights of the last round."""
        targets = [fit(settings, self._codes, labels) for fit in self._fits]
        return ScorerAverage(self._task.subspace, self._scorers, targets, self._combination)

    def _first_scores(self, fit, settings):
        """Return scores by the labelled rows; of these, by the labelled rows of other folds."""
        codes, true = self._codes[self._known], self._true
        n_classes, random_state = true.max() + 1, self._task.random_state
        scores = np.zeros((len(self._codes), n_classes))
        queries = self._codes[~self._known]
        scores[~self._known] = scores_by(fit, settings, codes, true, queries, n_classes)
        if np.bincount(true).min() > 1:  # else nothing can be said of a class without its only row
            folds = stratified_folds(true, self._training.n_folds, random_state)
            fewer = first_round(true[folds != 0])
            everyone = np.ones(len(true), dtype=bool)
            scores[self._known] = out_of_fold_scores(fit, fewer, codes, true, everyone, folds)
        return scores

    def _combine(self, scores):
        """Weight the scores of source and target models, and see which rows to trust."""
        target_units = [mean_margin(each) for each in scores]
        target = _mean(scores, target_units)
        unit = mean_margin(target)
        stacked = np.stack([*self._source_scores, target / unit])
        weights = scorer_weights(stacked[:, self._known], self._true)
        posteriors = np.tensordot(weights, stacked, 1)
        offsets = self._offsets(posteriors)
        self.log_posteriors = log_softmax(posteriors + offsets, axis=1)
        posteriors = softmax(posteriors + offsets, axis=1)
        posteriors[self._known] = np.eye(posteriors.shape[1])[self._true]
        if self._graph is not None:
            spreading = spread(self._graph, posteriors, self._known)
            agreed = spreading.argmax(axis=1) == posteriors.argmax(axis=1)
            self._trusted = self._known | agreed
        self._combination = Combination(
            weights, [*self._source_units, unit], target_units, offsets
        )
        details = {
            "source_weight": self._combination.source_weight,
            "trusted": float(self._trusted.mean()),
        }
        return Step(posteriors, details, certainty(np.exp(self.log_posteriors)))

    def _offsets(self, posteriors):
        """Return the prior-shift correction, 0 where no frequencies or no guesses are known."""
        frequencies = self._task.frequencies
        if frequencies is None or self._known.all():
            return np.zeros(posteriors.shape[1])
        return prior_shift_offsets(posteriors[~self._known], frequencies)


class ScorerAverage(Model):
    """Log-posteriors of target rows as a weighted sum of scores, by source and target.

    Parameters
    ----------
    subspace : Subspace
        Of the target's rows.

    source_scorers : list of Scorer

    target_scorers : list
        Fuzzy sets, and mixtures, of rows in the subspace.

    combination : Combination
    """

    # Share of the weights below which the source hardly counts. Of digits with 100 labels, sources
    # that help have .2 or more, sources of noise below .1.
    least_source_weight = 0.1

    def __init__(self, subspace, source_scorers, target_scorers, combination):
        self._subspace, self._combination = subspace, combination
        self._source_scorers, self._target_scorers = source_scorers, target_scorers
        self.target_classifier = target_scorers[0].classifier
        self.source_weight = combination.source_weight
        self.contributions = of_scorers(source_scorers, combination.weights)

    def source_scores(self, X):
        """Return what the scorers of the source add to the log-posteriors."""
        scores = [
            self._combination.weighted(scorer.scores(X), k)
            for k, scorer in enumerate(self._source_scorers)
        ]
        return np.sum(scores, axis=0).astype(X.dtype)

    def target_scores(self, X):
        """Return what the target's models add to the log-posteriors."""
        codes = self._subspace.encode(X)
        scores = [scorer.scores(codes) for scorer in self._target_scorers]
        mean = _mean(scores, self._combination.target_units)
        return self._combination.weighted(mean, -1).astype(X.dtype)

    def log_posteriors(self, X):
        """Return log-posteriors, up to a constant for each row."""
        scores = self.target_scores(X)
        if self._source_scorers:
            scores = scores + self.source_scores(X)
        return (scores + self._combination.offsets).astype(X.dtype)


def _mean(scores, units):
    return np.mean([each / unit for each, unit in zip(scores, units, strict=True)], axis=0)


def neighbour_graph(Z, n_jobs):
    """Return weights of the ten nearest neighbours of each row, which add up to 1.

    Weights fall off as exp(−2(d/d₁₀)²), d₁₀ being the distance of the tenth.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_directions)
        Rows.

    n_jobs : int or None
        Threads.

    Returns
    -------
    graph : sparse array of shape (n_samples, n_samples)
    """
    n = len(Z)
    k = min(_N_NEIGHBOURS, n - 1)
    # Without arguments, a row is none of its own neighbours.
    distances, indices = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(Z).kneighbors()
    farthest = np.maximum(distances[:, -1:], np.finfo(Z.dtype).tiny)
    weights = np.exp(-2 * (distances / farthest) ** 2)
    weights /= weights.sum(axis=1, keepdims=True)
    return csr_array((weights.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def spread(graph, posteriors, known):
    """Return posteriors of which four fifths come from the neighbours.

    Zhou et al. (2004), "Learning with local and global consistency", with known rows held.

    Parameters
    ----------
    graph : sparse array of shape (n_samples, n_samples)
        See :func:`neighbour_graph`.

    posteriors : ndarray of shape (n_samples, n_classes)
        What is believed of each row by itself.

    known : ndarray of shape (n_samples,), bool
        Rows whose posteriors are certain.
    """
    spreading = posteriors
    for _ in range(_N_STEPS):
        spreading = _FROM_NEIGHBOURS * (graph @ spreading) + (1 - _FROM_NEIGHBOURS) * posteriors
        spreading[known] = posteriors[known]
    return spreading
