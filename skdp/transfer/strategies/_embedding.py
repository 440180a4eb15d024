"""Target rows in the space of the source: one affine map, made in two ways."""

from dataclasses import dataclass

import numpy as np

from skdp.release import class_medians
from skdp.utils._linalg import principal_directions


def paired_subspaces(task):
    """Return principal directions of the source and of the target, as many of each.

    n = min(⌈p_sr/2⌉, p_tg), or the numerical rank of the target rows where that is less.
    Equal dimensions share the directions of the source. Otherwise each direction of the
    target has an arbitrary sign, which the papers leave open: here it is the one with which
    the class medians of the labelled rows vary as those of the source do.

    Parameters
    ----------
    task : Task

    Returns
    -------
    V_sr : ndarray of shape (n, n_source_features)
    V_tg : ndarray of shape (n, n_target_features)
    """
    X, alignment = task.X, task.release.alignment
    V_sr = alignment.components
    if task.release.n_features == X.shape[1]:
        return V_sr, V_sr
    n = min(len(V_sr), X.shape[1])
    V_tg = principal_directions(X.astype(np.float64, copy=False), n)
    medians = class_medians(X @ V_tg.T, task.labels, len(task.class_indices))
    wanted = alignment.class_medians[task.class_indices][:, : len(V_tg)]
    covariance = ((medians - medians.mean(axis=0)) * (wanted - wanted.mean(axis=0))).sum(axis=0)
    signs = np.where(covariance < 0, -1.0, 1.0)
    return V_sr[: len(V_tg)], (signs[:, np.newaxis] * V_tg).astype(X.dtype)


@dataclass(frozen=True)
class Embedding:
    r"""The map of target rows y into the space of the source.

    .. math:: y \mapsto s\,(y - a)\,B + b

    where any of a, B and b may be missing: None is no shift, and the identity.

    Attributes
    ----------
    basis : ndarray of shape (n_target_features, n_source_features) or None
        B.

    target_centre : ndarray of shape (n_target_features,) or None
        a.

    source_centre : ndarray of shape (n_source_features,) or None
        b.

    scale : float
        s.
    """

    basis: np.ndarray | None = None
    target_centre: np.ndarray | None = None
    source_centre: np.ndarray | None = None
    scale: float = 1.0

    @classmethod
    def of_subspaces(cls, task):
        """Return y ↦ y V_tgᵀV_sr where dimensions differ, and otherwise the identity.

        SERUMS D3.3 (2022), equation (1.79).
        """
        if task.release.n_features == task.X.shape[1]:
            return cls()
        V_sr, V_tg = paired_subspaces(task)
        return cls(V_tg.T @ V_sr)

    @classmethod
    def of_means(cls, task, subspace):
        """Return the map that carries the target's mean to the source's.

        Where dimensions differ, principal directions are paired in the order of their
        variances as in :func:`paired_subspaces`, and the target is brought to the scale of the
        source.

        Parameters
        ----------
        task : Task

        subspace : Subspace
            Of the target's rows.
        """
        release = task.release
        if release.moments is None:
            centre = release.alignment.mean
        else:
            centre = release.moments.select(task.class_indices).mean
        basis, scale = None, 1.0
        if release.n_features != task.X.shape[1]:
            V_sr, V_tg = paired_subspaces(task)
            basis = (V_tg.T @ V_sr).astype(np.float64)
            if release.moments is not None:
                spread = np.trace(release.moments.total_covariance())
                scale = float(np.sqrt(max(spread, 0) / subspace.variances.sum())) or 1.0
        return cls(basis, subspace.mean, centre, scale)

    def directions(self, components):
        """Return directions of the target as directions of the source."""
        return components if self.basis is None else components @ self.basis

    def rows(self, X):
        """Return target rows in the space of the source, in the dtype of X."""
        rows = X if self.target_centre is None else X - self.target_centre
        if self.basis is not None:
            rows = rows @ self.basis
        if self.scale != 1.0:
            rows = rows * self.scale
        if self.source_centre is not None:
            rows = rows + self.source_centre
        return rows.astype(X.dtype, copy=False)
