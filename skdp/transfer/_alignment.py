"""The source side by subspace alignment: 004, equations (118)–(121)."""

import numpy as np

from skdp.membership import group_errors
from skdp.transfer._side import SourceSide
from skdp.utils._linalg import principal_directions


def class_medians(codes, labels, n_classes):
    """Return the median code of each class, of shape (n_classes, n_directions)."""
    return np.stack([np.median(codes[labels == c], axis=0) for c in range(n_classes)])


def paired_subspaces(source, columns, X, labels):
    """Return principal directions of the source and of the target, as many of each.

    n = min(⌈p_sr/2⌉, p_tg), or the numerical rank of the target rows where that is less.
    Equal dimensions share the directions of the source. Otherwise each direction of the
    target has an arbitrary sign, which the papers leave open: here it is the one with which
    the class medians of the labelled rows vary as those of the source do.

    Parameters
    ----------
    source : DPSource
        The release.

    columns : list of int
        Position of each of the target's classes among those of the source.

    X : ndarray of shape (n_samples, n_target_features)
        All target rows.

    labels : ndarray of shape (n_samples,)
        Class numbers, −1 where unlabelled.

    Returns
    -------
    V_sr : ndarray of shape (n, n_source_features)
    V_tg : ndarray of shape (n, n_target_features)
    """
    V_sr = source.components_
    if source.n_features_in_ == X.shape[1]:
        return V_sr, V_sr
    n = min(len(V_sr), X.shape[1])
    V_tg = principal_directions(X.astype(np.float64, copy=False), n)
    medians = class_medians(X @ V_tg.T, labels, len(columns))
    wanted = source.class_medians_[columns][:, : len(V_tg)]
    covariance = ((medians - medians.mean(axis=0)) * (wanted - wanted.mean(axis=0))).sum(axis=0)
    signs = np.where(covariance < 0, -1.0, 1.0)
    return V_sr[: len(V_tg)], (signs[:, np.newaxis] * V_tg).astype(X.dtype)


class Alignment(SourceSide):
    """Each class of the source, moved so that its median lies on the target's.

    A target row y is, for class c, taken to be the source row
    f_c(y) = V_srᵀ(V_tg·y − m_tg,c + m_sr,c).
    """

    def __init__(self, source, columns, X, labels, n_jobs, random_state):
        parts = source.classifier_.autoencoders_by_class()
        self._groups = [parts[c] for c in columns]
        self._dtype = np.result_type(source.classifier_.dtype_, X.dtype)
        self._n_jobs = n_jobs
        V_sr, self._V_tg = paired_subspaces(source, columns, X, labels)
        self._V_sr = V_sr
        self._medians = source.class_medians_[columns][:, : len(V_sr)]
        self._basis = self._V_tg.T @ V_sr

    def update(self, X, labels):
        """Move the classes to the medians of rows of known or guessed class."""
        medians = class_medians(X @ self._V_tg.T, labels, len(self._groups))
        self._shifts = (self._medians - medians) @ self._V_sr

    def errors(self, X, columns=slice(None)):
        """Return the squared error ‖f_c(y) − WD_sr,c(f_c(y))‖² of each row and class."""
        shifts = self._shifts[columns].astype(self._dtype)
        basis = self._basis.astype(self._dtype)

        def embed(Y):
            aligned = Y @ basis
            return (aligned + shift for shift in shifts)

        chosen = np.arange(len(self._groups))[columns]
        groups = [self._groups[c] for c in chosen]
        return group_errors(groups, X, dtype=self._dtype, n_jobs=self._n_jobs, embed=embed)

    def scorer(self, X):
        """Return a function that gives the current errors of X, recomputed where moved."""
        errors = np.empty((len(X), len(self._groups)), dtype=self._dtype)
        scored = np.full((len(self._groups), self._V_sr.shape[1]), np.nan)

        def score():
            stale = np.any(scored != self._shifts, axis=1)
            if stale.any():
                errors[:, stale] = self.errors(X, stale)
                scored[stale] = self._shifts[stale]
            return errors

        return score
