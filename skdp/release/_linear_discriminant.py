r"""From noisy sums to log-odds: the posterior mean of a linear discriminant, step by step.

Rows are :math:`z`, functions of the columns clipped to :math:`\|z\| ≤ R`. The release holds their
noisy counts :math:`n_c`, totals :math:`t = \sum z`, contrasts
:math:`d_c = \sum (e_{yc} - p_c) z` about public frequencies p, and second moments
:math:`S = \sum z z^T`; all noise is normal, of known variance. ``linear_scores`` takes them to
log-odds in these steps, whose numbers stand in the code:

1. Counts: the posterior mean of each :math:`n_c ≥ 0`, half a row more; their sum is N, and
   :math:`π_c = n_c / N`.
2. Sites, each the rows of one source: frequencies and means are shrunk to those of all rows, by
   their noise and by how much the intercepts of sites differ.
3. Differences of a class and the rest: :math:`δ_c = d_c / \sum_k N_k π_{kc} (1 - π_{kc})`, with
   :math:`d_c` taken about the frequencies and means of step 2.
4. Covariance within classes: :math:`W = S/N - \sum_k (N_k/N)\, m_k m_k^T - B`, where B is that
   between classes; its variances are shrunk to public guesses, its correlations to zero.
5. Weights: with :math:`δ = W w + e`, e the noise and sampling of δ and of W, and
   :math:`w ∼ N(0, τ^2 I)`, the posterior of w for each of many scales τ, with the correlations
   in W and without.
6. Direction: u, of unit variance, along the posterior mean of w over all of these, each by its
   evidence and by how far apart two classes usually are.
7. Separation: the posterior of the distance :math:`D = u^T δ` of the classes and of the variance T
   along u of all rows; the slope is
   :math:`a = E[D] / (E[T] - π (1 - π) E[D]^2)`, and the expected AUC follows from the same
   distances and variances (``Separation``).
8. Intercept b: the mean probability is the frequency of the class, over normal scores.
9. Log-odds of a row that is not clipped: :math:`a \sqrt{s}\, u^T z + b`, s the mean of
   :math:`c^2` where clipping made rows cz.

More than two classes have the posterior of steps 5 and 6, each against the rest, and a map of all
scores that is learned on simulated rows (``scores_of_several_classes``).
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, logit
from scipy.stats import norm

from skdp.release._clipping import clipping_effect
from skdp.release._linear_scores import LinearScores
from skdp.release._posterior import (
    difference_posteriors,
    mean_direction,
    positive_mean,
    reliability,
    shrunk_correlations,
)
from skdp.release._separation import (
    Distances,
    Separation,
    corrected_frequency,
    d_primes,
    likely_posteriors,
    likely_variances,
)
from skdp.release._several_classes import ScoredClasses, scores_of_several_classes
from skdp.utils._linalg import NEGLIGIBLE, TINY

# Prior standard deviation of a variance, in units of its public guess. On six tables at ε = 0.5
# the AUC is .734 with 1, .737 with .3, .738 with .2, .739 with .1, which loses .001 at ε = 4.
_VARIANCE_SPREAD = 0.2
# Least variance of a basis function, in units of its public guess: what a constant column has.
_LEAST_VARIANCE = 1e-4
# Variance of the intercepts of sites. On four hospitals (12 draws, ε = 1 and 4) the log loss of
# the other three merged is .5742 with 1, .5765 with .25, .5778 if it is estimated at first, and
# .5773 if all differences of sites are taken out, where the AUC is .0022 lower.
_INTERCEPT_VARIANCE = 1.0
# Nodes and probabilities of a standard normal distribution for sums in place of integrals.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
# Least share of the variance of a class within a site.
_LEAST_SHARE = 1e-3


def linear_scores(statistics, basis):
    """Return linear log-posteriors of the classes from noisy sums over rows."""
    shrinkage = clipping_effect(statistics, basis)
    population = Population.of(statistics, basis.variances)
    if len(population.sizes) == 2:
        scored, intercept_sd = _two_classes(statistics, population, basis)
    else:
        scored = scores_of_several_classes(population, basis, shrinkage)
        intercept_sd = None
    present = occurrence(*statistics.pooled_counts)
    separations, uncertainty = d_primes(scored.means, scored.sds, scored.variances, present)
    # Step 9: rows that are asked about are not clipped, and longer.
    coefficients = scored.coefficients * np.sqrt(shrinkage)
    return LinearScores(
        coefficients, scored.intercepts, separations, basis, uncertainty, intercept_sd
    )


@dataclass(frozen=True)
class _Site:
    """Posterior of one source's frequencies and means, compared with all sources."""

    n_rows: float
    counts: np.ndarray  # (n_classes,), noisy, positive
    frequencies: np.ndarray  # (n_classes,): posterior means
    frequency_noise: np.ndarray  # (n_classes,): variances of noise in counts / n_rows
    intercept_error: np.ndarray  # (n_classes,): variances of log-odds of counts / n_rows
    mean: np.ndarray  # (n_basis,): posterior mean
    mean_variance: np.ndarray  # (n_basis,): posterior variances of the mean about that of all rows
    raw_mean: np.ndarray  # (n_basis,): as it is, with noise
    mean_noise: float  # variance of the noise in each of these
    sizes: np.ndarray  # (n_classes,): effective sample sizes of the differences of classes


@dataclass(frozen=True)
class Population:
    """Estimates from noisy sums about the rows of all sources: one class against the rest.

    For a numeric outcome, the two pseudo-classes are its bounds.

    Attributes
    ----------
    n_rows : float

    frequencies : ndarray of shape (n_classes,)

    mean : ndarray of shape (n_basis,)

    covariance : ndarray of shape (n_basis, n_basis)
        Noisy, of all rows about the means of their sites.

    differences : ndarray of shape (n_classes, n_basis)
        Difference between the mean of a class and the mean of the rest.

    sizes : ndarray of shape (n_classes,)
        Σ n π (1 − π), the effective sample sizes of the differences.

    noise : ndarray of shape (n_classes, n_basis, n_basis)
        Covariances of the noise in the differences.

    within, within_errors : ndarray of shape (n_basis, n_basis)
        Posterior mean of the covariance within classes, and posterior variances of its entries.

    sites : list of _Site
    """

    n_rows: float
    frequencies: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    differences: np.ndarray
    sizes: np.ndarray
    noise: np.ndarray
    within: np.ndarray
    within_errors: np.ndarray
    sites: list

    @classmethod
    def of(cls, statistics, guesses):
        """Return the estimates of steps 1 to 4, with public guesses of the variances."""
        counts = statistics.row_counts  # step 1
        n = counts.sum()
        frequencies = counts / n
        noise = np.linalg.norm(statistics.total_sd / n) ** 2
        reliable = guesses / (guesses + noise)
        mean = statistics.total.sum(axis=0) / n * reliable
        sites = _sites(statistics, guesses, frequencies, mean)  # step 2
        contrast = statistics.centered_contrast  # step 3
        for site, public_frequencies, total in zip(
            sites, statistics.frequencies, statistics.total, strict=True
        ):
            contrast = contrast + np.outer(public_frequencies - site.frequencies, total)
            contrast -= np.outer(site.counts - site.n_rows * site.frequencies, site.mean)
        sizes = sum(site.sizes for site in sites)
        differences = contrast / sizes[:, None]
        noise = _noise(statistics, sites, sizes, noise * reliable)
        covariance = statistics.second / n  # step 4
        for site in sites:
            square = np.outer(site.mean, site.mean) + np.diag(site.mean_variance)
            covariance = covariance - site.n_rows / n * square
        # Of what lies between classes, that within sites.
        weights = (1 - frequencies) * sizes / n
        weights *= reliability((differences**2).sum(axis=1), np.trace(noise, axis1=1, axis2=2))
        within = covariance - (differences.T * weights) @ differences
        within, errors = _shrunk_covariance(within, (statistics.second_sd / n) ** 2, guesses)
        return cls(
            n, frequencies, mean, covariance, differences, sizes, noise, within, errors, sites
        )


def _sites(statistics, guesses, pi, mean):
    """Return a :class:`_Site` of each source: random intercepts by generalized least squares.

    Sites differ in their intercepts, with variance τ². Otherwise differences between sites are as
    informative as differences within them. If the error of a site's intercept has variance e, the
    share 1 - √(e / (e + τ²)) of the site's difference is removed (Fuller and Battese, 1973):
    nearly all for a site with many rows, little for a site with few.
    """
    counts = statistics.row_counts_by_source
    n_rows = counts.sum(axis=1)
    shares = n_rows / n_rows.sum()
    raw_frequencies, raw_means = counts / n_rows[:, None], statistics.total / n_rows[:, None]
    spread = (1 - pi) ** 2 + (len(pi) - 1) * pi**2
    frequency_noise = (statistics.count_sd / n_rows)[:, None] ** 2 * spread
    frequency_noise = np.minimum(frequency_noise, 1 / 12)  # as of uniform frequencies
    mean_noise = (statistics.total_sd / n_rows) ** 2
    # Frequencies and means of sites are normal about those of all rows, with what the squares of
    # their differences exceed those of their noise by as variances. About the mean of all, a
    # site's own noise is left but for its share.
    left = shares * (1 - shares)
    variances = np.maximum(shares @ (raw_frequencies - pi) ** 2 - left @ frequency_noise, 0)
    credible = variances / np.maximum(variances + frequency_noise, TINY)
    away = raw_means - shares @ raw_means
    excess = shares @ (away**2).sum(axis=1) - len(guesses) * (left @ mean_noise)
    between = max(excess / guesses.sum(), 0.0) * guesses

    binomial = np.maximum(raw_frequencies * (1 - raw_frequencies), NEGLIGIBLE)
    errors = frequency_noise / binomial**2 + 1 / (n_rows[:, None] * binomial)
    taken_out = 1 - np.sqrt(errors / (errors + _INTERCEPT_VARIANCE))
    of_frequency = taken_out * credible
    frequencies = pi + of_frequency * (raw_frequencies - pi)
    of_mean = between / np.maximum(between + mean_noise[:, None], TINY)
    of_mean = taken_out.mean(axis=1)[:, None] * of_mean
    # Where sites differ in frequencies alone, what is left of these and of the means they make
    # counts as well.
    squares = (credible * (raw_frequencies - pi)) ** 2 + credible * frequency_noise
    left = (1 - of_frequency) * (1 - of_mean @ guesses / guesses.sum())[:, None]
    binomial = pi * (1 - pi)
    within = np.maximum(binomial - squares * (1 - left), _LEAST_SHARE * binomial)
    by_site = zip(
        n_rows,
        counts,
        frequencies / frequencies.sum(axis=1, keepdims=True),
        frequency_noise,
        errors,
        mean + of_mean * away,
        of_mean * mean_noise[:, None],
        raw_means,
        mean_noise,
        n_rows[:, None] * within,
        strict=True,
    )
    return [_Site(*fields) for fields in by_site]


def _noise(statistics, sites, sizes, mean_variances):
    """Return the covariance of the noise in the difference of each class from the rest."""
    # A frequency of a site that is wrong by h leaves n h times the mean of its rows in the
    # contrast, and a mean of a site that is wrong by m leaves m times what the site has more of a
    # class than it is taken to have.
    K = len(sizes)
    contrast = statistics.contrast_sd**2 * (1 - 1 / K)
    noise = np.zeros((K, *statistics.second.shape))
    for site in sites:
        square = np.outer(site.mean, site.mean) + np.diag(site.mean_variance + mean_variances)
        more = site.counts - site.n_rows * site.frequencies
        noise += square * (site.n_rows**2 * site.frequency_noise)[:, None, None]
        noise += np.diag(site.mean_variance) * (more**2)[:, None, None]
    noise += contrast * np.eye(noise.shape[1])
    return noise / sizes[:, None, None] ** 2


def _shrunk_covariance(covariance, noise, guesses):
    """Return a noisy covariance, variances shrunk to guesses and correlations to zero.

    Also return the posterior variances of its entries. The noise given is that of a variance; a
    covariance has half of it.
    """
    prior = (_VARIANCE_SPREAD * guesses) ** 2
    remaining = prior * noise / (prior + noise)
    variances = (prior * covariance.diagonal() + noise * guesses) / (prior + noise)
    variances = positive_mean(variances, np.sqrt(remaining))
    variances = np.maximum(variances, _LEAST_VARIANCE * guesses)
    shrunk, shrinkage = shrunk_correlations(covariance, variances, noise / 2)
    off = ~np.eye(len(guesses), dtype=bool)
    return shrunk, np.where(off, noise / 2 * shrinkage, np.diag(remaining))


def _two_classes(statistics, population, basis):
    """Return scores along the averaged direction, with calibrated log-odds.

    Also return the result of :func:`_intercept_sd`.
    """
    covariance, errors = population.within, population.within_errors
    posteriors = difference_posteriors(  # step 5
        population.differences[1], covariance, errors, population.noise[1], population.sizes[1]
    )
    direction = mean_direction(posteriors, likely_posteriors(posteriors), covariance)  # step 6
    variance, joint = _noise_of_frequency(population)
    pi = corrected_frequency(population.frequencies[1], variance, joint, posteriors)
    n, noise = population.n_rows, statistics.second_sd / population.n_rows
    totals, guess = likely_variances(direction, population.covariance, noise, n, basis.variances)
    distances = Distances.along(direction, posteriors)
    separation = Separation.of(distances, pi, totals, guess)  # step 7
    slope = separation.slope

    def intercept(frequency):  # step 8
        distance, variance = separation.mean_distance, separation.mean_variance
        return calibrated_intercept(slope * distance, slope**2 * variance, frequency)

    signs, pair = np.array([-0.5, 0.5]), 1 - np.eye(2)
    mean, sd = separation.d_prime
    scored = ScoredClasses(
        np.outer(signs, slope * direction),
        signs * (intercept(pi) - slope * (direction @ population.mean)),
        mean * pair,
        sd * pair,
        pair,
    )
    return scored, _intercept_sd(population.sites, intercept, slope * direction)


def _noise_of_frequency(population):
    """Return the noise variance of the frequency of class 1.

    Also return the noise covariances between this frequency and the difference.
    """
    n = population.n_rows
    joint = sum(s.n_rows**2 * s.frequency_noise[1] * s.mean for s in population.sites)
    variance = sum(s.n_rows**2 * s.frequency_noise[1] for s in population.sites) / n**2
    return variance, -joint / (n * population.sizes[1])


def _intercept_sd(sites, intercept, weights):
    """Return the standard deviation of the intercept of a new site; None for a single site."""
    # Each site has the intercept with which the mean probability of its rows is the frequency of
    # class 1. The variance of these, less that of their errors by noise and by the sampling of
    # rows, is that of sites (Hedges and Olkin, 1985).
    if len(sites) < 2:
        return None
    intercepts = [intercept(s.counts[1] / s.n_rows) - weights @ s.raw_mean for s in sites]
    errors = np.array([s.intercept_error[1] + s.mean_noise * (weights @ weights) for s in sites])
    variance = max(np.var(intercepts, ddof=1) - np.mean(errors), 0.0)
    return np.sqrt([variance + 1 / (1 / (variance + errors)).sum()])


def calibrated_intercept(distance, variance, frequency):
    """Return the intercept for which the mean probability of class 1 is its frequency.

    Log-odds are normal in each class, with this variance and with means this distance apart. Their
    mean over all rows is zero.
    """
    frequency = float(np.clip(frequency, NEGLIGIBLE, 1 - NEGLIGIBLE))
    means = np.array([-frequency * distance, (1 - frequency) * distance])
    scores = means[:, None] + np.sqrt(variance) * _NODES
    probabilities = np.array([1 - frequency, frequency])[:, None] * _WEIGHTS / _WEIGHTS.sum()

    def excess(intercept):
        return (probabilities * expit(scores + intercept)).sum() - frequency

    middle, reach = logit(frequency), 1 + 2 * np.abs(scores).max()
    return float(brentq(excess, middle - reach, middle + reach))


def occurrence(counts, count_sd):
    """Return the posterior probability that each class has rows at all."""
    # Before its noisy count is seen, a class is as likely to be absent as to have any number of
    # rows up to that of all of them: the count is of N(0, sd²), or of u + N(0, sd²) with u
    # uniform.
    counts = np.asarray(counts, dtype=np.float64)
    if not count_sd > 0:
        return (counts > 0).astype(np.float64)
    # In units of the noise; beyond these bounds nothing changes, and squares do not overflow.
    t = np.clip(counts / count_sd, -1e3, 1e3)
    n = np.clip(counts.clip(0).sum() / count_sd, 1.0, 1e12)
    above, beyond = log_ndtr(t), log_ndtr(t - n)
    present = above + np.log1p(-np.exp(np.minimum(beyond - above, -TINY))) - np.log(n)
    return expit(present - norm.logpdf(t))
