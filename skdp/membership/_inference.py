r"""Variational inference for one regression layer, in the basis that makes it diagonal.

Both papers estimate :math:`α = (Φ + τK + K/β)^{-1} Ψ^T Y` and alternate it with an update
of the precision β. In the generalised eigenbasis of (Φ, K) every quantity that the
iteration needs is a sum of M terms, so a step costs O(M) instead of a factorisation.
"""

import numpy as np
from scipy.special import digamma


def gamma_precision(regression, tau, *, tol, max_iter):
    """Iterate Kumar and Moser, equations (67)–(77), to their fixed point.

    Parameters
    ----------
    regression : DiagonalRegression
        The layer.

    tau : float
        Smoothing τ.

    tol : float
        Relative change of β at which to stop.

    max_iter : int
        Most iterations.

    Returns
    -------
    precision : float
        β.

    n_iter : int
        Iterations done.
    """
    half = 0.5 * regression.n_values
    ratio_tau = ratio_z = ratio_r = 1.0  # each is a mean â/b̂; all priors are Gamma(1, 1)
    a_s, b_s = 2.0, 2.0
    precision = 1.0
    n_iter, change = 0, np.inf
    while n_iter < max_iter and change > tol:
        n_iter += 1
        error = regression.squared_error(tau + 1.0 / precision, smoothing=tau)
        ratio_tau = (1.0 + half) / (1.0 + 0.5 * ratio_z * error)
        a_z = 1.0 + half + ratio_r
        b_z = ratio_r * a_s / b_s + 0.5 * ratio_tau * error
        ratio_z = a_z / b_z
        b_r = a_s / b_s * ratio_z - digamma(a_s) + np.log(b_s) - digamma(a_z) + np.log(b_z)
        ratio_r = 1.0 / b_r
        a_s = 1.0 + ratio_r
        b_s = 1.0 + ratio_r * ratio_z
        previous, precision = precision, min(ratio_tau * ratio_z, regression.max_precision)
        change = abs(precision / previous - 1.0)
    return precision, n_iter


def empirical_precision(regression, tau, scale, *, tol, max_iter):
    """Iterate SERUMS D3.3 (2022), equations (1.49) and (1.58), to their fixed point.

    β is the inverse of the mean squared residual.

    Parameters
    ----------
    regression : DiagonalRegression
        The layer, with a kernel of unit variance.

    tau : float
        Smoothing τ(M, 1).

    scale : float
        Kernel variance σ². Scaling K and Ψ by σ² and Φ by σ⁴ is the same as dividing 1/β
        by σ², so it enters here and nowhere else.

    tol : float
        Relative change of β at which to stop.

    max_iter : int
        Most iterations.

    Returns
    -------
    precision : float
        β.

    n_iter : int
        Iterations done.
    """
    precision = 1.0
    n_iter, change = 0, np.inf
    while n_iter < max_iter and change > tol:
        n_iter += 1
        error = regression.squared_error(tau + 1.0 / (scale * precision))
        error = max(error, regression.n_values / regression.max_precision)
        previous, precision = precision, regression.n_values / error
        change = abs(precision / previous - 1.0)
    return precision, n_iter
