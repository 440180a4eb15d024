"""Mapping of target rows to the space of the source, and their distance to the source's rows."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from skdp.release import class_medians, positive_mean
from skdp.utils._linalg import TINY, principal_directions

# Root mean square of a column about the source's mean, in standard deviations of the source, from
# which it is probably in other units. For the halves of a uniform column it is 3.6; for
# standardized columns, if the source's are scaled to [0, 1], 5 or more.
_FAR = 4.0
# The same from which the source has no information on the target: men for a source of women; rule
# of thumb.
_UNSEEN = 10.0
# Floor of the standard deviation of a source's column, relative to the median one: an almost
# constant column of the source may have a few other values in the target; rule of thumb.
_MIN_DEVIATION = 0.1


def paired_subspaces(pair):
    """Return equally many principal directions of the source and of the target."""
    # n = min(⌈p_sr/2⌉, p_tg), or the numerical rank of the target rows if that is smaller. With
    # equal dimensions, both use the directions of the source. Otherwise the sign of each direction
    # of the target is arbitrary, which the papers do not address: here it is chosen such that the
    # class medians of the labeled rows vary like those of the source.
    X, alignment = pair.X, pair.release.alignment
    V_sr = alignment.components
    if pair.same_columns:
        return V_sr, V_sr
    V_tg = principal_directions(X, len(V_sr))
    medians = class_medians(X @ V_tg.T, pair.task.labels, pair.task.n_classes)
    wanted = alignment.class_medians[pair.class_indices][:, : len(V_tg)]
    covariance = ((medians - medians.mean(axis=0)) * (wanted - wanted.mean(axis=0))).sum(axis=0)
    signs = np.where(covariance < 0, -1.0, 1.0)
    return V_sr[: len(V_tg)], (signs[:, np.newaxis] * V_tg).astype(X.dtype)


@dataclass(frozen=True)
class Embedding:
    r"""The map of target rows y into the space of the source.

    .. math:: y \mapsto s\,(y - a)\,B + b

    Attributes
    ----------
    basis : ndarray of shape (n_target_features, n_source_features) or None
        B, None for the identity.

    target_center : ndarray of shape (n_target_features,), default=0
        a.

    source_center : ndarray of shape (n_source_features,), default=0
        b.

    scale : float
        s.
    """

    basis: np.ndarray | None = None
    target_center: np.ndarray | float = 0.0
    source_center: np.ndarray | float = 0.0
    scale: float = 1.0

    @classmethod
    def of_means(cls, pair):
        """Return the map that maps the target's mean to the source's."""
        # If dimensions differ, principal directions are paired in the order of their variances as
        # in paired_subspaces, and the target is scaled to the source.
        release, moments = pair.release, pair.moments
        center = release.alignment.mean if moments is None else moments.mean
        basis, scale = None, 1.0
        if not pair.same_columns:
            V_sr, V_tg = paired_subspaces(pair)
            basis = (V_tg.T @ V_sr).astype(np.float64)
            if moments is not None:
                variance = np.trace(release.moments.total_covariance())
                scale = float(np.sqrt(max(variance, 0) / pair.subspace.variances.sum())) or 1.0
        return cls(basis, pair.subspace.mean, center, scale)

    def directions(self, components):
        """Map directions of the target, or centered rows, to the source."""
        return components if self.basis is None else components @ self.basis

    def rows(self, X):
        """Return target rows in the space of the source, in the dtype of X."""
        rows = self.directions(X - self.target_center) * self.scale + self.source_center
        return rows.astype(X.dtype, copy=False)


def map_to_source(pair):
    """Return the function that maps target rows to the columns of the source."""
    # Shared columns are not changed, unless the target is outside the range of the source: such a
    # column is replaced by the source's mean, as otherwise noise would decide.
    if not pair.same_columns:
        return Embedding.of_means(pair).rows
    moments = pair.release.moments
    return partial(_replace_unseen, unseen_columns(moments, pair.X), moments.mean)


def _replace_unseen(unseen, mean, X):
    return np.where(unseen, mean.astype(X.dtype), X) if unseen.any() else X


def distances(moments, X):
    """Return the distance of each column of a target to the rows of the source."""
    # The root mean square of the target's values about the source's mean, in standard deviations
    # of the source, corrected for noise if possible.
    variances = moments.total_covariance().diagonal()
    deviations = np.sqrt(positive_mean(variances, moments.variance_errors))
    least = max(_MIN_DEVIATION * np.median(deviations), TINY)
    away = np.sqrt(((X - moments.mean) ** 2).mean(axis=0, dtype=np.float64))
    return away / np.maximum(deviations, least)


def far_columns(moments, X):
    """Return which columns of a target are probably in other units, see :func:`distances`."""
    return distances(moments, X) > _FAR


def unseen_columns(moments, X):
    """Return which columns of a target lie where the source has no rows."""
    return distances(moments, X) > _UNSEEN
