"""Relevance of each input for the scores, by layer-wise propagation, averaged and perturbed."""

import numpy as np
import torch

from skdp.neural._perturbation import GRID, perturb_rows

# Stabiliser μ of equation (5): keeps the ratio of two affine transformations finite (Bach et al.,
# 2015, use 0.01 on networks of such a size).
_STABILISER = 0.01
# Least share of a column in the budget, in units of an even one. Noise that is a thousand times
# as large leaves nothing of a column, and farther out single precision would end.
_LEAST_SHARE = 1e-3
# Rows whose relevances are computed at once (rule of thumb).
_AT_ONCE = 1000


@torch.no_grad()
def relevances(network, rows):
    r"""Return the relevance of each column for the score of the predicted class, of each row.

    The score is distributed over the units of each layer in turn, in proportion to what they
    contribute to the affine transformation z of those above (Phan et al., 2017, equations
    (4)-(8)),

    .. math:: R_p = \sum_m \frac{x_p W_{pm}}{z_m ± μ} R_m,

    and the relevances of a row are brought to [0, 1] by their range. Layers that rescale or
    reshape pass relevance on.

    Parameters
    ----------
    network : Network
        Trained.

    rows : Tensor of shape (n_samples, n_features)
        In [0, 1].

    Returns
    -------
    relevances : Tensor of shape (n_samples, n_features)
        In [0, 1], least 0 and greatest 1 in each row that is not constant.
    """
    network.eval()
    layers = network.layers()
    inputs = [rows]
    for layer in layers[:-1]:
        inputs.append(layer(inputs[-1]))
    scores = network.scores(inputs[-1])
    best = scores.argmax(dim=1, keepdim=True)
    relevance = torch.zeros_like(scores).scatter(1, best, scores.gather(1, best))
    for layer, below in zip(reversed(layers), reversed(inputs), strict=True):
        relevance = _propagate(layer, below, relevance)
    low, high = relevance.aminmax(dim=1, keepdim=True)
    unit = (relevance - low) / (high - low).clamp(min=torch.finfo(relevance.dtype).tiny)
    # A row whose relevances overflow must count like any other: the noise is for [0, 1].
    return unit.nan_to_num(0.0).clamp(0, 1)


def _propagate(layer, below, relevance):
    """Return the relevance of the inputs of one layer."""
    if not isinstance(layer, torch.nn.Linear | torch.nn.Conv2d):
        return relevance.reshape(below.shape)
    with torch.enable_grad():
        below = below.detach().requires_grad_()
        above = layer(below)
        signs = torch.where(above >= 0, 1.0, -1.0)
        ratios = (relevance / (above + _STABILISER * signs)).detach()
        # The transposed layer applied to the ratios is the gradient of their product with z.
        (gradient,) = torch.autograd.grad(above, below, ratios)
    return (below * gradient).detach()


def budget_shares(network, rows, epsilon, random_state):
    r"""Return how the budget of the inputs is divided between columns, from private relevances.

    The relevances are averaged over rows, with Laplace noise of scale 2d / (nε) on each (equation
    (12)), and

    .. math:: β_j = d\,|\bar R_j| / \sum_i |\bar R_i|

    (equation (16)). As relevances are in [0, 1], one row moves their average by d/n at most, half
    of what the noise is for: this is ε/2-private for one row, if the network is public.

    Parameters
    ----------
    network : Network
        Not trained on the rows, or privately.

    rows : Tensor of shape (n_samples, n_features)
        Private rows in [0, 1].

    epsilon : float
        Budget ε₁; infinite for no noise.

    random_state : RandomState or None
        Source of randomness; None for a cryptographic one.

    Returns
    -------
    shares : ndarray of shape (n_features,)
        β, positive, of mean one.
    """
    total = sum(relevances(network, part).double().sum(dim=0) for part in rows.split(_AT_ONCE))
    n, d = rows.shape
    mean = (total / n)[None].cpu()
    scale = 2 * d / (n * epsilon)
    noisy = perturb_rows(mean, np.full(d, scale), random_state).abs().numpy()[0]
    shares = np.maximum(noisy / noisy.mean(), _LEAST_SHARE) if noisy.any() else np.ones(d)
    return shares / shares.mean()


def relevance_cost(rows, epsilon):
    """Return what :func:`budget_shares` costs one row: ε/2, and rounding to the grid of the noise.

    Parameters
    ----------
    rows : Tensor of shape (n_samples, n_features)
        Those of which the relevances are.

    epsilon : float
        Budget ε₁.

    Returns
    -------
    cost : float

    Examples
    --------
    >>> import torch
    >>> round(relevance_cost(torch.zeros(10, 4), 1.0), 6)
    0.5
    """
    return epsilon / 2 + rows.shape[1] * GRID
