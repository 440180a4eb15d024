"""Moments of the classes under noise of known variance: counts, means, covariances."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skdp.release._parts import (
    LARGEST_MEAN,
    LARGEST_VARIANCE,
    Part,
    array,
    require,
)
from skdp.release._posterior import shrunk_vectors
from skdp.utils._linalg import NEGLIGIBLE, TINY, row_blocks


@dataclass(frozen=True)
class Moments(Part):
    """Counts, means and covariances of classes, and the uncertainty that noise adds to them.

    Noise was added to rows, or to sums of rows. For independent noise of mean zero and variance
    v added to each element, the mean of a class of the noisy copy is unbiased, and so is its
    sample covariance minus diag(v). Noise that was added to sums is in the moments themselves,
    with variances ``mean_noise`` and ``covariance_noise``.

    Attributes
    ----------
    class_counts : ndarray of shape (n_classes,)
        Rows of each class; estimates where labels are noisy.

    effective_sizes : ndarray of shape (n_classes,)
        Effective sample sizes: the numbers of correctly labeled rows whose means would be as
        certain. Equal to the counts where labels are not noisy.

    means : ndarray of shape (n_classes, n_features)

    covariances : ndarray of shape (n_covariances, n_features * (n_features + 1) / 2)
        Upper triangles, row by row, of dtype float32. The rounding error is a thousandth
        of the uncertainty due to noise and sampling. One for each class, or a single one that
        all classes share: the covariance within classes.

    noise : ndarray of shape (n_features,)
        Variance of the noise of each feature of a row; 0 without noise.

    mean_noise : ndarray of shape (n_classes, n_features)
        Variance of the noise of sums in each mean.

    covariance_noise : ndarray of shape (n_covariances, n_features)
        Variance of the noise of sums on the diagonal of each covariance. The variance at entry
        (i, j) is half the geometric mean of the variances at (i, i) and (j, j).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import Moments
    >>> rows = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 3.0], [6.0, 5.0]])
    >>> labels = np.array([0, 0, 1, 1])
    >>> moments = Moments.measure(rows, np.eye(2)[labels], noise=np.zeros(2))
    >>> moments.means
    array([[1., 1.],
           [5., 4.]])
    >>> moments.covariance(0)
    array([[2., 0.],
           [0., 0.]])
    """

    class_counts: np.ndarray = array("K", least=NEGLIGIBLE)
    effective_sizes: np.ndarray = array("K", least=NEGLIGIBLE)
    means: np.ndarray = array("K p", below=LARGEST_MEAN)
    covariances: np.ndarray = array("c tri(p)", below=LARGEST_VARIANCE)
    noise: np.ndarray = array("p", key="noise_variances", least=0, below=LARGEST_VARIANCE)
    mean_noise: np.ndarray = array(
        "K p", key="mean_noise_variances", least=0, below=LARGEST_VARIANCE
    )
    covariance_noise: np.ndarray = array("c p", key="covariance_noise_variances", least=0)

    @classmethod
    def measure(cls, rows: np.ndarray, weights: np.ndarray, noise: np.ndarray) -> Self:
        """Return the moments of noisy rows.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_features)
            The noisy copy.

        weights : ndarray of shape (n_samples, n_classes)
            Weight of each row in each class: 0 or 1, or, where labels are noisy, numbers of
            either sign that make the sums unbiased, see
            :meth:`~skdp.RandomizedResponse.unbiased_memberships`.

        noise : ndarray of shape (n_features,)
            Variance of the noise.
        """
        upper = np.triu_indices(rows.shape[1])
        class_counts, effective_sizes, means = [], [], []
        covariances = np.empty((weights.shape[1], len(upper[0])), dtype=np.float32)
        for c, w in enumerate(weights.T):
            members = np.flatnonzero(w)
            w = w[members, np.newaxis]
            count = max(w.sum(), 1.0)
            size = count**2 / (w**2).sum()
            mean, scatter = np.zeros(rows.shape[1]), 0.0
            for some in row_blocks(len(members)):
                mean += (w[some] * rows[members[some]]).sum(axis=0, dtype=np.float64)
            mean /= count
            for some in row_blocks(len(members)):
                Y = rows[members[some]] - mean
                scatter += (w[some] * Y).T @ Y
            # w = 1 gives the sample covariance with N − 1.
            scatter *= size / max(size - 1, 1.0) / count
            class_counts.append(count)
            effective_sizes.append(size)
            means.append(mean)
            covariances[c] = (scatter - np.diag(noise))[upper]
        none = np.zeros_like(means)
        fields = (class_counts, effective_sizes, means, covariances, noise, none, none)
        return cls(*map(np.array, fields))

    def select(self, class_indices: ArrayLike) -> Self:
        """Return the moments of some of the classes."""
        of_classes = ["class_counts", "effective_sizes", "means", "mean_noise"]
        if len(self.covariances) == len(self.means):
            of_classes += ["covariances", "covariance_noise"]
        return replace(self, **{name: getattr(self, name)[class_indices] for name in of_classes})

    def restrict(self, columns: np.ndarray) -> Self:
        """Return the moments of some of the columns, in the order of their numbers."""
        p = self.means.shape[1]
        upper = np.triu_indices(p)
        places = np.zeros((p, p), dtype=np.intp)
        places[upper] = places.T[upper] = np.arange(len(upper[0]))
        chosen = places[np.ix_(columns, columns)][np.triu_indices(len(columns))]
        of_columns = ["means", "noise", "mean_noise", "covariance_noise"]
        parts = {name: getattr(self, name)[..., columns] for name in of_columns}
        return replace(self, covariances=self.covariances[:, chosen], **parts)

    @property
    def frequencies(self) -> np.ndarray:
        """Fraction of rows in each class, ndarray of shape (n_classes,)."""
        return self.class_counts / self.class_counts.sum()

    @property
    def mean(self) -> np.ndarray:
        """Mean of all rows, ndarray of shape (n_features,)."""
        return self.frequencies @ self.means

    @property
    def shares(self) -> np.ndarray:
        """Weight of each covariance in that within classes; the sum is 1."""
        return self.frequencies if len(self.covariances) > 1 else np.ones(1)

    def covariance(self, class_index: int) -> np.ndarray:
        """Return the covariance of rows of a class, (n_features, n_features), noise included."""
        packed = self.covariances[class_index if len(self.covariances) > 1 else 0]
        return _unpack(packed, self.means.shape[1])

    def within_covariance(self) -> np.ndarray:
        """Return the noise-corrected covariance within classes, (n_features, n_features)."""
        return _unpack(self.shares @ self.covariances, self.means.shape[1])

    def shrunken_means(self) -> np.ndarray:
        """Return class means, shrunk towards the mean of all rows by their noise.

        The square of a distance is too large by the variance of its noise. Without noise of
        sums they are the means.
        """
        if not self.mean_noise.any():
            return self.means
        units = self.mean_noise.mean(axis=0)  # in units of the noise of each column
        units = np.maximum(units, units.max() * np.finfo(np.float64).eps)
        root, noise = np.sqrt(units), (self.mean_noise / units).sum(axis=1)
        return root * shrunk_vectors(self.means / root, self.mean / root, noise)

    @property
    def precision(self) -> float:
        """Precision of class means, as an equivalent number of rows of a class without noise.

        The trace of the total covariance divided by the trace of the covariance of a mean's
        error, which is averaged over the classes and includes the noise.
        """
        total = np.diag(self.total_covariance())
        error = (total + self.noise).sum() / self.effective_sizes + self.mean_noise.sum(axis=1)
        return float(max(total.sum(), TINY) / max(error.mean(), TINY))

    @property
    def variance_errors(self) -> np.ndarray:
        """Standard errors of the variances within classes, ndarray of shape (n_features,).

        They include the sampling of N normal rows and the noise.
        """
        spread = self.within_covariance().diagonal() + self.noise
        square = 2 * spread**2 / self.effective_sizes.sum()
        return np.sqrt(square + self.shares**2 @ self.covariance_noise)

    @property
    def eigenvalue_noise(self) -> float:
        """Upper bound of the change of eigenvalues of the total covariance by noise.

        Of N rows of p features, row noise of variance v moves them by about v·√(p/N). A
        symmetric matrix of noise of variance e² on its diagonal, and e²/2 off it, has
        eigenvalues up to e·√(2p).
        """
        p = len(self.noise)
        moved = self.noise.mean() * np.sqrt(p / self.effective_sizes.sum())
        return moved + np.sqrt(2 * p * (self.shares**2 @ self.covariance_noise).mean())

    def total_covariance(self) -> np.ndarray:
        """Return the noise-corrected covariance of all rows, (n_features, n_features)."""
        within = self.within_covariance()
        centered = self.means - self.mean
        spread = (centered.T * self.frequencies) @ centered
        # Means spread by f_c(1 − f_c) of their noise too, as the mean of all has some of it.
        remaining = self.frequencies * (1 - self.frequencies)
        spread -= np.diag(remaining @ self.mean_noise)
        # The means of N rows in K classes spread too far by (K − 1)/N of what single rows do.
        excess = (len(self.effective_sizes) - 1) / self.effective_sizes.sum()
        return within + spread - excess * (within + np.diag(self.noise))

    def project(self, components: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return these moments in a subspace, centered at the mean of all rows.

        Parameters
        ----------
        components : ndarray of shape (n_directions, n_features)
            Orthogonal rows.

        Returns
        -------
        means : ndarray of shape (n_classes, n_directions)
        covariances : ndarray of shape (n_covariances, n_directions, n_directions)
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

    def project_noise(self, components: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the noise of :meth:`project`'s means and covariances.

        Parameters
        ----------
        components : ndarray of shape (n_directions, n_features)
            Orthogonal rows.

        Returns
        -------
        mean_noise : ndarray of shape (n_classes, n_directions)
            Variances; 0 without noise.
        covariance_noise : ndarray of shape (n_covariances, n_directions)
            Variances on the diagonal. Where D G D is the noise, D diagonal and G with the
            variances 1 on its diagonal and 1/2 off it, aᵀDGDa has the variance (aᵀD²a)².
        """
        squares = components.T**2
        return self.mean_noise @ squares, (np.sqrt(self.covariance_noise) @ squares) ** 2

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless the moments have one covariance, or one of each class."""
        one_or_all = len(self.covariances) in (1, len(self.means))
        require(one_or_all, f"{name}.covariances", "must be one, or one of each class")


def normal_root(covariance, noise=0.0):
    """Return a matrix that gives independent standard normal rows a covariance.

    Variances up to ``noise``, which may be due to noise alone, are averaged.
    """
    values, vectors = np.linalg.eigh(covariance)
    drowned = values <= noise
    if drowned.any():
        values[drowned] = max(values[drowned].mean(), 0.0)
    return np.sqrt(values)[:, np.newaxis] * vectors.T


def _unpack(packed, p):
    matrix = np.zeros((p, p))
    matrix[np.triu_indices(p)] = packed
    return matrix + np.triu(matrix, 1).T
