r"""A linear regression of a number from noisy sums, and the posterior of its R².

Each number is rescaled to 0–1 between its public bounds, w, and split between two pseudo-classes,
one per bound: a row counts w in one class and 1 − w in the other. Least squares then has the
direction of the linear discriminant of these classes. Steps 1 to 5 are those of
:mod:`skdp.release._linear_discriminant`; the others are:

6. Direction: u of unit variance, along the posterior mean of the weights, averaged over prior
   scales by their evidence and by the prior of R².
7. Slope: c = cov(w, u·z), T = var(u·z) and s² = var(w) are uncertain due to noise and sampling.
   The slope with the smallest expected squared error is E[c]/E[T]. The posterior of
   R² = c²/(T s²) follows from theirs.
8. The variance of the numbers about the prediction is s²(1 − R²).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from skdp.release._basis import BasisFunctions
from skdp.release._clipping import clipping_effect
from skdp.release._linear_discriminant import Population
from skdp.release._number_distribution import NumberDistribution
from skdp.release._numbers import INTERVAL
from skdp.release._parts import LARGEST_COEFFICIENT, Part, array, check_shape, part, require
from skdp.release._posterior import difference_posteriors, log_prior_of_scales, mean_direction
from skdp.release._separation import Distances, equally_likely_variances, likely_variances
from skdp.utils._linalg import TINY

# Prior median of the multiple correlation, and standard deviation of its logarithm. On five
# numbers (diamonds, expenditure, visits and their logarithm, diabetes), 150 to 16,000 rows and
# ε = .5, 1, 4, the mean R² is .1401 with .6 and .6, .1354 with .6 and 1, .1321 with .4 and .8,
# .1374 with .8 and .6.
_MEDIAN_CORRELATION, _CORRELATION_SPREAD = 0.6, 0.5
# The median for residuals of times, whose variance is mostly unpredictable. On five tables (200 to
# 5,250 rows, ε = .5 and 1, six draws) the expected concordance is off by .036, by .044 with .6;
# concordance and Brier scores are the same.
_MEDIAN_OF_TIMES = 0.4
# Prior median of the variance of a rescaled number, and standard deviation of its logarithm (rule
# of thumb: a standard deviation of a seventh of the range).
_MEDIAN_VARIANCE, _VARIANCE_SPREAD = 0.02, 1.0
# Smallest variance of a rescaled number.
_LEAST_VARIANCE = 1e-6
# Largest R².
MOST_EXPLAINED = 0.999
# Equally likely variances of a number.
_N_VARIANCES = 9


@dataclass(frozen=True)
class LinearRegression(Part):
    """A number, rescaled to 0–1, as a linear function of functions of the columns.

    Attributes
    ----------
    coefficients : ndarray of shape (n_basis,)

    intercept : ndarray of shape (1,)

    variance : ndarray of shape (1,)
        Posterior mean of the variance of the rescaled number about its prediction, without errors
        of the coefficients.

    coefficient_sd : ndarray of shape (1,)
        Posterior standard deviation of the slope along the prediction, relative to it.

    intercept_sd : ndarray of shape (1,)

    r2 : ndarray of shape (3,)
        Posterior mean of R² on rows of the source's distribution, and the bounds of its central
        80% interval.

    basis : BasisFunctions

    distribution : NumberDistribution
        Of the rescaled number about its prediction.
    """

    coefficients: np.ndarray = array("f", "f", below=LARGEST_COEFFICIENT)
    intercept: np.ndarray = array("1", "f", below=LARGEST_COEFFICIENT)
    variance: np.ndarray = array("1", "f", least=0, below=1.0)
    coefficient_sd: np.ndarray = array("1", "f", least=0, below=LARGEST_COEFFICIENT)
    intercept_sd: np.ndarray = array("1", "f", least=0, below=LARGEST_COEFFICIENT)
    r2: np.ndarray = array("3", "f", least=0, below=1.0)
    basis: BasisFunctions = part(BasisFunctions)
    distribution: NumberDistribution = part(NumberDistribution)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the expected rescaled number of each row, possibly beyond the bounds."""
        return self.basis.encode(X) @ self.coefficients + self.intercept[0]

    def wider(self, places: np.ndarray, mean: float) -> np.ndarray:
        """Return by how much errors of the model widen the distribution of each number.

        Parameters
        ----------
        places : ndarray of shape (n_samples,)
            Predicted rescaled numbers.

        mean : float
            Mean over all rows.
        """
        slope = (self.coefficient_sd[0] * (places - mean)) ** 2
        return np.sqrt(1 + (self.intercept_sd[0] ** 2 + slope) / max(self.variance[0], TINY))

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless coefficients are for functions of the columns of a release."""
        check_shape(self.coefficients, (len(self.basis.column),), f"{name}.coefficients")
        mean, low, high = self.r2
        require(low <= mean <= high, f"{name}.r2", "must lie in its interval")


def linear_regression(statistics, basis):
    """Return :class:`LinearRegression` from noisy sums over rows."""
    shrinkage = clipping_effect(statistics, basis)
    population = Population.of(statistics, basis.variances)
    n, mean = population.n_rows, population.frequencies[1]
    variances = number_variances(statistics, n, mean)
    # The difference of the pseudo-classes is the covariance with the number divided by this.
    size = population.sizes[1] / n
    differs = population.differences[1], population.within, population.within_errors
    noise = population.noise[1]
    # Step 5. Of the covariance, sampling leaves open what the variance of the number says.
    posteriors = difference_posteriors(*differs, noise, n * size**2 / variances.mean())
    median = _MEDIAN_CORRELATION if statistics.exits is None else _MEDIAN_OF_TIMES
    unit = size / np.sqrt(variances.mean()) / median
    correlations = unit * np.array([posterior.d_prime for posterior in posteriors])
    prior = log_prior_of_scales(correlations, _CORRELATION_SPREAD)
    likely = softmax(prior + [posterior.log_evidence for posterior in posteriors])
    direction = mean_direction(posteriors, likely, population.within)  # step 6
    distances = Distances.along(direction, posteriors)
    seen = direction, population.covariance, statistics.second_sd / n, n, basis.variances
    totals, _ = likely_variances(*seen)
    posterior = _Explained.of(distances, size, totals, variances, prior)  # steps 7 and 8
    coefficients = posterior.slope * direction
    explained, left = posterior.r2[0], min(posterior.unexplained, 1.0)
    spread = np.sqrt(left * explained / (1 - explained))
    of_mean = (statistics.pooled_counts[1] / n) ** 2 * (mean**2 + (1 - mean) ** 2)
    return LinearRegression(
        # Rows to be predicted are not clipped, and longer.
        coefficients=coefficients * np.sqrt(shrinkage),
        intercept=np.array([mean - coefficients @ population.mean]),
        variance=np.array([left]),
        coefficient_sd=np.array([posterior.slope_sd]),
        intercept_sd=np.array([np.sqrt(min(of_mean + posterior.unexplained / n, 1.0))]),
        r2=posterior.r2,
        basis=basis,
        distribution=NumberDistribution.normal(mean, spread, np.sqrt(left)),
    )


def number_variances(statistics, n_rows, mean):
    """Return equally likely variances of the rescaled number."""
    # Between 0 and the variance of the pseudo-classes alone, with a log-normal prior. The variance
    # between the means of sources is added.
    sources = statistics.counts.sum(axis=1) / n_rows
    between = max(sources @ (statistics.frequencies[:, 1] - mean) ** 2, 0.0)
    most = max(mean * (1 - mean), 2 * _LEAST_VARIANCE)
    seen = statistics.squares[0] / n_rows + between
    deviation = statistics.square_sd[0] / n_rows
    grid = np.geomspace(_LEAST_VARIANCE, most, 400)
    prior = _MEDIAN_VARIANCE, _VARIANCE_SPREAD, _N_VARIANCES
    return equally_likely_variances(seen, deviation, n_rows, grid, *prior)


@dataclass(frozen=True)
class _Explained:
    """The posterior of a slope, and of its R²."""

    slope: float
    slope_sd: float  # relative to the slope
    r2: np.ndarray  # mean, and the ends of its interval
    unexplained: float  # posterior mean of the variance that is left

    @classmethod
    def of(cls, distances, size, totals, variances, log_prior):
        """Return it over covariances by prior scale, and variances of score and number."""
        nodes, shares = distances.nodes()
        covariances = size * nodes
        squares = np.asarray(totals)[:, np.newaxis, np.newaxis, np.newaxis]
        variances = np.asarray(variances)[:, np.newaxis, np.newaxis]
        r2 = covariances**2 / (squares * variances)
        likely = (distances.log_evidence + log_prior)[:, np.newaxis] + np.zeros_like(r2)
        likely = np.exp(likely - likely.max()) * shares * (r2 < MOST_EXPLAINED)
        if not likely.any():  # all that is left explains everything
            likely, r2 = np.ones_like(r2), np.full_like(r2, MOST_EXPLAINED)
        likely /= likely.sum()
        slope = (likely * covariances).sum() / (likely * squares).sum()
        slopes = covariances / squares
        spread = np.sqrt(max((likely * slopes**2).sum() - (likely * slopes).sum() ** 2, 0.0))
        order = np.argsort(r2, axis=None)
        below, values = np.cumsum(likely.ravel()[order]), r2.ravel()[order]
        ends = np.array([1 - INTERVAL, 1 + INTERVAL]) / 2
        low, high = values[np.minimum(np.searchsorted(below, ends), len(values) - 1)]
        mean = float(np.clip((likely * r2).sum(), low, high))
        left = variances * (1 - r2)
        return cls(
            slope=float(slope),
            slope_sd=float(spread / max(slope, TINY)),
            r2=np.array([mean, low, high]),
            unexplained=float((likely * left).sum()),
        )
