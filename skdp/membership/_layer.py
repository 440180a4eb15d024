"""Learning one membership-mapping: inducing points, kernel, inference, coefficients."""

from dataclasses import dataclass

import numpy as np

from skdp.membership._inference import empirical_precision, gamma_precision
from skdp.membership._kernels import averaged_products, averaged_scale, averaged_weights
from skdp.utils._kernel_regression import (
    DiagonalRegression,
    inverse_squared_range,
    kmeans_centres,
    squared_exponential,
)

# Inducing points are dropped, a tenth at a time, until the smoothing τ(M, 1) reaches this
# value: SERUMS D3.3 (2022), Algorithm 1, steps 2–7.
_MIN_SMOOTHING = 0.1
# What is left of them each time, of the same algorithm.
_KEPT_FRACTION = 0.9
# Excess N − Tr(K⁻¹Φ), as a fraction of N, below which it counts as zero. The difference of
# two numbers of size N is exact to about N·1e-16; this rule of thumb leaves four digits.
_NEGLIGIBLE_EXCESS = 1e-12


@dataclass(frozen=True)
class Layer:
    """A fitted membership-mapping, as arrays.

    Attributes
    ----------
    inducing_points : ndarray of shape (M, n)
        Points a.

    weights : ndarray of shape (n,)
        Weights of the kernel that :meth:`predict` evaluates.

    coef : ndarray of shape (M, p)
        ``scale * α``. The constant factor of G(x) may be as small as 1e-40 when an input
        varies little, so it is multiplied in here, where float64 holds it.

    scale : float
        That factor.

    precision : float
        β.

    n_iter : int
        Iterations of the inference.
    """

    inducing_points: np.ndarray
    weights: np.ndarray
    coef: np.ndarray
    scale: float
    precision: float
    n_iter: int

    def predict(self, x):
        """Return ŷ(x) = G(x)·α, of shape (n_samples, p)."""
        return squared_exponential(x, self.inducing_points, self.weights) @ self.coef

    def astype(self, dtype):
        """Return the layer with its arrays in another floating dtype."""
        return Layer(
            self.inducing_points.astype(dtype, copy=False),
            self.weights.astype(dtype, copy=False),
            self.coef.astype(dtype, copy=False),
            self.scale,
            self.precision,
            self.n_iter,
        )


@dataclass(frozen=True)
class _Design:
    """Kernel matrices of one choice of inducing points, and the smoothing they imply."""

    centres: np.ndarray
    psi: np.ndarray
    regression: DiagonalRegression
    tau: float

    @classmethod
    def build(cls, x, Y, centres, weights, variance, nu):
        K = squared_exponential(centres, centres, weights)
        psi = squared_exponential(x, centres, averaged_weights(weights, variance))
        psi *= averaged_scale(weights, variance)
        Phi = averaged_products(x, centres, weights, variance)
        regression = DiagonalRegression.from_moments(Phi, K, psi, Y)
        # τ = (ξ − Tr(K⁻¹Φ)) / (ν + M − 2), and Tr(K⁻¹Φ) is the sum of the eigenvalues.
        excess = len(x) - regression.eigenvalues.sum()
        if excess < _NEGLIGIBLE_EXCESS * len(x):
            excess = 0.0
        return cls(centres, psi, regression, excess / (nu + len(centres) - 2.0))


def fit_layer(
    x,
    Y,
    *,
    n_inducing,
    inference,
    nu,
    input_variance=0.01,
    inducing_points=None,
    tol=1e-4,
    max_iter=200,
    random_state=None,
):
    """Learn the mapping x → Y.

    Parameters
    ----------
    x : ndarray of shape (n_samples, n_components)
        Inputs, float64.

    Y : ndarray of shape (n_samples, n_outputs)
        Outputs, float64 or float32.

    n_inducing : int
        Number of inducing points M; the most of them under ``inference="empirical"``.

    inference : {"gamma", "empirical"}
        Kumar and Moser, Algorithm 1, or SERUMS D3.3 (2022), Algorithm 1.

    nu : float
        Degrees of freedom ν of the Student-t mapping, above 2, may be infinite.

    input_variance : float
        Variance of the inputs; used by "gamma".

    inducing_points : ndarray of shape (M, n_components) or None
        Points to use as given instead of k-means centroids.

    tol, max_iter : float, int
        When the iteration for β stops.

    random_state : RandomState
        For k-means.

    Returns
    -------
    layer : Layer
        The fitted mapping.

    fitted : ndarray of shape (n_samples, n_outputs)
        Its predictions for the training inputs, in the dtype of Y.
    """
    weights = inverse_squared_range(x)
    # Rows that differ by nothing but rounding count as one, not as so many inducing points.
    x = np.where(weights > 0, x, x.mean(axis=0))

    def design(n_centres, variance):
        centres = inducing_points
        if centres is None:
            centres = kmeans_centres(x, n_centres, random_state)
        return _Design.build(x, Y, centres, weights, variance, nu)

    if inference == "gamma":
        sigma2 = 1.0
        d = design(n_inducing, input_variance)
        precision, n_iter = gamma_precision(d.regression, d.tau, tol=tol, max_iter=max_iter)
    else:
        input_variance = 0.0
        d = design(n_inducing, 0.0)
        while inducing_points is None and d.tau < _MIN_SMOOTHING and len(d.centres) > 1:
            # ⌈0.9·M⌉ equals M for M < 10: at least one point must go.
            fewer = min(int(np.ceil(_KEPT_FRACTION * len(d.centres))), len(d.centres) - 1)
            d = design(fewer, 0.0)
        spread = Y.var(axis=0, dtype=np.float64).mean()
        sigma2 = 1.0 if d.tau == 0 or d.tau >= spread else spread / d.tau
        precision, n_iter = empirical_precision(
            d.regression, d.tau, sigma2, tol=tol, max_iter=max_iter
        )

    # σ² multiplies G and divides α, so it cancels in `coef`, and in 1/β it acts as below.
    alpha = d.regression.coef(d.tau + 1.0 / (sigma2 * precision))
    scale = averaged_scale(weights, input_variance)
    layer = Layer(
        inducing_points=d.centres,
        weights=averaged_weights(weights, input_variance),
        coef=scale * alpha,
        scale=sigma2 * scale,
        precision=precision,
        n_iter=n_iter,
    )
    return layer, d.psi.astype(Y.dtype, copy=False) @ alpha.astype(Y.dtype, copy=False)
