"""Scores of several judges on one scale: weights from labelled rows, class frequencies."""

from itertools import combinations

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp, softmax

# A weight of 1 makes the winner e times as likely as the second, on average: one of 5 is as
# sure as a judge can reasonably be.
_SCALE, _LEAST, _STRAY = 5.0, 0.1, 0.1
_RIDGE, _MOST_OFFSET = 0.3, 1.5


def mean_margin(scores):
    """Return how far the best class is above the second best, on average: a unit of scores."""
    top = np.partition(scores, -2, axis=1)[:, -2:]
    return float(np.mean(top[:, 1] - top[:, 0])) or 1.0


def fit_weights(scores, labels):
    """Return non-negative weights with which scores add up to log-posteriors.

    Bayesian model averaging over all sets of judges. Those of a set are heard equally: few
    labelled rows say who is of use, and hardly how much. How sure they are together is the
    slope of a multinomial logistic regression on the labelled rows, under a normal prior of
    scale 5. Each set counts by its likelihood at the best slope, prior included. A labelled
    row says nothing with probability 1/10: a single confident error must not make all sets
    unsure, and so alike.

    Parameters
    ----------
    scores : ndarray of shape (n_judges, n_samples, n_classes)
        In units of :func:`mean_margin`. The last judge, who has to say something about every
        row, keeps a weight of 0.1.

    labels : ndarray of shape (n_samples,)
        Class numbers.

    Returns
    -------
    weights : ndarray of shape (n_judges,)
    """
    judges = range(len(scores))
    sets = [list(s) for n in judges for s in combinations(judges, n + 1)]
    fits = [_fit_slope(scores[chosen].mean(axis=0), labels) for chosen in sets]
    weights = np.zeros(len(scores))
    for share, chosen, fit in zip(softmax([-fit.fun for fit in fits]), sets, fits, strict=True):
        weights[chosen] += share * fit.x / len(chosen)
    weights[-1] = max(weights[-1], _LEAST)
    return weights


def _fit_slope(scores, labels):
    ahead = scores - scores[np.arange(len(labels)), labels][:, np.newaxis]

    def loss(slope):
        with np.errstate(over="ignore"):  # then the label has probability 0, and is a stray
            own = 1 / np.exp(slope * ahead).sum(axis=1)
        likelihoods = (1 - _STRAY) * own + _STRAY / scores.shape[1]
        return (slope / _SCALE) ** 2 / 2 - np.log(likelihoods).sum()

    # Strays make it anything but convex.
    grid = np.linspace(0, 4 * _SCALE, 81)
    best = np.argmin([loss(slope) for slope in grid])
    bounds = grid[np.clip([best - 1, best + 1], 0, len(grid) - 1)]
    return minimize_scalar(loss, bounds=bounds, method="bounded")


def frequency_offsets(scores, frequencies):
    r"""Return what to add to log-posteriors to bring classes nearer to their frequencies.

    Where guesses err on the same side, small offsets bring many uncertain rows back. Where
    classes really are more frequent or rarer than expected, rows that are certain would have to
    change, and where a class misses its frequency by chance alone, nothing should. Offsets are
    therefore a compromise,

    .. math:: \min_b \; \frac{1}{N} \sum_i \log \sum_c e^{s_{ic} + b_c} - f^T b
       + \frac{0.3}{2 C} \|b\|^2, \qquad |b_c| \le 1.5,

    whose first two terms alone would reach the frequencies f of the C classes exactly. They
    count by the fraction of the deviation (the sum of its magnitudes) that they remove: what
    they leave is taken to be real.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        Log-posteriors, up to a constant for each row.

    frequencies : ndarray of shape (n_classes,)
        Expected fractions.

    Returns
    -------
    offsets : ndarray of shape (n_classes,)
        With mean 0.
    """
    ridge = _RIDGE / len(frequencies)

    def excess(offsets):
        return softmax(scores + offsets, axis=1).mean(axis=0) - frequencies

    def loss(offsets):
        value = logsumexp(scores + offsets, axis=1).mean() - frequencies @ offsets
        return value + ridge * (offsets @ offsets) / 2, excess(offsets) + ridge * offsets

    start, bounds = np.zeros(len(frequencies)), [(-_MOST_OFFSET, _MOST_OFFSET)] * len(frequencies)
    fit = minimize(
        loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-12}
    )
    before, after = (np.abs(excess(offsets)).sum() for offsets in (start, fit.x))
    removed = max(0.0, 1 - after / max(before, np.finfo(float).tiny))
    return (fit.x - fit.x.mean()) * removed
