"""The posterior of what separates two classes along a released direction.

How far their means lie apart there, and the variance of the scores about these, are uncertain by
noise and by the sampling of rows. Everything that a release claims follows from this
one posterior: the slope of its log-odds, the expected AUC with its interval, and warnings.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import cumulative_trapezoid
from scipy.special import expit, softmax

from skdp.release._posterior import SCALE_STEP, positive_mean
from skdp.utils._linalg import TINY

# What follows is measured on the tables to choose by of bench_owners, 136 cells of 100 to
# 4,000 rows, 1 to 12 owners and ε = .5 to 8: by how much the mean log loss, .420, becomes higher.
# Median and standard deviation of the logarithm of d' between two classes before they are seen, of
# all functions together. About 1.4, with a median of .7 and 2.8 by .0019 and .0042; with a
# deviation of .3, .6 and 1.2 by -.0005, .0011 and .0033 (on the held-out tables by .0006 and
# -.0002 with the first two).
_MEDIAN_D_PRIME = 1.45
_D_PRIME_SPREAD = 0.4
# Factor of the posterior standard deviation. With 1 the log loss is the same, but intervals of
# 80 % hold 77 and 72 % of the areas in place of 84 and 79 %.
_WIDER = 1.5
# Prior probability that nothing separates the classes. Of labels at random and 500 to 2,000 rows,
# 80 % intervals of the expected AUC hold .5 in 88 to 100 % of draws; with 0 (and a prior on the
# share of the scores that lies between the classes) in 0 to 92 %, with .1 in 92 to 100 % and with
# a log loss that is .0004 higher.
_NOTHING = 0.05
# Median and standard deviation of the logarithm of the variance of scores within classes before it
# is seen, the median in units of what public guesses of variances say. These are those of equally
# frequent categories, the most there is. With a median of .3 and 1.2 by .0063 and .0001, where the
# expected AUC is .013 higher and .012 lower. With a deviation of .6 and a median of d' of 1.4, log
# loss is .0001 lower to choose by and .0004 higher to judge by, and .004 to .026 higher of four
# hospitals, along whose directions the variance is 1.6.
_MEDIAN_VARIANCE = 0.6
_VARIANCE_SPREAD = 0.75
# Equally likely values of that variance, and how many standard deviations from its median they are
# at most.
_N_VARIANCES, _FARTHEST = 15, 8.0
# Relative standard deviation of the root of the variance of a score where noise hides none of it:
# scores are not normal.
_RELATIVE_ERROR = 0.1
# Nodes of standard normal distributions: of distances, and of scores.
_DISTANCE_NODES = np.polynomial.hermite_e.hermegauss(9)
_SCORE_NODES = np.polynomial.hermite_e.hermegauss(31)
# Least share of all rows' variance within classes (rule of thumb).
_LEAST_SHARE = 1e-3
# Least probability of a scale whose covariance counts (rule of thumb).
_LEAST_LIKELY = 1e-3
# Least guess of a variance: of scores that are all the same.
_LEAST_GUESS = 1e-12
# Least probability of a distance and a variance that are looked at.
_LEAST_PROBABILITY = 1e-6
_MOST_STEPS, _TOLERANCE = 50, 1e-9
# Of d', far beyond an area of 1.
_LARGEST = 100.0


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
    """

    coefficients: np.ndarray
    intercepts: np.ndarray
    means: np.ndarray
    sds: np.ndarray
    variances: np.ndarray


@dataclass(frozen=True)
class Distances:
    """How far two classes lie apart along a direction, for each prior scale of all differences.

    Attributes
    ----------
    d_primes : ndarray of shape (n_scales,)
        The scale: d' of all functions together, in units of the covariance within classes.

    log_evidence, means, variances : ndarray of shape (n_scales,)
        Log-density of the noisy difference, and mean and variance of the distance.

    errors, error_variances : ndarray of shape (n_scales,)
        Of the error of the noisy frequency of the second class, which is part of the difference.
    """

    d_primes: np.ndarray
    log_evidence: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    errors: np.ndarray
    error_variances: np.ndarray

    @classmethod
    def along(cls, direction, posteriors, by_frequency=None):
        """Return the distances along a direction.

        Parameters
        ----------
        direction : ndarray of shape (n_basis,)

        posteriors : list of ScaledPosterior
            Of the difference of the means.

        by_frequency : tuple of ndarray of shape (n_basis,) and float, or None, default=None
            Covariance of the noise in the difference with that in the frequency, and the variance
            of the latter.
        """
        joint, of_frequency = by_frequency or (np.zeros(len(direction)), 0.0)
        by_scale = []
        for posterior in posteriors:
            between = posterior.between(direction)
            variance = direction @ between - between @ posterior.solve(between)
            error = joint @ posterior.solved
            left = of_frequency - joint @ posterior.solve(joint)
            distance = (between @ posterior.solved, max(variance, 0.0))
            by_scale.append((posterior.d_prime, posterior.log_evidence, *distance, error, left))
        return cls(*np.transpose(by_scale))

    def frequency(self, noisy, variance):
        """Return the frequency of the second class, by its noisy value and the difference.

        A frequency that is wrong leaves so much of the mean of all rows in the difference. How
        well that shows is taken to be half of what the prior of differences says.

        Parameters
        ----------
        noisy, variance : float
            Of the frequency, and of the noise in it.
        """
        if not variance > 0:
            return noisy
        likely = likely_scales(self.d_primes, self.log_evidence)
        left = np.clip(likely @ self.error_variances, 0, variance)
        corrected = noisy - variance / (variance + left) * (likely @ self.errors)
        sd = np.sqrt(2 * variance * left / (variance + left))
        shares = positive_mean([1 - corrected, corrected], sd)
        return float(shares[1] / shares.sum())


def likely_scales(d_primes, log_evidence):
    """Return probabilities of scales d', by the evidence for them and by what tables have."""
    return softmax(log_evidence + _log_prior_of_scales(d_primes, 1.0))


def likely_posteriors(posteriors):
    """Return these probabilities of a list of ScaledPosterior."""
    return likely_scales(
        np.array([posterior.d_prime for posterior in posteriors]),
        np.array([posterior.log_evidence for posterior in posteriors]),
    )


def mean_posterior(posteriors):
    """Return mean weights and difference over these, and the covariance of the difference."""
    likely = likely_posteriors(posteriors)
    means = np.array([posterior.difference for posterior in posteriors])
    apart = means - likely @ means
    covariance = (apart.T * likely) @ apart
    for p, posterior in zip(likely, posteriors, strict=True):
        if p > _LEAST_LIKELY:
            covariance += p * posterior.covariance
    return likely @ [posterior.weights for posterior in posteriors], likely @ means, covariance


def _log_prior_of_scales(d_primes, unit):
    """Return the log-density of d' before the classes are seen; a unit is a score's deviation."""
    away = np.log(np.maximum(d_primes, TINY) / (_MEDIAN_D_PRIME * unit)) / _D_PRIME_SPREAD
    some = np.sqrt(2 * np.pi) * _D_PRIME_SPREAD / SCALE_STEP  # the sum of the others over scales
    return np.where(d_primes > 0, -(away**2) / 2, np.log(some * _NOTHING / (1 - _NOTHING)))


@dataclass(frozen=True)
class Separation:
    """The posterior of the distance of two classes and of the variance of scores within them.

    Attributes
    ----------
    distances, variances, probabilities : ndarray of shape (n_values,)

    frequency : float
        Of the second class.
    """

    distances: np.ndarray
    variances: np.ndarray
    probabilities: np.ndarray
    frequency: float

    @classmethod
    def of(cls, by_scale, frequency, totals, guess):
        """Return the posterior, by what is known of distances and of all rows' variance.

        Scales count by their evidence, and by how likely two classes are to be so far apart in
        units of the root of the variance within them.

        Parameters
        ----------
        by_scale : Distances

        frequency : float

        totals : ndarray of shape (n_variances,)
            Equally likely variances of the scores of all rows, before distances are seen.

        guess : float
            Prior median of the variance within classes, as :func:`likely_variances` returns it.
        """
        between = frequency * (1 - frequency)
        nodes, shares = _DISTANCE_NODES
        totals = np.asarray(totals)[:, np.newaxis, np.newaxis]
        distances = by_scale.means[:, np.newaxis] + _WIDER * np.outer(
            np.sqrt(by_scale.variances), nodes
        )
        distances = np.maximum(distances, 0) + np.zeros_like(totals)
        variances = np.maximum(totals - between * distances**2, _LEAST_SHARE * totals)
        # The prior is about d' in units of the variance within classes.
        likely = _log_prior_of_scales(by_scale.d_primes[:, np.newaxis], np.sqrt(variances))
        likely = likely + by_scale.log_evidence[:, np.newaxis]
        # Totals were drawn by the prior at the total, which is due at the variance within.
        likely = likely + _log_prior(variances, guess) - _log_prior(totals, guess)
        likely = np.exp(likely - likely.max()) * shares
        likely /= likely.sum()
        kept = likely > _LEAST_PROBABILITY
        return cls(distances[kept], variances[kept], likely[kept] / likely[kept].sum(), frequency)

    @property
    def mean_distance(self):
        return self.probabilities @ self.distances

    @property
    def mean_variance(self):
        return self.probabilities @ self.variances

    @property
    def d_prime(self):
        """Return mean and standard deviation of d'."""
        d_primes = np.minimum(self.distances / np.sqrt(self.variances), _LARGEST)
        mean = self.probabilities @ d_primes
        return mean, np.sqrt(self.probabilities @ (d_primes - mean) ** 2)

    @property
    def slope(self):
        """Return the slope of the log-odds in the score of least expected log loss.

        That of a logistic regression on normal scores of both classes, over all distances and
        variances by their probability.
        """
        nodes, shares = _SCORE_NODES
        pi, spread = self.frequency, np.sqrt(self.variances)[:, np.newaxis] * nodes
        means = np.multiply.outer([-pi, 1 - pi], self.distances)
        scores = (means[:, :, np.newaxis] + spread).reshape(2, -1)
        weights = np.outer(self.probabilities, shares / shares.sum()).ravel()
        weights = np.multiply.outer([1 - pi, pi], weights)
        unit = np.sqrt((weights * scores**2).sum())
        if not unit > 0:
            return 0.0
        scores = scores / unit
        slope, intercept = 0.0, np.log(pi / (1 - pi))
        for _ in range(_MOST_STEPS):
            p = expit(slope * scores + intercept)
            excess = weights * (p - [[0], [1]])
            curvature = weights * p * (1 - p)
            gradient = np.array([(excess * scores).sum(), excess.sum()])
            cross, slope_curvature = (curvature * scores).sum(), (curvature * scores**2).sum()
            hessian = np.array([[slope_curvature, cross], [cross, curvature.sum()]])
            step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
            step /= max(np.abs(step).max(), 1.0)
            slope, intercept = slope - step[0], intercept - step[1]
            if np.abs(step).max() < _TOLERANCE:
                break
        return max(slope, 0.0) / unit


def _log_prior(variances, guess):
    """Return the log-density of variances of scores before they are seen."""
    log = np.log(variances)
    return -(((log - np.log(guess)) / _VARIANCE_SPREAD) ** 2) / 2 - log


def likely_variances(direction, total, noise, n_rows, guesses):
    """Return equally likely variances of the scores of all rows along a direction.

    They are log-normal about a multiple of what public guesses say, before a noisy variance is
    seen.

    Parameters
    ----------
    direction : ndarray of shape (n_basis,)

    total : ndarray of shape (n_basis, n_basis)
        Noisy covariance of all rows.

    noise : float
        Standard deviation of the noise of a variance in it.

    n_rows : float

    guesses : ndarray of shape (n_basis,)

    Returns
    -------
    variances : ndarray of shape (n_variances,)

    guess : float
        The median before.
    """
    guess = max(_MEDIAN_VARIANCE * (direction**2 @ guesses), _LEAST_GUESS)
    seen, noise = direction @ total @ direction, noise * (direction @ direction)
    away = np.linspace(-_FARTHEST, _FARTHEST, 201)
    error = np.sqrt(noise**2 + 2 * max(seen, 0) ** 2 / n_rows)
    values = np.concatenate([guess * np.exp(_VARIANCE_SPREAD * away), seen + error * away])
    values = np.unique(values[values > _LEAST_GUESS**2])
    errors = noise**2 + 2 * values**2 / n_rows
    log_density = _log_prior(values, guess) - ((seen - values) ** 2 / errors + np.log(errors)) / 2
    below = cumulative_trapezoid(np.exp(log_density - log_density.max()), values, initial=0)
    shares = (np.arange(_N_VARIANCES) + 0.5) / _N_VARIANCES
    return np.interp(shares * below[-1], below, values), guess


def d_primes(means, sds, variances, present):
    r"""Return d' of pairs of classes and its standard deviation.

    A class without rows has none, so that with the probability p that both have some, the mean is
    p d' and the mean square p (d'² + sd²).

    Parameters
    ----------
    means, sds : ndarray of shape (n_classes, n_classes)
        Of the difference of the mean scores of each pair, in the posterior.

    variances : ndarray of shape (n_classes, n_classes)
        Within classes, of the difference of the scores.

    present : ndarray of shape (n_classes,)
        Probability that a class has rows.

    Returns
    -------
    d_primes, sds : ndarray of shape (n_classes, n_classes)
    """
    unit = np.sqrt(np.maximum(variances, TINY))
    d_primes = np.clip(means / unit, 0, _LARGEST)
    squares = np.minimum(sds / unit, _LARGEST) ** 2 + (_RELATIVE_ERROR * d_primes) ** 2
    both = np.outer(present, present)
    np.fill_diagonal(both, 0)
    return both * d_primes, np.sqrt(both * (squares + (1 - both) * d_primes**2))
