"""Sums over private rows behind Gaussian noise of known size."""

from dataclasses import dataclass

import numpy as np

from skdp.release._posterior import positive_mean

# Of a row more in each count: an absent class keeps a frequency.
_HALF = 0.5
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class NoisyStatistics:
    """Sums over rows z (encoded, centred, clipped to ‖z‖ ≤ R) of class y, with their noise.

    Noise is normal of mean zero and independent in each number, except that ``second`` is
    symmetric. What depends on the number of rows is taken from ``counts``, never from the rows.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
        Rows of each class; may be negative.

    total : ndarray of shape (n_basis,)
        Σ z.

    contrast : ndarray of shape (n_classes, n_basis)
        Σ (e_y − π) zᵀ, e_y the indicator of the row's class, so that Σ z of class c is
        ``contrast[c] + frequencies[c] * total``. Its rows sum to zero but for the noise.

    frequencies : ndarray of shape (n_classes,)
        The public π in ``contrast``: positive, of sum 1.

    second : ndarray of shape (n_basis, n_basis)
        Σ z zᵀ.

    radius : float
        R.

    count_sd, total_sd, contrast_sd : float
        Standard deviations of the noise in each number; 0 without noise.

    second_sd : float
        The same of the diagonal of ``second``; off it, second_sd/√2.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import NoisyStatistics
    >>> z, y = np.array([[-1.0], [0.5], [1.0]]), np.array([0, 1, 1])
    >>> pi = np.array([0.5, 0.5])
    >>> statistics = NoisyStatistics(
    ...     counts=np.bincount(y), total=z.sum(axis=0), contrast=(np.eye(2)[y] - pi).T @ z,
    ...     frequencies=pi, second=z.T @ z, radius=1.0,
    ...     count_sd=0.0, total_sd=0.0, contrast_sd=0.0, second_sd=0.0,
    ... )
    >>> statistics.contrast + np.outer(pi, statistics.total)
    array([[-1. ],
           [ 1.5]])
    """

    counts: np.ndarray
    total: np.ndarray
    contrast: np.ndarray
    frequencies: np.ndarray
    second: np.ndarray
    radius: float
    count_sd: float
    total_sd: float
    contrast_sd: float
    second_sd: float

    @property
    def row_counts(self):
        """Return positive rows of each class, ndarray of shape (n_classes,).

        No row has a square above R², so that there are no fewer than the trace of ``second``
        says, two standard deviations of its noise apart.
        """
        counts = positive_counts(self.counts, self.count_sd)
        certain = self.second.trace() - 2 * self.second_sd * np.sqrt(len(self.second))
        return counts * max(1.0, certain / self.radius**2 / counts.sum())


def positive_counts(counts, deviation):
    """Return positive numbers of rows from noisy ones, see :func:`positive_mean`."""
    return positive_mean(counts, deviation) + _HALF
