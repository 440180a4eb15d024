"""What a release can say about target rows: one score for each row and class."""

import numpy as np

from skdp.transfer._alignment import paired_subspaces
from skdp.transfer._shrinkage import ClassModel
from skdp.transfer._subspace import Subspace


class Embedding:
    """Target rows in the space of the source, each domain centred at its own mean.

    Where dimensions differ, principal directions are paired in the order of their variances
    as in :func:`paired_subspaces`, and the target is brought to the scale of the source.
    """

    def __init__(self, source, columns, X, labels, subspace):
        self.mean, self.basis, self.scale = subspace.mean, None, 1.0
        self.centre = source._centre(columns)
        if source.n_features_in_ != X.shape[1]:
            V_sr, V_tg = paired_subspaces(source, columns, X, labels)
            self.basis = (V_tg.T @ V_sr).astype(np.float64)
            if source.moments_ is not None:
                spread = np.trace(source.moments_.total_covariance())
                self.scale = float(np.sqrt(max(spread, 0) / subspace.variances.sum())) or 1.0

    def directions(self, components):
        """Return directions of the target as directions of the source."""
        return components if self.basis is None else components @ self.basis

    def rows(self, X):
        """Return target rows in the space of the source, in the dtype of X."""
        centred = X - self.mean
        if self.basis is not None:
            centred = centred @ self.basis * self.scale
        return (centred + self.centre).astype(X.dtype, copy=False)


class MomentJudge:
    """Normal distributions of the source's classes, in the subspace of the target.

    In those few directions class means are known long after single rows have drowned.
    """

    def __init__(self, source, columns, embedding, subspace):
        moments = source.moments_.select(columns)
        directions = embedding.directions(subspace.components)
        # Other features may not span all directions of the target.
        shared = np.flatnonzero((directions**2).sum(axis=1) > 0.5)
        self._subspace = Subspace(
            subspace.mean, subspace.components[shared], subspace.variances[shared]
        )
        means, covariances, noise = moments.project(directions[shared])
        s = 1 / embedding.scale
        model = ClassModel.shrink(
            means * s, covariances * s**2, noise * s**2, moments.counts, self._subspace.variances
        )
        self._normals = model.predictive()

    def scores(self, X):
        """Return log-likelihoods, up to a constant."""
        Z = self._subspace.project(X)
        return self._normals.log_likelihood(Z, np.zeros(Z.shape[1]))


class MixtureJudge:
    """Mixtures of normal distributions behind the source's noise, adapted to the target rows."""

    def __init__(self, source, columns, embedding, X):
        self._subspace, self._embedding = source._subspace, embedding
        mixtures = source._mixtures.select(columns)
        # Where noise left one normal distribution for each class, rows would lead them astray.
        if mixtures.has_parts:
            moments = source.moments_.select(columns)
            noise = self._subspace.noise(moments.noise)
            mixtures = mixtures.adapt(self._encode(X), moments.counts, noise)
        self._mixtures = mixtures

    def _encode(self, X):
        return self._subspace.encode(self._embedding.rows(X))

    def scores(self, X):
        """Return log-likelihoods, up to a constant."""
        codes = self._encode(X)
        return self._mixtures.log_likelihood(codes, np.zeros(codes.shape[1]))


class ClassifierJudge:
    """The classifier that the source trained on its noisy copy."""

    def __init__(self, source, columns, embedding):
        self._source, self._columns, self._embedding = source, columns, embedding

    def scores(self, X):
        """Return minus the squared reconstruction errors."""
        return -self._source._errors(self._embedding.rows(X))[:, self._columns]


def judges_of(source, columns, X, labels, subspace):
    """Return the judges that a release offers; none without one."""
    if source is None:
        return []
    embedding = Embedding(source, columns, X, labels, subspace)
    judges: list = [ClassifierJudge(source, columns, embedding)]
    if _nothing_finer_than_moments(source):
        judges.append(MomentJudge(source, columns, embedding, subspace))
    if source._mixtures is not None:
        judges.append(MixtureJudge(source, columns, embedding, X))
    return judges


def _nothing_finer_than_moments(source):
    """Return whether noise, of rows or labels, left single normals the best view of classes.

    If not, these would be heard besides judges who see more, and err where the target errs.
    """
    if source._mixtures is not None:
        return not source._mixtures.has_parts
    return source.moments_ is not None and source.label_guarantee_ is not None
