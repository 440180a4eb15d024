"""The source by a source2target mapping: SERUMS D3.3 (2022), equations (1.79)–(1.87)."""

import numpy as np

from skdp.membership import MembershipMapping
from skdp.transfer.strategies._embedding import Embedding
from skdp.transfer.strategies._least_error import SourceSide
from skdp.utils._linalg import squared_distances
from skdp.utils._parallel import map_rows, run_tasks

# Inducing points of the mapping, at most: SERUMS D3.3 (2022), equation (1.86).
_MAX_INDUCING = 1000


class MultiTaskSide(SourceSide):
    """The source reconstructs a target row, and a mapping carries that to the target.

    Everything happens in the space of the source; where dimensions differ, a target row y
    enters it as V_srᵀV_tg·y.

    Parameters
    ----------
    task : Task
    """

    def __init__(self, task):
        classes = task.release.row_classifier.autoencoders_
        self._autoencoders = [classes[c] for c in task.class_indices]
        self._dtype = np.result_type(task.release.dtype, task.X.dtype)
        self._n_jobs, self._random_state = task.n_jobs, task.random_state
        self._embedding = Embedding.of_subspaces(task)
        self._target_rows = self.rows(task.X)

    def rows(self, X):
        """Return target rows in the space of the source."""
        return self._embedding.rows(X)

    def finish(self, labels):
        """Learn the mapping from (WD_sr,c(y), y) over all rows y and their classes c."""
        rows = self._target_rows
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
        del self._target_rows

    def scores(self, X):
        """Return minus the lesser error of source2target and source for each row and class."""

        def compute(Y):
            scores = np.empty((len(Y), len(self._autoencoders)), dtype=self._dtype)
            for c, autoencoder in enumerate(self._autoencoders):
                output = autoencoder.reconstruct_block(Y)
                carried = self._mapping.predict_block(output)
                errors = [squared_distances(Y, guess) for guess in (output, carried)]
                scores[:, c] = -np.minimum(*errors)
            # Queries so far away that squares overflow stay ordered and finite.
            return np.nan_to_num(scores, nan=float(np.finfo(self._dtype).min))

        values_per_row = 2 * _MAX_INDUCING + 8 * X.shape[1]
        return map_rows(
            compute, X, values_per_row=values_per_row, dtype=self._dtype, n_jobs=self._n_jobs
        )


def _reconstruct(autoencoder, rows):
    return autoencoder.reconstruct(rows)
