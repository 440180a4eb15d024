"""Kernel regression around centers, for membership mappings and fuzzy models."""

from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpocon, dpotrf
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from skdp.utils._sklearn import Interval, RealNotInt, StrOptions
from skdp.utils._validation import check_array
from skdp.utils._warnings import warn

# Parameter constraints for the argument of :func:`resolve_count`.
COUNT_OR_FRACTION: list = [
    Interval(Integral, 1, None, closed="left"),
    Interval(RealNotInt, 0, 1, closed="right"),
]
# Parameter constraint for the argument of :func:`chosen_length_scale`.
LENGTH_SCALE: list = [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")]
# Widths of kernels among which "auto" chooses, in ranges of the coordinates, and the number of
# centers for the choice: about factors of three, since the error is flat in the width.
LENGTH_SCALES = (0.1, 0.3, 1.0, 3.0)
_CENTERS_OF_CHOICE = 200
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
            f"columns, one per coordinate of the model, got {points.shape[1]}. "
            "Pass points in this space, or None for k-means."
        )
    return points


def kmeans_centers(x, n_centers, random_state, weights=None):
    """Return at most n_centers cluster centroids of the rows of x, or all its distinct rows.

    Distances are Euclidean, or of a kernel with the given weights.
    """
    # SERUMS D3.3 (2022), equation (1.51).
    # Centers are initialized with random rows. k-means++ spreads initial centers over outliers,
    # which helps with a few centers for a few clusters; with a center for every other row it took
    # six times as long and was slightly less accurate.
    distinct = np.unique(x, axis=0)
    if n_centers >= len(distinct):
        return x.copy() if len(distinct) == len(x) else distinct
    kmeans = KMeans(n_centers, init="random", n_init=1, random_state=random_state)
    if weights is None:
        return kmeans.fit(x).cluster_centers_
    scale = np.sqrt(np.where(weights > 0, weights, 1.0))
    return kmeans.fit(x * scale).cluster_centers_ / scale


def chosen_length_scale(length_scale, centers, left_out_error, candidates=LENGTH_SCALES):
    """Return a width of the kernel; "auto" is the candidate with the smallest held-out error.

    ``left_out_error(length_scale, centers)`` computes it with some of the centers.
    """
    if length_scale != "auto":
        return length_scale
    some = centers[:: -(-len(centers) // _CENTERS_OF_CHOICE)]
    return min(candidates, key=lambda candidate: left_out_error(candidate, some))


def inverse_squared_range(x):
    """Return the kernel weights w_k = (max − min of coordinate k)^−2; 0 where constant."""
    # SERUMS D3.3 (2022), equation (1.53).
    ranges = np.ptp(x, axis=0)
    # Below the square root of the machine precision, as a fraction of the largest range, a
    # coordinate is numerically constant: its weight would make every kernel value
    # zero. Outputs of deep layers may shrink towards zero; the square of a range below 1e-154
    # underflows.
    varies = ranges > max(1e-8 * ranges.max(), 1e-100)
    return np.where(varies, 1.0, 0.0) / np.where(varies, ranges, 1.0) ** 2


def log_kernel(x, centers, weights):
    """Return −½ Σ_k w_k (x_k − a_k)² for all pairs, as one matrix product, in the dtype of x."""
    # The logarithm of SERUMS D3.1 (2019), equation (2.104).
    # Expanding the square loses digits if both points are far from the origin, so that the origin
    # is moved to the centers first.
    origin = centers.mean(axis=0)
    scale = np.sqrt(weights)
    x = (x - origin) * scale
    centers = (centers - origin) * scale
    kernel = x @ centers.T
    kernel -= 0.5 * np.einsum("ij,ij->i", x, x)[:, np.newaxis]
    kernel -= 0.5 * np.einsum("ij,ij->i", centers, centers)
    return np.minimum(kernel, 0.0, out=kernel)


def squared_exponential(x, centers, weights):
    """Return exp(−½ Σ_k w_k (x_k − a_k)²) for all pairs, see :func:`log_kernel`."""
    # Kumar and Moser, equations (18), (19) and (22), and SERUMS D3.3 (2022), equation (1.17), of
    # the variance σ² = 1.
    kernel = log_kernel(x, centers, weights)
    return np.exp(kernel, out=kernel)


@dataclass(frozen=True)
class Standardization:
    """Mean and standard deviation by which a model standardizes its outputs."""

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, Y, standardize):
        """Return the mean and deviation of the columns of Y, or 0 and 1; 1 if constant."""
        mean, scale = np.zeros(Y.shape[1]), np.ones(Y.shape[1])
        if standardize:
            mean, deviation = Y.mean(axis=0), Y.std(axis=0)
            varies = deviation > 8 * _EPS * np.abs(Y).max(axis=0)
            scale = np.where(varies, deviation, 1.0)
        return cls(mean, scale)

    def apply(self, Y):
        """Return standardized outputs."""
        return (Y - self.mean) / self.scale

    def undo(self, Y):
        """Return outputs in their own units, in the dtype of Y."""
        return Y * self.scale.astype(Y.dtype) + self.mean.astype(Y.dtype)


def regularized(K):
    """Return K plus the smallest multiple of the identity that makes it well-conditioned.

    Also return the reciprocal condition number of the sum.
    """
    scale = np.trace(K) / len(K)
    # In units of the mean diagonal, from zero, or just above rounding, to a
    # substantial change of K, until the eigenbasis is not mostly rounding error.
    for jitter in (0.0, *10.0 ** np.arange(-12, 0)):
        candidate = K + jitter * scale * np.eye(len(K))
        factor, info = dpotrf(candidate, lower=1)
        if info == 0:
            rcond, _ = dpocon(factor, np.abs(candidate).sum(axis=0).max(), uplo="L")
            if rcond > 1e-11:
                return candidate, rcond
    raise np.linalg.LinAlgError(
        "The kernel matrix of the inducing points is not positive definite; check that X "
        "is finite and not astronomically large."
    )


@dataclass(frozen=True)
class DiagonalRegression:
    """Bayesian regression on M features, in coordinates where it is diagonal."""

    eigenvalues: np.ndarray  # Λ, with BᵀΦB = Λ and BᵀKB = I
    basis: np.ndarray  # B
    targets: np.ndarray  # R = BᵀΨᵀY
    energy: float  # squared Frobenius norm of Y
    n_values: int  # of Y

    @classmethod
    def from_moments(cls, Phi, K, Psi, Y):
        """Diagonalize the pair (Φ, K), K=None for the identity, and project ΨᵀY on the basis."""
        # The basis is always float64; the product with Y, the most expensive operation if Y has
        # many columns, is in the dtype of Y.
        if K is None:
            rcond = 1.0
            eigenvalues, basis = np.linalg.eigh(Phi)
        else:
            K, rcond = regularized(K)
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
        # Kumar and Moser, equations (88)–(91), whose B is never formed, and SERUMS D3.3 (2022),
        # equations (1.48)–(1.50).
        return self.basis @ (self.targets / (self.eigenvalues + ridge)[:, np.newaxis])

    def squared_error(self, ridge, smoothing=0.0):
        """Return ‖Y‖² − 2·tr(αᵀΨᵀY) + tr(αᵀ(Φ + smoothing·K)α), at the α of this ridge."""
        # With Φ = ΨᵀΨ and no smoothing it is ‖Y − Ψα‖²; with smoothing τ it is O of Kumar and
        # Moser, equations (78) and (96), at the outputs of (93).
        strength = np.einsum("ij,ij->i", self.targets, self.targets)
        shrunk = strength / (self.eigenvalues + ridge)
        kept = (self.eigenvalues + smoothing) / (self.eigenvalues + ridge)
        return max(0.0, self.energy - 2.0 * shrunk.sum() + (shrunk * kept).sum())

    def left_out_error(self, ridge, Psi, Y):
        """Return the mean squared held-out residual of each row, at this ridge."""
        # Outputs are linear in Y, so that residuals and the diagonal of the hat matrix give it.
        projected = Psi @ self.basis
        projected /= np.sqrt(self.eigenvalues + ridge)
        leverage = np.einsum("ij,ij->i", projected, projected)
        residual = Y - Psi @ self.coef(ridge)
        # A row of leverage one determines its own output: any large error does.
        residual /= np.maximum(1.0 - leverage, 1e-3)[:, np.newaxis]
        return np.mean(np.square(residual))


def fixed_point(update, *, tol, max_iter):
    """Return a precision, from 1 on, that an update changes by at most a fraction of ``tol``.

    Also return the number of updates, which is at most ``max_iter``.
    """
    precision, n_iter, change = 1.0, 0, np.inf
    while n_iter < max_iter and change > tol:
        n_iter += 1
        previous, precision = precision, update(precision)
        change = abs(precision / previous - 1.0)
    return precision, n_iter


def warn_of_no_convergence(estimator):
    """Warn if a fitted estimator's precision may not have converged within ``max_iter``."""
    if estimator.n_iter_ == estimator.max_iter:
        warn(
            f"{type(estimator).__name__} stopped at max_iter={estimator.max_iter} before the "
            f"precision converged to tol={estimator.tol}. Increase max_iter or tol.",
            ConvergenceWarning,
        )


def in_dtype(layer, dtype, *names):
    """Return a layer with some of its arrays in another floating dtype."""
    return replace(
        layer, **{name: getattr(layer, name).astype(dtype, copy=False) for name in names}
    )
