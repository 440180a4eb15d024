"""What all autoencoders share: principal directions, nearest reconstruction, methods."""

from numbers import Integral

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.utils._parallel import map_rows
from skdp.utils._sklearn import Interval, RealNotInt

_SMALLEST, _LARGEST = 1e-12, 1e12


def principal_directions(Y, n_components, centre=True):
    """Return the leading eigenvectors of the second moment of Y, as rows.

    Of the sample covariance, that is; or of the uncentred second moment without centring.
    At most n_components of them, and no more than the numerical rank of the (centred) data
    (but at least one): a direction without variance would only add noise to the kernel.
    """
    centred = Y - Y.mean(axis=0) if centre else Y
    n_samples, n_features = Y.shape
    # The covariance (p, p) and the Gram matrix (N, N) share their non-zero spectrum.
    wide = n_samples < n_features
    moment = centred @ centred.T if wide else centred.T @ centred
    size = len(moment)
    first = max(0, size - n_components)
    values, vectors = eigh(moment, subset_by_index=[first, size - 1], driver="evr")
    values, vectors = values[::-1], vectors[:, ::-1]
    resolved = values > max(Y.shape) * np.finfo(np.float64).eps * values[0]
    if not resolved.any():
        return np.eye(1, n_features)
    directions = vectors[:, resolved].T
    if wide:
        directions = directions @ centred / np.sqrt(values[resolved])[:, np.newaxis]
    # Fix the signs, so that codes are the same on every machine.
    peaks = np.abs(directions).argmax(axis=1)
    return directions * np.sign(directions[np.arange(len(peaks)), peaks])[:, np.newaxis]


def squared_distances(Y, Z):
    """Return the squared Euclidean distance of each row of Y from that row of Z."""
    difference = Y - Z
    return np.einsum("ij,ij->i", difference, difference)


def check_magnitude(values, name):
    """Raise ValueError unless the largest magnitude is such that its powers can be told apart.

    Squares, products and inverse squares of the values must stay within floating point.
    """
    largest = np.abs(values).max()
    if largest and not _SMALLEST < largest < _LARGEST:
        raise ValueError(
            f"Input {name} must have its largest magnitude between {_SMALLEST:g} and "
            f"{_LARGEST:g}, got {largest:g}. Scale it to about unit range."
        )


def nearest(candidates, Y, keep=None):
    """Reduce reconstructions to the one nearest to each row.

    Parameters
    ----------
    candidates : iterable of (code, reconstruction)
        Arrays with one row for each row of Y, produced one pair at a time.

    Y : ndarray of shape (n_samples, n_features)
        Rows to be reconstructed.

    keep : callable, default=None
        ``keep(code, reconstruction)`` gives the array whose rows are kept where that
        candidate wins.

    Returns
    -------
    errors : ndarray of shape (n_samples,)
        Least squared reconstruction errors.

    kept : ndarray or None
        Rows of ``keep`` for the winners.
    """
    errors, kept = np.full(len(Y), np.inf, dtype=Y.dtype), None
    for code, reconstruction in candidates:
        distances = squared_distances(Y, reconstruction)
        wins = distances < errors
        errors[wins] = distances[wins]
        if keep is not None:
            value = keep(code, reconstruction)
            kept = value if kept is None else np.where(_column(wins, value), value, kept)
    return errors, kept


def _column(flags, like):
    """Reshape one flag a row so that it broadcasts over the other axes of an array."""
    return flags.reshape(-1, *[1] * (like.ndim - 1))


def take_output(code, reconstruction):
    """Keep the reconstruction; for :func:`nearest`."""
    return reconstruction


class BaseAutoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The public methods of all autoencoders, given ``_candidates`` and ``_dtype``."""

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_inducing": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "random_state": ["random_state"],
    }

    def reconstruct(self, X):
        """Return the reconstruction of X: where there are candidates, the nearest one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to reconstruct.

        Returns
        -------
        X_reconstructed : ndarray of shape (n_samples, n_features)
            In the floating dtype of the training data.
        """

        def compute(Y):
            return nearest(self._candidates(Y), Y, take_output)[1]

        return self._map_rows(compute, X, extra=2 * self.n_features_in_)

    def reconstruction_error(self, X):
        """Return the squared Euclidean distance of each row from its reconstruction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to reconstruct.

        Returns
        -------
        error : ndarray of shape (n_samples,)
            In squared units of X, summed over features.
        """
        return self._map_rows(lambda Y: nearest(self._candidates(Y), Y)[0], X)

    def transform(self, X):
        """Encode X: the coordinates that the layer whose output is taken reads.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to encode.

        Returns
        -------
        code : ndarray of shape (n_samples, `n_components_`)
            Principal coordinates, those that the layer does not read being zero.
        """

        def keep(code, output):
            padded = np.zeros((len(code), self._n_features_out), dtype=code.dtype)
            padded[:, : code.shape[1]] = code
            return padded

        return self._map_rows(lambda Y: nearest(self._candidates(Y), Y, keep)[1], X)

    def _check_codes(self, X):
        codes = check_array(X, dtype=self._dtype)
        if codes.shape[1] != self.n_components_:
            raise ValueError(
                f"The codes passed to inverse_transform must have {self.n_components_} "
                f"columns, got {codes.shape[1]}. Pass what transform returned."
            )
        return codes

    def _set_training_errors(self, X, fitted):
        # Sums, not the errors of single rows: a model need not carry one number for each.
        errors = squared_distances(X, fitted).astype(np.float64)
        self.training_error_sums_ = np.array([len(errors), errors.sum(), errors @ errors])

    def _map_rows(self, compute, X, extra=0):
        check_is_fitted(self)
        X = validate_data(self, X, dtype="numeric", reset=False)
        return map_rows(
            compute,
            X,
            values_per_row=self._values_per_row() + extra,
            dtype=self._dtype,
            n_jobs=getattr(self, "n_jobs", None),
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
