r"""Zero-order Takagi-Sugeno layers with Bayesian consequents, as in SERUMS D3.1 (2019).

A layer's M rules "if x is in the fuzzy set around a_m, then y is α_m" fire to degrees
that are normalized to sum to one, :math:`K_m(x) = μ_m(x) / \sum_j μ_j(x)`, so that the
output K(x)·α is a weighted average of the consequents α (2.105).
"""

from dataclasses import dataclass

import numpy as np

from skdp.utils._kernel_regression import (
    DiagonalRegression,
    chosen_length_scale,
    fixed_point,
    in_dtype,
    inverse_squared_range,
    kmeans_centers,
    log_kernel,
)

# Precision of the prior of the consequents, hardly informative: SERUMS D3.1 (2019),
# Algorithm 1, step 10.
_PRIOR_PRECISION = 1e-6


def normalized_memberships(x, centers, weights, function="gaussian"):
    """Return K(x), the degrees to which each rule fires (2.110); rows sum to one.

    A callable ``function`` maps squared weighted distances to logarithms of memberships.
    """
    # Logarithms are shifted by the largest of each row before exponentiation: far from every
    # center all memberships underflow, but their ratios do not.
    degrees = log_kernel(x, centers, weights)
    if function != "gaussian":
        degrees = function(-2.0 * degrees).astype(x.dtype, copy=False)
    degrees -= degrees.max(axis=1, keepdims=True)
    np.exp(degrees, out=degrees)
    degrees /= degrees.sum(axis=1, keepdims=True)
    return degrees


def mean_field_precision(regression, *, tol, max_iter):
    """Iterate SERUMS D3.1 (2019), (2.150)–(2.154); return the mean precision β̂ and n_iter."""
    # The posteriors are (2.140)–(2.145); β̂ is the posterior mean of β. The regression is diagonal
    # in the eigenbasis of KᵀK, so a step costs O(M).
    n_outputs = regression.targets.shape[1]
    # Shape and rate of the prior of β are 1e-6 in the same step.
    shape = 1e-6 + 0.5 * regression.n_values
    eigenvalues = regression.eigenvalues

    def update(precision):
        error = regression.squared_error(_PRIOR_PRECISION / precision)
        spread = (eigenvalues / (_PRIOR_PRECISION + precision * eigenvalues)).sum()
        rate = 1e-6 + 0.5 * (error + n_outputs * spread)
        return min(shape / rate, regression.max_precision)

    return fixed_point(update, tol=tol, max_iter=max_iter)


@dataclass(frozen=True)
class FuzzyLayer:
    """A fitted layer: centers and weights W of the fuzzy sets, mean consequents, and β̂.

    The posterior covariance of the consequents of an output is FFᵀ with the optional ``factor`` F.
    """

    # SERUMS D3.1 (2019), Definition 6 and (2.111)–(2.115).

    centers: np.ndarray
    weights: np.ndarray
    function: object
    coef: np.ndarray
    precision: float
    n_iter: int = 0
    factor: np.ndarray | None = None

    def memberships(self, x):
        """Return the normalized degrees to which the rules fire."""
        return normalized_memberships(x, self.centers, self.weights, self.function)

    def predict(self, x):
        """Return the posterior mean output, of shape (n_samples, p)."""
        return self.memberships(x) @ self.coef

    def variance(self, x):
        """Return the predictive variance of each output: of its mean and of the noise."""
        spread = self.memberships(x) @ self.factor
        return np.einsum("ij,ij->i", spread, spread) + 1.0 / self.precision

    def astype(self, dtype):
        """Return the layer with the arrays for :meth:`predict` in another dtype."""
        return in_dtype(self, dtype, "centers", "weights", "coef")


def fit_layers(
    x,
    Y,
    directions,
    *,
    n_rules,
    max_layers,
    length_scale=1.0,
    standardize=False,
    centers=None,
    share_centers=False,
    function="gaussian",
    tol=1e-4,
    max_iter=200,
    random_state=None,
    with_covariance=False,
):
    """Learn the deep fuzzy model x → Y, SERUMS D3.1 (2019), Algorithm 1; return it and outputs.

    Deeper layers read ``directions`` of ŷ. With ``share_centers`` they use the first layer's
    sets, as in the paper if Vᵀŷ is in the space of x; with ``standardize`` k-means finds
    centers in the metric of the sets. Layers are added while β̂ grows.
    """
    layers: list[FuzzyLayer] = []
    fitted = Y

    def left_out_error(candidate, some):
        K = normalized_memberships(x, some, weights / candidate**2, function)
        regression = DiagonalRegression.from_moments(K.T @ K, None, K, Y)
        precision, _ = mean_field_precision(regression, tol=tol, max_iter=max_iter)
        return regression.left_out_error(_PRIOR_PRECISION / precision, K, Y)

    for depth in range(max_layers):
        if depth == 0 or not share_centers:
            weights = inverse_squared_range(x)
            x = np.where(weights > 0, x, x.mean(axis=0))
            if depth or centers is None:
                metric = weights if standardize else None
                centers = kmeans_centers(x, n_rules, random_state, metric)
            if depth == 0:
                length_scale = chosen_length_scale(length_scale, centers, left_out_error)
            weights = weights / length_scale**2
        K = normalized_memberships(x, centers, weights, function)
        regression = DiagonalRegression.from_moments(K.T @ K, None, K, Y)
        precision, n_iter = mean_field_precision(regression, tol=tol, max_iter=max_iter)
        if layers and precision <= layers[-1].precision:
            break
        factor = None
        if with_covariance:
            scale = np.sqrt(_PRIOR_PRECISION + precision * regression.eigenvalues)
            factor = regression.basis / scale
        coef = regression.coef(_PRIOR_PRECISION / precision)
        layers.append(FuzzyLayer(centers, weights, function, coef, precision, n_iter, factor))
        # Equation (2.155).
        fitted = K.astype(Y.dtype, copy=False) @ coef.astype(Y.dtype, copy=False)
        x = (fitted @ directions.T).astype(np.float64, copy=False)
    return layers, fitted, length_scale


def propagate(layers, directions, x):
    """Return the output of the last layer (2.116), and its input."""
    output = layers[0].predict(x)
    for layer in layers[1:]:
        x = output @ directions.T
        output = layer.predict(x)
    return output, x
