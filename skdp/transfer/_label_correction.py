"""Correction by labels: offset logistic regression around a source's log-posteriors."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

# Standard deviation of the slope of scores around 1. Over five tables with 10-20 labels a class,
# log loss falls by .0009 with .1 and by .0005 with .2, both ± .0004; AUC is the same.
_SLOPE_DEVIATION = 0.1
# Standard deviation of the intercepts: labels are often drawn equally from each class, and say
# little of how frequent it is. Over six tables, log loss falls by .0011, .0010 and .0008 with .3,
# .2 and .1, all ± .0006; where nothing has to be moved, adult, it rises by .0011, .0004 and .0001.
_INTERCEPT_DEVIATION = 0.2
# Variance of the coefficients of standardised columns, at most. Over six tables with 10-20 labels
# a class, looser priors lose up to .017 of AUC.
MAX_VARIANCE = 1 / 300
# Share of the variance of the scores that columns may have beforehand.
_SHARE_OF_COLUMNS = 0.25
# Variances that they have in any case, each and together: a source that says next to nothing must
# not keep labels from having an effect. Over six tables the gain of AUC by 10 labels a class is
# .0004 without and .0075 with it at ε = .5 for a record, .0005 and .0029 at 1, and the same at 4.
_MIN_VARIANCE, _MIN_TOGETHER = 1 / 1000, 0.1
# Columns that vary less than this share of their magnitude are constant but for rounding.
_MIN_VARIATION = 1e-5


class Standardizer:
    """Columns of the target in standard deviations from their means; constant ones are 0.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        All target rows.
    """

    def __init__(self, X):
        self._mean, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        constant = deviation <= _MIN_VARIATION * np.abs(self._mean)
        self._inverse = np.where(constant, 0.0, 1 / np.where(constant, 1.0, deviation))

    def transform(self, X):
        """Return rows in standard deviations from their means."""
        return (X - self._mean) * self._inverse


@dataclass(frozen=True)
class LabelledRows:
    """The labelled rows of a target, as what learns from them reads them.

    Attributes
    ----------
    known : ndarray of shape (n_samples,), bool
        Which of the target's rows they are.

    labels, folds : ndarrays of shape (n_labelled,)
        Class indices, and folds in which labels are left out.

    Z : ndarray of shape (n_labelled, n_features)
        Standardised columns.
    """

    known: np.ndarray
    labels: np.ndarray
    folds: np.ndarray
    Z: np.ndarray

    @property
    def all_labels(self):
        """Class indices of all rows, −1 where unlabelled."""
        labels = np.full(len(self.known), -1)
        labels[self.known] = self.labels
        return labels


def sampling_offsets(labels, posteriors):
    """Return the log-ratio of class frequencies among labels and by the posteriors of other rows.

    That labels were drawn equally from each class is thus no evidence of how frequent it is. One
    more label of each class is added, for all may be missing.
    """
    counts = np.bincount(labels, minlength=posteriors.shape[1]) + 1.0
    return np.log(counts / counts.sum()) - np.log(posteriors.mean(axis=0) + 1e-6)


@dataclass(frozen=True)
class OffsetLogisticRegression:
    r"""What labels change of log-posteriors s: a s + b + Z u; nothing before it is fitted.

    The prior is close to no change,

    .. math:: a \sim N(1, 0.01), \quad b_c \sim N(0, 0.04), \quad u_{jc} \sim N(0, v).

    Attributes
    ----------
    variance : float
        v, of the coefficients.

    slope : float, default=1
        a.

    intercepts : ndarray of shape (n_classes,) or float, default=0
        b.

    coefficients : ndarray of shape (n_columns, n_classes) or None, default=None
        u; None for 0.
    """

    variance: float
    slope: float = 1.0
    intercepts: np.ndarray | float = 0.0
    coefficients: np.ndarray | None = None

    def fit(self, scores, Z, labels, offsets):
        """Return the most likely correction by labelled rows.

        Parameters
        ----------
        scores : ndarray of shape (n_samples, n_classes)
            Log-posteriors.

        Z : ndarray of shape (n_samples, n_columns)
            Standardised columns.

        labels : ndarray of shape (n_samples,)
            Class indices.

        offsets : ndarray of shape (n_classes,)
            See :func:`sampling_offsets`.
        """
        # The prior has no direction, so that columns may be rotated into as few as there are rows.
        U, s, Vt = np.linalg.svd(Z, full_matrices=False)
        rotated, (n, K) = U * s, scores.shape
        rows, variance = np.arange(n), self.variance

        def loss(x):
            a, b, u = x[0], x[1 : K + 1], x[K + 1 :].reshape(-1, K)
            logs = log_softmax(a * scores + offsets + b + rotated @ u, axis=1)
            excess = np.exp(logs)
            excess[rows, labels] -= 1
            prior = ((a - 1) / _SLOPE_DEVIATION) ** 2 + (b @ b) / _INTERCEPT_DEVIATION**2
            value = (prior + (u**2).sum() / variance) / 2 - logs[rows, labels].sum()
            slope = (excess * scores).sum() + (a - 1) / _SLOPE_DEVIATION**2
            intercepts = excess.sum(axis=0) + b / _INTERCEPT_DEVIATION**2
            return value, np.r_[slope, intercepts, (rotated.T @ excess + u / variance).ravel()]

        start = np.r_[1.0, np.zeros(K + rotated.shape[1] * K)]
        x = minimize(loss, start, jac=True, method="L-BFGS-B").x
        return replace(
            self,
            slope=float(x[0]),
            intercepts=x[1 : K + 1],
            coefficients=Vt.T @ x[K + 1 :].reshape(-1, K),
        )

    def cross_fit(self, scores, rows, offsets):
        """Return the correction by all labelled rows, and their log-posteriors by other folds.

        Parameters
        ----------
        scores : ndarray of shape (n_labelled, n_classes)
            Log-posteriors of the labelled rows.

        rows : LabelledRows

        offsets : ndarray of shape (n_classes,)
            See :func:`sampling_offsets`.
        """
        corrected = np.empty_like(scores)
        for k in np.unique(rows.folds):
            held_out, train = rows.folds == k, rows.folds != k
            fewer = self.fit(scores[train], rows.Z[train], rows.labels[train], offsets)
            corrected[held_out] = fewer.apply(scores[held_out], rows.Z[held_out])
        return self.fit(scores, rows.Z, rows.labels, offsets), corrected

    def apply(self, scores, Z):
        """Return corrected log-posteriors."""
        u = self.coefficients
        if u is None:
            u = np.zeros((Z.shape[1], scores.shape[1]))
        return log_softmax(self.slope * scores + self.intercepts + Z @ u, axis=1)


def coefficient_variance(scores, n_columns):
    """Return the prior variance of coefficients around these scores.

    1/300, or less where many columns together would have more than a quarter of the variance
    that the scores have; never below 1/1000, or .1 for all columns together.
    """
    centred = scores - scores.mean(axis=1, keepdims=True)
    score_variance = centred.var(axis=0).mean()
    least = min(_MIN_VARIANCE, _MIN_TOGETHER / n_columns)
    return float(np.clip(_SHARE_OF_COLUMNS * score_variance / n_columns, least, MAX_VARIANCE))
