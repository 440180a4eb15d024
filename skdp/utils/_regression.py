"""Bayesian linear regression, in the basis that makes it diagonal."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpocon, dpotrf

# Reciprocal condition number below which K counts as singular; beyond it, the eigenbasis
# would be mostly rounding error. A rule of thumb: five digits above rounding.
_MIN_RCOND = 1e-11
# Multiples of the identity that are tried in turn, in units of the mean diagonal of K. A rule
# of thumb: from nothing, or just above rounding, to where K would be hardly itself.
_JITTERS = (0.0, *10.0 ** np.arange(-12, 0))
# Relative rounding error of the arithmetic.
_EPS = np.finfo(np.float64).eps


def regularised(K):
    """Return K plus the least multiple of the identity that makes it safely invertible.

    And the reciprocal condition number of that sum.
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
        """Diagonalise the pair (Φ, K), K=None for the identity, and project ΨᵀY on the basis.

        The basis is float64 always; the product with Y, the costliest of all when Y has
        many columns, is in the dtype of Y.
        """
        if K is None:
            rcond = 1.0
            eigenvalues, basis = np.linalg.eigh(Phi)
        else:
            K, rcond = regularised(K)
            eigenvalues, basis = eigh(Phi, K, driver="gvd", check_finite=False)
        # Since R_m² ≤ λ_m‖Y‖², a direction whose eigenvalue drowns in rounding carries no
        # signal. Left in, its rounding error over a vanishing ridge would explode, and look
        # like a perfect fit that drives the ridge further down.
        signal = eigenvalues > _EPS / rcond * eigenvalues[-1]
        eigenvalues = np.where(signal, eigenvalues, 0.0)
        targets = (Psi @ basis).astype(Y.dtype, copy=False).T @ Y
        targets[~signal] = 0.0
        energy = float(np.square(Y).sum(dtype=np.float64))
        return cls(eigenvalues, basis, targets.astype(np.float64, copy=False), energy, Y.size)

    @property
    def max_precision(self):
        """Precision of a residual at the level of rounding; a perfect fit has no other."""
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
