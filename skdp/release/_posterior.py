"""Posterior means under normal noise: positive numbers, correlations, weights."""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import cumulative_trapezoid
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.special import log_ndtr

from skdp.utils._linalg import TINY, positive_definite_floor

# Prior standard deviations of a weight: 0, where nothing separates the classes, and equally likely
# ones in equal steps of their logarithm. With 21 the AUC is the same, with seven .0008 less at
# ε = 1.
SCALE_STEP = np.log(1e4) / 12
WEIGHT_SCALES = np.concatenate([[0.0], 0.01 * np.exp(SCALE_STEP * np.arange(13))])
# Prior probability that nothing separates the classes, or explains a number. Of labels at random
# and 500 to 2,000 rows, 80% intervals of the expected AUC hold .5 in 88 to 100% of draws; with 0
# (and a prior on the share of the scores that lies between the classes) in 0 to 92%, with .1 in
# 92 to 100% and with a log loss that is .0004 higher.
_NOTHING = 0.05
# Added to the diagonal of correlation matrices to be inverted, against rounding.
RIDGE = 1e-10
# Least eigenvalue of the correlations. The AUC over six tables is the same from .01 to .2.
_LEAST_EIGENVALUE = 0.05


def positive_mean(estimate, sd):
    """Return the posterior means of non-negative numbers from estimates with normal noise."""
    # The mean of N(estimate, sd²) truncated at zero: positive, and near the estimate once that
    # exceeds its noise.
    estimate, sd = np.broadcast_arrays(np.asarray(estimate, dtype=np.float64), sd)
    # Beyond these bounds the mean is the estimate, or sd²/|estimate|, to three digits or more.
    with np.errstate(over="ignore"):
        ratio = np.clip(estimate / np.maximum(sd, TINY), -1e3, 40)
    hazard = np.exp(-(ratio**2) / 2 - log_ndtr(ratio)) / np.sqrt(2 * np.pi)
    return np.where(ratio < 40, sd * (ratio + hazard), estimate)


def reliability(squared_length, noise):
    """Return the share of a noisy vector that is not noise (James and Stein, 1961).

    By its squared length, and the expected one of its noise.
    """
    return np.maximum(1 - noise / np.maximum(squared_length, TINY), 0.0)


def shrunk_vectors(vectors, center, noise):
    """Return rows, each shrunk to a center by the squared length of the noise in it."""
    away = vectors - center
    return center + reliability((away**2).sum(axis=1), noise)[:, np.newaxis] * away


def shrunk_correlations(covariance, variances, errors, largest=np.inf):
    """Return a covariance whose correlations are shrunk to zero, as much as their noise asks for.

    Correlations are N(0, b) with what their mean square exceeds their noise by as b.
    """
    off = ~np.eye(len(covariance), dtype=bool)
    squares = np.maximum(np.outer(variances, variances), TINY)
    correlations, noise = covariance / np.sqrt(squares), errors / squares
    excess = max(np.mean((correlations**2 - noise)[off]), TINY) if off.any() else 1.0
    shrinkage = excess / (excess + noise)
    correlations = np.where(off, np.clip(correlations * shrinkage, -largest, largest), 1.0)
    definite = positive_definite_floor((correlations + correlations.T) / 2, _LEAST_EIGENVALUE)
    return definite * np.sqrt(squares), shrinkage


@dataclass(frozen=True)
class ScaledPosterior:
    """What a noisy difference of two means says of linear weights, for one prior scale of these.

    The difference is W w + e with w ~ N(0, τ² I), and e normal of covariance
    noise + diag(Σ_j errors_ij E[w_j²]) + W/size: noise in the difference, noise in W, and the
    sampling of rows.

    Attributes
    ----------
    d_prime : float
        The scale: d' that is expected of all functions together, in units of W.

    log_evidence : float

    weights : ndarray of shape (n_basis,)
        Posterior mean.

    solved : ndarray of shape (n_basis,)
        The inverse covariance of the noisy difference, times the difference.
    """

    d_prime: float
    log_evidence: float
    weights: np.ndarray
    solved: np.ndarray
    _tau: float
    _square: np.ndarray
    _scale: np.ndarray
    _factor: np.ndarray

    @classmethod
    def of(cls, tau, square, rest, difference, covariance):
        """Return it, by the covariances of W w for τ = 1 and of the rest of the difference."""
        total = tau**2 * square + rest
        scale = 1 / np.sqrt(total.diagonal())
        total *= np.outer(scale, scale)
        total += RIDGE * np.eye(len(total))
        factor = _cholesky(total)
        solved = scale * _cholesky_solve(factor, scale * difference)
        log_evidence = np.log(scale / factor.diagonal()).sum() - difference @ solved / 2
        d_prime, weights = tau * np.sqrt(covariance.trace()), tau**2 * covariance @ solved
        return cls(d_prime, log_evidence, weights, solved, tau, square, scale, factor)

    @property
    def difference(self):
        """Return the posterior mean of the difference of the means."""
        return self.between(self.solved)

    def between(self, vector):
        """Return the prior covariance of the difference of the means, times a vector."""
        return self._tau**2 * (self._square @ vector)

    @property
    def covariance(self):
        """Return the posterior covariance of the difference of the means."""
        between = self._tau**2 * self._square
        return between - between @ self.solve(between)

    def solve(self, columns):
        """Return the inverse covariance of the noisy difference, times a vector or columns."""
        return (self._scale * _cholesky_solve(self._factor, (self._scale * columns.T).T).T).T


def posteriors_by_scale(difference, covariance, errors, noise, size):
    """Return a :class:`ScaledPosterior` for each of the equally likely prior scales."""
    # Of the linear discriminant of Fisher (1936).
    square = covariance @ covariance + np.diag(errors.sum(axis=1))
    rest = covariance / size + noise
    return [ScaledPosterior.of(tau, square, rest, difference, covariance) for tau in WEIGHT_SCALES]


def difference_posteriors(difference, covariance, errors, noise, size):
    """Return these for a covariance with correlations, and then for one without."""
    diagonal = np.diag(covariance.diagonal()), np.diag(errors.diagonal())
    return [
        posterior
        for W, of_entries in ((covariance, errors), diagonal)
        for posterior in posteriors_by_scale(difference, W, of_entries, noise, size)
    ]


def log_prior_of_scales(ratios, spread):
    """Return the log-density of prior scales before rows are seen, by their ratios to the median.

    They are log-normal, of this standard deviation of their logarithm, or zero.
    """
    away = np.log(np.maximum(ratios, TINY)) / spread
    others = np.sqrt(2 * np.pi) * spread / SCALE_STEP  # the sum over all scales but zero
    return np.where(ratios > 0, -(away**2) / 2, np.log(others * _NOTHING / (1 - _NOTHING)))


def mean_direction(posteriors, likely, covariance):
    """Return the direction of the mean weights over posteriors, of unit variance."""
    direction = likely @ [posterior.weights for posterior in posteriors]
    return direction / np.sqrt(max(direction @ covariance @ direction, TINY))


def equally_likely(values, log_density, n):
    """Return n equally likely values of a density on a grid."""
    density = np.exp(log_density - log_density.max())
    below = cumulative_trapezoid(density, values, initial=0)
    return np.interp((np.arange(n) + 0.5) / n * below[-1], below, values)


# SciPy's cho_factor and cho_solve take longer than LAPACK for matrices as small as these.


def _cholesky(matrix):
    """Return the lower factor of a positive definite matrix; its upper triangle is of no use."""
    factor, failed = dpotrf(np.asarray_chkfinite(matrix), lower=True, clean=False)
    if failed:
        raise np.linalg.LinAlgError("a covariance is not positive definite")
    return factor


def _cholesky_solve(factor, right):
    """Return the inverse of the factored matrix, times a vector or columns."""
    return dpotrs(factor, np.asarray_chkfinite(right), lower=True)[0]
