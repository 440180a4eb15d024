"""The source side by a source2target mapping: 003, equations (1.79)–(1.87)."""

import numpy as np

from skdp.membership import MembershipMapping, group_errors
from skdp.transfer._alignment import paired_subspaces
from skdp.transfer._side import SourceSide
from skdp.utils._parallel import run_tasks

_MAX_INDUCING = 1000


class MultiTask(SourceSide):
    """The source reconstructs a target row, and a mapping carries that to the target.

    Everything happens in the space of the source; where dimensions differ, a target row y
    enters it as V_srᵀV_tg·y.
    """

    def __init__(self, source, columns, X, labels, n_jobs, random_state):
        self._autoencoders = [source.classifier_.autoencoders_[c] for c in columns]
        self._dtype = np.result_type(source.classifier_.dtype_, X.dtype)
        self._n_jobs, self._random_state = n_jobs, random_state
        self._basis = None
        if source.n_features_in_ != X.shape[1]:
            V_sr, V_tg = paired_subspaces(source, columns, X, labels)
            self._basis = V_tg.T @ V_sr

    def rows(self, X):
        """Return target rows in the space of the source."""
        return X if self._basis is None else X @ self._basis

    def finish(self, rows, labels):
        """Learn the mapping from (WD_sr,c(y), y) over all rows y and their classes c."""
        members = [np.flatnonzero(labels == c) for c in range(len(self._autoencoders))]
        outputs = run_tasks(
            _reconstruct,
            [(a, rows[m]) for a, m in zip(self._autoencoders, members, strict=True)],
            len(members),
            n_jobs=self._n_jobs,
        )
        self._mapping = MembershipMapping(
            min(-(-len(rows) // 2), _MAX_INDUCING),
            inference="empirical",
            random_state=self._random_state,
        ).fit(np.concatenate(outputs), rows[np.concatenate(members)])

    def errors(self, rows):
        """Return the lesser error of source2target and source for each row and class."""
        groups = [[_Carried(a, self._mapping)] for a in self._autoencoders]
        return group_errors(groups, rows, dtype=self._dtype, n_jobs=self._n_jobs)


class _Carried:
    """An autoencoder of the source, whose output the mapping also carries to the target."""

    def __init__(self, autoencoder, mapping):
        self._autoencoder, self._mapping = autoencoder, mapping

    def candidates(self, Y):
        output = self._autoencoder.reconstruct_block(Y)
        yield None, output
        yield None, self._mapping.predict_block(output)

    def values_per_row(self):
        n_features = self._autoencoder.n_features_in_
        return self._autoencoder.values_per_row() + 2 * _MAX_INDUCING + 4 * n_features


def _reconstruct(autoencoder, rows):
    return autoencoder.reconstruct(rows)
