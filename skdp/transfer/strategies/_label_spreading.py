"""Labels spread over a graph of nearest neighbours."""

import numpy as np
from scipy.sparse import csr_array
from sklearn.neighbors import NearestNeighbors

# Neighbours of a row; rule of thumb.
_N_NEIGHBOURS = 10
# Share of a posterior that comes from the neighbours; rule of thumb.
_FROM_NEIGHBOURS = 0.8
# Steps, after which what is left to spread is 0.8³⁰, a thousandth.
_N_STEPS = 30


def neighbour_graph(Z, n_jobs):
    """Return weights of the ten nearest neighbours of each row, which add up to 1.

    Weights fall off as exp(−2(d/d₁₀)²), d₁₀ being the distance of the tenth.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_directions)
        Rows.

    n_jobs : int or None
        Threads.

    Returns
    -------
    graph : sparse array of shape (n_samples, n_samples)
    """
    n = len(Z)
    k = min(_N_NEIGHBOURS, n - 1)
    # Without arguments, a row is none of its own neighbours.
    distances, indices = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(Z).kneighbors()
    farthest = np.maximum(distances[:, -1:], np.finfo(Z.dtype).tiny)
    weights = np.exp(-2 * (distances / farthest) ** 2)
    weights /= weights.sum(axis=1, keepdims=True)
    return csr_array((weights.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def spread(graph, posteriors, known):
    """Return posteriors of which four fifths come from the neighbours.

    Zhou et al. (2004), "Learning with local and global consistency", with known rows held.

    Parameters
    ----------
    graph : sparse array of shape (n_samples, n_samples)
        See :func:`neighbour_graph`.

    posteriors : ndarray of shape (n_samples, n_classes)
        What is believed of each row by itself.

    known : ndarray of shape (n_samples,), bool
        Rows whose posteriors are certain.
    """
    spreading = posteriors
    for _ in range(_N_STEPS):
        spreading = _FROM_NEIGHBOURS * (graph @ spreading) + (1 - _FROM_NEIGHBOURS) * posteriors
        spreading[known] = posteriors[known]
    return spreading
