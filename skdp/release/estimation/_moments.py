"""Moments of the classes, freed of noise of known variance: counts, means, covariances."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Moments:
    """Counts, means and covariances of classes, freed of a noise whose variance is known.

    For independent noise of mean zero and variance v added to each element, the mean of a
    class of the noisy copy is unbiased, and so is its sample covariance less diag(v).

    Attributes
    ----------
    class_counts : ndarray of shape (n_classes,)
        Rows of each class; estimates where labels are noisy.

    effective_sizes : ndarray of shape (n_classes,)
        Effective sample sizes: rows of known class whose mean would be as certain. Equal to
        the counts where labels are not noisy.

    means : ndarray of shape (n_classes, n_features)

    covariances : ndarray of shape (n_classes, n_features * (n_features + 1) / 2)
        Upper triangles, row by row, of dtype float32. What rounding loses is a thousandth
        of what noise and sampling leave uncertain.

    noise : ndarray of shape (n_features,)
        Variance of the noise of each feature; 0 without noise.
    """

    class_counts: np.ndarray
    effective_sizes: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    noise: np.ndarray

    @classmethod
    def measure(cls, rows, weights, noise):
        """Return the moments of noisy rows.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_features)
            The noisy copy.

        weights : ndarray of shape (n_samples, n_classes)
            Weight of each row in each class: 0 or 1, or, where labels are noisy, numbers of
            either sign that make the sums unbiased, see
            :meth:`RandomizedResponse.unbiased_memberships`.

        noise : ndarray of shape (n_features,)
            Variance of the noise.
        """
        upper = np.triu_indices(rows.shape[1])
        class_counts, effective_sizes, means, covariances = [], [], [], []
        for w in weights.T:
            members = np.flatnonzero(w)
            w, Y = w[members, np.newaxis], rows[members].astype(np.float64)
            count = max(w.sum(), 1.0)
            size = count**2 / (w**2).sum()
            mean = (w * Y).sum(axis=0) / count
            Y -= mean
            # w = 1 gives the sample covariance with N − 1.
            scatter = (w * Y).T @ Y / count * (size / max(size - 1, 1.0))
            class_counts.append(count)
            effective_sizes.append(size)
            means.append(mean)
            covariances.append((scatter - np.diag(noise))[upper].astype(np.float32))
        fields = (class_counts, effective_sizes, means, covariances, noise)
        return cls(*map(np.array, fields))

    def select(self, class_indices):
        """Return the moments of some of the classes."""
        return replace(
            self,
            class_counts=self.class_counts[class_indices],
            effective_sizes=self.effective_sizes[class_indices],
            means=self.means[class_indices],
            covariances=self.covariances[class_indices],
        )

    @property
    def frequencies(self):
        """Return the fraction of rows in each class."""
        return self.class_counts / self.class_counts.sum()

    @property
    def mean(self):
        """Return the mean of all rows."""
        return self.frequencies @ self.means

    def total_covariance(self):
        """Return the noise-corrected covariance of all rows, (n_features, n_features)."""
        within = _unpack(self.frequencies @ self.covariances, self.means.shape[1])
        centred = self.means - self.mean
        spread = (centred.T * self.frequencies) @ centred
        # The means of N rows in K classes spread too far by (K − 1)/N of what single rows do.
        excess = (len(self.effective_sizes) - 1) / self.effective_sizes.sum()
        return within + spread - excess * (within + np.diag(self.noise))

    def project(self, components):
        """Return these moments in a subspace, centred at the mean of all rows.

        Parameters
        ----------
        components : ndarray of shape (n_directions, n_features)
            Orthonormal rows.

        Returns
        -------
        means : ndarray of shape (n_classes, n_directions)
        covariances : ndarray of shape (n_classes, n_directions, n_directions)
        noise : ndarray of shape (n_directions,)
            Variance of the noise in each direction.
        """
        p = self.means.shape[1]
        covariances = [components @ _unpack(c, p) @ components.T for c in self.covariances]
        return (
            (self.means - self.mean) @ components.T,
            np.array(covariances),
            components**2 @ self.noise,
        )


def _unpack(packed, p):
    matrix = np.zeros((p, p))
    matrix[np.triu_indices(p)] = packed
    return matrix + np.triu(matrix, 1).T
