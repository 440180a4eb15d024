"""Shared parts of all autoencoders: nearest reconstruction, public methods, parallel fits."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from skdp.membership._components import likely_components
from skdp.utils._kernel_regression import COUNT_OR_FRACTION
from skdp.utils._linalg import as_slice, row_blocks, squared_distances
from skdp.utils._parallel import draw_seeds, map_rows, run_tasks
from skdp.utils._sklearn import Interval
from skdp.utils._storage import require, stored_array
from skdp.utils._validation import check_array, validate_queries

# Smallest number of rows per subset that k-means clusters, as in FAISS for each cell of an
# inverted file. With all rows, time would grow with the square of their number.
_CLUSTERED_ROWS_EACH = 64
_CLUSTERED_ROWS = 8192


def nearest(candidates, Y, keep=None):
    """Reduce pairs (code, reconstruction) to the reconstruction nearest to each row of Y.

    Return its squared errors, and the rows of ``keep(code, reconstruction)`` where it is nearest.
    """
    errors, kept = np.full(len(Y), np.inf, dtype=Y.dtype), None
    for code, reconstruction in candidates:
        distances = squared_distances(Y, reconstruction)
        wins = distances < errors
        errors[wins] = distances[wins]
        if keep is not None:
            value = keep(code, reconstruction)
            kept = value.copy() if kept is None else kept
            kept[wins] = value[wins]
    return errors, kept


def take_output(code, reconstruction):
    """Keep the reconstruction; for :func:`nearest`."""
    return reconstruction


def error_sums(X, fitted):
    """Return the number of training rows and the sums of their squared errors and squares."""
    # Sums suffice, so that a model does not store one number per row.
    errors = squared_distances(X, fitted).astype(np.float64)
    return np.array([len(errors), errors.sum(), errors @ errors])


def check_codes(autoencoder, X):
    """Return the codes passed to an ``inverse_transform``, in the dtype of the autoencoder."""
    codes = check_array(X, dtype=autoencoder.dtype_)
    if codes.shape[1] != autoencoder.n_components_:
        raise ValueError(
            f"The codes passed to inverse_transform must have {autoencoder.n_components_} "
            f"columns, got {codes.shape[1]}. Pass the output of transform."
        )
    return codes


class BaseAutoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all autoencoders; a subclass defines ``candidates`` and sets ``dtype_``."""

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_inducing": COUNT_OR_FRACTION,
        "random_state": ["random_state"],
    }
    dtype_: np.dtype[Any]
    n_features_in_: int
    feature_names_in_: np.ndarray

    def reconstruct(self, X: ArrayLike) -> np.ndarray:
        """Return the nearest reconstruction of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to reconstruct.

        Returns
        -------
        X_reconstructed : ndarray of shape (n_samples, n_features)
            In the floating dtype of the training data.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import CDMMA
        >>> X = load_digits(n_class=1).data / 16
        >>> autoencoder = CDMMA(5, n_layers=2, random_state=0).fit(X)
        >>> autoencoder.reconstruct(X).shape
        (178, 64)
        """
        return self._map_rows(self.reconstruct_block, X, extra=2 * self.n_features_in_)

    def reconstruct_block(self, Y: np.ndarray) -> np.ndarray:
        """Return the reconstruction of a block of rows, without checks.

        For callers that check their rows and divide them into blocks themselves.

        Parameters
        ----------
        Y : ndarray of shape (n_rows, n_features)
            Validated rows, in the dtype in which to compute.

        Returns
        -------
        reconstructed : ndarray of shape (n_rows, n_features)
            The nearest candidate for each row.
        """
        return self._nearest(Y, take_output)[1]

    def _nearest(self, Y, keep=None):
        """Return the smallest errors of a block of rows, and the kept rows of best candidates."""
        return nearest(self.candidates(Y), Y, keep)

    def reconstruction_error(self, X: ArrayLike) -> np.ndarray:
        """Return the squared Euclidean distance of each row to its reconstruction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to reconstruct.

        Returns
        -------
        error : ndarray of shape (n_samples,)
            In squared units of X, summed over features.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import CDMMA
        >>> X = load_digits(n_class=1).data / 16
        >>> autoencoder = CDMMA(5, n_layers=2, random_state=0).fit(X)
        >>> error = autoencoder.reconstruction_error(X)
        >>> bool(error.mean() < (X**2).sum(axis=1).mean() / 5)
        True
        """
        return self._map_rows(lambda Y: self._nearest(Y)[0], X)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Encode X as the input of the layer with the nearest reconstruction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to encode.

        Returns
        -------
        code : ndarray of shape (n_samples, `n_components_`)
            Principal coordinates; coordinates that the layer does not use are zero.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skdp import CDMMA
        >>> X = load_digits(n_class=1).data / 16
        >>> autoencoder = CDMMA(5, n_layers=2, random_state=0).fit(X)
        >>> autoencoder.transform(X).shape
        (178, 5)
        """

        def keep(code, output):
            return np.pad(code, [(0, 0), (0, self._n_features_out - code.shape[1])])

        return self._map_rows(lambda Y: self._nearest(Y, keep)[1], X)

    def _map_rows(self, compute, X, extra=0):
        X = validate_queries(self, X)
        return map_rows(
            compute,
            X,
            values_per_row=self.values_per_row() + extra,
            dtype=self.dtype_,
            n_jobs=getattr(self, "n_jobs", None),
        )

    def _assemble(self, components, layers, dtype):
        """Set directions and layers, fitted or loaded."""
        self.dtype_ = np.dtype(dtype)
        self.components_ = components.astype(dtype, copy=False)
        self.n_components_, self.n_features_in_ = components.shape
        self._n_features_out = self.n_components_
        self.precisions_ = np.array([layer.precision for layer in layers])
        self._layers = [layer.astype(dtype) for layer in layers]
        return self

    def _from_arrays(self, arrays, key, dtype):
        """Restore and check the state from a file's arrays, whose names start with a key."""
        components = stored_array(arrays, f"{key}components", dtype, (None, None))
        layers = self._stored_layers(arrays, key, components)
        sums = stored_array(arrays, f"{key}error_sums", np.float64, (3,))
        require(sums.min() >= 0 and sums[0] > 0, f"{key}error_sums")
        self.training_error_sums_ = sums
        return self._assemble(components, layers, dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def with_parameters_of(estimator, kind, random_state=None, **others):
    """Return an unfitted autoencoder with the parameters shared with an estimator."""
    names = kind().get_params(deep=False)
    shared = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
    return kind(**{**shared, "random_state": random_state, **others})


def kmeans_partition(Y, n_subsets, random_state):
    """Return the row indices of n_subsets clusters of Y, without empty clusters."""
    random_state = check_random_state(random_state)
    n_sampled = max(_CLUSTERED_ROWS, _CLUSTERED_ROWS_EACH * n_subsets)
    sample = Y
    if len(Y) > n_sampled:
        sample = Y[np.sort(random_state.choice(len(Y), n_sampled, replace=False))]
    kmeans = KMeans(n_subsets, n_init=1, random_state=random_state).fit(sample)
    labels = kmeans.labels_
    if sample is not Y:
        labels = np.concatenate([kmeans.predict(Y[rows]) for rows in row_blocks(len(Y))])
    subsets = [np.flatnonzero(labels == s) for s in range(n_subsets)]
    return [rows for rows in subsets if rows.size]


def fit_autoencoders(estimator, kind, X, sets, *, compared=False):
    """Fit autoencoders for each set of rows, given by positions in X, in one pool of workers.

    An estimator's ``subset_size`` splits large sets by k-means, with one autoencoder per subset.
    If errors of sets will be ``compared``, "auto" is the same number of components for all.
    """
    # Each worker receives the rows of its subset when it starts, so that memory beyond X, which
    # may be a memmap, and the autoencoders does not grow with the number of rows. All seeds are
    # drawn before anything runs in parallel.
    random_state = check_random_state(estimator.random_state)
    size = estimator.subset_size
    counts = [1 if size is None else -(-len(rows) // int(size)) for rows in sets]
    seeds = draw_seeds(random_state, len(sets))
    # A set that is not split need not be sent to a worker.
    divided = [k for k, n_subsets in enumerate(counts) if n_subsets > 1]
    partitions = [[rows] for rows in sets]
    divisions = run_tasks(
        kmeans_partition,
        ((X[as_slice(sets[k])], counts[k], seeds[k]) for k in divided),
        len(divided),
        n_jobs=estimator.n_jobs,
    )
    for k, subsets in zip(divided, divisions, strict=True):
        partitions[k] = [sets[k][subset] for subset in subsets]
    jobs = [(k, rows) for k, subsets in enumerate(partitions) for rows in subsets]
    seeds = draw_seeds(random_state, len(jobs))
    sizes = [estimator.n_components] * len(jobs)
    if compared and estimator.n_components == "auto":
        sizes = likely_components(X, [rows for _, rows in jobs], n_jobs=estimator.n_jobs)
    fitted = run_tasks(
        kind.fit,
        (
            (with_parameters_of(estimator, kind, seed, n_components=size), X[as_slice(rows)])
            for (_, rows), seed, size in zip(jobs, seeds, sizes, strict=True)
        ),
        len(jobs),
        n_jobs=estimator.n_jobs,
        verbose=getattr(estimator, "verbose", 0),
        label=type(estimator).__name__,
        unit="autoencoders",
    )
    autoencoders: list[list] = [[] for _ in sets]
    for (k, _), autoencoder in zip(jobs, fitted, strict=True):
        autoencoders[k].append(autoencoder)
    return autoencoders
