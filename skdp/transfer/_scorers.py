"""Scores of target rows and classes by each part of a release, as it is or adapted to them."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import log_softmax, softmax

from skdp.release import ClassModel, Mixtures, Subspace, linear_discriminant
from skdp.transfer._embedding import Embedding, map_to_source
from skdp.transfer._evidence import agrees_with_source, has_indicators
from skdp.transfer._strategy import N_DIRECTIONS

# Share of a target direction's length that other features must span to be of use; rule of thumb.
_MIN_SHARED = 0.5
# Rows of the source for each column, from which a discriminant of all columns is learned. With one
# or less (Office) it gets 20-52 % right where one in 60 directions gets 31-77 %; rule of thumb.
_ROWS_PER_COLUMN = 5
# Target rows that class means may follow, at least; rule of thumb.
_MIN_ROWS = 10
# Target rows of each class that mixtures are adapted to, at least: with 20 those of MNIST lose .1
# points, with 900 they gain .5; rule of thumb.
_ROWS_PER_CLASS = 100

# Of class means that follow the target's rows.
# Directions at most; human activity: with 60 it gets 88-90 % right, with 120 93-95 %.
_MAX_DIRECTIONS = 120
# Rows for each direction, of which all classes share one covariance; rule of thumb.
_ROWS_PER_DIRECTION = 20
# Share of the rows that may have the same value in a column: with more, the value is a cluster of
# its own, whatever the classes are. Indicators made adult's class means find who is married,
# 74 instead of 85 % right at ε = 1.
_MAX_TIED = 0.1
# Variance of a direction in units of the largest one, at least; rule of thumb.
_MIN_VARIANCE = 1e-6
# Steps, after which hardly a row changes sides; rule of thumb.
_STEPS = 20
# Power of the responsibilities' densities: what is certain too early stays wrong; rule of thumb.
_TEMPERATURE = 0.5
# Rows for which the source's mean of a class stands where it has no noise: a class that is rare
# in the target stays where it was. On human activity at record ε = 1, 200 and 1,000 get 92.9 and
# 93.0 % right, and 92.3 % if noise does not count.
_PRIOR_ROWS = 500.0
# Rows for which a labelled one stands: human activity, 5 labels a class, gains .2 points with 10
# on average, and loses .4 with 100.
_LABEL_ROWS = 10.0
# Rows of a class, at least, where means of them are taken; rule of thumb.
_MIN_SIZE = 1e-3
# Share of the class frequencies that is uniform, so that no class starves; rule of thumb.
_UNIFORM = 0.5


@dataclass(frozen=True)
class Scorer:
    """Scores of target rows: carried to where a model lives, scored there, for some classes.

    Attributes
    ----------
    score : callable
        ``score(Z)`` returns one score for each row and class; larger is likelier.

    maps : tuple of callable, default=()
        Applied to the rows in this order.

    class_indices : list of int or None, default=None
        The target's classes among those of the model; None for all.

    name : str, default="source"
        For the report.
    """

    score: Callable
    maps: tuple = ()
    class_indices: list | None = None
    name: str = "source"

    def scores(self, X):
        """Return one score for each row and class."""
        for carry in self.maps:
            X = carry(X)
        scores = self.score(X)
        return scores if self.class_indices is None else scores[:, self.class_indices]


def normalised_log_posteriors(scorer, X):
    """Return the scores of a scorer as log-posteriors, in float64."""
    return log_softmax(np.asarray(scorer.scores(X), dtype=np.float64), axis=1)


def on_all_columns(task, scorer):
    """Return a scorer of the releases' columns as one of all columns of the target."""
    if task.n_shared is None:
        return scorer
    return replace(scorer, maps=(partial(_first_columns, task.n_shared), *scorer.maps))


def _first_columns(n, X):
    return X[:, :n]


def _densities(mixtures):
    """Return a function of the log-densities of rows without noise, up to a constant."""
    return partial(mixtures.log_likelihood, noise=np.zeros(mixtures.means.shape[1]))


# For self-training: scores on any scale, which the labelled rows weight.


def source_scorers(task):
    """Return the scorers that releases offer to self-training; none without one.

    Parameters
    ----------
    task : Task

    Returns
    -------
    scorers : list of Scorer
    """
    scorers: list = []
    for pair in task.pairs:
        release, embedding = pair.release, Embedding.of_means(pair)
        if release.classifier is not None:
            score = partial(_classifier_scores, release)
            scorers.append(Scorer(score, (embedding.rows,), pair.class_indices, "classifier"))
        if _normals_see_best(release):
            scorers.append(normals_in_target_directions(pair, embedding))
        if release.mixtures is not None:
            scorers.append(mixtures_on_target(pair, embedding))
    return [on_all_columns(task, scorer) for scorer in scorers]


def _classifier_scores(release, rows):
    """Return minus the squared errors of the classifier that the source trained."""
    with warnings.catch_warnings():
        # Carried over from other columns, or moved, they are in the public units no longer;
        # whether they were was asked when they came.
        warnings.filterwarnings("ignore", message="Most values of the columns")
        return release.scores(rows)


def _normals_see_best(release):
    """Return whether noise, of rows or labels, left single normals the best view of classes.

    If not, they would add to scorers that see more, and err where the target errs.
    """
    if release.mixtures is not None:
        return not release.mixtures.is_multimodal
    nothing_finer = release.label_guarantee is not None or release.classifier is None
    return release.moments is not None and nothing_finer


def normals_in_target_directions(pair, embedding):
    """Return log-densities by a normal distribution of each class, in the target's subspace.

    In those few directions class means are known long after single rows have drowned in noise.
    """
    moments, subspace = pair.moments, pair.subspace
    directions = embedding.directions(subspace.components)
    # Other features may not span all directions of the target.
    shared = np.flatnonzero((directions**2).sum(axis=1) > _MIN_SHARED)
    subspace = Subspace(subspace.mean, subspace.components[shared], subspace.variances[shared])
    means, covariances, noise = moments.project(directions[shared])
    mean_noise, covariance_noise = moments.project_noise(directions[shared])
    s = 1 / embedding.scale
    model = ClassModel.shrink(
        means * s,
        covariances * s**2,
        noise * s**2,
        moments.effective_sizes,
        subspace.variances,
        mean_noise * s**2,
        covariance_noise * s**4,
    )
    normals = model.predictive()
    return Scorer(_densities(normals), (subspace.project,), name="normal distributions")


def mixtures_on_target(pair, embedding):
    """Return log-densities by the mixtures behind a source's noise, adapted to the target rows."""
    release = pair.release
    maps = embedding.rows, release.subspace.encode
    mixtures = release.mixtures.select(pair.class_indices)
    # Where noise of rows left one normal distribution for each class, which is wider than
    # theirs, rows would lead them astray.
    if mixtures.is_multimodal or release.moments.of_statistics:
        moments = pair.moments
        codes = release.subspace.encode(embedding.rows(pair.X))
        noise = release.subspace.noise(moments.noise)
        mixtures = mixtures.adapt(codes, moments.effective_sizes, noise)
    return Scorer(_densities(mixtures), maps, name="adapted mixtures")


def fit_mixtures(rows, labels, random_state):
    """Return the log-densities of clean rows, whose labels need not be 0, 1, …, as a scorer."""
    present = np.unique(labels, return_inverse=True)[1]
    noise = np.zeros(rows.shape[1])
    return Scorer(_densities(Mixtures.fit(rows, present, noise, random_state)))


# For candidates: log-posteriors that are calibrated.


def source_scorer(pair):
    """Return the log-posteriors of a source, for the target.

    Its linear score, if it has one. Of noisy rows it is the discriminant of their moments, unless
    they are too few for one, or densities find the same classes and that these are well separated.
    Where classes overlap, or indicators make clusters, densities are sure of what is not so.
    """
    release, maps = pair.release, (map_to_source(pair),)
    if release.linear is not None:
        return Scorer(release.score_encoded, maps, pair.class_indices)
    densities = calibrated_densities(pair)
    few = release.moments.effective_sizes.sum() < _ROWS_PER_COLUMN * release.n_features
    if release.moments.of_statistics or few:
        return densities
    linear = Scorer(linear_discriminant(release.moments).scores, maps, pair.class_indices)
    if has_indicators(pair.X):
        return linear
    posteriors = [np.exp(normalised_log_posteriors(each, pair.X)) for each in (densities, linear)]
    return densities if agrees_with_source(*posteriors) else linear


def calibrated_densities(pair):
    """Return the best view of classes that calibrated densities of the source give.

    Its mixtures, and normal distributions in their place where noise of rows has left no
    structure within classes: the moments know these better then.
    """
    release, mixtures, moments = pair.release, pair.release.mixtures, pair.release.moments
    if mixtures is not None and (moments.of_statistics or mixtures.is_multimodal):
        encode = release.subspace.encode
    else:
        encode, mixtures = discriminant(moments)
    score = partial(mixtures.log_posteriors, frequencies=moments.frequencies)
    return Scorer(score, (map_to_source(pair), encode), pair.class_indices)


def discriminant(moments):
    """Return a projection on leading directions of a source, and a normal of each class there.

    Means and covariances are as far from each other as their noise allows to say, and so
    posteriors are about as sure as they should be.
    """
    subspace = Subspace.of_moments(moments, N_DIRECTIONS)
    model = ClassModel.of_moments(moments, subspace.components, subspace.variances)
    return subspace.project, model.predictive()


def adapted_mixtures(pair):
    """Return the mixtures of a release, adapted to all columns of the target.

    None where it has no such ones, or the target too few rows.
    """
    release, mixtures = pair.release, pair.release.mixtures
    few = len(pair.X) < _ROWS_PER_CLASS * pair.task.n_classes
    if mixtures is None or few or not (release.moments.of_statistics or mixtures.is_multimodal):
        return None
    return on_all_columns(pair.task, mixtures_on_target(pair, Embedding.of_means(pair)))


def adapted_class_means(pair, posteriors=None, labels=None):
    """Return the class means of a release, adapted to the target, see :meth:`ClassMeans.adapt`.

    None where every column is tied.
    """
    carry = map_to_source(pair)
    rows = carry(pair.X)
    if len(rows) < _MIN_ROWS or tied_columns(rows).all():
        return None
    means = ClassMeans.adapt(rows, pair.moments, posteriors, labels)
    scorer = Scorer(means.log_posteriors, (carry, means.subspace.project))
    return on_all_columns(pair.task, scorer)


@dataclass(frozen=True)
class ClassMeans:
    """Normal distributions of classes with one covariance, in a subspace of the target.

    Attributes
    ----------
    subspace : Subspace
        Of the target's rows.

    means : ndarray of shape (n_classes, n_directions)

    covariance : ndarray of shape (n_directions, n_directions)

    frequencies : ndarray of shape (n_classes,)
        Of the classes, half uniform.
    """

    subspace: Subspace
    means: np.ndarray
    covariance: np.ndarray
    frequencies: np.ndarray

    @classmethod
    def adapt(cls, X, moments, posteriors=None, labels=None):
        """Return the class means of a release, adapted to rows of which hardly any has a label.

        They start from where the source saw them, relative to the mean of all its rows and as
        far as noise allows to say, or at the means of the target's rows by what the source says of
        them; in leading directions of the target, and from a covariance that is the same in all of
        them: what matters first is which mean is nearest. Few noisy means can be worse a start
        than a regression: on human activity at ε = 1 it becomes 92-96 % right by the second start
        and 60-90 % by the first, while linear scores become 91-95 % by the first and 70-83 % by
        the second. The likelier of the two is the better one in nearly all cases.
        Expectation maximisation then moves them, with one covariance of all classes,
        responsibilities tempered by 1/2, every mean held where it was by as many rows as would
        make it as certain, 500 at most, and class frequencies that are half uniform.

        Columns of few values have no part in it. Where classes are well separated, rows of other
        people or devices are found again; where they overlap, means move to clusters that have
        nothing to do with them, which
        :func:`errs_as_claimed` tells.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Target rows, in the columns of the source.

        moments : Moments
            Of the classes wanted.

        posteriors : ndarray of shape (n_samples, n_classes) or None, default=None
            Of these rows, by the source: its means of them are the start. None: its own means.

        labels : ndarray of shape (n_samples,) or None, default=None
            Class indices, −1 where unlabelled. A labelled row stands for ten of its class.
        """
        subspace = _leading_directions(X)
        Z = subspace.project(X)
        uncertainty: float | np.ndarray
        if posteriors is None:
            seen = ClassModel.of_moments(moments, subspace.components, subspace.variances)
            start, uncertainty = seen.means, seen.uncertainty
        else:
            sizes = posteriors.sum(axis=0)[:, np.newaxis]
            start, uncertainty = posteriors.T @ Z / np.maximum(sizes, _MIN_SIZE), 0.0
        K, (n, d) = len(start), Z.shape
        counts, certain = np.ones((n, 1)), np.zeros((0, K))
        known = np.zeros(n, dtype=bool) if labels is None else labels >= 0
        if labels is not None:
            counts[known], certain = _LABEL_ROWS, np.eye(K)[labels[known]]
        squares = (counts * Z).T @ Z
        means, frequencies = start, np.full(K, 1 / K)
        covariance = np.eye(d) * subspace.variances.mean()
        for _ in range(_STEPS):
            model = cls(subspace, means, covariance, frequencies)
            r = softmax(_TEMPERATURE * model.log_posteriors(Z), axis=1)
            r[known] = certain
            r *= counts
            sizes, sums = r.sum(axis=0), r.T @ Z
            held = 1 / (1 / _PRIOR_ROWS + uncertainty / covariance.diagonal())
            means = (held * start + sums) / (held + sizes[:, np.newaxis])
            frequencies = _UNIFORM / K + (1 - _UNIFORM) * sizes / sizes.sum()
            cross = sums.T @ means
            covariance = (squares - cross - cross.T + (means.T * sizes) @ means) / sizes.sum()
            floor = _MIN_VARIANCE * np.trace(covariance) / d
            covariance = covariance + floor * np.eye(d)
        return cls(subspace, means, covariance, frequencies)

    def log_posteriors(self, Z):
        """Return log-posteriors of rows in the subspace, up to a constant for each row."""
        K, d = self.means.shape
        covariances = np.broadcast_to(self.covariance, (K, d, d))
        normals = Mixtures.single(self.means, covariances)
        return normals.log_posteriors(Z, self.frequencies)


def tied_columns(X):
    """Return which columns have a value that more than a tenth of the rows share."""
    k = int(np.ceil(_MAX_TIED * len(X)))
    ordered = np.sort(X, axis=0)
    return (ordered[k:] == ordered[: len(X) - k]).any(axis=0)


def _leading_directions(X):
    """Return directions of the target's rows, as many as one covariance can be learned in.

    Tied columns have no part in them.
    """
    X, tied = X.astype(np.float64), tied_columns(X)
    X[:, tied] = X[:, tied].mean(axis=0)
    n_directions = int(np.clip(len(X) // _ROWS_PER_DIRECTION, 1, _MAX_DIRECTIONS))
    subspace = Subspace.of_rows(X, n_directions)
    kept = subspace.variances > _MIN_VARIANCE * subspace.variances[0]
    kept[0] = True
    return Subspace(subspace.mean, subspace.components[kept], subspace.variances[kept])
