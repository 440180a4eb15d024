"""Rows in principal directions of unit variance, clipped, on an integer grid, in memory."""

from dataclasses import dataclass

import numpy as np

from skdp.source._integers import (
    GRID,
    ROWS_AT_ONCE,
    IntegerMap,
    clipped,
    integer_weights,
    squared_norms,
)
from skdp.source._radius import geometric_edges, noisy_radius, norm_histogram

# Bins of norms span these multiples of √n_directions, the norm of a row of unit variances
# (rule of thumb).
_SHORTEST, _LONGEST = 0.25, 8.0


@dataclass(frozen=True)
class WhitenedRows:
    """Integer rows t with ‖t‖ ≤ 2¹⁶; t · radius / 2¹⁶ has about unit variances.

    Attributes
    ----------
    codes : ndarray of shape (n_samples, n_directions), dtype int32

    class_indices : ndarray of shape (n_samples,)

    weights : ndarray of shape (n_samples,), dtype int64
        In multiples of 2⁻²⁰.

    radius : float
        Noisy quantile of the norms, in standard deviations of a direction.
    """

    codes: np.ndarray
    class_indices: np.ndarray
    weights: np.ndarray
    radius: float

    @classmethod
    def of(cls, rows, grid, subspace, quantile, queries):
        """Return private rows in the directions of a subspace; spends "lengths".

        Parameters
        ----------
        rows : PrivateRows

        grid : RowGrid
            Of these rows; its terms are the features, in order.

        subspace : Subspace
            Of the features, made of noisy statistics.

        quantile : float
            Fraction of the rows that stay as they are; longer ones are clipped.

        queries : GaussianQueries
        """
        scaled = subspace.components.T / np.sqrt(subspace.variances)
        offset = grid.to_features(np.zeros(grid.n_basis)) - subspace.mean
        matrix = grid.radius / grid.basis.scale[:, np.newaxis] * scaled
        project = IntegerMap.nearest(matrix, GRID * (offset @ scaled))
        edges = length_edges(len(subspace.variances))
        codes, class_indices, weights = [], [], []
        histogram = np.zeros(len(edges), dtype=np.int64)
        for Q, classes, sizes in rows.chunks(grid):
            for here in _slices(len(Q)):
                Z = project(Q[here])
                units = integer_weights(None if sizes is None else sizes[here], len(Z))
                histogram += norm_histogram(squared_norms(Z), units, edges)
                codes.append(Z.astype(np.int32))
                weights.append(units)
            class_indices.append(classes)
        radius = noisy_radius(histogram, edges, quantile, queries, "lengths")
        for Z in codes:
            Z[:] = clipped(Z.astype(np.float64), radius)
        n_directions = len(subspace.variances)
        return cls(
            np.concatenate([np.zeros((0, n_directions), np.int32), *codes]),
            np.concatenate([np.zeros(0, np.int64), *class_indices]),
            np.concatenate([np.zeros(0, np.int64), *weights]),
            radius / GRID,
        )

    def chunks(self):
        """Yield codes in float64, class indices and weights of some rows."""
        for here in _slices(len(self.codes)):
            codes = self.codes[here].astype(np.float64)
            yield codes, self.class_indices[here], self.weights[here]


def length_edges(n_directions):
    """Return the squared edges of the bins of the lengths of whitened rows; public."""
    middle = GRID * np.sqrt(n_directions)
    return geometric_edges(_SHORTEST * middle, _LONGEST * middle)


def _slices(n):
    return [slice(i, i + ROWS_AT_ONCE) for i in range(0, n, ROWS_AT_ONCE)]
