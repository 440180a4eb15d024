"""Kernel regression around centers, as membership mappings and fuzzy models use it."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpocon, dpotrf
from sklearn.cluster import KMeans

from skdp.utils._sklearn import Interval, RealNotInt
from skdp.utils._validation import check_array

# Parameter constraints for the argument of :func:`resolve_count`.
COUNT_OR_FRACTION: list = [
    Interval(Integral, 1, None, closed="left"),
    Interval(RealNotInt, 0, 1, closed="right"),
]
# A coordinate whose range, relative to the largest, is smaller than this is numerically constant:
# its weight 1/range² would be so large that every kernel value becomes zero. A rule of thumb: the
# square root of the machine precision.
_NEGLIGIBLE_RANGE = 1e-8
# The outputs of deep layers may shrink towards zero. Below this range a coordinate is treated as
# zero; the square of a range below 1e-154 would underflow.
_VANISHING_RANGE = 1e-100
# Reciprocal condition number below which K is treated as singular, since the eigenbasis would be
# mostly rounding error. A rule of thumb: five digits above rounding.
_MIN_RCOND = 1e-11
# Multiples of the identity that are tried in turn, in units of the mean diagonal of K. A rule of
# thumb: from zero, or just above rounding, to a substantial change of K.
_JITTERS = (0.0, *10.0 ** np.arange(-12, 0))
# Relative rounding error of the arithmetic.
_EPS = np.finfo(np.float64).eps


def resolve_count(fraction_or_count, n):
    """Return the number of points for a fraction of n in (0, 1] or a count."""
    if isinstance(fraction_or_count, float | np.floating):
        return max(1, int(np.ceil(fraction_or_count * n)))
    return min(int(fraction_or_count), n)


def check_points(estimator, name, n_features):
    """Return the validated points of a parameter, or None."""
    points = getattr(estimator, name)
    if points is None:
        return None
    points = check_array(points, dtype=np.float64, input_name=name)
    if points.shape[1] != n_features:
        raise ValueError(
            f"The {name!r} parameter of {type(estimator).__name__} must have {n_features} "
            f"columns, one for each coordinate that the model reads, got {points.shape[1]}. "
            "Pass points in that space, or None for k-means."
        )
    return points


def kmeans_centres(x, n_centres, random_state):
    """Return at most n_centres cluster centroids of the rows of x.

    With as many centers as distinct rows, these rows are returned.

    Centers are initialized with random rows. k-means++ spreads initial centers over outliers,
    which helps with a few centers for a few clusters; with a center for every other row it took
    six times as long and was slightly less accurate.
    """
    distinct = np.unique(x, axis=0)
    if n_centres >= len(distinct):
        return x.copy() if len(distinct) == len(x) else distinct
    kmeans = KMeans(n_centres, init="random", n_init=1, random_state=random_state)
    return kmeans.fit(x).cluster_centers_


def inverse_squared_range(x):
    """Return the kernel weights w_k = (max − min of coordinate k)^−2; 0 where constant."""
    ranges = np.ptp(x, axis=0)
    varies = ranges > max(_NEGLIGIBLE_RANGE * ranges.max(), _VANISHING_RANGE)
    return np.where(varies, 1.0, 0.0) / np.where(varies, ranges, 1.0) ** 2


def log_kernel(x, centres, weights):
    """Return −½ Σ_k w_k (x_k − a_k)² for all pairs, as one matrix product.

    Parameters
    ----------
    x : ndarray of shape (n_samples, n_components)
        Inputs.

    centres : ndarray of shape (n_centres, n_components)
        Points a.

    weights : ndarray of shape (n_components,)
        Non-negative weights w.

    Returns
    -------
    logarithm : ndarray of shape (n_samples, n_centres)
        At most 0, in the dtype of x.
    """
    # Expanding the square loses digits if both points are far from the origin, so that the origin
    # is moved to the centers first.
    origin = centres.mean(axis=0)
    scale = np.sqrt(weights)
    x = (x - origin) * scale
    centres = (centres - origin) * scale
    kernel = x @ centres.T
    kernel -= 0.5 * np.einsum("ij,ij->i", x, x)[:, np.newaxis]
    kernel -= 0.5 * np.einsum("ij,ij->i", centres, centres)
    return np.minimum(kernel, 0.0, out=kernel)


def squared_exponential(x, centres, weights):
    """Return exp(−½ Σ_k w_k (x_k − a_k)²) for all pairs, see :func:`log_kernel`."""
    kernel = log_kernel(x, centres, weights)
    return np.exp(kernel, out=kernel)


def regularised(K):
    """Return K plus the smallest multiple of the identity that makes it well-conditioned.

    Also returns the reciprocal condition number of that sum.
    """
    scale = np.trace(K) / len(K)
    for jitter in _JITTERS:
        candidate = K + jitter * scale * np.eye(len(K))
        factor, info = dpotrf(candidate, lower=1)
        if info == 0:
            rcond, _ = dpocon(factor, np.abs(candidate).sum(axis=0).max(), uplo="L")
            if rcond > _MIN_RCOND:
                return candidate, rcond
    raise np.linalg.LinAlgError(
        "The kernel matrix of the inducing points is not positive definite; check that X "
        "is finite and not astronomically large."
    )


@dataclass(frozen=True)
class DiagonalRegression:
    """Bayesian regression on M features, written in coordinates where it is diagonal.

    Attributes
    ----------
    eigenvalues : ndarray of shape (M,)
        Λ, with BᵀΦB = Λ and BᵀKB = I.

    basis : ndarray of shape (M, M)
        B.

    targets : ndarray of shape (M, p)
        R = BᵀΨᵀY.

    energy : float
        Squared Frobenius norm of Y.

    n_values : int
        Number of elements of Y.
    """

    eigenvalues: np.ndarray
    basis: np.ndarray
    targets: np.ndarray
    energy: float
    n_values: int

    @classmethod
    def from_moments(cls, Phi, K, Psi, Y):
        """Diagonalize the pair (Φ, K), K=None for the identity, and project ΨᵀY on the basis.

        The basis is always float64; the product with Y, the most expensive operation if Y has
        many columns, is in the dtype of Y.
        """
        if K is None:
            rcond = 1.0
            eigenvalues, basis = np.linalg.eigh(Phi)
        else:
            K, rcond = regularised(K)
            eigenvalues, basis = eigh(Phi, K, driver="gvd", check_finite=False)
        # Since R_m² ≤ λ_m‖Y‖², a direction whose eigenvalue is below rounding contains no signal.
        # If kept, its rounding error divided by a vanishing ridge would explode, and look like a
        # perfect fit that reduces the ridge further.
        signal = eigenvalues > _EPS / rcond * eigenvalues[-1]
        eigenvalues = np.where(signal, eigenvalues, 0.0)
        targets = (Psi @ basis).astype(Y.dtype, copy=False).T @ Y
        targets[~signal] = 0.0
        energy = float(np.square(Y).sum(dtype=np.float64))
        return cls(eigenvalues, basis, targets.astype(np.float64, copy=False), energy, Y.size)

    @property
    def max_precision(self):
        """Precision of a residual at the level of rounding, as for a perfect fit."""
        mean_square = self.energy / self.n_values or 1.0
        return 1.0 / (_EPS**2 * mean_square)

    def coef(self, ridge):
        """Return α = (Φ + ridge·K)⁻¹ΨᵀY, of shape (M, p)."""
        return self.basis @ (self.targets / (self.eigenvalues + ridge)[:, np.newaxis])

    def squared_error(self, ridge, smoothing=0.0):
        """Return ‖Y‖² − 2·tr(αᵀΨᵀY) + tr(αᵀ(Φ + smoothing·K)α), at the α of this ridge.

        With Φ = ΨᵀΨ and no smoothing it is ‖Y − Ψα‖²; with smoothing τ it is O of
        Kumar and Moser, equation (96).
        """
        strength = np.einsum("ij,ij->i", self.targets, self.targets)
        shrunk = strength / (self.eigenvalues + ridge)
        kept = (self.eigenvalues + smoothing) / (self.eigenvalues + ridge)
        return max(0.0, self.energy - 2.0 * shrunk.sum() + (shrunk * kept).sum())
