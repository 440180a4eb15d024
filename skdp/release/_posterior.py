"""Posterior means under normal noise: positive numbers, correlations, weights, separations."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_ndtr

from skdp.utils._linalg import positive_definite_floor

# Equally likely prior standard deviations of a weight. With 21 the AUC is the same,
# with seven .0008 less at ε = 1.
WEIGHT_SCALES = np.geomspace(0.01, 100, 13)
# Added to the diagonal of correlation matrices to be inverted, against rounding.
_RIDGE = 1e-10
# Least eigenvalue of the correlations. The AUC over six tables is the same from .01 to .2.
_LEAST_EIGENVALUE = 0.05
_TINY = np.finfo(np.float64).tiny
# Median and standard deviation of the logarithm of d' between two classes before they are seen, of
# all functions together. Over six tables and four hospitals (70 to 1,000 rows, ε = .5 to 8) the
# expected AUC is .02 and .03 too low so, .03 and .04 with a median of 1.5; .08 and .12 without, as
# all scales are as likely and noise in W is left out.
_MEDIAN_D_PRIME = 2.5
_D_PRIME_SPREAD = 0.6
# Factor of the posterior standard deviation: intervals of 80 % hold 55 % of the areas without this
# and the next, and 81 % of those of tables, 74 % of those of hospitals with both.
_WIDER = 1.5
# Relative standard deviation of the root of the variance of a score where noise hides none of it:
# scores are not normal.
_RELATIVE_ERROR = 0.1
# Prior standard deviation of the variance along a direction, and of the sum of all variances, in
# units of their guess.
_SPREAD = 0.5
# Bounds of the sum of all variances in units of its guess, and the least variance along a
# direction (rules of thumb).
_SUM_BOUNDS = 0.1, 1.5
_LEAST_VARIANCE = 0.15
# Of d', far beyond an area of 1.
_LARGEST = 100.0


def positive_mean(estimate, sd):
    """Return the posterior means of non-negative numbers from estimates with normal noise."""
    # The mean of N(estimate, sd²) truncated at zero: positive, and near the estimate once that
    # exceeds its noise.
    estimate, sd = np.broadcast_arrays(np.asarray(estimate, dtype=np.float64), sd)
    # Beyond these bounds the mean is the estimate, or sd²/|estimate|, to three digits or more.
    with np.errstate(over="ignore"):
        ratio = np.clip(estimate / np.maximum(sd, _TINY), -1e3, 40)
    hazard = np.exp(-(ratio**2) / 2 - log_ndtr(ratio)) / np.sqrt(2 * np.pi)
    return np.where(ratio < 40, sd * (ratio + hazard), estimate)


def shrunk_correlations(covariance, variances, errors, largest=np.inf):
    """Return a covariance whose correlations are shrunk to zero, as much as their noise asks for.

    Correlations are N(0, b) with what their mean square exceeds their noise by as b.
    """
    off = ~np.eye(len(covariance), dtype=bool)
    squares = np.maximum(np.outer(variances, variances), _TINY)
    correlations, noise = covariance / np.sqrt(squares), errors / squares
    excess = max(np.mean((correlations**2 - noise)[off]), _TINY) if off.any() else 1.0
    shrinkage = excess / (excess + noise)
    correlations = np.where(off, np.clip(correlations * shrinkage, -largest, largest), 1.0)
    definite = positive_definite_floor((correlations + correlations.T) / 2, _LEAST_EIGENVALUE)
    return definite * np.sqrt(squares), shrinkage


def posterior_weights(difference, covariance, errors, noise, size):
    """Return the posterior mean of the weights w of a linear discriminant, and the evidence."""
    # The mean is over the scales τ of weights_by_scale, equally likely before the difference is
    # seen.
    means, evidence = weights_by_scale(difference, covariance, errors, noise, size)
    likely = np.exp(evidence - max(evidence))
    log_evidence = max(evidence) + np.log(likely.mean())
    return likely @ means / likely.sum(), float(log_evidence)


def weights_by_scale(difference, covariance, errors, noise, size):
    """Return the posterior mean of the weights w of a linear discriminant for each prior scale."""
    # The noisy difference of two means is W w + e, w ~ N(0, τ² I), and e is normal of covariance
    # noise + diag(Σ_j errors_ij E[w_j²]) + W/size: noise in the difference, noise in W, and the
    # sampling of rows.
    square = covariance @ covariance
    evidence, means = [], []
    for tau in WEIGHT_SCALES:
        total = tau**2 * square + covariance / size + noise
        total[np.diag_indices_from(total)] += tau**2 * errors.sum(axis=1)
        scale = 1 / np.sqrt(total.diagonal())
        total = total * np.outer(scale, scale)
        total[np.diag_indices_from(total)] += _RIDGE
        factor = cho_factor(total, lower=True)
        solved = scale * cho_solve(factor, scale * difference)
        evidence.append(np.log(scale / factor[0].diagonal()).sum() - difference @ solved / 2)
        means.append(tau**2 * covariance @ solved)
    return np.array(means), np.array(evidence)


@dataclass(frozen=True)
class ScoredClasses:
    """Scores of clipped rows, and what is known of how they differ between classes.

    Attributes
    ----------
    coefficients : ndarray of shape (n_classes, n_basis)

    intercepts : ndarray of shape (n_classes,)

    means, sds : ndarray of shape (n_classes, n_classes)
        Posterior mean and standard deviation of the difference, between two classes, of the mean
        of one score less the other (for two classes, in units of their direction).

    variances : ndarray of shape (n_classes, n_classes)
        Of one score less the other, within classes.

    relative_error : float, default=0.0
        Standard deviation of the root of these variances, in units of that.
    """

    coefficients: np.ndarray
    intercepts: np.ndarray
    means: np.ndarray
    sds: np.ndarray
    variances: np.ndarray
    relative_error: float = 0.0


def posterior_separation(direction, difference, noise, size, covariance, errors):
    """Return the posterior mean and standard deviation of how far two classes lie apart."""
    # The difference of the means is W w with w ~ N(0, τ² I), of a covariance W with correlations
    # or without, as weights_by_scale has it. Scales count by their evidence, and by how likely two
    # classes are to be so far apart; noise in W is part of the difference.
    diagonal = np.diag(covariance.diagonal()), np.diag(errors.diagonal())
    found = []
    for W, of_entries in ((covariance, errors), diagonal):
        square, known = W @ W + np.diag(of_entries.sum(axis=1)), noise + W / size
        size_of_one = np.sqrt(W.trace())
        for tau in WEIGHT_SCALES:
            prior = tau**2 * square
            total = prior + known
            scale = 1 / np.sqrt(total.diagonal())
            total = total * np.outer(scale, scale)
            total[np.diag_indices_from(total)] += _RIDGE
            factor = cho_factor(total, lower=True)
            along = scale * (prior @ direction)
            solved = cho_solve(factor, np.column_stack([scale * difference, along]))
            evidence = np.log(scale / factor[0].diagonal()).sum()
            evidence -= scale * difference @ solved[:, 0] / 2
            evidence -= (np.log(tau * size_of_one / _MEDIAN_D_PRIME) / _D_PRIME_SPREAD) ** 2 / 2
            variance = direction @ prior @ direction - along @ solved[:, 1]
            found.append((evidence, along @ solved[:, 0], max(variance, 0.0)))
    evidence, means, variances = np.transpose(found)
    likely = np.exp(evidence - evidence.max())
    likely /= likely.sum()
    mean = likely @ means
    return mean, _WIDER * np.sqrt(likely @ (variances + (means - mean) ** 2))


def variance_of_scores(direction, second, noise, n_rows, covariance):
    """Return the variance within classes along a direction, for what it tells apart."""
    # Public guesses of variances are those of categories that are equally frequent, which is the
    # most there is. The sum of all variances is known well where a single one is not, and says by
    # how much they are smaller on average; a direction that has found something has more than
    # that. Hence the guess is the root of that share of what the covariance says, and the noisy
    # variance itself is weighed against it.
    total, prior = covariance.trace(), _SPREAD**2
    error = len(covariance) * (noise / total) ** 2
    share = (prior * second.trace() / total + error) / (prior + error)
    guess = np.sqrt(np.clip(share, *_SUM_BOUNDS))
    prior *= guess**2
    error = (noise * (direction @ direction)) ** 2 + 2 * guess**2 / n_rows
    found = (prior * (direction @ second @ direction) + error * guess) / (prior + error)
    found = max(found, _LEAST_VARIANCE * guess)
    return found, np.sqrt(prior * error / (prior + error)) / found / 2


def d_primes(means, sds, variances, present, relative_error=0.0):
    """Return d' of pairs of classes and its standard deviation."""
    # A class without rows has none, so that with the probability p that both have some, the mean
    # is p d' and the mean square p (d'² + sd²).
    unit = np.sqrt(np.maximum(variances, _TINY))
    d_primes = np.clip(means / unit, 0, _LARGEST)
    error = _RELATIVE_ERROR**2 + relative_error**2
    squares = np.minimum(sds / unit, _LARGEST) ** 2 + error * d_primes**2
    both = np.outer(present, present)
    np.fill_diagonal(both, 0)
    return both * d_primes, np.sqrt(both * (squares + (1 - both) * d_primes**2))
