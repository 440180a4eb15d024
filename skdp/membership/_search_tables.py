"""Deep autoencoders prepared for queries: kernels by one product, coefficients along a basis."""

from dataclasses import dataclass

import numpy as np

# Directions of the bounds. On MNIST, of the 63 errors of a digit 6.0, 2.2 and 1.2 are computed to
# find its class with 32, 64 and 128 of them, see benchmarks/bench_limits.py.
N_DIRECTIONS = 64
# Reconstructions from which the directions are found, for each of them. A rule of thumb.
_SAMPLES_PER_DIRECTION = 8


@dataclass(frozen=True)
class LayerTables:
    """One layer, prepared for queries."""

    points: np.ndarray
    shift: np.ndarray
    outputs: np.ndarray
    coef: np.ndarray

    def kernel(self, x):
        """Return the kernel of rows in the coordinates of ``points``, not shifted yet."""
        n_rows, n = x.shape
        terms = np.empty((n_rows, n + 2), dtype=x.dtype)
        np.subtract(x, self.shift, out=terms[:, :n])
        np.einsum("ij,ij->i", terms[:, :n], terms[:, :n], out=terms[:, n])
        terms[:, n] *= -0.5
        terms[:, n + 1] = 1.0
        kernel = terms @ self.points
        return np.exp(kernel, out=kernel)


def reader(components, layer):
    """Return by what a row is multiplied to become the input of a layer, scaled, (p, n)."""
    n = layer.inducing_points.shape[1]
    return components[:n].T * np.sqrt(layer.weights)


def layer_tables(layer, along):
    points = layer.inducing_points * np.sqrt(layer.weights)
    shift = points.mean(axis=0)
    points = (points - shift).T
    norms = -0.5 * np.einsum("ij,ij->j", points, points)
    points = np.vstack([points, np.ones_like(norms), norms])
    return LayerTables(points, shift, layer.coef @ along, layer.coef)


def reconstructed_points(autoencoders):
    """Return some reconstructions of inducing points by each autoencoder, one below the other."""
    n_each = -(-N_DIRECTIONS * _SAMPLES_PER_DIRECTION // len(autoencoders))
    samples = []
    for autoencoder in autoencoders:
        layer = autoencoder._layers[0]
        some = np.linspace(0, len(layer.inducing_points) - 1, n_each).round().astype(int)
        samples.append(layer.predict(layer.inducing_points[np.unique(some)]))
    return np.vstack(samples)


def leading_directions(samples):
    """Return orthonormal columns along which rows have most of their squares."""
    _, _, directions = np.linalg.svd(samples.astype(np.float64), full_matrices=False)
    return directions[:N_DIRECTIONS].T.astype(samples.dtype, order="C")


def mean_outputs(layer, n_directions):
    """Return the mean reconstruction of the inducing points, along the basis if there is one."""
    # Points as they are stored need no shift any more.
    kernel = layer.kernel(layer.points[:-2].T + layer.shift)
    return kernel.mean(axis=0) @ (layer.outputs[:, :n_directions] if n_directions else layer.coef)
