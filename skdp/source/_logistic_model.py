"""The model of a softmax regression, by gradient descent with noise on every gradient."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from skdp.noise import Share
from skdp.release import LinearScores, PrincipalModel
from skdp.source._integers import (
    GRID,
    GRID_BITS,
    SLACK,
    WEIGHT_BITS,
    WEIGHT_GRID,
    IntegerMap,
    row_probabilities,
    squared_norms,
)
from skdp.source._principal_model import COMMON_FRACTIONS, PRECISION, PrincipalDirectionsModel
from skdp.utils._linalg import positive_definite_floor

# Benchmarks: 50,000 digits of MNIST as 640 oriented gradients, tested on the other 10,000 of the
# training rows, in 300 directions.
# Steps of descent: 160 are as accurate as 80 at ε = 8 and at ε = 1, in twice the time.
N_STEPS = 80
# The constant appended to a row of norm 1. A constant of 1 would double the squared sensitivity
# (rule of thumb).
_CONSTANT = 2**14
# Norm at which the residuals of a row are clipped, of at most √2. With 0.25, 0.5 and √2 98.6, 98.8
# and 98.6% of the digits are right at ε = 8; 97.9, 98.0 and 97.1% at ε = 1.
_LARGEST_RESIDUAL = 0.5
# The same in multiples of 2^-20, with a margin for rounding.
_LONGEST = _LARGEST_RESIDUAL * WEIGHT_GRID * SLACK
# Norm of the gradient of a record: a row with its constant has norm √(1 + 1/16).
_SENSITIVITY = int(np.ceil(_LARGEST_RESIDUAL * np.sqrt(GRID**2 + _CONSTANT**2) * WEIGHT_GRID))


@dataclass(frozen=True)
class _Descent:
    """Settings of the descent."""

    # Largest learning rate for rows of unit variances. With 1, 2 and 4 the accuracy is 98.6, 98.8
    # and 98.8% at ε = 8; 97.9, 98.0 and 97.8% at ε = 1.
    rate: float = 2.0
    # Noise of a gradient, for rows of unit variances and each of them, above which the rate falls
    # with its root. From 1,400 digits of 8 × 8 pixels, with rates .06, .25, .5 and 2, 84, 83, 81
    # and 75% of others are right at ε = 1, where noise is 100 times as large; from 5,000 of MNIST
    # 64, 84, 89 and 88%, where it is 20 times as large.
    bearable_noise: float = 0.001
    # Momentum: the fraction of the last step that is repeated (rule of thumb).
    momentum: float = 0.9
    # Fraction of the steps whose average is the result (rule of thumb).
    tail: float = 0.5
    # Weight of the linear discriminant from which the descent starts: with .35, .5 and .7 98.7,
    # 98.7 and 98.6% of 10,000 held-out digits of MNIST are right at ε = 8, 98.0, 98.0 and 98.1%
    # at ε = 1; with nothing 98.4 and 97.6% (oriented gradients).
    trust: float = 0.5
    # Share of the average variance that is added to each for that discriminant: zero to ten times
    # as much are equally accurate.
    ridge: float = 0.05


_DESCENT = _Descent()


class LogisticModel(PrincipalDirectionsModel):
    """A softmax regression by noisy gradient descent on all rows, starting at a discriminant."""

    # With 200, 300 and 400 directions of 640 oriented gradients 98.64, 98.66 and 98.75% of 10,000
    # held-out digits of MNIST from 60,000 are right at ε = 8, 98.0% of them at ε = 1.
    n_directions = 400
    # With .5, .7 and .9 98.67, 98.66 and 98.68% of these digits are right at ε = 8; 98.05, 98.04
    # and 97.94% at ε = 1.
    quantile = 0.7
    # Of the budget: nearly all for the gradients. With half of this and twice as much for second
    # moments, as many of these digits are right.
    fractions = COMMON_FRACTIONS | {"second": 0.12, "gradients": 0.77}

    def _shares_in_directions(self, n_classes, n_directions):
        numbers = n_classes * (n_directions + 1)
        return {"gradients": Share(self.fractions["gradients"], numbers, _SENSITIVITY, N_STEPS)}

    def _learn(self, whitened, subspace, moments, queries):
        within = _without_noise(moments)
        units = subspace.components.T / np.sqrt(subspace.variances)
        means = (moments.means - subspace.mean) @ units
        start = _discriminant(means, units.T @ within @ units, moments.frequencies)
        slopes, offsets = softmax_regression(whitened, start, moments.class_counts.sum(), queries)
        coefficients = slopes @ units.T
        intercepts = offsets - coefficients @ subspace.mean
        # Gradients contain more about the classes than the moments, whose expectation is too low.
        model = PrincipalModel(moments, LinearScores(coefficients, intercepts))
        weights = _weights(slopes, offsets, whitened.radius)
        return model, partial(_exact_scores, _logits(weights))


def softmax_regression(whitened, start, count, queries):
    """Return coefficients and intercepts of whitened rows by noisy gradient descent."""
    # Each row's gradient is clipped (Abadi et al., 2016), by its residuals; gradients are summed
    # over all rows and divided by a noisy count. Steps have momentum, and the result is the
    # average over the last steps (Polyak and Juditsky, 1992). Spends the share "gradients".
    coefficients, intercepts = start
    weights = _weights(coefficients, intercepts, whitened.radius)
    velocity, average = np.zeros_like(weights), np.zeros_like(weights)
    tail = round(_DESCENT.tail * N_STEPS)
    unit = GRID * WEIGHT_GRID * count
    noise = queries.deviation("gradients", _SENSITIVITY) / unit * whitened.radius
    rate = _DESCENT.rate * np.sqrt(_DESCENT.bearable_noise / max(noise, _DESCENT.bearable_noise))
    for step in range(N_STEPS):
        exact = exact_gradient(whitened, weights)
        gradient = queries.add("gradients", exact, _SENSITIVITY) / unit
        velocity = _DESCENT.momentum * velocity + gradient
        weights = weights + rate * whitened.radius**2 * velocity
        if step >= N_STEPS - tail:
            average += weights / tail
    return average[:-1].T / whitened.radius, average[-1] * (_CONSTANT / GRID)


def _weights(coefficients, intercepts, radius):
    """Return weights of integer codes and of their constant, by those of whitened rows."""
    return np.vstack([coefficients.T * radius, intercepts * (GRID / _CONSTANT)])


def _logits(weights):
    """Return the map of integer codes to scores."""
    return IntegerMap.nearest(weights[:-1], _CONSTANT * weights[-1])


def _exact_scores(logits, codes):
    """Return the scores of integer codes, each of its row alone, to the last bit."""
    return logits.scaled(codes) * 2.0 ** -(logits.bits + GRID_BITS)


def exact_gradient(whitened, weights):
    """Return the gradient of the log-likelihood as an exact integer sum."""
    logits = _logits(weights)
    gradient = np.zeros(weights.shape, dtype=np.int64)
    for codes, class_indices, units in whitened.chunks():
        scores = _exact_scores(logits, codes)
        residuals = integer_residuals(scores, class_indices, units)
        gradient[:-1] += (codes.T @ residuals).astype(np.int64)
        gradient[-1] += _CONSTANT * residuals.sum(axis=0).astype(np.int64)
    return gradient


def integer_residuals(scores, class_indices, weights):
    """Return weighted residuals of softmax, in multiples of 2⁻²⁰ and truncated toward zero."""
    # The norm of a row of residuals is at most half its weight, in integers: longer ones are
    # clipped.
    residuals = -row_probabilities(scores)
    residuals[np.arange(len(scores)), class_indices] += 1
    residuals = np.trunc(residuals * WEIGHT_GRID)
    norms = np.sqrt(squared_norms(residuals))
    factors = _LONGEST / np.maximum(norms, _LONGEST) * weights * 2.0**-WEIGHT_BITS
    return np.trunc(residuals * factors[:, np.newaxis])


def _discriminant(means, covariance, frequencies):
    """Return a weighted linear discriminant of whitened rows, where the descent starts."""
    ridge = _DESCENT.ridge * np.trace(covariance) / len(covariance)
    coefficients = np.linalg.solve(covariance + ridge * np.eye(len(covariance)), means.T).T
    intercepts = np.log(frequencies) - 0.5 * np.einsum("cj,cj->c", coefficients, means)
    coefficients = coefficients - coefficients.mean(axis=0)
    return _DESCENT.trust * coefficients, _DESCENT.trust * (intercepts - intercepts.mean())


def _without_noise(moments):
    """Return the covariance within classes, with variances of at least those of the noise."""
    least = max(moments.eigenvalue_noise, np.finfo(np.float32).tiny)
    return positive_definite_floor(moments.covariance(0), least, PRECISION)
