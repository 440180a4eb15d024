"""What a target's columns tell: other units, values that a source never saw, records."""

import numpy as np

from skdp.release import positive_mean

# Root mean square of a column about the source's mean, in standard deviations of the source, from
# which it is likely in other units. Halves of a uniform column are 3.6 from each other; columns
# that are standardised where the source's are scaled to [0, 1] have 5 or more.
_FAR = 4.0
# The same from which the source knows nothing of where the target lies: men for a source of women.
_UNSEEN = 10.0
# Least standard deviation of a source's column, in units of the median one: a column that is
# almost constant in the source may have a few other values in the target; rule of thumb.
_LEAST_DEVIATION = 0.1

# Share of the columns that hold two values, each in this share of the rows or more, from which
# rows are records: indicators make clusters of their own, whatever the classes are.
_MAX_INDICATORS, _LEAST_SHARE = 0.1, 0.01


def distances(moments, X):
    """Return how far each column of a target lies from where the source has its rows.

    The root mean square of the target's values about the source's mean, in standard deviations
    of the source, noise left out as far as that is known.

    Parameters
    ----------
    moments : Moments
        Of the source.

    X : ndarray of shape (n_samples, n_features)
        Target rows in the same columns.

    Returns
    -------
    distances : ndarray of shape (n_features,)
    """
    variances = moments.total_covariance().diagonal()
    deviations = np.sqrt(positive_mean(variances, moments.variance_errors))
    least = max(_LEAST_DEVIATION * np.median(deviations), np.finfo(np.float64).tiny)
    away = np.sqrt(((X - moments.mean) ** 2).mean(axis=0, dtype=np.float64))
    return away / np.maximum(deviations, least)


def far_columns(moments, X):
    """Return which columns of a target are likely in other units, see :func:`distances`."""
    return distances(moments, X) > _FAR


def unseen_columns(moments, X):
    """Return which columns of a target lie where the source has no rows."""
    return distances(moments, X) > _UNSEEN


def has_indicators(X):
    """Return whether a tenth of the columns or more hold just two values, none of them rare.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    """
    counts = np.array([(X.min(axis=0) == X).sum(axis=0), (X.max(axis=0) == X).sum(axis=0)])
    two = (counts.sum(axis=0) == len(X)) & (counts.min(axis=0) >= _LEAST_SHARE * len(X))
    return bool(two.mean() >= _MAX_INDICATORS)
