"""The exact information that one noisy value contains about the original value."""

from dataclasses import replace
from itertools import pairwise
from math import ceil, inf, log
from typing import Any

import numpy as np
from scipy.special import xlogy

from skdp.noise import (
    GaussianDistribution,
    OptimalDistribution,
    RandomizedResponse,
    StaircaseDistribution,
)

# Nodes and weights on [-1, 1] of each panel. Panels are as narrow as the noise, so that integrands
# are smooth on them (tests/information/test_noise.py).
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
# Largest number of panels, which takes a second (rule of thumb).
_MOST_PANELS = 10**6


def noise_information(noise: Any, prior: str = "uniform", *, width: float | None = None) -> float:
    r"""Return the information that a noisy value contains about the original value, in nats.

    This is the mutual information I(X; X + V) of a value X and its noisy copy, with noise V. For
    a value that is uniform between bounds of width Δ, with F the cumulative distribution of the
    noise and h the differential entropy, it is

    .. math:: I = h(X + V) - h(V), \qquad p(t) = \frac{F(t) - F(t - Δ)}{Δ},

    and for a value that is at either end with equal probability, the Jensen-Shannon divergence of
    f(t) and f(t − Δ), with f the density. Integrals are computed by Gauss-Legendre quadrature, to
    about 1e-12.

    Noise with a point mass, δ > 0, sometimes leaves the value unchanged. For a value anywhere in
    an interval this is an infinite amount of information, and for two values it is δ log 2.

    Parameters
    ----------
    noise : fitted noise transformer, RandomizedResponse, or distribution
        The noise that is added to the value, or the mechanism that replaces it.

    prior : {"uniform", "two-point"}, default="uniform"
        Prior of the value: uniform between its bounds, or one of the two ends with equal
        probability; for randomized labels, uniform over all classes, or over two of them.

    width : float, default=None
        Distance of the bounds, in the units of the distribution. By default the sensitivity of a
        transformer or a staircase.

    Returns
    -------
    nats : float
        For one element, whatever the privacy unit is.

    Raises
    ------
    ValueError
        If the noise is none of these, or not fitted; if ``width`` is missing, not positive, or
        given for labels; or if noise and width differ by so much that integrals take too long.

    See Also
    --------
    skdp.privacy.PrivacyGuarantee.information_bound : Upper bound for all mechanisms with a
        guarantee.

    Examples
    --------
    >>> from skdp import OptimalDPNoise, StaircaseDPNoise
    >>> from skdp.information import noise_information
    >>> optimal = OptimalDPNoise(epsilon=1.0, delta=0.0, bounds=(0, 1)).fit([[0.5]])
    >>> round(noise_information(optimal), 4), round(noise_information(optimal, "two-point"), 4)
    (0.0342, 0.0885)
    >>> staircase = StaircaseDPNoise(epsilon=1.0, delta=0.0, bounds=(0, 1)).fit([[0.5]])
    >>> round(noise_information(staircase, "two-point"), 4)
    0.1057
    >>> optimal.guarantee_.information_bound().nats > 0.12
    True
    """
    if prior not in {"uniform", "two-point"}:
        raise ValueError(
            f"The 'prior' parameter must be 'uniform' or 'two-point', got {prior!r:.60}."
        )
    if hasattr(noise, "guarantee_for") and not hasattr(noise, "guarantee_"):
        raise ValueError(
            f"The 'noise' parameter must be fitted, got {noise!r:.60}. Call its fit first."
        )
    if isinstance(noise, RandomizedResponse):
        return _of_labels(noise, prior, width)
    distribution, width = _distribution_and_width(noise, width)
    delta = getattr(distribution, "delta", 0.0)
    if delta:
        distribution = replace(distribution, delta=0.0)
    if not distribution.expected_magnitude:
        delta = 1.0
    if prior == "uniform":
        return inf if delta else _of_uniform(distribution, width)
    if delta == 1:
        return log(2)
    return delta * log(2) + (1 - delta) * _of_two_points(distribution, width)


def _distribution_and_width(noise, width):
    """Return the noise of one element, and the range of the values, in the same units."""
    distribution = getattr(noise, "distribution_", noise)
    if not isinstance(
        distribution, OptimalDistribution | StaircaseDistribution | GaussianDistribution
    ):
        raise ValueError(
            "The 'noise' parameter must be a noise transformer of skdp.noise, a "
            "RandomizedResponse or a distribution, got a "
            f"{type(noise).__name__}. Pass one of them."
        )
    if width is None:
        # The noise of a transformer with bounds is in units of their width.
        width = getattr(noise, "sensitivity", None) or (None if distribution is noise else 1.0)
    if width is None or not 0 < width < inf:
        raise ValueError(
            f"The 'width' parameter must be positive and finite, got {width!r}. Pass the distance "
            "of the bounds of the value."
        )
    return distribution, float(width)


def _of_uniform(distribution, width):
    def entropy_terms(t):
        # By lower tails, which have full precision.
        p = (distribution.cdf(t) - distribution.cdf(t - width)) / width
        return -xlogy(p, p)

    def noise_terms(t):
        f = distribution.pdf(t)
        return -xlogy(f, f)

    # Both densities are symmetric: about the middle of the bounds, and about 0.
    noisy = _integral(entropy_terms, distribution, width, width / 2)
    return float(max(0.0, 2 * (noisy - _integral(noise_terms, distribution, width, 0.0))))


def _of_two_points(distribution, width):
    def divergence(t):
        p, q = distribution.pdf(t), distribution.pdf(t - width)
        return (_divergence_term(p, q) + _divergence_term(q, p)) / 2

    return 2 * _integral(divergence, distribution, width, width / 2)


def _divergence_term(p, q):
    """Return p log(2p / (p + q)), with full precision even if the two are close."""
    total = np.maximum(p + q, 1e-300)
    difference = (p - q) / total
    close = np.log1p(np.where(abs(difference) < 0.5, difference, 0.0))
    return np.where(abs(difference) < 0.5, p * close, xlogy(p, 2 * p / total))


def _integral(function, distribution, width, end):
    """Return the integral from far below up to an end, over panels on which f is smooth."""
    edges, n_halvings = _edges(distribution, width, end)
    if len(edges) * (2 * n_halvings + 1) > _MOST_PANELS:
        raise ValueError(
            f"The 'noise' parameter is too large or too small for a width of {width:g} to be "
            "integrated over. Choose an epsilon closer to 1."
        )
    low, high = edges[:-1], edges[1:]
    total = 0.0
    # Panels are halved repeatedly towards both ends, where a density may be nearly zero.
    shares = np.append(0.0, 0.5 ** np.arange(n_halvings + 1, 0, -1))
    shares = np.append(shares, 1 - shares[-2::-1])
    for first, last in pairwise(shares):
        half = (last - first) / 2 * (high - low)
        middle = low + (first + last) / 2 * (high - low)
        values = function(middle[:, None] + half[:, None] * _NODES)
        total += float(half @ (values @ _WEIGHTS))
    return total


def _edges(distribution, width, end):
    """Return the ends of panels, and the number of halvings towards their ends."""
    if isinstance(distribution, StaircaseDistribution):
        d, gamma = distribution.sensitivity, distribution.gamma
        # The density is negligible in float64 beyond 40 losses, or 9 standard deviations.
        n = ceil((40.0 / distribution.epsilon) + width / d) + 1
        if n > _MOST_PANELS:
            return np.zeros(n), 0
        steps = d * np.arange(n + 1)
        kinks = np.concatenate([steps, steps[:-1] + gamma * d])
        kinks = np.concatenate([kinks, -kinks])
        kinks = np.concatenate([kinks, kinks + width])
        start, n_halvings = -d * n, ceil(distribution.epsilon / log(2))
    else:
        scale = distribution.scale
        gaussian = isinstance(distribution, GaussianDistribution)
        start = -scale * (9.0 if gaussian else 40.0)
        # A logistic function of t·width/scale² for two values behind normal noise.
        size = min(scale, scale * scale / width) if gaussian else scale
        n = (width - start) / size
        if n > _MOST_PANELS:
            return np.zeros(_MOST_PANELS + 1), 0
        kinks, n_halvings = np.append(np.arange(start, end, size), [0.0, width]), 0
    kinks = np.append(kinks[(kinks > start) & (kinks < end)], [start, end])
    return np.unique(kinks), n_halvings


def _of_labels(response, prior, width):
    if width is not None:
        raise ValueError(
            f"The 'width' parameter must be None for a RandomizedResponse, got {width!r}."
        )
    k, keep = len(response.classes_), response.keep_probability_
    channel = np.full((k, k), (1 - keep) / (k - 1))
    np.fill_diagonal(channel, keep)
    if prior == "two-point":
        channel = channel[:2]
    answers = channel.mean(axis=0)
    said = xlogy(channel, channel).sum() / len(channel) - xlogy(answers, answers).sum()
    return float(max(0.0, said))
