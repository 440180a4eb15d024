"""A radius that holds most rows, from a noisy histogram of their norms."""

import numpy as np

from skdp.source._integers import WEIGHT_GRID

# Bins for each factor of two: the radius is at most 19 % too large, for which the noise of
# few bins is the better bargain (rule of thumb).
_BINS_PER_OCTAVE = 4


def geometric_edges(low, high):
    """Return public squared edges of bins of norms, integers in float64.

    Examples
    --------
    >>> geometric_edges(2, 8).tolist()
    [4.0, 5.0, 8.0, 11.0, 16.0, 22.0, 32.0, 45.0, 64.0]
    """
    steps = int(np.ceil(_BINS_PER_OCTAVE * np.log2(high / low)))
    return np.floor(low**2 * 2.0 ** (2 * np.arange(steps + 1) / _BINS_PER_OCTAVE))


def norm_histogram(squared_norms, weights, edges):
    """Return the weight of the rows in each bin; exact, and one record is in one bin.

    A person whose rows are in several bins moves the histogram by less than one whose rows
    are all in the same.

    Parameters
    ----------
    squared_norms : ndarray of shape (n_samples,)
        Of integer rows.

    weights : ndarray of shape (n_samples,), dtype int64
        In multiples of 2⁻²⁰.

    edges : ndarray of shape (n_edges,)
        Squared upper edges of the bins, from :func:`geometric_edges`. Longer rows count in
        the last bin.

    Returns
    -------
    histogram : ndarray of shape (n_edges,), dtype int64
        In multiples of 2⁻²⁰.
    """
    bins = np.minimum(np.searchsorted(edges, squared_norms), len(edges) - 1)
    histogram = np.zeros(len(edges), dtype=np.int64)
    np.add.at(histogram, bins, weights)
    return histogram


def noisy_radius(histogram, edges, quantile, queries, name):
    """Return the edge below which about a fraction of the rows is.

    Parameters
    ----------
    histogram : ndarray of shape (n_edges,), dtype int64
        From :func:`norm_histogram`.

    edges : ndarray of shape (n_edges,)
        Squared edges of the bins.

    quantile : float
        The fraction, in (0, 1].

    queries : GaussianQueries

    name : str
        Of the query.

    Returns
    -------
    radius : float
        In units of the integer rows.
    """
    noisy = queries.add(name, histogram, WEIGHT_GRID)
    below = np.cumsum(noisy)
    enough = below >= quantile * below[-1]
    return float(np.sqrt(edges[enough.argmax()]))
