"""The strategy "noise_aware": candidates by evidence, self-training, or both."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.neighbors import NearestNeighbors

from skdp.transfer._class_model import ClassModel, release_sources
from skdp.transfer._density_candidates import density_sources, trained_source
from skdp.transfer._evidence import certainty, mean_margin, scorer_weights
from skdp.transfer._inspection import scorer_contributions
from skdp.transfer._priors_and_costs import prior_shift_offsets, warn_of_frequencies
from skdp.transfer._scorers import Scorer, fit_mixtures, source_scorers
from skdp.transfer._self_training import (
    SelfTrainingSchedule,
    Step,
    Strategy,
    first_round,
    out_of_fold_scores,
    scores_by,
)
from skdp.transfer._target_model import Terms
from skdp.transfer._task import TransferModel
from skdp.utils._labels import stratified_folds

# Certainty after the first round from which self-training is used alone. Digits have .93 or more
# with five labels per class, human activity .79; tables have .74 or less, where further training
# is worse than a logistic regression.
_SEPARATED = 0.75
# Certainty below which self-training is not used. Images by their local features (Office) have .36
# or more; rule of thumb.
_MIN_CERTAINTY = 0.3


def _learn(task, training):
    """Return the result of a task: candidates by evidence, or self-training."""
    # Self-training needs a label of each class. Where releases are not calibrated it is tried
    # first, and used alone if classes are separated: it has the releases' scorers itself.
    # Otherwise pseudo-labels of overlapping classes would confirm themselves: it is tried where
    # mixtures are adapted but no class means are, or the labels favor the target alone, and is one
    # of the candidates.
    if training.n_folds == 1:
        raise ValueError(
            "The 'n_folds' parameter of SelfTrainingSchedule must be at least 2 with "
            "strategy='noise_aware', got 1: rows are scored by models that left them out."
        )
    calibrated = any(pair.release.model.calibrated for pair in task.pairs)
    can_train = task.labels_each_class and not task.has_indicators
    trained = None
    if can_train and not calibrated:
        # Without a source the evidence for regressions of few labels is too low to be compared:
        # photographs of Office would lose ten points.
        least = _MIN_CERTAINTY if task.sources else _SEPARATED
        trained = training.run(NoiseAwareRounds(task, training), task.labels, least)
        if trained is not None and trained.certainty >= _SEPARATED:
            return trained
    terms = Terms.of_columns(task.X, task.widths)
    sources = release_sources(task, terms)
    reference = np.exp(sources[0][1]) if sources else None
    if reference is not None:
        if task.label_sampling == "auto" and task.labels_any and task.unlabeled.any():
            labels = task.labels[~task.unlabeled]
            warn_of_frequencies(labels, reference.mean(axis=0), task.sampling)
        sources += density_sources(task, reference)
    model = ClassModel(task, sources, terms)
    if can_train and calibrated and task.unlabeled.any():
        names = {source.name for source, _ in sources}
        adapted = "adapted mixtures" in names and "adapted class means" not in names
        if adapted or model.favors_target:
            used = [s for s, _ in sources[:1]] + [s for s, _ in sources if "mixtures" in s.name]
            scorers = [Scorer(source.predict) for source in used]
            rounds = NoiseAwareRounds(task, training, scorers)
            trained = training.run(rounds, task.labels, _SEPARATED)
    if trained is not None and not calibrated:
        trained = held_out(trained, task, training)
    if trained is None:
        return model.result(task, {})
    sources.append(trained_source(trained, reference, calibrated))
    model = ClassModel(task, sources, terms)
    model.target_classifier = trained.model.target_classifier
    return model.result(task, trained.history)


# The default strategy, which uses the distribution of the source's noise. The number of components
# depends on that of rows.
NOISE_AWARE = Strategy(
    "noise_aware",
    _learn,
    SelfTrainingSchedule(n_inducing=0.5, n_layers=1, n_folds=4, inference="gamma"),
)


def held_out(trained, task, training):
    """Return self-training whose log-posteriors of labeled rows are by runs without their labels.

    The weights of its scorers follow the labels. None if a class has a single label.
    """
    labeled = np.flatnonzero(~task.unlabeled)
    true = task.labels[labeled]
    if np.bincount(true).min() < 2:
        return None
    folds = stratified_folds(true, 3, task.random_state)
    logs = trained.log_posteriors.copy()
    for k in range(folds.max() + 1):
        labels, hidden = task.labels.copy(), labeled[folds == k]
        labels[hidden] = -1
        rounds = NoiseAwareRounds(replace(task, labels=labels), training)
        logs[hidden] = training.run(rounds, labels).log_posteriors[hidden]
    return replace(trained, log_posteriors=logs)


@dataclass(frozen=True)
class Combination:
    """Combination of the scores of source and target to log-posteriors.

    Attributes
    ----------
    weights : ndarray of shape (n_source_scorers + 1,)
        Weights of the scorers, the target's being the last.

    units : list of float
        Unit of each of these scores, see :func:`mean_margin`.

    target_units : list of float
        Unit of each of the target's own scorers, which have equal weights.

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
        """Return the share of the source in the weights."""
        return float(self.weights[:-1].sum() / self.weights.sum())


class NoiseAwareRounds:
    """Self-training in the target's subspace, with scorers weighted on the labeled rows.

    Every round has the same four steps: two target models, fuzzy sets and mixtures of normal
    distributions, with equal weights, score each fold of the rows out of fold; their scores and
    those of the source are weighted by the likelihood of the labeled rows; predictions are moved
    towards the class frequencies of the source; and rows whose neighbors disagree with their
    pseudo-label are excluded from training in the next round.

    Parameters
    ----------
    task : Task

    training : SelfTraining

    scorers : list of Scorer or None, default=None
        Scorers of the source; None stands for :func:`source_scorers`.
    """

    def __init__(self, task, training, scorers=None):
        self._task, self._training = task, training
        self._scorers = source_scorers(task) if scorers is None else scorers
        self._codes = task.subspace.encode(task.X)
        self._is_labeled = ~task.unlabeled
        self._true = task.labels[self._is_labeled]
        self._trusted = self._is_labeled
        self._graph = None
        if task.unlabeled.any():
            self._graph = neighbor_graph(self._codes, task.n_jobs)
        scores = [scorer.scores(task.X) for scorer in self._scorers]
        self._source_units = [mean_margin(array) for array in scores]
        self._source_scores = _in_units(scores, self._source_units)
        self._target_fits = (training.fit_autoencoders, self._fit_mixtures)
        self._combination = None

    def _fit_mixtures(self, settings, rows, labels):
        """Return a scorer, as ``fit_autoencoders`` does; the settings are not used."""
        return fit_mixtures(rows, labels, self._task.random_state)

    def start(self, settings, labels):
        """Return class distributions by the labeled rows alone."""
        return self._combine([self._first_scores(fit, settings) for fit in self._target_fits])

    def step(self, settings, labels):
        """Return class distributions by out-of-fold models."""
        # Only the final model is deep.
        settings = replace(settings, n_layers=1)
        folds = stratified_folds(labels, self._training.n_folds, self._task.random_state)
        data = (self._codes, labels, self._trusted, folds)
        return self._combine(
            [out_of_fold_scores(fit, settings, *data) for fit in self._target_fits]
        )

    def finish(self, settings, labels):
        """Return the model of all rows, with the weights of the last round."""
        targets = [fit(settings, self._codes, labels) for fit in self._target_fits]
        return ScorerAverage(self._task.subspace, self._scorers, targets, self._combination)

    def _first_scores(self, fit, settings):
        """Return scores of all rows by the labeled ones, for which they are out of fold.

        Zeros for labeled rows if a class has a single one.
        """
        codes, true = self._codes[self._is_labeled], self._true
        n_classes, random_state = true.max() + 1, self._task.random_state
        scores = np.zeros((len(self._codes), n_classes))
        queries = self._codes[~self._is_labeled]
        scores[~self._is_labeled] = scores_by(fit, settings, codes, true, queries, n_classes)
        if np.bincount(true).min() > 1:
            folds = stratified_folds(true, self._training.n_folds, random_state)
            fewer = first_round(true[folds != 0])
            everyone = np.ones(len(true), dtype=bool)
            scores[self._is_labeled] = out_of_fold_scores(fit, fewer, codes, true, everyone, folds)
        return scores

    def _combine(self, scores):
        """Return a step by weighted scores of source and target, and update trusted rows.

        ``scores`` has one array (n_samples, n_classes) for each target model.
        """
        target_units = [mean_margin(array) for array in scores]
        target = np.mean(_in_units(scores, target_units), axis=0)
        unit = mean_margin(target)
        stacked = np.stack([*self._source_scores, target / unit])
        weights = scorer_weights(stacked[:, self._is_labeled], self._true)
        combined = np.tensordot(weights, stacked, 1)
        offsets = self._offsets(combined)
        log_posteriors = log_softmax(combined + offsets, axis=1)
        posteriors = softmax(combined + offsets, axis=1)
        posteriors[self._is_labeled] = np.eye(posteriors.shape[1])[self._true]
        if self._graph is not None:
            by_neighbors = spread_labels(self._graph, posteriors, self._is_labeled)
            confirmed = by_neighbors.argmax(axis=1) == posteriors.argmax(axis=1)
            self._trusted = self._is_labeled | confirmed
        self._combination = Combination(
            weights, [*self._source_units, unit], target_units, offsets
        )
        details = {
            "source_weight": self._combination.source_weight,
            "trusted": float(self._trusted.mean()),
        }
        return Step(posteriors, details, certainty(np.exp(log_posteriors)), log_posteriors)

    def _offsets(self, scores):
        """Return the prior-shift correction; 0 without frequencies or without predictions."""
        frequencies = self._task.frequencies
        if frequencies is None or self._is_labeled.all():
            return np.zeros(scores.shape[1])
        return prior_shift_offsets(scores[~self._is_labeled], frequencies)


class ScorerAverage(TransferModel):
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

    # Share of the weights below which the source hardly matters. On digits with 100 labels,
    # sources that help have .2 or more, and sources of noise below .1.
    min_source_weight = 0.1

    def __init__(self, subspace, source_scorers, target_scorers, combination):
        self._subspace, self._combination = subspace, combination
        self._source_scorers, self._target_scorers = source_scorers, target_scorers
        self.target_classifier = target_scorers[0].classifier
        self.source_weight = combination.source_weight
        self.contributions = scorer_contributions(source_scorers, combination.weights)

    def source_scores(self, X):
        """Return the part of the log-posteriors by the source."""
        scores = [
            self._combination.weighted(scorer.scores(X), k)
            for k, scorer in enumerate(self._source_scorers)
        ]
        return np.sum(scores, axis=0).astype(X.dtype)

    def target_scores(self, X):
        """Return the part of the log-posteriors by the target."""
        codes = self._subspace.encode(X)
        scores = [scorer.scores(codes) for scorer in self._target_scorers]
        mean = np.mean(_in_units(scores, self._combination.target_units), axis=0)
        return self._combination.weighted(mean, -1).astype(X.dtype)

    def log_posteriors(self, X):
        """Return log-posteriors, up to a constant for each row."""
        scores = self.target_scores(X)
        if self._source_scorers:
            scores = scores + self.source_scores(X)
        return (scores + self._combination.offsets).astype(X.dtype)


def _in_units(scores, units):
    """Return arrays of scores, each divided by its unit."""
    return [array / unit for array, unit in zip(scores, units, strict=True)]


def neighbor_graph(Z, n_jobs):
    """Return weights of the ten nearest neighbors of each row, which add up to 1.

    Weights are proportional to exp(−2(d/d₁₀)²), with d₁₀ the distance of the tenth.
    """
    n = len(Z)
    k = min(10, n - 1)  # rule of thumb
    # Without arguments, a row is not its own neighbor.
    distances, indices = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(Z).kneighbors()
    farthest = np.maximum(distances[:, -1:], np.finfo(Z.dtype).tiny)
    weights = np.exp(-2 * (distances / farthest) ** 2)
    weights /= weights.sum(axis=1, keepdims=True)
    return csr_array((weights.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def spread_labels(graph, posteriors, fixed):
    """Return posteriors in which the neighbors have a weight of four fifths.

    Zhou et al. (2004), "Learning with local and global consistency", with rows ``fixed``.
    """
    result, from_neighbors = posteriors, 0.8  # rule of thumb
    for _ in range(30):  # after which the remaining change is 0.8³⁰, a thousandth
        result = from_neighbors * (graph @ result) + (1 - from_neighbors) * posteriors
        result[fixed] = posteriors[fixed]
    return result
