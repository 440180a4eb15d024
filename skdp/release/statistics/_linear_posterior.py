"""Linear scores of classes from noisy sums: the posterior mean of a linear discriminant."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skdp.release.estimation import LinearScores
from skdp.release.statistics._clipping import square_before_clipping
from skdp.release.statistics._noisy import positive_mean
from skdp.release.statistics._separating import occurrence, separations

# Prior standard deviation of a variance, in units of its public guess. On six tables at ε = 0.5
# the AUC is .734 with 1, .737 with .3, .738 with .2, .739 with .1, which loses .001 at ε = 4.
_VARIANCE_SPREAD = 0.2
# Least variance of a term, in units of its public guess: what a constant column has.
_LEAST_VARIANCE = 1e-4
# Least eigenvalue of the correlations. The AUC is the same from .01 to .2.
_LEAST_EIGENVALUE = 0.05
# Prior standard deviations of a weight, each as likely. With 21 the AUC is the same,
# with seven .0008 less at ε = 1.
_WEIGHT_SCALES = np.geomspace(0.01, 100, 13)
# What the full model counts for in the average of three. On six tables at ε = 1 the AUC is .7588
# with two and .7581 with one; of the full model alone .7591, but .004 less on one table.
_FULL_WEIGHT = 2
# Added to the diagonal of correlation matrices to be inverted, against rounding.
_RIDGE = 1e-10
# Variance of a frequency of which nothing is known.
_UNIFORM_VARIANCE = 1 / 12
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class _Population:
    """What noisy sums say of rows before their covariance: one class against the rest."""

    n_rows: float
    frequencies: np.ndarray  # (n_classes,)
    mean: np.ndarray  # (n_terms,)
    differences: np.ndarray  # (n_classes, n_terms): the mean of a class less that of the rest
    sizes: np.ndarray  # (n_classes,): N π (1 − π), effective sample sizes of the differences
    noise: np.ndarray  # (n_classes, n_terms, n_terms): covariances of noise in the differences


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


def posterior_weights(difference, covariance, errors, noise, size):
    """Return the posterior mean of the weights w of a linear discriminant.

    The noisy difference of two means is W w + e, w ~ N(0, τ² I), and e is normal of covariance
    noise + diag(Σ_j errors_ij E[w_j²]) + W/size: noise in the difference, noise in W, and the
    sampling of rows. The mean is over scales τ that are equally likely before the difference
    is seen.

    Parameters
    ----------
    difference : ndarray of shape (n_terms,)

    covariance, errors : ndarray of shape (n_terms, n_terms)
        W, positive definite, and the variances of the noise in its entries.

    noise : ndarray of shape (n_terms, n_terms)
        Covariance of the noise in the difference.

    size : float
        Effective sample size N π (1 − π).

    Returns
    -------
    weights : ndarray of shape (n_terms,)
    """
    square = covariance @ covariance
    evidence, means = [], []
    for tau in _WEIGHT_SCALES:
        total = tau**2 * square + covariance / size + noise
        total[np.diag_indices_from(total)] += tau**2 * errors.sum(axis=1)
        scale = 1 / np.sqrt(total.diagonal())
        total = total * np.outer(scale, scale)
        total[np.diag_indices_from(total)] += _RIDGE
        factor = cho_factor(total, lower=True)
        solved = scale * cho_solve(factor, scale * difference)
        evidence.append(np.log(scale / factor[0].diagonal()).sum() - difference @ solved / 2)
        means.append(tau**2 * covariance @ solved)
    likely = np.exp(np.array(evidence) - max(evidence))
    return likely @ np.array(means) / likely.sum()


def _weights(population, covariance, errors, terms, c):
    """Return the weights of some of the terms for a class against the rest, 0 for the others."""
    chosen = np.ix_(terms, terms)
    w = np.zeros(len(terms))
    w[terms] = posterior_weights(
        population.differences[c, terms],
        covariance[chosen],
        errors[chosen],
        population.noise[c][chosen],
        population.sizes[c],
    )
    return w


def _directions(population, covariance, errors, linear):
    """Return for each class the weights of the averaged model, and of the full one.

    Those of two classes are of three models of unit variance, rescaled. Among several classes
    they are compared, so that lengths count too: uncorrelated terms, which have the wrong ones,
    are left out.
    """
    everything = np.ones_like(linear)
    classes = range(len(population.sizes))
    full, short = (
        np.array([_weights(population, covariance, errors, terms, c) for c in classes])
        for terms in (everything, linear)
    )
    if len(full) > 2:
        return (full + short) / 2, full
    diagonal = np.diag(covariance.diagonal()), np.diag(errors.diagonal())
    plain = np.array([_weights(population, *diagonal, everything, c) for c in classes])

    def unit(w):
        lengths = np.sqrt(np.maximum(((w @ covariance) * w).sum(axis=1), _TINY))
        return w / lengths[:, None]

    directions = unit(_FULL_WEIGHT * unit(full) + unit(plain) + unit(short))
    slopes = np.maximum(((directions @ covariance) * full).sum(axis=1), 0)
    return slopes[:, None] * directions, full


def linear_scores(statistics, terms):
    """Return linear log-posteriors of the classes from noisy sums over rows.

    The direction of a class against the rest is the average of three of unit variance: the
    posterior mean of the linear discriminant (counted twice), that with uncorrelated terms, and
    that of the linear terms alone. Along it, the discriminant of normal scores with the
    posterior mean of the difference, and the noisy frequencies, gives slope and intercept. Of
    more than two classes it is the average of the first and the last, as they are.

    Parameters
    ----------
    statistics : NoisyStatistics
        Sums of encoded rows z = ``terms.encode(X)``, clipped.

    terms : Terms
        ``terms.variances`` are the guesses that noisy variances are shrunk to.

    Returns
    -------
    linear : LinearScores
        Finite whatever the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release.estimation import Terms
    >>> from skdp.release.statistics import NoisyStatistics, linear_scores
    >>> rng = np.random.RandomState(0)
    >>> y = rng.randint(2, size=500)
    >>> x = np.column_stack([0.3 + 0.2 * y + 0.1 * rng.randn(500), rng.rand(500)])
    >>> terms = Terms.of_columns([0, 0])
    >>> z, pi = terms.encode(x), np.array([0.5, 0.5])
    >>> statistics = NoisyStatistics(
    ...     np.bincount(y), z.sum(axis=0), (np.eye(2)[y] - pi).T @ z, pi, z.T @ z, radius=2.0,
    ...     count_sd=5.0, total_sd=5.0, contrast_sd=5.0, second_sd=5.0,
    ... )
    >>> linear = linear_scores(statistics, terms)
    >>> bool(np.mean(linear.scores(x).argmax(axis=1) == y) > 0.8)
    True
    """
    guesses = terms.variances
    population = _population(statistics, guesses)
    W, errors = _within_covariance(statistics, population, guesses)
    averaged, full = _directions(population, W, errors, terms.order == 1)
    pi = population.frequencies[:, None]
    # A class mean is (1 − π) times as far from that of all rows as from that of the rest.
    offsets, coefficients = (1 - pi) * (full @ W), (1 - pi) * averaged
    middles = population.mean + offsets / 2
    intercepts = np.log(pi[:, 0]) - (coefficients * middles).sum(axis=1)
    coefficients = coefficients - coefficients.mean(axis=0)
    present = occurrence(statistics.counts, statistics.count_sd)
    # A class without rows has no mean, and noise makes one up.
    apart = np.outer(present, present) * separations(coefficients, offsets, W)
    # Rows that are asked about are not clipped, and longer by this factor.
    clipped = max(statistics.second.trace() / population.n_rows, _LEAST_VARIANCE * guesses.sum())
    longer = square_before_clipping(clipped, statistics.radius, guesses.sum()) / clipped
    return LinearScores(
        coefficients / np.sqrt(longer), intercepts - intercepts.mean(), apart, terms
    )
