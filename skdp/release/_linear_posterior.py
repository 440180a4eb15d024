"""Linear scores of classes from noisy sums: the posterior mean of a linear discriminant."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from skdp.release._calibration import calibrated_log_odds
from skdp.release._clipping import clipping_effect
from skdp.release._d_primes import d_primes, occurrence
from skdp.release._linear import LinearScores
from skdp.release._marginals import variance_difference
from skdp.release._posterior import positive_mean, posterior_weights

# Prior standard deviation of a variance, in units of its public guess. On six tables at ε = 0.5
# the AUC is .734 with 1, .737 with .3, .738 with .2, .739 with .1, which loses .001 at ε = 4.
_VARIANCE_SPREAD = 0.2
# Least variance of a term, in units of its public guess: what a constant column has.
_LEAST_VARIANCE = 1e-4
# Least eigenvalue of the correlations. The AUC is the same from .01 to .2.
_LEAST_EIGENVALUE = 0.05
# What the full model counts for in the average of three. On six tables at ε = 1 the AUC is .7588
# with two and .7581 with one; of the full model alone .7591, but .004 less on one table.
_FULL_WEIGHT = 2
# Variance of a frequency of which nothing is known.
_UNIFORM_VARIANCE = 1 / 12
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class _Population:
    """What noisy sums say of rows before their covariance: one class against the rest."""

    n_rows: float
    frequencies: np.ndarray  # (n_classes,)
    mean: np.ndarray  # (n_basis,)
    differences: np.ndarray  # (n_classes, n_basis): the mean of a class less that of the rest
    sizes: np.ndarray  # (n_classes,): N π (1 − π), effective sample sizes of the differences
    noise: np.ndarray  # (n_classes, n_basis, n_basis): covariances of noise in the differences


def _population(statistics, guesses):
    counts = statistics.row_counts
    n = counts.sum()
    pi = counts / n
    noise = (statistics.total_sd / n) ** 2
    mean = statistics.total / n * guesses / (guesses + noise)
    # Posterior mean of the square of the mean.
    square = np.outer(mean, mean) + np.diag(noise * guesses / (guesses + noise))
    # Without noise the contrasts sum to zero; what they sum to is noise.
    contrast = statistics.contrast - statistics.contrast.mean(axis=0)
    contrast = contrast + np.outer(statistics.frequencies - pi, statistics.total)
    sizes = n * pi * (1 - pi)
    differences = contrast / sizes[:, None]
    return _Population(n, pi, mean, differences, sizes, _noise(statistics, n, pi, sizes, square))


def _noise(statistics, n, pi, sizes, square):
    """Return the covariance of the noise in the difference of each class from the rest.

    A frequency that is wrong by h leaves N h times the mean of all rows in the contrast.
    """
    contrast = statistics.contrast_sd**2 * (1 - 1 / len(pi))
    spread = (1 - pi) ** 2 + (len(pi) - 1) * pi**2
    frequency = np.minimum((statistics.count_sd / n) ** 2 * spread, _UNIFORM_VARIANCE)
    shift = square * (n**2 * frequency)[:, None, None]
    return (shift + contrast * np.eye(len(square))) / sizes[:, None, None] ** 2


def _between_covariance(population):
    """Return the covariance of the class means, each shrunk by the noise in its length."""
    lengths = np.maximum((population.differences**2).sum(axis=1), _TINY)
    reliable = np.maximum(1 - np.trace(population.noise, axis1=1, axis2=2) / lengths, 0)
    weights = population.frequencies * (1 - population.frequencies) ** 2 * reliable
    return (population.differences.T * weights) @ population.differences


def _within_covariance(statistics, population, guesses):
    """Return the covariance within classes, and the posterior variance of each of its entries.

    Variances are shrunk to their guesses, correlations to zero; both as much as noise asks for.
    """
    n, t = population.n_rows, len(guesses)
    raw = statistics.second / n - np.outer(population.mean, population.mean)
    raw -= _between_covariance(population)
    noise = (statistics.second_sd / n) ** 2  # of a variance; half of it of a covariance
    prior = (_VARIANCE_SPREAD * guesses) ** 2
    remaining = prior * noise / (prior + noise)
    variances = (prior * raw.diagonal() + noise * guesses) / (prior + noise)
    variances = positive_mean(variances, np.sqrt(remaining))
    variances = np.maximum(variances, _LEAST_VARIANCE * guesses)

    squares = np.outer(variances, variances)
    correlations, errors = raw / np.sqrt(squares), noise / 2 / squares
    off = ~np.eye(t, dtype=bool)
    excess = max(np.mean((correlations**2 - errors)[off]), _TINY) if t > 1 else 1.0
    shrinkage = excess / (excess + errors)
    correlations = np.where(off, correlations * shrinkage, 1.0)
    values, vectors = np.linalg.eigh((correlations + correlations.T) / 2)
    correlations = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    errors = np.where(off, noise / 2 * shrinkage, np.diag(remaining))
    return correlations * np.sqrt(squares), errors


def _weights(population, covariance, errors, basis, c):
    """Return weights for a class against the rest, 0 for terms left out, and the log-evidence."""
    chosen = np.ix_(basis, basis)
    w = np.zeros(len(basis))
    w[basis], evidence = posterior_weights(
        population.differences[c, basis],
        covariance[chosen],
        errors[chosen],
        population.noise[c][chosen],
        population.sizes[c],
    )
    return w, evidence


@dataclass(frozen=True)
class _Solution:
    """Scores of clipped rows, and what their separations follow from."""

    coefficients: np.ndarray  # (n_classes, n_basis)
    intercepts: np.ndarray  # (n_classes,)
    offsets: np.ndarray  # (n_classes, n_basis): class means
    variance: float  # of scores within classes, in units of what the covariance says


def _several_classes(population, covariance, errors, linear):
    """Return scores whose weights are the mean of those of all terms and of the linear ones.

    Classes are compared, so that lengths count: uncorrelated terms, which have the wrong ones,
    are left out.
    """
    classes = range(len(population.sizes))
    full, short = (
        np.array([_weights(population, covariance, errors, basis, c)[0] for c in classes])
        for basis in (np.ones_like(linear), linear)
    )
    pi = population.frequencies[:, None]
    # A class mean is (1 − π) times as far from that of all rows as from that of the rest.
    offsets, coefficients = (1 - pi) * (full @ covariance), (1 - pi) * (full + short) / 2
    middles = population.mean + offsets / 2
    intercepts = np.log(pi[:, 0]) - (coefficients * middles).sum(axis=1)
    coefficients = coefficients - coefficients.mean(axis=0)
    return _Solution(coefficients, intercepts - intercepts.mean(), offsets, 1.0)


def _direction(population, covariance, errors, linear):
    """Return a direction of unit variance, and the posterior mean of how two classes differ.

    The direction is the average of three models, the difference that of those of all terms, by
    their evidence.
    """
    everything = np.ones_like(linear)
    diagonal = np.diag(covariance.diagonal()), np.diag(errors.diagonal())
    full, with_correlations = _weights(population, covariance, errors, everything, 1)
    plain, without = _weights(population, *diagonal, everything, 1)
    short, _ = _weights(population, covariance, errors, linear, 1)
    likely = expit(with_correlations - without)
    difference = likely * (covariance @ full) + (1 - likely) * (diagonal[0] @ plain)

    def unit(w):
        return w / np.sqrt(max(w @ covariance @ w, _TINY))

    return unit(_FULL_WEIGHT * unit(full) + unit(plain) + unit(short)), difference


def _variance_along(direction, statistics, population):
    """Return the variance within classes along a direction of unit variance by the covariance.

    That was shrunk, and the direction is one in which noise left little of it: the noisy variance
    itself is weighed against it, and may only raise it.
    """
    second = direction @ statistics.second @ direction / population.n_rows
    between = direction @ _between_covariance(population) @ direction
    raw = second - (direction @ population.mean) ** 2 - between
    noise = (statistics.second_sd / population.n_rows * (direction @ direction)) ** 2
    prior = _VARIANCE_SPREAD**2
    return max((prior * raw + noise) / (prior + noise), 1.0)


def _two_classes(statistics, population, covariance, errors, basis, shrinkage, widening):
    """Return scores along the averaged direction, with calibrated log-odds."""
    direction, difference = _direction(population, covariance, errors, basis.order == 1)
    variance = widening * _variance_along(direction, statistics, population)
    pi = population.frequencies[1]
    # Rows before clipping are longer, and so are all means.
    longer = 1 / np.sqrt(shrinkage)
    middle = population.mean + (0.5 - pi) * difference
    spread = covariance.diagonal() + pi * (1 - pi) * difference**2
    unequal = shrinkage * variance_difference(
        basis, direction, longer * middle, longer * difference, longer**2 * spread
    )
    separation = max(direction @ difference, 0.0)
    slope, intercept = calibrated_log_odds(separation, variance, unequal, pi)
    intercept -= slope * (direction @ population.mean)
    signs = np.array([-0.5, 0.5])
    offsets = np.outer(signs, difference)
    return _Solution(np.outer(signs, slope * direction), signs * intercept, offsets, variance)


def linear_scores(statistics, basis):
    """Return linear log-posteriors of the classes from noisy sums over rows.

    The direction of a class against the other is the average of three of unit variance: the
    posterior mean of the linear discriminant (counted twice), that with uncorrelated terms, and
    that of the linear terms alone. Along it, the posterior mean of the difference, variances of
    each class and the noisy frequencies give slope and intercept, see
    :func:`calibrated_log_odds`. Of more than two classes, each against the rest, it is the
    average of the first and the last, as they are.

    Parameters
    ----------
    statistics : NoisyStatistics
        Sums of encoded rows z = ``basis.encode(X)``, clipped.

    basis : BasisFunctions
        ``basis.variances`` are the guesses that noisy variances are shrunk to.

    Returns
    -------
    linear : LinearScores
        Finite whatever the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import BasisFunctions
    >>> from skdp.release import NoisyStatistics, linear_scores
    >>> rng = np.random.RandomState(0)
    >>> y = rng.randint(2, size=500)
    >>> x = np.column_stack([0.3 + 0.2 * y + 0.1 * rng.randn(500), rng.rand(500)])
    >>> basis = BasisFunctions.of_columns([0, 0])
    >>> z, pi = basis.encode(x), np.array([0.5, 0.5])
    >>> statistics = NoisyStatistics(
    ...     np.bincount(y), z.sum(axis=0), (np.eye(2)[y] - pi).T @ z, pi, z.T @ z, radius=2.0,
    ...     count_sd=5.0, total_sd=5.0, contrast_sd=5.0, second_sd=5.0,
    ... )
    >>> linear = linear_scores(statistics, basis)
    >>> bool(np.mean(linear.scores(x).argmax(axis=1) == y) > 0.8)
    True
    """
    population = _population(statistics, basis.variances)
    W, errors = _within_covariance(statistics, population, basis.variances)
    shrinkage, widening = clipping_effect(statistics, basis, population.n_rows)
    if len(population.sizes) == 2:
        found = _two_classes(statistics, population, W, errors, basis, shrinkage, widening)
    else:
        found = _several_classes(population, W, errors, basis.order == 1)
    present = occurrence(statistics.counts, statistics.count_sd)
    # A class without rows has no mean, and noise makes one up.
    apart = np.outer(present, present) * d_primes(
        found.coefficients, found.offsets, found.variance * W
    )
    # Rows that are asked about are not clipped, and longer.
    coefficients = found.coefficients * np.sqrt(shrinkage)
    return LinearScores(coefficients, found.intercepts, apart, basis)
