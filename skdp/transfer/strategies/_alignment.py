"""The source by subspace alignment: Kumar and Moser, equations (118)–(121)."""

import numpy as np

from skdp.membership import group_errors
from skdp.release import class_medians
from skdp.transfer.strategies._embedding import Embedding, paired_subspaces
from skdp.transfer.strategies._least_error import SourceSide


class AlignmentSide(SourceSide):
    """Each class of the source, moved so that its median lies on the target's.

    A target row y is, for class c, taken to be the source row
    f_c(y) = V_srᵀ(V_tg·y − m_tg,c + m_sr,c).

    Parameters
    ----------
    task : Task
    """

    def __init__(self, task):
        release = task.release
        groups = release.row_classifier.autoencoders_by_class()
        self._groups = [groups[c] for c in task.class_indices]
        self._dtype, self._n_jobs = np.result_type(release.dtype, task.X.dtype), task.n_jobs
        self._V_sr, V_tg = paired_subspaces(task)
        self._embedding = Embedding((V_tg.T @ self._V_sr).astype(self._dtype))
        self._medians = release.alignment.class_medians[task.class_indices][:, : len(V_tg)]
        self._target_codes = task.X @ V_tg.T

    def update(self, labels):
        """Move the classes to the medians of rows of known or guessed class."""
        medians = class_medians(self._target_codes, labels, len(self._groups))
        self._shifts = (self._medians - medians) @ self._V_sr

    def finish(self, labels):
        """Forget the target's rows."""
        del self._target_codes

    def scores(self, X, class_indices=slice(None)):
        """Return −‖f_c(y) − WD_sr,c(f_c(y))‖² for each row and class."""
        shifts = self._shifts[class_indices].astype(self._dtype)

        def embed(Y):
            aligned = self._embedding.rows(Y)
            return (aligned + shift for shift in shifts)

        chosen = np.arange(len(self._groups))[class_indices]
        groups = [self._groups[c] for c in chosen]
        return -group_errors(groups, X, dtype=self._dtype, n_jobs=self._n_jobs, embed=embed)

    def follow(self, X):
        """Return a function that gives the current scores of X, recomputed where moved."""
        scores = np.empty((len(X), len(self._groups)), dtype=self._dtype)
        scored = np.full((len(self._groups), self._V_sr.shape[1]), np.nan)

        def current():
            stale = np.any(scored != self._shifts, axis=1)
            if stale.any():
                scores[:, stale] = self.scores(X, stale)
                scored[stale] = self._shifts[stale]
            return scores

        return current
