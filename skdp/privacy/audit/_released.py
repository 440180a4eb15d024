"""What an audit looks at in a release of statistics, and along which direction."""

import numpy as np

# Floor of the deviation of a statistic, relative to its size: of one without any noise, rounding
# is all that is left (rule of thumb).
_LEAST_NOISE = 1e-9
# Weights of independent noise, in place of the correlations that were found, that are tried: from
# what tells two statistics that say the same apart to no correlations at all (rule of thumb).
_INDEPENDENT = (1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0)


def released_statistics(release):
    """Return the sums that the moments of a release are made of, as one vector.

    Counts of the classes, sums of their rows and, where there is one covariance matrix for all
    of them, of the products of two columns over all rows; otherwise over those of each class. A
    record adds the same to them whatever the other records are, but for noise.

    Parameters
    ----------
    release : Release
        With ``moments``.

    Returns
    -------
    statistics : ndarray of shape (n_statistics,)

    Examples
    --------
    >>> from types import SimpleNamespace as Fields
    >>> moments = Fields(
    ...     class_counts=np.array([2.0, 1.0]),
    ...     means=np.array([[1.0], [3.0]]),
    ...     covariances=np.array([[4.0]]),
    ... )
    >>> released_statistics(Fields(moments=moments)).tolist()
    [2.0, 1.0, 2.0, 3.0, 23.0]
    """
    moments = release.moments
    counts, means = np.asarray(moments.class_counts, dtype=np.float64), moments.means
    covariances = np.asarray(moments.covariances, dtype=np.float64)
    rows, columns = np.triu_indices(means.shape[1])
    products = counts[:, np.newaxis] * (covariances + means[:, rows] * means[:, columns])
    if len(covariances) == 1:
        products = products.sum(axis=0)
    return np.concatenate([counts, (counts[:, np.newaxis] * means).ravel(), np.ravel(products)])


def best_direction(contribution, without, with_canary):
    """Return weights of the statistics whose weighted sum tells most of a contribution.

    For normal noise of covariance S, whatever is added to the statistics, that is the
    log-likelihood ratio S⁻¹d, d being what the canary adds: the most powerful test of all
    (Neyman and Pearson). S is estimated, and shrunk towards independent noise as far as makes
    what one half of the fits says good for the other half.

    Parameters
    ----------
    contribution : ndarray of shape (n_statistics,)
        What the canary adds, without noise.

    without, with_canary : ndarray of shape (n_fits, n_statistics)
        What was released in either world.

    Returns
    -------
    weights : ndarray of shape (n_statistics,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(2, 2000, 2)) * [1.0, 2.0]
    >>> weights = best_direction(np.array([1.0, 4.0]), noise[0], noise[1] + [1.0, 4.0])
    >>> bool(abs(weights[1] / weights[0] - 1.0) < 0.1)
    True
    """
    noise = np.concatenate([sample - sample.mean(axis=0) for sample in (without, with_canary)])
    floor = _LEAST_NOISE * np.maximum(np.abs(without).max(axis=0), np.finfo(np.float64).tiny)
    deviations = np.maximum(noise.std(axis=0), floor)
    noise, d = noise / deviations, contribution / deviations
    halves = noise[::2], noise[1::2]
    pairs = halves, halves[::-1]
    found = [
        sum(_information(_solve(one, d, part), d, other) for one, other in pairs)
        for part in _INDEPENDENT
    ]
    return _solve(noise, d, _INDEPENDENT[int(np.argmax(found))]) / deviations


def _solve(noise, d, part):
    """Return S⁻¹d for the covariance of the noise with a part of it taken as independent."""
    S = (1 - part) * (noise.T @ noise / len(noise))
    S[np.diag_indices_from(S)] += part
    return np.linalg.solve(S, d)


def _information(weights, d, noise):
    """Return the squared distance of the two worlds in standard deviations, along weights."""
    spread = np.mean((noise @ weights) ** 2)
    return (weights @ d) ** 2 / max(spread, np.finfo(np.float64).tiny)
