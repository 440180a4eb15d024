"""Candidates for a target: what sources say, corrected by labels, and the target alone."""

import numpy as np
from scipy.special import log_softmax

from skdp.transfer.strategies._tight_prior import Correction

# Columns that vary less than this share of their magnitude are constant but for rounding.
_CONSTANT = 1e-5


class Columns:
    """Columns of the target, standardised.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        All target rows.
    """

    def __init__(self, X):
        self._mean, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        constant = deviation <= _CONSTANT * np.abs(self._mean)
        self._inverse = np.where(constant, 0.0, 1 / np.where(constant, 1.0, deviation))

    def standardise(self, X):
        """Return rows in standard deviations from their means."""
        return (X - self._mean) * self._inverse


class Constant:
    """A scorer that says the same of every row.

    Parameters
    ----------
    logs : ndarray of shape (n_classes,)
    """

    def __init__(self, logs):
        self._logs = logs

    def scores(self, X):
        """Return the same scores for each row."""
        return np.tile(self._logs, (len(X), 1))


class Pooled:
    """Log-posteriors of several scorers, averaged.

    Parameters
    ----------
    scorers : list of Scorer

    weights : ndarray of shape (n_scorers,)
        They add up to 1.
    """

    def __init__(self, scorers, weights):
        self._scorers, self._weights = scorers, weights

    def scores(self, X):
        """Return log-posteriors, up to a constant for each row."""
        logs = [log_posteriors(scorer, X) for scorer in self._scorers]
        return np.tensordot(self._weights, logs, 1)


class Corrected:
    """A scorer, corrected by labelled rows: a s + b + Z u, see :class:`Correction`.

    Parameters
    ----------
    scorer : Scorer
        Log-posteriors, up to a constant for each row.

    X : ndarray of shape (n_samples, n_features)
        All target rows.

    columns : Columns

    variance : callable
        ``variance(scores, n_columns)`` returns the prior variance of u.

    source_weight : float
        1 where the scorer is the source's, 0 where it is not.
    """

    def __init__(self, scorer, X, columns, variance, source_weight=1.0):
        self._scorer, self._columns, self.source_weight = scorer, columns, source_weight
        self.base = log_posteriors(scorer, X)
        self._variance = variance(self.base, X.shape[1])
        self._correction = Correction.none(X.shape[1], self.base.shape[1])

    def learn(self, Z, known, labels, folds, tilt):
        """Learn from labelled rows; return their log-posteriors by those of other folds.

        Parameters
        ----------
        Z : ndarray of shape (n_labelled, n_features)
            These rows, standardised.

        known : ndarray of shape (n_samples,), bool
            Which rows they are.

        labels, folds : ndarrays of shape (n_labelled,)
            Class indices, and folds.

        tilt : ndarray of shape (n_classes,)
            See :meth:`Correction.fit`.
        """
        base = self.base[known]
        found = np.empty_like(base)
        for k in np.unique(folds):
            here, train = folds == k, folds != k
            fewer = Correction.fit(base[train], Z[train], labels[train], tilt, self._variance)
            found[here] = fewer.apply(base[here], Z[here])
        self._correction = Correction.fit(base, Z, labels, tilt, self._variance)
        return found

    def log_posteriors(self, X):
        """Return log-posteriors of target rows."""
        base = log_posteriors(self._scorer, X)
        return self._correction.apply(base, self._columns.standardise(X))


class Adapted:
    """Densities of a source that followed the target's rows.

    Parameters
    ----------
    scorer : Scorer
        Log-densities that have seen no label.

    X : ndarray of shape (n_samples, n_features)
        All target rows.

    adapt : callable or None, default=None
        ``adapt(labels)`` returns the scorer that has.
    """

    source_weight = 1.0

    def __init__(self, scorer, X, adapt=None):
        self.scorer, self._adapt = scorer, adapt
        self.base = log_posteriors(scorer, X)

    def learn(self, Z, known, labels, folds, tilt):
        """Learn from labelled rows; return their log-posteriors without any label.

        See :meth:`Corrected.learn`.
        """
        if self._adapt is not None:
            everyone = np.full(len(known), -1)
            everyone[known] = labels
            self.scorer, self._adapt = self._adapt(everyone), None  # which holds all rows
        return self.base[known]

    def log_posteriors(self, X):
        """Return log-posteriors of target rows."""
        return log_posteriors(self.scorer, X)


class SelfTrained:
    """The model of self-training, with the source or without.

    Parameters
    ----------
    model : NoiseAwareModel
    """

    def __init__(self, model):
        self._model, self.source_weight = model, model.source_weight
        self.target_classifier = model.target_classifier

    def log_posteriors(self, X):
        """Return log-posteriors of target rows."""
        return log_posteriors(self._model, X)


def log_posteriors(scorer, X):
    """Return the scores of a scorer as log-posteriors, in float64."""
    return log_softmax(np.asarray(scorer.scores(X), dtype=np.float64), axis=1)
