"""Noise-aware transfer: what the noise left of the source, and the target's own structure."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax, softmax

from skdp.transfer.self_training import Step, first_round, out_of_fold_scores, scores_by
from skdp.transfer.strategies._contributions import of_scorers
from skdp.transfer.strategies._label_spreading import neighbour_graph, spread
from skdp.transfer.strategies._model_averaging import fit_weights, mean_margin
from skdp.transfer.strategies._prior_shift import prior_shift_offsets
from skdp.transfer.strategies._source_scorers import source_scorers
from skdp.transfer.strategies._target_scorers import mixture_fitter
from skdp.utils._labels import stratified_folds


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


class NoiseAwareStrategy:
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

    scorers : list of Scorer or None, default=None
        Of the source; None stands for :func:`source_scorers`.
    """

    def __init__(self, task, scorers=None):
        self._task = task
        self._subspace = task.subspace
        self._scorers = source_scorers(task, self._subspace) if scorers is None else scorers
        self._codes = self._subspace.encode(task.X)
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
        self._fits = (task.fit, mixture_fitter(task.random_state))
        self._combination = None
        self.log_posteriors = np.zeros((len(task.X), len(task.class_indices)))

    def start(self, settings, labels):
        """Return class distributions by the labelled rows alone."""
        return self._combine([self._first_scores(fit, settings) for fit in self._fits])

    def step(self, settings, labels):
        """Return class distributions by models that left each row out."""
        # Depth is for the model that remains.
        settings = replace(settings, n_layers=1)
        folds = stratified_folds(labels, self._task.n_folds, self._task.random_state)
        data = (self._codes, labels, self._trusted, folds)
        return self._combine([out_of_fold_scores(fit, settings, *data) for fit in self._fits])

    def finish(self, settings, labels):
        """Return the model of all rows, with the weights of the last round."""
        targets = [fit(settings, self._codes, labels) for fit in self._fits]
        return NoiseAwareModel(self._subspace, self._scorers, targets, self._combination)

    def _first_scores(self, fit, settings):
        """Return scores by the labelled rows; of these, by the labelled rows of other folds."""
        codes, true = self._codes[self._known], self._true
        n_classes, random_state = true.max() + 1, self._task.random_state
        scores = np.zeros((len(self._codes), n_classes))
        queries = self._codes[~self._known]
        scores[~self._known] = scores_by(fit, settings, codes, true, queries, n_classes)
        if np.bincount(true).min() > 1:  # else nothing can be said of a class without its only row
            folds = stratified_folds(true, self._task.n_folds, random_state)
            fewer = first_round(true[folds != 0])
            everyone = np.ones(len(true), dtype=bool)
            scores[self._known] = out_of_fold_scores(fit, fewer, codes, true, everyone, folds)
        return scores

    def _combine(self, scores):
        """Weigh the scores of source and target models, and see which rows to trust."""
        target_units = [mean_margin(each) for each in scores]
        target = _mean(scores, target_units)
        unit = mean_margin(target)
        stacked = np.stack([*self._source_scores, target / unit])
        weights = fit_weights(stacked[:, self._known], self._true)
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
        return Step(posteriors, details)

    def _offsets(self, posteriors):
        """Return the prior-shift correction, 0 where no frequencies or no guesses are known."""
        frequencies = self._task.frequencies
        if frequencies is None or self._known.all():
            return np.zeros(posteriors.shape[1])
        return prior_shift_offsets(posteriors[~self._known], frequencies)


class NoiseAwareModel:
    """Log-posteriors of target rows, by source and target.

    Parameters
    ----------
    subspace : Subspace
        Of the target's rows.

    source_scorers : list of Scorer

    target_scorers : list of Scorer
        Fuzzy sets, and mixtures, of rows in the subspace.

    combination : Combination
    """

    # Scores are log-posteriors as they are.
    temperature = 1.0
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

    def scores(self, X):
        """Return log-posteriors, up to a constant for each row."""
        scores = self.target_scores(X)
        if self._source_scorers:
            scores = scores + self.source_scores(X)
        return (scores + self._combination.offsets).astype(X.dtype)

    def probabilities(self, X):
        """Return the probability of each class."""
        return softmax(self.scores(X), axis=1)


def _mean(scores, units):
    return np.mean([each / unit for each, unit in zip(scores, units, strict=True)], axis=0)
