r"""Averages of the squared-exponential kernel over uncertain inputs.

With weights w, :math:`kr(x, x') = \exp(-\tfrac12 \sum_k w_k (x_k - x'_k)^2)`. Where an
input is known up to a Gaussian error of variance s, the kernel and the product of two
kernels are replaced by their averages, Ψ and Φ of Kumar and Moser, equations (154) and
(155); s = 0 gives Ψ = K_xa and Φ = K_xaᵀK_xa, the inference of SERUMS D3.3 (2022).
"""

import numpy as np

from skdp.utils._kernel_regression import squared_exponential


def averaged_scale(weights, variance):
    """Return Π_k (1 + w_k s)^−½, the factor by which averaging lowers the kernel."""
    return np.exp(-0.5 * np.log1p(weights * variance).sum())


def averaged_weights(weights, variance):
    """Return w_k / (1 + w_k s), the weights of the averaged kernel."""
    return weights / (1.0 + weights * variance)


def averaged_products(x, centres, weights, variance):
    r"""Return Φ, the sum over rows of the average of kr(a, x)·kr(x, a').

    Kumar and Moser, equation (155), sums N exponentials for each pair of centres. Since
    :math:`|x-a|^2 + |x-a'|^2 = 2|x-\tfrac{a+a'}{2}|^2 + \tfrac12|a-a'|^2`, it factorises
    into one matrix product of exponentials of the pairs (x, a) and a correction for each
    pair (a, a').

    Parameters
    ----------
    x : ndarray of shape (n_samples, n_components)
        Inputs.

    centres : ndarray of shape (n_centres, n_components)
        Points a.

    weights : ndarray of shape (n_components,)
        Weights w of the kernel.

    variance : float
        Variance s of the inputs.

    Returns
    -------
    products : ndarray of shape (n_centres, n_centres)
        Symmetric, positive semi-definite.
    """
    doubled = averaged_weights(weights, 2.0 * variance)
    kernel = squared_exponential(x, centres, doubled)
    products = kernel.T @ kernel
    if variance:
        products *= squared_exponential(centres, centres, 0.5 * (weights - doubled))
        products *= averaged_scale(weights, 2.0 * variance)
    return products
