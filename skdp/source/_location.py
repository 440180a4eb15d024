"""Where rows are: a noisy mean, and a radius about it that holds nearly all of them."""

import numpy as np

from skdp.source._grid import GRID, RowGrid
from skdp.source._integers import integer_weights, squared_norms
from skdp.source._radius import geometric_edges, noisy_radius, norm_histogram
from skdp.source._sums import ROW, weighed

# Fraction of the rows within the radius; the others are brought to it. Rule of thumb.
_QUANTILE = 0.95
# Bins of distances span this fraction of the largest possible one, and it (rule of thumb).
_NEAREST = 1 / 64


def numbers_of_location(n_basis):
    """Return how many noisy numbers :func:`locate` asks for."""
    return 1 + n_basis + len(_edges())


def widest_grid(basis):
    """Return a grid about the middle of the bounds, from which no row is too far.

    Parameters
    ----------
    basis : BasisFunctions
        Linear ones.
    """
    ends = basis.scale * np.abs(np.stack([basis.low, basis.high]) - basis.centre)
    return RowGrid(basis, np.zeros(len(basis.column)), float(np.linalg.norm(ends.max(axis=0))))


def estimate_location(rows, grid, queries):
    """Return a grid about the mean of the rows; spends "rows", "mean" and "distances".

    Parameters
    ----------
    rows : PrivateRows

    grid : RowGrid
        From :func:`widest_grid`.

    queries : GaussianQueries

    Returns
    -------
    grid : RowGrid
    """
    total, count = np.zeros(grid.n_basis, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for Q, _, sizes in rows.chunks(grid):
        firsts, weights = weighed(Q, sizes)
        total += firsts.sum(axis=0).astype(np.int64)
        count += weights.sum().astype(np.int64)
    n = max(queries.add("rows", count, ROW)[0] / ROW, 1.0)
    mean = queries.add("mean", total, GRID) * grid.step / n
    mean *= min(1.0, grid.radius / max(np.linalg.norm(mean), grid.radius * 1e-9))
    around = grid.at(mean, 2 * grid.radius)
    edges = _edges()
    histogram = np.zeros(len(edges), dtype=np.int64)
    for Q, _, sizes in rows.chunks(around):
        histogram += norm_histogram(squared_norms(Q), integer_weights(sizes, len(Q)), edges)
    radius = noisy_radius(histogram, edges, _QUANTILE, queries, "distances")
    return around.at(mean, radius / GRID * around.radius)


def _edges():
    return geometric_edges(GRID * _NEAREST, GRID)
