r"""Search for the deep autoencoder that reconstructs a row best, with few reconstructions.

A reconstruction costs M·p products, with M inducing points and p features. In d orthonormal
directions Q it costs M·d and gives a lower bound of the error,

.. math:: \|Q(y - \hat y)\|^2 \le \|y - \hat y\|^2,

so an autoencoder whose bound exceeds the error of another cannot be the best. The bounds are
valid for any Q; the principal directions of the reconstructions make them tight. A deeper layer
needs :math:`P\hat y`, which costs M·n products instead of M·p, so reconstructions between the
layers are not needed either.
"""

from dataclasses import dataclass
from itertools import pairwise, starmap

import numpy as np

from skdp.utils._linalg import as_slice, squared_distances
from skdp.utils._parallel import map_rows, run_in_threads

# Directions of the bounds. On MNIST, of the 63 errors of a digit, 6.0, 2.2 and 1.2 are computed to
# find its class with 32, 64 and 128 of them.
N_DIRECTIONS = 64


@dataclass(frozen=True)
class _LayerTables:
    """One layer, prepared for queries."""

    # Inducing points, in coordinates in which the kernel is exp(−½|x − a|²), then ones, and
    # −½|a|²: multiplied by (x, −½|x|², 1) they give the kernel's logarithm. (n + 2, M)
    points: np.ndarray
    shift: np.ndarray  # the origin of these coordinates
    outputs: np.ndarray  # coefficients along the bounds' directions, and as the next layer reads
    coef: np.ndarray  # coefficients of the reconstruction

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


def _reader(components, layer):
    """Return the matrix that turns a row into the scaled input of a layer, (p, n)."""
    n = layer.inducing_points.shape[1]
    return components[:n].T * np.sqrt(layer.weights)


def _layer_tables(layer, along):
    points = layer.inducing_points * np.sqrt(layer.weights)
    shift = points.mean(axis=0)
    points = (points - shift).T
    norms = -0.5 * np.einsum("ij,ij->j", points, points)
    points = np.vstack([points, np.ones_like(norms), norms])
    return _LayerTables(points, shift, layer.coef @ along, layer.coef)


def _reconstructed_points(autoencoders):
    """Return some reconstructions of inducing points by each autoencoder, stacked."""
    # Eight reconstructions for each direction, which must be resolved.
    n_each = -(-N_DIRECTIONS * 8 // len(autoencoders))
    samples = []
    for autoencoder in autoencoders:
        layer = autoencoder._layers[0]
        some = np.linspace(0, len(layer.inducing_points) - 1, n_each).round().astype(int)
        samples.append(layer.predict(layer.inducing_points[np.unique(some)]))
    return np.vstack(samples)


def _leading_directions(samples):
    """Return orthonormal columns along which rows have most of their squares."""
    _, _, directions = np.linalg.svd(samples.astype(np.float64), full_matrices=False)
    return directions[:N_DIRECTIONS].T.astype(samples.dtype, order="C")


class _Race:
    """Errors of a block of rows, computed as far as needed.

    ``bounds``, ``errors`` and ``computed`` have the shape (n_rows, n_autoencoders, n_layers).
    """

    def __init__(self, search, Y, bounds, n_jobs):
        self.search, self.Y, self.bounds, self.n_jobs = search, Y, bounds, n_jobs
        self.errors = np.full(bounds.shape, np.inf, dtype=Y.dtype)
        self.computed = np.zeros(bounds.shape, dtype=bool)

    def compute(self, wanted):
        """Compute errors that are still missing."""
        errors = self.search.wanted_errors(self.Y, wanted, self.n_jobs)
        self.errors = np.minimum(self.errors, errors)
        self.computed |= wanted

    def compute_promising(self, groups):
        """Compute the error with the smallest bound per row and group, or all without bounds."""
        if not self.bounds.any():
            self.compute(~self.computed)
            return
        wanted = np.zeros_like(self.computed)
        for group in groups:
            members, depths = _least(self.bounds[:, group])
            wanted[np.arange(len(wanted)), group.start + members, depths] = True
        self.compute(wanted)

    def winners(self):
        """Return the smallest error of each group, with its autoencoder and layer."""
        sizes = self.search.sizes
        groups = list(starmap(slice, pairwise(sizes)))
        self.compute_promising(groups)
        least = np.minimum.reduceat(self.errors.min(axis=2), sizes[:-1], axis=1)
        least = np.repeat(least, np.diff(sizes), axis=1)[:, :, np.newaxis]
        self.compute((self.bounds < least) & ~self.computed)
        rows, errors, winners = np.arange(len(self.Y)), [], []
        for group in groups:
            members, depths = _least(self.errors[:, group])
            members += group.start
            errors.append(self.errors[rows, members, depths])
            winners.append(np.stack([members, depths], axis=1))
        return np.stack(errors, axis=1), np.stack(winners, axis=1)

    def leaders(self):
        """Return the group with the smallest error."""
        sizes = np.diff(self.search.sizes)
        group_of = np.repeat(np.arange(len(sizes)), sizes)
        self.compute_promising([slice(0, len(group_of))])
        while True:
            members, depths = _least(self.errors)
            leading, rows = group_of[members], np.arange(len(members))
            best = self.errors[rows, members, depths][:, np.newaxis, np.newaxis]
            # By how much the leading group leads does not matter.
            others = (group_of != leading[:, np.newaxis])[:, :, np.newaxis]
            wanted = (self.bounds < best) & ~self.computed & others
            if not wanted.any():
                return leading
            self.compute(wanted)


def _least(values):
    """Return the autoencoder and layer with the smallest value in each row."""
    return np.divmod(values.reshape(len(values), -1).argmin(axis=1), values.shape[2])


def _portions(positions):
    """Yield positions, a cache's worth of rows at a time."""
    for first in range(0, len(positions), 512):  # rows whose kernels fit into the cache together
        yield positions[first : first + 512]


class ReconstructionSearch:
    """The smallest reconstruction error of rows among autoencoders of several groups."""

    def __init__(self, groups):
        autoencoders = [a for group in groups for a in group]
        self.sizes = np.cumsum([0, *(len(group) for group in groups)])
        n_features = autoencoders[0].n_features_in_
        samples = _reconstructed_points(autoencoders)
        # Orthonormal columns along which bounds are computed; none if that costs as much as
        # errors.
        self.basis = np.empty((n_features, 0), dtype=samples.dtype)
        if n_features > 2 * N_DIRECTIONS:
            self.basis = _leading_directions(samples)
        self.projections, self.layers = [], []
        for autoencoder in autoencoders:
            layers = autoencoder._layers
            readers = [_reader(autoencoder.components_, layer) for layer in layers]
            self.projections.append(readers[0])
            readers = [*readers[1:], np.empty((n_features, 0), dtype=samples.dtype)]
            tables = [
                _layer_tables(layer, np.hstack([self.basis, following]))
                for layer, following in zip(layers, readers, strict=True)
            ]
            self.layers.append(tables)

    def errors(self, X, *, n_jobs=None):
        """Return the smallest error of each row among the autoencoders of each group, finite."""
        largest = float(np.finfo(self.basis.dtype).max)

        def compute(Y):
            errors, _ = self.winners_of_block(Y, n_jobs=n_jobs)
            # Queries so far away that squares overflow stay ordered and finite.
            return np.nan_to_num(errors, nan=largest, posinf=largest)

        return self._map_rows(compute, X)

    def nearest_group(self, X, *, n_jobs=None):
        """Return the group whose autoencoder has the smallest error for each row."""

        def compute(Y):
            [leaders] = self._race(Y, n_jobs, lambda race: (race.leaders(),))
            return leaders

        return self._map_rows(compute, X)

    def winners_of_block(self, Y, *, n_jobs=None):
        """Return the smallest errors by group, maybe infinite, with autoencoder and layer."""
        return self._race(Y, n_jobs, _Race.winners)

    def _map_rows(self, compute, X):
        cast = X.shape[1] if X.dtype != self.basis.dtype else 0
        n_errors = len(self.layers) * len(self.layers[0])
        largest = np.diff(self.sizes).max()
        return map_rows(
            compute,
            X,
            values_per_row=cast + 4 * n_errors + 2 * largest + 2 * N_DIRECTIONS,
            dtype=self.basis.dtype,
            # An autoencoder computes few of its errors, and products of few rows are slow.
            max_rows=16384,
        )

    def _race(self, Y, n_jobs, finish):
        """Return what ``finish`` returns of races for the rows."""
        along = Y @ self.basis
        n_autoencoders, n_layers = len(self.layers), len(self.layers[0])
        bounded = self.basis.shape[1] and n_autoencoders * n_layers > 1
        # Queries with much noise are alike along the basis: bounds then say little.
        # Bounds are tried on the first rows: they cost about a fifth of the errors, and are useful
        # if they leave few of these open.
        tried = 64 if bounded else len(Y)
        finished = []
        for some in starmap(slice, pairwise(np.unique([0, min(tried, len(Y)), len(Y)]))):
            bounds = np.zeros((len(Y[some]), n_autoencoders, n_layers), dtype=Y.dtype)
            if bounded:
                self._fill_bounds(bounds, Y[some], along[some], n_jobs)
            race = _Race(self, Y[some], bounds, n_jobs)
            finished.append(finish(race))
            bounded = bounded and race.computed.mean() <= 0.7
        return [np.concatenate(parts) for parts in zip(*finished, strict=True)]

    def _fill_bounds(self, bounds, Y, along, n_jobs):
        """Write lower bounds of the errors of all layers of all autoencoders."""
        n_directions = self.basis.shape[1]

        def fill(k):
            for rows in _portions(np.arange(len(Y))):
                block = as_slice(rows)
                x = Y[block] @ self.projections[k]
                for depth, layer in enumerate(self.layers[k]):
                    outputs = layer.kernel(x) @ layer.outputs
                    bound = squared_distances(along[block], outputs[:, :n_directions])
                    # Where squares overflow nothing is ruled out.
                    bounds[block, k, depth] = np.where(np.isfinite(bound), bound, 0.0)
                    x = outputs[:, n_directions:]

        run_in_threads(fill, range(len(self.layers)), n_jobs)

    def wanted_errors(self, Y, wanted, n_jobs=None):
        """Return the wanted errors, and infinity for the others."""
        n_directions = self.basis.shape[1]
        errors = np.full(wanted.shape, np.inf, dtype=Y.dtype)

        def fill(k):
            for rows in _portions(np.flatnonzero(wanted[:, k].any(axis=1))):
                block = Y[as_slice(rows)]
                needed, computed = wanted[rows, k], errors[rows, k]
                x = block @ self.projections[k]
                for depth, layer in enumerate(self.layers[k]):
                    kernel = layer.kernel(x)
                    some = as_slice(np.flatnonzero(needed[:, depth]))
                    residual = kernel[some] @ layer.coef
                    residual -= block[some]
                    computed[some, depth] = np.einsum("ij,ij->i", residual, residual)
                    if not needed[:, depth + 1 :].any():
                        break
                    x = kernel @ layer.outputs[:, n_directions:]
                errors[rows, k] = np.where(np.isnan(computed), np.inf, computed)

        run_in_threads(fill, range(len(self.layers)), n_jobs)
        return errors


class SearchCache:
    """Creates a :class:`ReconstructionSearch` when first needed, and keeps it.

    Its copies and pickles are empty, because the autoencoders determine its content.
    """

    def __init__(self):
        self._search = None

    def __call__(self, groups):
        """Return the search among autoencoders, the same groups at each call."""
        if self._search is None:
            self._search = ReconstructionSearch(groups)
        return self._search

    def __reduce__(self):
        return SearchCache, ()
