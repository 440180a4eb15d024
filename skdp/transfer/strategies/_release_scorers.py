"""What a release of statistics says of rows by itself: log-posteriors by each of its parts."""

import numpy as np

from skdp.release import ClassModel, Subspace, linear_discriminant
from skdp.transfer._columns import has_indicators, unseen_columns
from skdp.transfer.strategies._candidates import log_posteriors
from skdp.transfer.strategies._class_means import ClassMeans, tied_columns
from skdp.transfer.strategies._embedding import Embedding
from skdp.transfer.strategies._evidence import agrees
from skdp.transfer.strategies._source_scorers import AdaptedMixtureScorer
from skdp.transfer.strategies._task import N_DIRECTIONS

# Rows of the source for each column, from which a discriminant of all columns is learned. With one
# or less (Office) it gets 20-52 % right where one in 60 directions gets 31-77 %; rule of thumb.
_ROWS_PER_COLUMN = 5
# Target rows that class means may follow, at least; rule of thumb.
_LEAST_ROWS = 10
# Target rows of each class that mixtures are adapted to, at least: with 20 those of MNIST lose .1
# points, with 900 they gain .5; rule of thumb.
_ROWS_PER_CLASS = 100


class Discriminant:
    """One normal distribution for each class, in leading directions of the source.

    Means and covariances are as far from each other as their noise allows to say, and so
    posteriors are about as sure as they should be.

    Parameters
    ----------
    moments : Moments
        Of all classes of a release.
    """

    def __init__(self, moments):
        self._subspace = Subspace.of_moments(moments, N_DIRECTIONS)
        directions, total = self._subspace.components, self._subspace.variances
        self._normals = ClassModel.of_moments(moments, directions, total).predictive()
        self._frequencies = moments.frequencies

    def scores(self, X):
        """Return log-posteriors, up to a constant for each row."""
        return self._normals.log_posteriors(self._subspace.project(X), self._frequencies)


class SourceMixtures:
    """The mixtures of a release as they are."""

    def __init__(self, release):
        self._subspace, self._mixtures = release.subspace, release.mixtures
        self._frequencies = release.moments.frequencies

    def scores(self, X):
        """Return log-posteriors, up to a constant for each row."""
        return self._mixtures.log_posteriors(self._subspace.encode(X), self._frequencies)


class OfTarget:
    """A scorer of source rows and all its classes, for target rows and the target's classes.

    Parameters
    ----------
    scorer : Scorer
        Of a release.

    rows : callable
        ``rows(X)`` returns target rows in the columns of the source.

    class_indices : list of int
        The target's classes among those of the scorer.
    """

    def __init__(self, scorer, rows, class_indices):
        self._scorer, self._rows, self._class_indices = scorer, rows, class_indices

    def scores(self, X):
        """Return log-posteriors, up to a constant for each row."""
        return self._scorer.scores(self._rows(X))[:, self._class_indices]


class SeenColumns:
    """Rows in which the source's mean stands for columns that it has not seen where they are.

    Parameters
    ----------
    unseen : ndarray of shape (n_features,), bool

    mean : ndarray of shape (n_features,)
        The source's.
    """

    def __init__(self, unseen, mean):
        self._unseen, self._mean = unseen, mean

    def __call__(self, X):
        """Return such rows, in the dtype of X."""
        return np.where(self._unseen, self._mean.astype(X.dtype), X) if self._unseen.any() else X


def rows_of(task, subspace):
    """Return a function of target rows that gives them in the columns of the source.

    Where the target lies beyond what the source has seen of a column, the source's mean stands
    for it: what noise says of such columns would decide.

    Parameters
    ----------
    task : Task
        With one release.

    subspace : Subspace
        Of the target's rows.
    """
    if task.release.n_features != task.X.shape[1]:
        return Embedding.of_means(task, subspace).rows
    moments = task.release.moments
    return SeenColumns(unseen_columns(moments, task.X), moments.mean)


def source_scorer(task, subspace):
    """Return the log-posteriors of a source, for the target.

    Its linear score, if it has one. Of noisy rows it is the discriminant of their moments, unless
    they are too few for one, or densities find the same classes and that these lie apart. Where
    classes overlap, or indicators make clusters, densities are sure of what is not so.
    """
    release = task.release
    if release.linear is not None:
        return OfTarget(release.linear, rows_of(task, subspace), task.class_indices)
    reference = reference_scorer(task, subspace)
    few = release.moments.effective_sizes.sum() < _ROWS_PER_COLUMN * release.n_features
    if release.moments.of_statistics or few:
        return reference
    discriminant = linear_discriminant(release.moments)
    linear = OfTarget(discriminant, rows_of(task, subspace), task.class_indices)
    if has_indicators(task.X):
        return linear
    found, named = (np.exp(log_posteriors(each, task.X)) for each in (reference, linear))
    return reference if agrees(found, named) else linear


def reference_scorer(task, subspace):
    """Return the best view of classes that calibrated densities of the source give.

    Its mixtures, and normal distributions in their place where noise of rows has left no
    structure within classes: the moments know these better then.
    """
    release, mixtures = task.release, task.release.mixtures
    better = mixtures is not None and (release.moments.of_statistics or mixtures.is_multimodal)
    scorer = SourceMixtures(release) if better else Discriminant(release.moments)
    return OfTarget(scorer, rows_of(task, subspace), task.class_indices)


def class_means(task, subspace, labels=None):
    """Return the class means of a release, adapted to the target, see :class:`ClassMeans`.

    None where every column is tied.
    """
    rows, moments = rows_of(task, subspace), task.release.moments.select(task.class_indices)
    if len(task.X) < _LEAST_ROWS or tied_columns(rows(task.X)).all():
        return None
    everyone = list(range(len(task.class_indices)))
    return OfTarget(ClassMeans.adapt(rows(task.X), moments, labels), rows, everyone)


def adapted_mixtures(task, subspace):
    """Return the mixtures of a release, adapted to the target.

    None where it has no such ones, or the target too few rows.
    """
    release, mixtures = task.release, task.release.mixtures
    few = len(task.X) < _ROWS_PER_CLASS * len(task.class_indices)
    if mixtures is None or few or not (release.moments.of_statistics or mixtures.is_multimodal):
        return None
    return AdaptedMixtureScorer(task, Embedding.of_means(task, subspace))


def precision(release):
    """Return how much a release knows, as a number of rows.

    Of statistics, whatever was learned from them: noise in a mean of N rows of p features, by a
    mechanism of sensitivity/σ = μ, leaves what N/(1 + p/(μ²N)) rows say. Of noisy rows, what their
    moments say, see :attr:`Moments.precision`.

    Parameters
    ----------
    release : Release
        With moments.
    """
    if not release.moments.of_statistics:
        return release.moments.precision
    n_rows = release.moments.class_counts.sum()
    distance = release.guarantee.gaussian_distance
    square = (release.guarantee.epsilon if distance is None else distance) ** 2
    return float(n_rows / (1 + release.n_features / (square * n_rows)))
