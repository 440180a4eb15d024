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
# loss is .0001 lower on tables that chose and .0004 higher on others, and .004 to .026 higher at
# four hospitals, along whose directions the variance is 1.6.
_MEDIAN_VARIANCE = 0.6
_VARIANCE_SPREAD = 0.75
# Equally likely values of that variance.
_N_VARIANCES = 15
# Relative standard deviation of the root of the variance of a score where noise hides none of it:
# scores are not normal.
_RELATIVE_ERROR = 0.1
# Nodes of a standard normal distribution, of distances.
_DISTANCE_NODES = np.polynomial.hermite_e.hermegauss(9)
# Standard deviations from a mean at which a density is evaluated.
_DEVIATIONS = np.linspace(-8, 8, 201)
# Least share of all rows' variance within classes.
_LEAST_SHARE = 1e-3
# Least guess of a variance: of scores that are all the same.
_LEAST_GUESS = 1e-12
# Of d', far beyond an area of 1.
_LARGEST = 100.0


@dataclass(frozen=True)
class Distances:
    """The distance of two classes along a direction, for each prior scale of all differences.

    Attributes
    ----------
    d_primes : ndarray of shape (n_scales,)
        The scale: d' of all functions together, in units of the covariance within classes.

    log_evidence, means, variances : ndarray of shape (n_scales,)
        Log-density of the noisy difference, and mean and variance of the distance.
    """

    d_primes: np.ndarray
    log_evidence: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    @classmethod
    def along(cls, direction, posteriors):
        """Return the distances along a direction, by posteriors of the difference of the means."""
        by_scale = []
        for posterior in posteriors:
            between = posterior.between(direction)
            variance = direction @ between - between @ posterior.solve(between)
            distance = (between @ posterior.solved, max(variance, 0.0))
            by_scale.append((posterior.d_prime, posterior.log_evidence, *distance))
        return cls(*np.transpose(by_scale))

    def nodes(self, wider=1.0):
        """Return positive distances, (n_scales, n_nodes), and the weights of the nodes.

        At each scale the posterior is normal; its standard deviation is multiplied by ``wider``.
        """
        nodes, weights = _DISTANCE_NODES
        spread = wider * np.outer(np.sqrt(self.variances), nodes)
        return np.maximum(self.means[:, np.newaxis] + spread, 0), weights


def likely_posteriors(posteriors):
    """Return the probabilities of scales of a list of ScaledPosterior."""
    d_primes = np.array([posterior.d_prime for posterior in posteriors])
    prior = log_prior_of_scales(d_primes / _MEDIAN_D_PRIME, _D_PRIME_SPREAD)
    return softmax(prior + [posterior.log_evidence for posterior in posteriors])


def corrected_frequency(noisy, variance, joint, posteriors):
    """Return the frequency of the second class, corrected for its estimated error.

    An error of the frequency adds this multiple of the mean of all rows to the noisy difference
    of the classes, which therefore estimates the error. The prior of differences makes the
    posterior too narrow, so a certain correction is halved.

    Parameters
    ----------
    noisy, variance : float
        The noisy frequency, and the variance of its noise.

    joint : ndarray of shape (n_basis,)
        Covariance of the noise in the difference with that in the frequency.

    posteriors : list of ScaledPosterior
        Of the difference.
    """
    if not variance > 0:
        return noisy
    likely = likely_posteriors(posteriors)
    error = likely @ [joint @ posterior.solved for posterior in posteriors]
    left = likely @ [variance - joint @ posterior.solve(joint) for posterior in posteriors]
    left = np.clip(left, 0, variance)
    corrected = noisy - variance / (variance + left) * error
    sd = np.sqrt(2 * variance * left / (variance + left))
    shares = positive_mean([1 - corrected, corrected], sd)
    return float(shares[1] / shares.sum())


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
        distances, shares = by_scale.nodes(_WIDER)
        totals = np.asarray(totals)[:, np.newaxis, np.newaxis]
        distances = distances + np.zeros_like(totals)
        variances = np.maximum(totals - between * distances**2, _LEAST_SHARE * totals)
        # The prior is about d' in units of the variance within classes.
        ratios = by_scale.d_primes[:, np.newaxis] / (_MEDIAN_D_PRIME * np.sqrt(variances))
        likely = (
            log_prior_of_scales(ratios, _D_PRIME_SPREAD) + by_scale.log_evidence[:, np.newaxis]
        )
        # The variances in ``totals`` are equally likely if the log-normal prior is about the
        # variance of all rows. It is about that within classes: weight by the ratio of the two.
        likely += _log_prior(variances, guess, _VARIANCE_SPREAD)
        likely -= _log_prior(totals, guess, _VARIANCE_SPREAD)
        likely = np.exp(likely - likely.max()) * shares
        return cls(distances.ravel(), variances.ravel(), likely.ravel() / likely.sum(), frequency)

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


def _log_prior(variances, median, spread):
    """Return the log-density of variances before they are seen, which is log-normal."""
    log = np.log(variances)
    return -(((log - np.log(median)) / spread) ** 2) / 2 - log


def equally_likely_variances(seen, noise, n_rows, grid, median, spread, n):
    """Return n equally likely variances, by an estimate with normal noise and a log-normal prior.

    Parameters
    ----------
    seen, noise : float
        The estimate, and the standard deviation of its noise.

    n_rows : float
        Rows whose sampling adds to the error.

    grid : ndarray
        Variances over which the prior lies; between its ends others near the estimate are added.

    median, spread : float
        Of the prior, and the standard deviation of the logarithm.

    n : int
    """
    error = np.sqrt(noise**2 + 2 * max(seen, 0) ** 2 / n_rows)
    values = np.concatenate([grid, seen + error * _DEVIATIONS])
    values = np.unique(values[(values >= grid[0]) & (values <= grid[-1])])
    errors = noise**2 + 2 * values**2 / n_rows
    log_density = _log_prior(values, median, spread)
    log_density = log_density - ((seen - values) ** 2 / errors + np.log(errors)) / 2
    return equally_likely(values, log_density, n)


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
    grid = guess * np.exp(_VARIANCE_SPREAD * _DEVIATIONS)
    prior = guess, _VARIANCE_SPREAD, _N_VARIANCES
    return equally_likely_variances(seen, noise, n_rows, grid, *prior), guess


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
