"""Several scorers on one scale: Bayesian model averaging on the labelled rows."""

from itertools import combinations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

# Scale of the normal prior of slopes. A weight of 1 makes the winner e times as likely as the
# second, on average: one of 5 is as sure as a scorer can reasonably be.
_SLOPE_SCALE = 5.0
# Weight of the last scorer, at least: it has to say something about every row.
_MIN_WEIGHT = 0.1
# Probability that a labelled row is an outlier. Without it one confident error made a source of
# 33-59 % count as much as a target of 71 % (human activity at ε = 0.1: 62 instead of 71 %).
_OUTLIERS = 0.1
# Points at which the likelihood of a slope is tried before it is refined: it has several maxima.
_N_SLOPES = 81


def mean_margin(scores):
    """Return how far the best class is above the second best, on average: a unit of scores."""
    top = np.partition(scores, -2, axis=1)[:, -2:]
    return float(np.mean(top[:, 1] - top[:, 0])) or 1.0


def fit_weights(scores, labels):
    """Return non-negative weights with which scores add up to log-posteriors.

    Bayesian model averaging over all sets of scorers. Those of a set count equally: few
    labelled rows say who is of use, and hardly how much. How sure they are together is the
    slope of a multinomial logistic regression on the labelled rows, under a normal prior of
    scale 5. Each set counts by its likelihood at the best slope, prior included. A labelled
    row is an outlier, of any class, with probability 1/10: a single confident error must not
    make all sets unsure, and so alike.

    Parameters
    ----------
    scores : ndarray of shape (n_scorers, n_samples, n_classes)
        In units of :func:`mean_margin`. The last one keeps a weight of 0.1.

    labels : ndarray of shape (n_samples,)
        Class indices.

    Returns
    -------
    weights : ndarray of shape (n_scorers,)
    """
    scorers = range(len(scores))
    sets = [list(s) for n in scorers for s in combinations(scorers, n + 1)]
    fits = [_fit_slope(scores[chosen].mean(axis=0), labels) for chosen in sets]
    weights = np.zeros(len(scores))
    for probability, chosen, fit in zip(
        softmax([-fit.fun for fit in fits]), sets, fits, strict=True
    ):
        weights[chosen] += probability * fit.x / len(chosen)
    weights[-1] = max(weights[-1], _MIN_WEIGHT)
    return weights


def _fit_slope(scores, labels):
    ahead = scores - scores[np.arange(len(labels)), labels][:, np.newaxis]

    def loss(slope):
        with np.errstate(over="ignore"):  # then the label has probability 0: an outlier
            own = 1 / np.exp(slope * ahead).sum(axis=1)
        likelihoods = (1 - _OUTLIERS) * own + _OUTLIERS / scores.shape[1]
        return (slope / _SLOPE_SCALE) ** 2 / 2 - np.log(likelihoods).sum()

    # Outliers make it anything but convex.
    grid = np.linspace(0, 4 * _SLOPE_SCALE, _N_SLOPES)
    best = np.argmin([loss(slope) for slope in grid])
    bounds = grid[np.clip([best - 1, best + 1], 0, len(grid) - 1)]
    return minimize_scalar(loss, bounds=bounds, method="bounded")
