"""The protocol of a source side: what the rounds and the final rule ask of a strategy."""

import numpy as np


class SourceSide:
    """Help from a source; this one has none to give, and subclasses override what they can.

    Errors of shape (1, 1) stand for the same error of every row and class.

    Subclasses are made from these:

    Parameters
    ----------
    source : DPSource
        The release.

    columns : list of int
        Position of each of the target's classes among those of the source.

    X : ndarray of shape (n_samples, n_features)
        All target rows.

    labels : ndarray of shape (n_samples,)
        Class numbers, −1 where unlabelled.

    n_jobs : int or None
        Threads.

    random_state : RandomState
        For whatever is random.
    """

    def rows(self, X):
        """Return the rows from which the target classifier learns."""
        return X

    def update(self, X, labels):
        """Take notice of the known and guessed classes of all target rows."""

    def scorer(self, X):
        """Return a function that gives the current errors of unlabelled rows in a round."""
        return lambda: np.full((1, 1), np.inf, dtype=np.float32)

    def finish(self, rows, labels):
        """Learn what has to wait for the last labels."""

    def errors(self, X):
        """Return the squared errors of the source for each row and class, at the end."""
        return np.full((1, 1), np.inf, dtype=np.float32)
