"""The strategy "noise_aware": candidates by evidence, self-training, or both."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
from scipy.special import log_softmax, softmax

from skdp.release import Mixtures
from skdp.transfer._class_model import ClassModel, release_sources
from skdp.transfer._classes import warn_of_frequencies
from skdp.transfer._density_candidates import density_sources, trained_source
from skdp.transfer._likelihoods import SoftmaxLikelihood
from skdp.transfer._scorers import Scorer, certainty, densities
from skdp.transfer._self_training import (
    SelfTrainingSchedule,
    Step,
    Strategy,
    first_round,
    out_of_fold_scores,
    scores_by,
)
from skdp.transfer._target_model import Terms
from skdp.utils._labels import stratified_folds
from skdp.utils._linalg import TINY

# Certainty after the first round from which self-training is used alone. Digits have .93 or more
# with five labels per class, human activity .79; tables have .74 or less, where further training
# is worse than a logistic regression.
_SEPARATED = 0.75
# Scale of the normal prior of slopes. With a weight of 1 the best class is on average e times as
# likely as the second; a weight of 5 is as certain as a scorer can reasonably be.
_SLOPE_SCALE = 5.0


def _learn(task, training):
    """Return the result of a task: candidates by evidence, of which self-training may be one."""
    # Self-training needs a label of each class and separated classes: pseudo-labels of overlapping
    # ones would confirm themselves. It is tried where releases are not calibrated, where mixtures
    # are adapted but no class means are, or where labels favor the target alone.
    terms = Terms.of_columns(task.X, task.widths)
    sources, reference = release_sources(task, terms), None
    if sources:
        reference = np.exp(sources[0][1])
        if task.label_sampling == "auto" and 0 < task.unlabeled.mean() < 1:
            labels = task.labels[~task.unlabeled]
            warn_of_frequencies(labels, reference.mean(axis=0), task.sampling)
        if not task.has_indicators:  # which create clusters of their own
            sources += density_sources(task, reference)
    model = ClassModel(task, sources, terms)
    names = {source.name for source, _ in sources}
    adapted = "adapted mixtures" in names and "adapted class means" not in names
    calibrated = any(pair.release.model.calibrated for pair in task.pairs)
    n_labeled = len(np.unique(task.labels[~task.unlabeled]))
    if n_labeled < task.n_classes or task.has_indicators:
        return model.result(task, {})
    if calibrated and not adapted and not model.favors_target:
        return model.result(task, {})
    used = [s for s, _ in sources[:1]] + [s for s, _ in sources if "mixtures" in s.name]
    rounds = NoiseAwareRounds(task, training, used)
    trained = training.run(rounds, task.labels, _SEPARATED)
    if not trained:
        return model.result(task, {})
    model = ClassModel(task, [*sources, trained_source(trained, reference, calibrated)], terms)
    model.target_classifier = trained.model.target_classifier
    return model.result(task, trained.history)


# The default strategy, which uses the distribution of the source's noise. The number of components
# depends on that of rows.
NOISE_AWARE = Strategy(
    "noise_aware",
    _learn,
    SelfTrainingSchedule(n_inducing=0.5, n_layers=1, inference="gamma"),
)


class NoiseAwareRounds:
    """Self-training in the target's subspace, with scorers weighted on the labeled rows.

    Two target models, fuzzy sets and mixtures of normal distributions, with equal weights, score
    each fold of the rows out of fold. Their scores and those of the sources are weighted by the
    likelihood of the labeled rows.

    Parameters
    ----------
    task : Task

    training : SelfTraining

    sources : list of Source
    """

    def __init__(self, task, training, sources):
        self._task, self._training, self._sources = task, training, sources
        self._codes = task.subspace.encode(task.X)
        self._is_labeled = ~task.unlabeled
        self._true = task.labels[self._is_labeled]
        scores = [source.predict(task.X) for source in sources]
        self._source_units = [mean_margin(array) for array in scores]
        self._source_scores = _in_units(scores, self._source_units)
        self._target_fits = (training.fit_autoencoders, partial(fit_mixtures, task.random_state))

    def start(self, settings, labels):
        """Return class distributions by the labeled rows alone."""
        return self._combine([self._first_scores(fit, settings) for fit in self._target_fits])

    def step(self, settings, labels):
        """Return class distributions by out-of-fold models."""
        # Only the final model is deep.
        settings = replace(settings, n_layers=1)
        folds = stratified_folds(labels, self._training.schedule.n_folds, self._task.random_state)
        data = settings, self._codes, labels, folds
        return self._combine([out_of_fold_scores(fit, *data) for fit in self._target_fits])

    def finish(self, settings, labels):
        """Return the model of all rows, with the weights of the last round."""
        targets = [fit(settings, self._codes, labels) for fit in self._target_fits]
        predict = [source.predict for source in self._sources]
        return ScorerAverage(self._task.subspace, predict, targets, self._combination)

    def _first_scores(self, fit, settings):
        """Return scores of all rows by models of labeled rows, out of fold for the latter.

        Labeled rows get zeros if a class has a single label.
        """
        codes, true = self._codes[self._is_labeled], self._true
        n_classes, random_state = true.max() + 1, self._task.random_state
        scores = np.zeros((len(self._codes), n_classes))
        queries = self._codes[~self._is_labeled]
        scores[~self._is_labeled] = scores_by(fit, settings, codes, true, queries, n_classes)
        if np.bincount(true).min() > 1:
            folds = stratified_folds(true, self._training.schedule.n_folds, random_state)
            fewer = first_round(true[folds != 0])
            scores[self._is_labeled] = out_of_fold_scores(fit, fewer, codes, true, folds)
        return scores

    def _combine(self, scores):
        """Return a step by weighted scores of source and target.

        ``scores`` has one array (n_samples, n_classes) for each target model.
        """
        target_units = [mean_margin(array) for array in scores]
        target = np.mean(_in_units(scores, target_units), axis=0)
        unit = mean_margin(target)
        stacked = np.stack([*self._source_scores, target / unit])
        weights = scorer_weights(stacked[:, self._is_labeled], self._true)
        log_posteriors = log_softmax(np.tensordot(weights, stacked, 1), axis=1)
        posteriors = np.exp(log_posteriors)
        sure = certainty(posteriors)
        posteriors[self._is_labeled] = np.eye(posteriors.shape[1])[self._true]
        self._combination = weights, [*self._source_units, unit], target_units
        details = {"source_weight": float(weights[:-1].sum() / weights.sum())}
        return Step(posteriors, details, sure, log_posteriors)


class ScorerAverage:
    """Log-posteriors of target rows: a weighted sum of the scores of source and target.

    Parameters
    ----------
    subspace : Subspace
        Of the target's rows.

    predict : list of callable
        Log-posteriors by sources.

    target_scorers : list
        Fuzzy sets, and mixtures, of rows in the subspace.

    combination : tuple
        Weights of the sources and of the target; the units that divide their scores; and the units
        of the target scorers, whose mean is taken.
    """

    def __init__(self, subspace, predict, target_scorers, combination):
        self._subspace, self._predict, self._target_scorers = subspace, predict, target_scorers
        weights, units, self._target_units = combination
        self._factors = weights / units
        self.target_classifier = target_scorers[0].classifier
        self.source_weight = float(weights[:-1].sum() / weights.sum())

    def log_posteriors(self, X):
        """Return log-posteriors, in float64."""
        codes = self._subspace.encode(X)
        scores = [scorer.scores(codes) for scorer in self._target_scorers]
        target = np.mean(_in_units(scores, self._target_units), axis=0)
        stacked = [*(predict(X) for predict in self._predict), target]
        return log_softmax(np.tensordot(self._factors, stacked, 1).astype(np.float64), axis=1)


def fit_mixtures(random_state, settings, rows, labels):
    """Return a scorer by log-densities of noiseless rows; labels need not be 0, 1, ….

    It has the signature of ``fit_autoencoders`` and ignores the settings.
    """
    present = np.unique(labels, return_inverse=True)[1]
    noise = np.zeros(rows.shape[1])
    return Scorer(densities(Mixtures.fit(rows, present, noise, random_state)))


def mean_margin(scores):
    """Return the average margin of the best class over the second best, a unit of scores."""
    top = np.partition(scores, -2, axis=1)[:, -2:]
    return float(np.mean(top[:, 1] - top[:, 0])) or 1.0


def scorer_weights(scores, labels):
    """Return non-negative weights with which scores add up to log-posteriors."""
    # Bayesian model averaging over all subsets of scorers. The scorers of a subset have equal
    # weights: few labeled rows suffice to select scorers, not to estimate their weights. Their
    # common slope is that of a softmax regression on the labeled rows, with a normal prior.
    scorers = range(len(scores))
    sets = [list(s) for n in scorers for s in combinations(scorers, n + 1)]
    nothing, zeros = np.empty((len(labels), 0)), np.zeros(scores.shape[-1])
    prior = np.zeros(1), np.array([_SLOPE_SCALE])
    fits = [
        SoftmaxLikelihood(nothing, labels, scores[chosen].mean(axis=0), zeros).posterior(*prior)
        for chosen in sets
    ]
    weights = np.zeros(len(scores))
    probabilities = softmax([fit.log_evidence for fit in fits])
    for probability, chosen, fit in zip(probabilities, sets, fits, strict=True):
        weights[chosen] += probability * max(fit.coefficients[0], TINY) / len(chosen)
    return weights


def _in_units(scores, units):
    """Return arrays of scores, each divided by its unit."""
    return [array / unit for array, unit in zip(scores, units, strict=True)]
