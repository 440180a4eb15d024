"""The strategy "noise_aware": candidates by evidence, self-training, or both."""

from dataclasses import replace
from functools import cached_property, partial
from itertools import combinations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.neighbors import NearestNeighbors

from skdp.transfer._class_model import ClassModel, release_sources
from skdp.transfer._density_candidates import density_sources, trained_source
from skdp.transfer._priors_and_costs import prior_shift_offsets, warn_of_frequencies
from skdp.transfer._scorers import Scorer, certainty, fit_mixtures, source_scorers
from skdp.transfer._self_training import (
    SelfTrainingSchedule,
    Step,
    Strategy,
    first_round,
    out_of_fold_scores,
    scores_by,
)
from skdp.transfer._target_model import Contribution, Terms
from skdp.transfer._task import TransferModel
from skdp.utils._labels import stratified_folds

# Certainty after the first round from which self-training is used alone. Digits have .93 or more
# with five labels per class, human activity .79; tables have .74 or less, where further training
# is worse than a logistic regression.
_SEPARATED = 0.75
# Certainty below which self-training is not used. Images by their local features (Office) have .36
# or more; rule of thumb.
_MIN_CERTAINTY = 0.3
# Probability that a labeled row is an outlier, which may be wrong under any scorer.
# Without it, one confident error gave a source of 33-59% accuracy the same weight as a target of
# 71% (human activity at ε = 0.1: 62 instead of 71%).
_OUTLIERS = 0.1
# Scale of the normal prior of slopes. With a weight of 1 the best class is on average e times as
# likely as the second; a weight of 5 is as certain as a scorer can reasonably be.
_SLOPE_SCALE = 5.0
# Smallest weight of the last scorer, the target's own, which has information on every row; rule of
# thumb.
_MIN_LAST_WEIGHT = 0.1


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
    n_labeled = len(np.unique(task.labels[~task.unlabeled]))
    can_train = n_labeled == task.n_classes and not task.has_indicators
    trained = None
    if can_train and not calibrated:
        # Without a source the evidence for regressions of few labels is too low to be compared:
        # photographs of Office would lose ten points.
        least = _MIN_CERTAINTY if task.sources else _SEPARATED
        rounds = NoiseAwareRounds(task, training, source_scorers(task))
        trained = training.run(rounds, task.labels, least)
        if trained is not None and trained.certainty >= _SEPARATED:
            return trained
    terms = Terms.of_columns(task.X, task.widths)
    sources = release_sources(task, terms)
    reference = np.exp(sources[0][1]) if sources else None
    if reference is not None:
        if task.label_sampling == "auto" and 0 < task.unlabeled.mean() < 1:
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
        fewer = replace(task, labels=labels)
        rounds = NoiseAwareRounds(fewer, training, source_scorers(fewer))
        logs[hidden] = training.run(rounds, labels).log_posteriors[hidden]
    return replace(trained, log_posteriors=logs)


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

    scorers : list of Scorer
        Scorers of the source.
    """

    def __init__(self, task, training, scorers):
        self._task, self._training, self._scorers = task, training, scorers
        self._codes = task.subspace.encode(task.X)
        self._is_labeled = ~task.unlabeled
        self._true = task.labels[self._is_labeled]
        self._trusted = self._is_labeled
        scores = [scorer.scores(task.X) for scorer in self._scorers]
        self._source_units = [mean_margin(array) for array in scores]
        self._source_scores = _in_units(scores, self._source_units)
        mixtures = partial(fit_mixtures, task.random_state)
        self._target_fits = (training.fit_autoencoders, mixtures)

    @cached_property
    def _graph(self):
        return neighbor_graph(self._codes, self._task.n_jobs)

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
        if not self._is_labeled.all():
            by_neighbors = spread_labels(self._graph, posteriors, self._is_labeled)
            confirmed = by_neighbors.argmax(axis=1) == posteriors.argmax(axis=1)
            self._trusted = self._is_labeled | confirmed
        self._combination = weights, [*self._source_units, unit], target_units, offsets
        share, trusted = _source_share(weights), float(self._trusted.mean())
        details = {"source_weight": share, "trusted": trusted}
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

    combination : tuple
        Weights of the source scorers and of the target, units by which these scores are divided,
        units of the target scorers, of which the mean is taken, and the prior-shift correction.
    """

    # Share of the weights below which the source hardly matters. On digits with 100 labels,
    # sources that help have .2 or more, and sources of noise below .1.
    min_source_weight = 0.1

    def __init__(self, subspace, source_scorers, target_scorers, combination):
        self._subspace = subspace
        weights, units, self._target_units, self._offsets = combination
        self._factors = weights / units
        self._source_scorers, self._target_scorers = source_scorers, target_scorers
        self.target_classifier = target_scorers[0].classifier
        self.source_weight = _source_share(weights)
        self.contributions = scorer_contributions(source_scorers, weights)

    def source_scores(self, X):
        """Return the part of the log-posteriors by the source."""
        pairs = zip(self._factors[:-1], self._source_scorers, strict=True)
        scores = [factor * scorer.scores(X) for factor, scorer in pairs]
        return np.sum(scores, axis=0).astype(X.dtype)

    def target_scores(self, X):
        """Return the part of the log-posteriors by the target."""
        codes = self._subspace.encode(X)
        scores = [scorer.scores(codes) for scorer in self._target_scorers]
        mean = np.mean(_in_units(scores, self._target_units), axis=0)
        return (self._factors[-1] * mean).astype(X.dtype)

    def log_posteriors(self, X):
        """Return log-posteriors, up to a constant for each row."""
        scores = self.target_scores(X)
        if self._source_scorers:
            scores = scores + self.source_scores(X)
        return (scores + self._offsets).astype(X.dtype)


def scorer_contributions(scorers, weights):
    """Return the contributions of the scorers of a source, and last that of the target."""
    shares = (weights / weights.sum()).tolist()
    parts = [
        Contribution(scorer.name, "source", share)
        for scorer, share in zip(scorers, shares[:-1], strict=True)
    ]
    return [*parts, Contribution("target's fuzzy sets and mixtures", "target", shares[-1])]


def _source_share(weights):
    """Return the share of the source in weights, of which the last one is the target's."""
    return float(weights[:-1].sum() / weights.sum())


def mean_margin(scores):
    """Return the average margin of the best class over the second best, a unit of scores."""
    top = np.partition(scores, -2, axis=1)[:, -2:]
    return float(np.mean(top[:, 1] - top[:, 0])) or 1.0


def scorer_weights(scores, labels):
    """Return non-negative weights with which scores add up to log-posteriors."""
    # Bayesian model averaging over all subsets of scorers. The scorers of a subset have equal
    # weights: few labeled rows suffice to select scorers, not to estimate their weights. Their
    # common slope is that of a multinomial logistic regression on the labeled rows, with a normal
    # prior of scale 5. Each subset is weighted by its likelihood at the best slope, including the
    # prior. A labeled row is an outlier with probability 1/10: a single confident error must not
    # make all subsets uncertain, and hence equal.
    scorers = range(len(scores))
    sets = [list(s) for n in scorers for s in combinations(scorers, n + 1)]
    fits = [_fit_slope(scores[chosen].mean(axis=0), labels) for chosen in sets]
    weights = np.zeros(len(scores))
    probabilities = softmax([-fit.fun for fit in fits])
    for probability, chosen, fit in zip(probabilities, sets, fits, strict=True):
        weights[chosen] += probability * fit.x / len(chosen)
    weights[-1] = max(weights[-1], _MIN_LAST_WEIGHT)
    return weights


def _log_likelihood(probabilities, n_classes):
    """Return the log-likelihood of labels, each of which may be an outlier of any class."""
    return np.log((1 - _OUTLIERS) * probabilities + _OUTLIERS / n_classes).sum()


def _fit_slope(scores, labels):
    """Return the SciPy result of the best slope x of scores, and its loss, prior included."""
    ahead = scores - scores[np.arange(len(labels)), labels][:, np.newaxis]

    def loss(slope):
        with np.errstate(over="ignore"):  # the label then has probability 0: an outlier
            probabilities = 1 / np.exp(slope * ahead).sum(axis=1)
        return (slope / _SLOPE_SCALE) ** 2 / 2 - _log_likelihood(probabilities, scores.shape[1])

    # With outliers it is not convex: a grid comes before the refinement.
    grid = np.linspace(0, 4 * _SLOPE_SCALE, 81)
    best = np.argmin([loss(slope) for slope in grid])
    bounds = grid[np.clip([best - 1, best + 1], 0, len(grid) - 1)]
    return minimize_scalar(loss, bounds=bounds, method="bounded")


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
