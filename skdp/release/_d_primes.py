"""What linear scores can tell apart, as far as noisy statistics know it."""

import numpy as np
from scipy.special import expit, log_ndtr
from scipy.stats import norm

_TINY = np.finfo(np.float64).tiny


def d_primes(coefficients, offsets, covariance):
    """Return d' of each pair of classes along the difference of their coefficients.

    Parameters
    ----------
    coefficients, offsets : ndarray of shape (n_classes, n_basis)
        Of the scores, and the class means, from any point.

    covariance : ndarray of shape (n_basis, n_basis)
        Within classes.

    Returns
    -------
    d_primes : ndarray of shape (n_classes, n_classes)
    """
    v = coefficients[:, None] - coefficients
    apart = (v * (offsets[:, None] - offsets)).sum(axis=2)
    spread = np.sqrt(np.maximum(((v @ covariance) * v).sum(axis=2), 0))
    return np.maximum(apart, 0) / np.maximum(spread, np.sqrt(_TINY))


def occurrence(counts, count_sd):
    """Return the posterior probability that each class has rows at all.

    Before its noisy count is seen, a class is as likely to be absent as to have any number of
    rows up to that of all of them: the count is of N(0, sd²), or of u + N(0, sd²) with u uniform.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        Noisy numbers of rows; may be negative.

    count_sd : float
        Standard deviation of their noise; may be zero.

    Returns
    -------
    probabilities : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> occurrence(np.array([0.0, 30.0, 60.0, 910.0]), 10.0).round(3)
    array([0.012, 0.693, 1.   , 1.   ])
    """
    counts = np.asarray(counts, dtype=np.float64)
    if not count_sd > 0:
        return (counts > 0).astype(np.float64)
    # In units of the noise; beyond these bounds nothing changes, and squares do not overflow.
    t = np.clip(counts / count_sd, -1e3, 1e3)
    n = np.clip(counts.clip(0).sum() / count_sd, 1.0, 1e12)
    above, beyond = log_ndtr(t), log_ndtr(t - n)
    present = above + np.log1p(-np.exp(np.minimum(beyond - above, -_TINY))) - np.log(n)
    return expit(present - norm.logpdf(t))
