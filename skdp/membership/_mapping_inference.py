r"""Learning one membership-mapping: inducing points, kernel, inference, coefficients.

With weights w, :math:`kr(x, x') = \exp(-\tfrac12 \sum_k w_k (x_k - x'_k)^2)`. If inputs have a
Gaussian error of variance s, the kernel and the product of two kernels are replaced by their
averages, Ψ and Φ of Kumar and Moser, equations (154) and (155). With s = 0, Ψ = K_xa and
Φ = K_xaᵀK_xa, the inference of SERUMS D3.3 (2022).

Both papers estimate :math:`α = (Φ + τK + K/β)^{-1} Ψ^T Y` and alternate it with an update
of the precision β. In the generalized eigenbasis of (Φ, K), every quantity of the iteration
is a sum of M terms, so a step costs O(M) instead of a factorization.

The outputs u at the inducing points have the posterior N(m̂, K̂) of Kumar and Moser, equations
(156) and (157). The same basis makes :math:`K^{-1} \hat K K^{-1} = (K + β(Φ + τK))^{-1}` and
:math:`K^{-1} \hat m_j = α_j` diagonal.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from skdp.utils._kernel_regression import (
    LENGTH_SCALES,
    DiagonalRegression,
    chosen_length_scale,
    fixed_point,
    in_dtype,
    inverse_squared_range,
    kmeans_centers,
    squared_exponential,
)

# Largest number of updates of β, which are cheap. Layers of data sets took 2 to 15.
MAX_ITER = 200


def averaged_scale(weights, variance):
    """Return Π_k (1 + w_k s)^−½, the factor by which averaging lowers the kernel."""
    # Kumar and Moser, equations (36), (83), (84) and (154); G(x) and Ψ are this kernel.
    return np.exp(-0.5 * np.log1p(weights * variance).sum())


def averaged_weights(weights, variance):
    """Return w_k / (1 + w_k s), the weights of the averaged kernel."""
    return weights / (1.0 + weights * variance)


def averaged_products(x, centers, weights, variance):
    """Return Φ, the sum over rows of the average of kr(a, x)·kr(x, a')."""
    # Kumar and Moser, equation (155), sums N exponentials for each pair of centers. Since |x−a|² +
    # |x−a'|² = 2|x−(a+a')/2|² + ½|a−a'|², it factorizes into one matrix product of exponentials of
    # the pairs (x, a) and a correction for each pair (a, a').
    doubled = averaged_weights(weights, 2.0 * variance)
    kernel = squared_exponential(x, centers, doubled)
    products = kernel.T @ kernel
    if variance:
        products *= squared_exponential(centers, centers, 0.5 * (weights - doubled))
        products *= averaged_scale(weights, 2.0 * variance)
    return products


def gamma_precision(regression, tau, *, tol, max_iter):
    """Iterate Kumar and Moser, equations (67)–(77), with smoothing τ; return β (95) and n_iter."""
    half = 0.5 * regression.n_values
    ratio_z = ratio_r = 1.0  # each is a mean â/b̂; all priors are Gamma(1, 1)
    a_s, b_s = 2.0, 2.0

    def update(precision):
        nonlocal ratio_z, ratio_r, a_s, b_s
        error = regression.squared_error(tau + 1.0 / precision, smoothing=tau)
        ratio_tau = (1.0 + half) / (1.0 + 0.5 * ratio_z * error)
        a_z = 1.0 + half + ratio_r
        b_z = ratio_r * a_s / b_s + 0.5 * ratio_tau * error
        ratio_z = a_z / b_z
        b_r = a_s / b_s * ratio_z - digamma(a_s) + np.log(b_s) - digamma(a_z) + np.log(b_z)
        ratio_r = 1.0 / b_r
        a_s = 1.0 + ratio_r
        b_s = 1.0 + ratio_r * ratio_z
        return min(ratio_tau * ratio_z, regression.max_precision)

    return fixed_point(update, tol=tol, max_iter=max_iter)


def empirical_precision(regression, tau, scale, *, tol, max_iter):
    """Return the precision β of residuals, and the number of iterations to its fixed point."""
    # SERUMS D3.3 (2022), equations (1.49) and (1.58).
    # β is the inverse of the mean squared residual. ``tau`` is the smoothing τ(M, 1) of a kernel
    # of unit variance, ``scale`` that of the kernel, σ²: scaling K and Ψ by σ² and Φ by σ⁴ is the
    # same as dividing 1/β by σ², so it enters here and nowhere else.

    def update(precision):
        error = regression.squared_error(tau + 1.0 / (scale * precision))
        error = max(error, regression.n_values / regression.max_precision)
        return regression.n_values / error

    return fixed_point(update, tol=tol, max_iter=max_iter)


@dataclass(frozen=True)
class PredictiveVariance:
    """The posterior of a mapping, for the variances of its outputs."""

    # In terms of the kernel of unit variance, and in float64: K⁻¹ may have entries of 1e11.

    centers: np.ndarray
    weights: np.ndarray  # of the kernel, not averaged
    input_variance: float
    sigma2: float  # variance of the kernel, σ²
    basis: np.ndarray  # B, with K⁻¹ = BBᵀ
    shrinkage: np.ndarray  # D, with (K + σ²β(Φ + τK))⁻¹ = BDBᵀ
    spread: np.ndarray  # mean of (ν + uᵀK⁻¹u − 2)/(ν + M − 2) for each output
    precision: float

    def function(self):
        """Return a function of inputs: the variance of each output, of shape (n_samples, p)."""
        # Given u, (149) has the variance (ν + uᵀK⁻¹u − 2)/(ν + M − 2)·(σ² − k(x)K⁻¹k(x)ᵀ) and (45)
        # the mean k(x)K⁻¹u, of which u has the covariance (156). Both are averaged over uncertain
        # inputs; how the mean changes with these is in 1/β already, since (96) averages over them.
        # The average of k(x) A k(x)ᵀ factorizes as (155) does.
        doubled = averaged_weights(self.weights, 2.0 * self.input_variance)
        correction = squared_exponential(
            self.centers, self.centers, 0.5 * (self.weights - doubled)
        ) * averaged_scale(self.weights, 2.0 * self.input_variance)
        known = correction * (self.basis @ self.basis.T)
        posterior = correction * ((self.basis * self.shrinkage) @ self.basis.T)

        def variance(x):
            kernel = squared_exponential(x, self.centers, doubled)
            unknown = 1.0 - np.einsum("ij,ij->i", kernel @ known, kernel)
            of_u = np.einsum("ij,ij->i", kernel @ posterior, kernel)
            given_u = np.outer(np.maximum(unknown, 0.0), self.spread)
            return self.sigma2 * (given_u + of_u[:, np.newaxis]) + 1.0 / self.precision

        return variance


@dataclass(frozen=True)
class Layer:
    """A fitted membership-mapping: points a, kernel weights, ``scale * α``, and β."""

    # The constant factor of G(x) may be as small as 1e-40 when an input varies little, so that
    # ``coef`` contains it, in float64.

    inducing_points: np.ndarray
    weights: np.ndarray
    coef: np.ndarray
    scale: float
    precision: float
    n_iter: int
    variance: PredictiveVariance | None = None
    length_scale: float = 1.0

    def predict(self, x):
        """Return ŷ(x) = G(x)·α, of shape (n_samples, p)."""
        return squared_exponential(x, self.inducing_points, self.weights) @ self.coef

    def astype(self, dtype):
        """Return the layer with its arrays in another floating dtype."""
        return in_dtype(self, dtype, "inducing_points", "weights", "coef")


@dataclass(frozen=True)
class _Design:
    """Kernel matrices of one choice of inducing points, and the smoothing they imply."""

    centers: np.ndarray
    psi: np.ndarray
    regression: DiagonalRegression
    tau: float

    @classmethod
    def build(cls, x, Y, centers, weights, variance, nu):
        K = squared_exponential(centers, centers, weights)
        psi = squared_exponential(x, centers, averaged_weights(weights, variance))
        psi *= averaged_scale(weights, variance)
        Phi = averaged_products(x, centers, weights, variance)
        regression = DiagonalRegression.from_moments(Phi, K, psi, Y)
        # τ = (ξ − Tr(K⁻¹Φ)) / (ν + M − 2) with ξ = N of Kumar and Moser, equation (153), and of
        # SERUMS D3.3 (2022), equation (1.54); Tr(K⁻¹Φ) is the sum of the eigenvalues.
        excess = len(x) - regression.eigenvalues.sum()
        # The difference of two numbers of size N is exact to about N·1e-16; this
        # leaves four digits.
        if excess < 1e-12 * len(x):
            excess = 0.0
        return cls(centers, psi, regression, excess / (nu + len(centers) - 2.0))

    def predictive_variance(self, weights, input_variance, sigma2, precision, nu):
        """Return the posterior for a kernel and a precision β."""
        ridge = self.tau + 1.0 / (sigma2 * precision)
        eigenvalues = self.regression.eigenvalues + ridge
        shrinkage = 1.0 / (sigma2 * precision * eigenvalues)
        # The mean of uᵀK⁻¹u is m̂ᵀK⁻¹m̂ + Tr(K⁻¹K̂).
        scaled = self.regression.targets / eigenvalues[:, np.newaxis]
        energy = np.square(scaled).sum(axis=0) / sigma2 + shrinkage.sum()
        spread = np.ones_like(energy)
        if np.isfinite(nu):
            spread = (nu - 2.0 + energy) / (nu - 2.0 + len(self.centers))
        return PredictiveVariance(
            centers=self.centers,
            weights=weights,
            input_variance=input_variance,
            sigma2=sigma2,
            basis=self.regression.basis,
            shrinkage=shrinkage,
            spread=spread,
            precision=precision,
        )


def fit_layer(
    x,
    Y,
    *,
    n_inducing,
    inference,
    nu,
    input_variance=0.01,
    length_scale=1.0,
    standardize=False,
    inducing_points=None,
    tol=1e-4,
    max_iter=MAX_ITER,
    random_state=None,
    with_variance=False,
):
    """Learn the mapping x → Y; return the layer, and its predictions for x in the dtype of Y."""
    # "gamma" is Kumar and Moser, Algorithm 1, "empirical" SERUMS D3.3 (2022), Algorithm 1, in
    # which ``n_inducing`` is the most points. ``input_variance`` is used by "gamma" alone. With
    # ``standardize``, k-means finds centers in the metric of the kernel.
    weights = inverse_squared_range(x)
    # Rows that differ only by rounding count as one inducing point.
    x = np.where(weights > 0, x, x.mean(axis=0))

    def points(n_centers):
        if inducing_points is not None:
            return inducing_points
        return kmeans_centers(x, n_centers, random_state, weights if standardize else None)

    def left_out_error(candidate, some):
        d = _Design.build(x, Y, some, weights / candidate**2, input_variance, nu)
        precision, _ = gamma_precision(d.regression, d.tau, tol=tol, max_iter=max_iter)
        return d.regression.left_out_error(d.tau + 1.0 / precision, d.psi, Y)

    # "empirical" would keep few points under a kernel wider than the range.
    gamma = inference == "gamma"
    input_variance, scales = (input_variance, LENGTH_SCALES) if gamma else (0.0, LENGTH_SCALES[:3])
    centers = points(n_inducing)
    length_scale = chosen_length_scale(length_scale, centers, left_out_error, scales)
    weights = weights / length_scale**2
    d = _Design.build(x, Y, centers, weights, input_variance, nu)
    if gamma:
        sigma2 = 1.0
        precision, n_iter = gamma_precision(d.regression, d.tau, tol=tol, max_iter=max_iter)
    else:
        # SERUMS D3.3 (2022), Algorithm 1, steps 2–7: a tenth is dropped at a time until the
        # smoothing τ(M, 1) reaches 0.1.
        while inducing_points is None and d.tau < 0.1 and len(d.centers) > 1:
            # ⌈0.9·M⌉ equals M for M < 10: at least one point must go.
            fewer = min(int(np.ceil(0.9 * len(d.centers))), len(d.centers) - 1)
            d = _Design.build(x, Y, points(fewer), weights, 0.0, nu)
        # Equations (1.55)–(1.57): σ² raises the smoothing to the mean variance of the outputs.
        spread = Y.var(axis=0, dtype=np.float64).mean()
        sigma2 = 1.0 if d.tau == 0 or d.tau >= spread else spread / d.tau
        precision, n_iter = empirical_precision(
            d.regression, d.tau, sigma2, tol=tol, max_iter=max_iter
        )

    # σ² multiplies G and divides α, so it cancels in `coef`, and in 1/β it acts as below.
    alpha = d.regression.coef(d.tau + 1.0 / (sigma2 * precision))
    scale = averaged_scale(weights, input_variance)
    variance = None
    if with_variance:
        variance = d.predictive_variance(weights, input_variance, sigma2, precision, nu)
    layer = Layer(
        inducing_points=d.centers,
        weights=averaged_weights(weights, input_variance),
        coef=scale * alpha,
        scale=sigma2 * scale,
        precision=precision,
        n_iter=n_iter,
        variance=variance,
        length_scale=length_scale,
    )
    return layer, d.psi.astype(Y.dtype, copy=False) @ alpha.astype(Y.dtype, copy=False)
