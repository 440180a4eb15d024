r"""Which of many deep autoencoders reconstructs a row best, without reconstructing it by each.

A reconstruction costs M·p products, with M inducing points and p features. In d orthonormal
directions Q it costs M·d, and what it says is a lower bound of the error,

.. math:: \|Q(y - \hat y)\|^2 \le \|y - \hat y\|^2,

so that an autoencoder whose bound exceeds the error of another cannot be the best. The bounds
are exact whatever Q is; the principal directions of the reconstructions themselves make them
tight. A deeper layer reads :math:`P\hat y`, which costs M·n products in place of M·p, so that
reconstructions between the layers are not needed either.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skdp.utils._linalg import as_slice, squared_distances
from skdp.utils._parallel import map_rows, run_in_threads

# Directions of the bounds. On MNIST, of the 63 errors of a digit 7.1, 3.3 and 1.9 are computed
# in full with 32, 64 and 128 of them, see benchmarks/bench_limits.py.
_N_DIRECTIONS = 64
# Reconstructions from which the directions are found, for each of them. A rule of thumb.
_SAMPLES_PER_DIRECTION = 8
# Rows of a block. An autoencoder computes few of its errors, and products of few rows are slow.
_BLOCK_ROWS = 4096
# Rows whose kernels are in the cache at once.
_CACHED_ROWS = 512
# Rows of a block on which bounds are tried, and the share of errors that may be left open by them
# for bounds to be worth their price, which is about a fifth of that of the errors.
_TRIED_ROWS = 64
_OPEN_SHARE = 0.7


@dataclass(frozen=True)
class _LayerTables:
    """One layer, prepared for queries.

    Attributes
    ----------
    points : ndarray of shape (n + 2, M)
        Inducing points, in coordinates in which the kernel is exp(−½|x − a|²), then ones, and
        −½|a|²: times (x, −½|x|², 1) they make the kernel's logarithm in one product.

    shift : ndarray of shape (n,)
        The origin of these coordinates.

    outputs : ndarray of shape (M, d + n')
        Coefficients along the d directions of the bounds, and as the next layer reads them.

    coef : ndarray of shape (M, p)
        Coefficients of the reconstruction.
    """

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


def _reader(components, layer):
    """Return by what a row is multiplied to become the input of a layer, scaled, (p, n)."""
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
    """Return some reconstructions of inducing points, and the mean of those of each."""
    n_each = -(-_N_DIRECTIONS * _SAMPLES_PER_DIRECTION // len(autoencoders))
    samples, means = [], []
    for autoencoder in autoencoders:
        layer = autoencoder._layers[0]
        some = np.linspace(0, len(layer.inducing_points) - 1, n_each).round().astype(int)
        samples.append(layer.predict(layer.inducing_points[np.unique(some)]))
        means.append(samples[-1].mean(axis=0))
    return np.vstack(samples), np.stack(means)


def _leading_directions(samples, n_directions):
    """Return orthonormal columns along which rows have most of their squares."""
    _, _, directions = np.linalg.svd(samples.astype(np.float64), full_matrices=False)
    return directions[:n_directions].T.astype(samples.dtype, order="C")


def _blocks(chosen):
    """Yield the positions of the rows that are chosen, a cache's worth at a time."""
    rows = np.flatnonzero(chosen)
    for first in range(0, len(rows), _CACHED_ROWS):
        yield as_slice(rows[first : first + _CACHED_ROWS])


class ReconstructionSearch:
    """The least reconstruction error of rows among autoencoders, of each group or of all.

    It is prepared from the autoencoders as they are: of others, make another one.

    Parameters
    ----------
    groups : list of list of CDMMA
        Fitted, such as those of each class.

    Attributes
    ----------
    sizes : ndarray of shape (n_groups + 1,)
        Where groups begin and end among all autoencoders.

    basis : ndarray of shape (p, d)
        Orthonormal columns, along which bounds are computed; d = 0 where these would cost as
        much as the errors.

    centres : ndarray of shape (n_autoencoders, d or p)
        Mean reconstruction of inducing points by each, along the basis if there is one.

    projections : list of ndarray of shape (p, n)
        What the first layer of each reads, in the coordinates of its ``points``.

    layers : list of list of _LayerTables
        Of each.
    """

    def __init__(self, groups):
        autoencoders = [a for group in groups for a in group]
        self.sizes = np.cumsum([0, *(len(group) for group in groups)])
        n_features = autoencoders[0].n_features_in_
        samples, self.centres = _reconstructed_points(autoencoders)
        self.basis = np.empty((n_features, 0), dtype=samples.dtype)
        if n_features > 2 * _N_DIRECTIONS:
            self.basis = _leading_directions(samples, _N_DIRECTIONS)
            self.centres = self.centres @ self.basis
        self.projections, self.layers = [], []
        for autoencoder in autoencoders:
            layers = autoencoder._layers
            readers = [_reader(autoencoder.components_, layer) for layer in layers]
            self.projections.append(readers[0])
            readers = [*readers[1:], np.empty((n_features, 0), dtype=samples.dtype)]
            tables = [
                _layer_tables(layer, np.hstack([self.basis, reader]))
                for layer, reader in zip(layers, readers, strict=True)
            ]
            self.layers.append(tables)

    def errors(self, X, *, n_probe=None, n_jobs=None):
        """Return the least error of each row among the autoencoders of each group.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Validated queries.

        n_probe : int or None, default=None
            How many autoencoders of each group compete for a row, those with the nearest
            centres; None for all.

        n_jobs : int or None, default=None
            Threads. The result does not depend on it.

        Returns
        -------
        errors : ndarray of shape (n_samples, n_groups)
            In squared units of X, finite.
        """
        largest = float(np.finfo(self.basis.dtype).max)

        def compute(Y):
            errors, _ = self.search_block(Y, n_probe=n_probe, n_jobs=n_jobs)
            # Queries so far away that squares overflow stay ordered and finite.
            return np.nan_to_num(errors, nan=largest, posinf=largest)

        return self._map_rows(compute, X)

    def nearest_group(self, X, *, n_probe=None, n_jobs=None):
        """Return which group has the autoencoder with the least error of all, for each row.

        Parameters
        ----------
        X, n_probe, n_jobs
            As for :meth:`errors`.

        Returns
        -------
        groups : ndarray of shape (n_samples,)
            Position of the group.
        """
        group_of = np.repeat(np.arange(len(self.sizes) - 1), np.diff(self.sizes))

        def compute(Y):
            _, winners = self.search_block(Y, n_probe=n_probe, among_all=True, n_jobs=n_jobs)
            return group_of[winners[:, 0, 0]]

        return self._map_rows(compute, X)

    def _map_rows(self, compute, X):
        return map_rows(
            compute,
            X,
            values_per_row=X.shape[1] + 4 * len(self.layers) * len(self.layers[0]),
            dtype=self.basis.dtype,
            max_rows=_BLOCK_ROWS,
        )

    def search_block(self, Y, *, n_probe=None, among_all=False, n_jobs=None):
        """Search for a block of rows, in one piece.

        Parameters
        ----------
        Y : ndarray of shape (n_rows, n_features)
            Validated rows, in the dtype of the autoencoders.

        n_probe : int or None, default=None
            As for :meth:`errors`.

        among_all : bool, default=False
            Whether there is one winner among all groups, in place of one in each.

        n_jobs : int or None, default=None
            Threads, among which the autoencoders are divided.

        Returns
        -------
        errors : ndarray of shape (n_rows, n_winners)
            Least errors, which may be infinite where squares overflow.

        winners : ndarray of shape (n_rows, n_winners, 2)
            Position of the autoencoder that has this error, among those of all groups, and of
            its layer.
        """
        along = Y @ self.basis
        probed = self._probed(Y, along, n_probe)
        ends = self.sizes[[0, -1]] if among_all else self.sizes
        contests = [slice(first, last) for first, last in pairwise(ends)]
        errors = np.empty((*probed.shape, len(self.layers[0])), dtype=Y.dtype)
        done = 0
        if self.basis.shape[1] and errors.shape[2] * np.diff(ends).max() > 1:
            # Queries with much noise are alike along the basis: then bounds say little.
            for some in (slice(0, _TRIED_ROWS), slice(_TRIED_ROWS, len(Y))):
                errors[some], share = self._bounded(
                    Y[some], along[some], probed[some], contests, n_jobs
                )
                done = some.stop
                if share > _OPEN_SHARE or done >= len(Y):
                    break
        rest = slice(done, None)
        every = np.broadcast_to(probed[rest, :, np.newaxis], errors[rest].shape)
        errors[rest] = self._errors(Y[rest], every, n_jobs)
        return _winners(errors, contests)

    def _bounded(self, Y, along, probed, contests, n_jobs):
        """Return errors, infinite where bounds rule them out, and the share that is not."""
        bounds = self._bounds(Y, along, probed, n_jobs)
        errors = self._errors(Y, _promising(bounds, contests), n_jobs)
        least = np.empty_like(bounds[:, :, :1])
        for here in contests:
            least[:, here] = errors[:, here].min(axis=(1, 2), keepdims=True)
        left_open = (bounds < least) & np.isinf(errors)
        errors = np.minimum(errors, self._errors(Y, left_open, n_jobs))
        return errors, np.isfinite(errors).sum() / max(1, probed.sum() * bounds.shape[2])

    def _bounds(self, Y, along, probed, n_jobs=None):
        """Return lower bounds of the errors of all layers, infinite where none is asked for."""
        n_directions = self.basis.shape[1]
        bounds = np.full((*probed.shape, len(self.layers[0])), np.inf, dtype=Y.dtype)

        def fill(k):
            for rows in _blocks(probed[:, k]):
                x = Y[rows] @ self.projections[k]
                for depth, layer in enumerate(self.layers[k]):
                    outputs = layer.kernel(x) @ layer.outputs
                    bound = squared_distances(along[rows], outputs[:, :n_directions])
                    # Where squares overflow nothing is ruled out.
                    bounds[rows, k, depth] = np.where(np.isfinite(bound), bound, 0.0)
                    x = outputs[:, n_directions:]

        run_in_threads(fill, range(len(self.layers)), n_jobs)
        return bounds

    def _errors(self, Y, wanted, n_jobs=None):
        """Return errors of rows by layers that are wanted, and infinity for the others."""
        n_directions = self.basis.shape[1]
        errors = np.full(wanted.shape, np.inf, dtype=Y.dtype)

        def fill(k):
            last = np.flatnonzero(wanted[:, k].any(axis=0)).max(initial=-1)
            for rows in _blocks(wanted[:, k].any(axis=1)):
                here, own = Y[rows], wanted[rows, k]
                found = np.full(own.shape, np.inf, dtype=Y.dtype)
                x = here @ self.projections[k]
                for depth, layer in enumerate(self.layers[k][: last + 1]):
                    kernel = layer.kernel(x)
                    some = as_slice(np.flatnonzero(own[:, depth]))
                    residual = kernel[some] @ layer.coef
                    residual -= here[some]
                    found[some, depth] = np.einsum("ij,ij->i", residual, residual)
                    x = kernel @ layer.outputs[:, n_directions:]
                errors[rows, k] = np.where(np.isnan(found), np.inf, found)

        run_in_threads(fill, range(len(self.layers)), n_jobs)
        return errors

    def _probed(self, Y, along, n_probe):
        """Return which autoencoders compete for which rows, (n_rows, n_autoencoders)."""
        probed = np.ones((len(Y), len(self.layers)), dtype=bool)
        if n_probe is None:
            return probed
        # The same constant for all, |y|², makes no difference.
        distances = 0.5 * np.einsum("ij,ij->i", self.centres, self.centres)
        distances = distances - (along if self.basis.shape[1] else Y) @ self.centres.T
        for first, last in pairwise(self.sizes):
            if last - first > n_probe:
                far = np.argpartition(distances[:, first:last], n_probe - 1, axis=1)[:, n_probe:]
                np.put_along_axis(probed[:, first:last], far, False, axis=1)
        return probed


def _promising(bounds, contests):
    """Mark the entrant with the least bound of each contest, for each row."""
    rows, n_layers = np.arange(len(bounds)), bounds.shape[2]
    marked = np.zeros(bounds.shape, dtype=bool)
    for here in contests:
        least = bounds[:, here].reshape(len(bounds), -1).argmin(axis=1)
        k, depth = np.divmod(least, n_layers)
        marked[rows, here.start + k, depth] = True
    return marked


def _winners(errors, contests):
    """Return the least error of each contest, and which autoencoder and layer has it."""
    rows, n_layers = np.arange(len(errors)), errors.shape[2]
    least, winners = [], []
    for here in contests:
        entrants = errors[:, here].reshape(len(errors), -1)
        winner = entrants.argmin(axis=1)
        k, depth = np.divmod(winner, n_layers)
        least.append(entrants[rows, winner])
        winners.append(np.stack([here.start + k, depth], axis=1))
    return np.stack(least, axis=1), np.stack(winners, axis=1)


class SearchCache:
    """Prepares a :class:`ReconstructionSearch` when it is first needed, and keeps it.

    Copies and pickles of it are empty: what it keeps follows from the autoencoders.
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
