"""Principal directions, distances, positive-definite floors, and slices."""

import numpy as np
from scipy.linalg import eigh

# Added to divisors and arguments of logarithms that may be zero.
TINY = np.finfo(np.float64).tiny
# Relative size of rounding errors of zero, and smallest value that keeps quotients finite.
NEGLIGIBLE = 1e-9
# Rows of a block that is cast to double precision: 3 MiB of 784 features. Blocks of 4,096 are no
# faster, and raise the peak memory of DPSource by a quarter of its rows.
_ROWS_AT_ONCE = 512


def row_blocks(n_rows):
    """Yield slices of rows for computations in little memory."""
    for first in range(0, n_rows, _ROWS_AT_ONCE):
        yield slice(first, min(first + _ROWS_AT_ONCE, n_rows))


def principal_directions(Y, n_components, center=True):
    """Return the leading eigenvectors of the covariance of Y, or uncentered moment, as rows."""
    # Kumar and Moser, Algorithm 2, step 4; without centering, SERUMS D3.1 (2019), equations
    # (2.147)–(2.149). In double precision. At most n_components of them, and no more than the
    # numerical rank of the (centered) data, but at least one: a direction without variance would
    # only add noise to the kernel.
    n_samples, n_features = Y.shape
    mean = Y.mean(axis=0, dtype=np.float64) if center else 0.0
    # The covariance (p, p) and the Gram matrix (N, N) share their non-zero spectrum.
    wide = n_samples < n_features
    if wide:
        centered = np.subtract(Y, mean, dtype=np.float64)
        moment = centered @ centered.T
    else:
        moment = np.zeros((n_features, n_features))
        for rows in row_blocks(n_samples):
            centered = np.subtract(Y[rows], mean, dtype=np.float64)
            moment += centered.T @ centered
    size = len(moment)
    first = max(0, size - n_components)
    values, vectors = eigh(moment, subset_by_index=[first, size - 1], driver="evr")
    values, vectors = values[::-1], vectors[:, ::-1]
    resolved = values > max(Y.shape) * np.finfo(np.float64).eps * values[0]
    if not resolved.any():
        return np.eye(1, n_features)
    directions = vectors[:, resolved].T
    if wide:
        directions = directions @ centered / np.sqrt(values[resolved])[:, np.newaxis]
        # If variances are all rounding errors, these directions do not have length 1.
        lengths = np.linalg.norm(directions, axis=1)
        sound = np.abs(lengths - 1) < 1e-6
        directions = directions[sound] if sound.any() else np.eye(1, n_features)
    # Fix the signs, so that codes are the same on every machine.
    peaks = np.abs(directions).argmax(axis=1)
    return directions * np.sign(directions[np.arange(len(peaks)), peaks])[:, np.newaxis]


def squared_distances(Y, Z):
    """Return the squared Euclidean distance of each row of Y to the same row of Z."""
    difference = Y - Z
    return np.einsum("ij,ij->i", difference, difference)


def positive_definite_floor(covariance, least=0.0, relative=0.0):
    """Return symmetric matrices with their eigenvalues raised to a floor.

    The floor is absolute, or relative to the largest eigenvalue, if that is larger.
    """
    values, vectors = np.linalg.eigh(covariance)
    floor = np.maximum(least, relative * values[..., -1:])
    raised = np.maximum(values, floor)[..., np.newaxis, :]
    return (vectors * raised) @ vectors.swapaxes(-1, -2)


def as_slice(positions):
    """Return consecutive positions as a slice, which copies nothing; others unchanged."""
    if len(positions) == 0:
        return slice(0, 0)
    first = int(positions[0])
    follow = np.array_equal(positions, np.arange(first, first + len(positions)))
    return slice(first, first + len(positions)) if follow else positions
