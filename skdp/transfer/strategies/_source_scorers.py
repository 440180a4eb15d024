"""What a release says of target rows: one score for each row and class, by each of its parts."""

import warnings

import numpy as np

from skdp.release import ClassModel, Subspace
from skdp.transfer.strategies._embedding import Embedding

# Share of a target direction's length that other features must span to be of use; rule of thumb.
_MIN_SHARED = 0.5


class NormalScorer:
    """Normal distributions of the source's classes, in the subspace of the target.

    In those few directions class means are known long after single rows have drowned in noise.
    """

    name = "normal distributions"

    def __init__(self, task, embedding, subspace):
        moments = task.release.moments.select(task.class_indices)
        directions = embedding.directions(subspace.components)
        # Other features may not span all directions of the target.
        shared = np.flatnonzero((directions**2).sum(axis=1) > _MIN_SHARED)
        self._subspace = Subspace(
            subspace.mean, subspace.components[shared], subspace.variances[shared]
        )
        means, covariances, noise = moments.project(directions[shared])
        mean_noise, covariance_noise = moments.project_noise(directions[shared])
        s = 1 / embedding.scale
        model = ClassModel.shrink(
            means * s,
            covariances * s**2,
            noise * s**2,
            moments.effective_sizes,
            self._subspace.variances,
            mean_noise * s**2,
            covariance_noise * s**4,
        )
        self._normals = model.predictive()

    def scores(self, X):
        """Return log-likelihoods, up to a constant."""
        Z = self._subspace.project(X)
        return self._normals.log_likelihood(Z, np.zeros(Z.shape[1]))


class AdaptedMixtureScorer:
    """Mixtures of normal distributions behind the source's noise, adapted to the target rows."""

    name = "adapted mixtures"

    def __init__(self, task, embedding):
        release = task.release
        self._subspace, self._embedding = release.subspace, embedding
        mixtures = release.mixtures.select(task.class_indices)
        # Where noise of rows left one normal distribution for each class, which is wider than
        # theirs, rows would lead them astray.
        if mixtures.is_multimodal or release.moments.of_statistics:
            moments = release.moments.select(task.class_indices)
            noise = self._subspace.noise(moments.noise)
            mixtures = mixtures.adapt(self._encode(task.X), moments.effective_sizes, noise)
        self._mixtures = mixtures

    def _encode(self, X):
        return self._subspace.encode(self._embedding.rows(X))

    def scores(self, X):
        """Return log-likelihoods, up to a constant."""
        codes = self._encode(X)
        return self._mixtures.log_likelihood(codes, np.zeros(codes.shape[1]))


class ClassifierScorer:
    """The classifier that the source trained on its noisy copy."""

    name = "classifier"

    def __init__(self, task, embedding):
        self._release, self._class_indices = task.release, task.class_indices
        self._embedding = embedding

    def scores(self, X):
        """Return minus the squared reconstruction errors."""
        rows = self._embedding.rows(X)
        with warnings.catch_warnings():
            # Carried over from other columns, or moved, they are in the public units no longer;
            # whether they were was asked when they came.
            warnings.filterwarnings("ignore", message="Most values of the columns")
            return self._release.scores(rows)[:, self._class_indices]


def source_scorers(task, subspace):
    """Return the scorers that releases offer; none without one.

    Parameters
    ----------
    task : Task

    subspace : Subspace
        Of the target's rows.

    Returns
    -------
    scorers : list of Scorer
    """
    scorers: list = []
    for part in task.parts:
        release = part.release
        if task.n_shared is not None:
            subspace = part.subspace
        embedding = Embedding.of_means(part, subspace)
        if release.classifier is not None:
            scorers.append(ClassifierScorer(part, embedding))
        if _normals_see_most(release):
            scorers.append(NormalScorer(part, embedding, subspace))
        if release.mixtures is not None:
            scorers.append(AdaptedMixtureScorer(part, embedding))
    return [task.of_all_columns(scorer) for scorer in scorers]


def _normals_see_most(release):
    """Return whether noise, of rows or labels, left single normals the best view of classes.

    If not, they would be included besides scorers that see more, and err where the target errs.
    """
    if release.mixtures is not None:
        return not release.mixtures.is_multimodal
    nothing_finer = release.label_guarantee is not None or release.classifier is None
    return release.moments is not None and nothing_finer
