"""The few directions in which rows of a domain differ."""

from dataclasses import dataclass

import numpy as np

from skdp.utils._linalg import principal_directions

# Floor of the variances behind noise, in units of what noise leaves uncertain; rule of thumb.
_FLOOR = 0.5


@dataclass(frozen=True)
class Subspace:
    """Principal directions of a domain.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)

    components : ndarray of shape (n_directions, n_features)
        Orthonormal rows.

    variances : ndarray of shape (n_directions,)
        Of the rows of the domain, without noise; positive, largest first.
    """

    mean: np.ndarray
    components: np.ndarray
    variances: np.ndarray

    @classmethod
    def of_rows(cls, X, n_directions):
        """Return the leading principal directions of rows as they are."""
        X = X.astype(np.float64, copy=False)
        mean = X.mean(axis=0)
        components = principal_directions(X, min(n_directions, X.shape[1]))
        variances = ((X - mean) @ components.T).var(axis=0)
        return cls(mean, components, np.maximum(variances, np.finfo(np.float64).tiny))

    @classmethod
    def of_moments(cls, moments, n_directions):
        """Return the leading principal directions of the rows behind a noisy copy.

        Those of the noise-corrected covariance. Half of what noise leaves uncertain, see
        :attr:`Moments.eigenvalue_noise`, is the floor of the variances.
        """
        values, vectors = np.linalg.eigh(moments.total_covariance())
        first = np.argsort(-values)[:n_directions]
        floor = max(
            _FLOOR * moments.eigenvalue_noise,
            values.max() * np.finfo(np.float32).eps,
            np.finfo(np.float64).tiny,
        )
        return cls(moments.mean, vectors[:, first].T, np.maximum(values[first], floor))

    @property
    def scale(self):
        """Return the factor that makes the average variance of a direction 1.

        Rows that are all the same have no unit; it is 1.
        """
        average = self.variances.mean()
        return 1 / np.sqrt(average) if average > np.finfo(np.float64).tiny else 1.0

    def project(self, X):
        """Return centred coordinates, of shape (n_samples, n_directions)."""
        return (X - self.mean) @ self.components.T

    def encode(self, X):
        """Return the coordinates in units of their average variance, in the dtype of X."""
        return (self.project(X) * self.scale).astype(X.dtype, copy=False)

    def noise(self, variances):
        """Return the variances in codes of independent noise with these in the features."""
        return self.components**2 @ variances * self.scale**2
