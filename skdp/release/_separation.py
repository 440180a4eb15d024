"""The posterior of the separation of two classes along a released direction.

The distance of the class means, and the variance of scores about them, are uncertain due to noise
and sampling. The slope of the log-odds, the expected AUC with its interval, and warnings are all
computed from this one posterior.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from skdp.release._posterior import equally_likely, log_prior_of_scales, positive_mean
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
# 80% hold 77 and 72% of the areas in place of 84 and 79%.
_WIDER = 1.5
# Median and standard deviation of the logarithm of the variance of scores within classes before it
# is seen, the median in units of what public guesses of variances say. These are those of equally
# frequent categories, the most there is. With a median of .3 and 1.2 by .0063 and .0001, where the
# expected AUC is .013 higher and .012 lower. With a deviation of .6 and a median of d' of 1.4, log
# loss is .0001 lower to choose by and .0004 higher to judge by, and .004 to .026 higher of four
# hospitals, along whose directions the variance is 1.6.
_MEDIAN_VARIANCE = 0.6
_VARIANCE_SPREAD = 0.75
# Equally likely values of that variance.
_N_VARIANCES = 15
# Relative standard deviation of the root of the variance of a score where noise hides none of it:
# scores are not normal.
_RELATIVE_ERROR = 0.1
# Nodes of a standard normal distribution, of distances.
_DISTANCE_NODES = np.polynomial.hermite_e.hermegauss(9)
# Least share of all rows' variance within classes.
_LEAST_SHARE = 1e-3
# Least probability of a scale whose covariance counts, to save time.
_LEAST_LIKELY = 1e-3
# Least guess of a variance: of scores that are all the same.
_LEAST_GUESS = 1e-12
# Least probability of a distance and a variance that count, to save time.
_LEAST_PROBABILITY = 1e-6
# Of d', far beyond an area of 1.
_LARGEST = 100.0


@dataclass(frozen=True)
class ScoredClasses:
    """Scores of clipped rows, and the posterior of their differences between classes.

    Attributes
    ----------
    coefficients : ndarray of shape (n_classes, n_basis)

    intercepts : ndarray of shape (n_classes,)

    means, sds : ndarray of shape (n_classes, n_classes)
        Posterior mean and standard deviation of the difference, between two classes, of the mean
        of one score less the other (for two classes, in units of their direction).

    variances : ndarray of shape (n_classes, n_classes)
        Variance within classes of one score minus the other.
    """

    coefficients: np.ndarray
    intercepts: np.ndarray
    means: np.ndarray
    sds: np.ndarray
    variances: np.ndarray


@dataclass(frozen=True)
class Distances:
    """The distance of two classes along a direction, for each prior scale of all differences.

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

    def corrected_frequency(self, noisy, variance):
        """Return the frequency of the second class, corrected for its estimated error.

        An error of the frequency adds this multiple of the mean of all rows to the noisy
        difference of the classes, which therefore estimates the error: ``errors`` is its posterior
        mean. The prior of differences makes the posterior too narrow, so a certain correction is
        halved.

        Parameters
        ----------
        noisy, variance : float
            The noisy frequency, and the variance of its noise.
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
    """Return probabilities of scales d', by their evidence and prior."""
    return softmax(log_evidence + log_prior_of_scales(d_primes / _MEDIAN_D_PRIME, _D_PRIME_SPREAD))


def likely_posteriors(posteriors):
    """Return the probabilities of scales of a list of ScaledPosterior."""
    return likely_scales(
        np.array([posterior.d_prime for posterior in posteriors]),
        np.array([posterior.log_evidence for posterior in posteriors]),
    )


def mean_posterior(posteriors):
    """Return mean weights and difference over posteriors, and the difference's covariance."""
    likely = likely_posteriors(posteriors)
    means = np.array([posterior.difference for posterior in posteriors])
    deviations = means - likely @ means
    covariance = (deviations.T * likely) @ deviations
    for p, posterior in zip(likely, posteriors, strict=True):
        if p > _LEAST_LIKELY:
            covariance += p * posterior.covariance
    return likely @ [posterior.weights for posterior in posteriors], likely @ means, covariance


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
        """Return the posterior by distances for each prior scale, and variances of all rows.

        Scales count by their evidence, and by the prior of d', the distance in units of the root
        of the variance within classes.

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
        ratios = by_scale.d_primes[:, np.newaxis] / (_MEDIAN_D_PRIME * np.sqrt(variances))
        likely = (
            log_prior_of_scales(ratios, _D_PRIME_SPREAD) + by_scale.log_evidence[:, np.newaxis]
        )
        # The variances in ``totals`` are equally likely if the log-normal prior is about the
        # variance of all rows. It is about that within classes: weight by the ratio of the two.
        likely += _log_prior(variances, guess) - _log_prior(totals, guess)
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
        """Return the slope of the log-odds in the score: E[D] / (E[T] - π(1 - π)E[D]²).

        D is the distance of the classes, T the total variance and π the frequency of the second
        class. T is W + π(1 - π)D², with the variance W within classes; so the denominator is
        E[W] + π(1 - π)(E[D²] - E[D]²).
        """
        between = self.frequency * (1 - self.frequency)
        excess = self.distances**2 - self.mean_distance**2
        return self.mean_distance / (self.mean_variance + between * self.probabilities @ excess)


def _log_prior(variances, guess):
    """Return the prior log-density of variances of scores."""
    log = np.log(variances)
    return -(((log - np.log(guess)) / _VARIANCE_SPREAD) ** 2) / 2 - log


def likely_variances(direction, total, noise, n_rows, guesses):
    """Return equally likely variances of the scores of all rows along a direction.

    The prior is log-normal about a multiple of the public guesses.

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
        The prior median.
    """
    guess = max(_MEDIAN_VARIANCE * (direction**2 @ guesses), _LEAST_GUESS)
    seen, noise = direction @ total @ direction, noise * (direction @ direction)
    away = np.linspace(-8, 8, 201)
    error = np.sqrt(noise**2 + 2 * max(seen, 0) ** 2 / n_rows)
    values = np.concatenate([guess * np.exp(_VARIANCE_SPREAD * away), seen + error * away])
    values = np.unique(values[values > _LEAST_GUESS**2])
    errors = noise**2 + 2 * values**2 / n_rows
    log_density = _log_prior(values, guess) - ((seen - values) ** 2 / errors + np.log(errors)) / 2
    return equally_likely(values, log_density, _N_VARIANCES), guess


def d_primes(means, sds, variances, present):
    r"""Return d' of pairs of classes and its standard deviation.

    If both classes have rows with probability p, the mean is p d' and the mean square
    p (d'² + sd²), because d' is 0 without rows.

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
