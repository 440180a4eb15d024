"""The papers' rule: of the errors of source and target, the least decides."""

import numpy as np

from skdp.transfer._rounds import self_train
from skdp.transfer._side import SourceSide


class LeastError:
    """Self-training by the least error; the strategies "alignment" and "multitask".

    Parameters
    ----------
    make_side : subclass of SourceSide
        Of the strategy.

    source : DPSource or None
        The release.

    columns : list of int
        Position of each of the target's classes among those of the source.
    """

    def __init__(self, make_side, source, columns):
        self._make_side, self._source, self._columns = make_side, source, columns

    def train(self, fit, schedule, X, labels, *, n_folds, n_jobs, random_state, tol, verbose):
        """Label the unlabelled rows in place, and return the history of the rounds."""
        if self._source is None:
            self._side = SourceSide()
        else:
            self._side = self._make_side(
                self._source, self._columns, X, labels, n_jobs, random_state
            )
        self.classifier, history = self_train(
            fit,
            schedule,
            self._side,
            X,
            labels,
            n_folds=n_folds,
            random_state=random_state,
            tol=tol,
            verbose=verbose,
        )
        self.source_weight = history["source_share"][-1]
        return history

    def source_scores(self, X):
        """Return minus the squared errors of the source side."""
        return -self._side.errors(self._side.rows(X))

    def target_scores(self, X):
        """Return minus the squared errors of the target classifier."""
        return -self.classifier.reconstruction_errors(self._side.rows(X))

    def scores(self, X):
        """Return minus the lesser error."""
        rows = self._side.rows(X)
        errors = self.classifier.reconstruction_errors(rows)
        return -np.minimum(errors, self._side.errors(rows))
