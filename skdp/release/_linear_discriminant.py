r"""From noisy sums to log-odds: the posterior mean of a linear discriminant, step by step.

Rows are :math:`z`, functions of the columns clipped to :math:`\|z\| ≤ R`. The release holds their
noisy counts :math:`n_c`, totals :math:`t = \sum z`, contrasts
:math:`d_c = \sum (e_{yc} - p_c) z` about public frequencies p, and second moments
:math:`S = \sum z z^T`; all noise is normal, of known variance. ``linear_scores`` takes them to
log-odds in these steps, whose numbers stand in the code:

1. Counts: the posterior mean of each :math:`n_c ≥ 0`, half a row more; their sum is N, and
   :math:`π_c = n_c / N`.
2. Sites: frequencies and means of each source are drawn to those of all rows, by their noise and
   by how much the intercepts of sites differ.
3. Differences of a class and the rest: :math:`δ_c = d_c / \sum_k N_k π_{kc} (1 - π_{kc})`, with
   :math:`d_c` taken about the frequencies and means of step 2.
4. Covariance within classes: :math:`W = S/N - \sum_k (N_k/N)\, m_k m_k^T - B`, where B is that
   between classes; its variances are shrunk to public guesses, its correlations to zero.
5. Weights: with :math:`δ = W w + e`, e the noise and sampling of δ and of W, and
   :math:`w ∼ N(0, τ^2 I)`, the posterior of w for each of many scales τ, with the correlations
   in W and without.
6. Direction: u, of unit variance, along the posterior mean of w over all of these, each by its
   evidence and by how far apart two classes usually are.
7. Separation: the posterior of the distance :math:`u^T δ` of the classes and of the variance along
   u within them; the slope a is that of least expected log loss over it, and the expected AUC
   follows from the same distances and variances (``Separation``).
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

from skdp.release._basis import column_density, regression
from skdp.release._clipping import clipping_effect
from skdp.release._linear_scores import LinearScores
from skdp.release._posterior import difference_posteriors, positive_mean, shrunk_correlations
from skdp.release._separation import (
    Distances,
    ScoredClasses,
    Separation,
    d_primes,
    likely_posteriors,
    likely_variances,
)
from skdp.release._several_classes import scores_of_several_classes
from skdp.utils._linalg import NEGLIGIBLE, TINY

# Prior standard deviation of a variance, in units of its public guess. On six tables at ε = 0.5
# the AUC is .734 with 1, .737 with .3, .738 with .2, .739 with .1, which loses .001 at ε = 4.
_VARIANCE_SPREAD = 0.2
# Least variance of a basis function, in units of its public guess: what a constant column has.
_LEAST_VARIANCE = 1e-4
# Least factor of the variances of scores where rows are clipped. With many columns rows are
# nearly of one length, and it is 1.005 to 1.02; but slopes that are somewhat low cost less than
# high ones: with these the log loss of the ten tables of bench_owners is .0005 higher on those
# to choose by, and on the others .0002 without diamonds, where it is .0017 lower.
_LEAST_WIDENING = 1.04
# Variance of a frequency of which nothing is known.
_UNIFORM_VARIANCE = 1 / 12
# Least variance of the score in a class, in units of that within both (rule of thumb).
_LEAST_SCORE_VARIANCE = 0.25
# Nodes and probabilities of a standard normal distribution for sums in place of integrals.
_NODES, _PROBABILITIES = np.polynomial.hermite_e.hermegauss(61)
_PROBABILITIES = _PROBABILITIES / _PROBABILITIES.sum()
# Width by which a bracket of the root is extended, against rounding.
_SLACK = 1e-6
# Least frequency of a class, above rounding errors of sums of probabilities (rule of thumb).
_LEAST_FREQUENCY = 1e-12
# Least share of the variance of a class within a site (rule of thumb).
_LEAST_SHARE = 1e-3


def linear_scores(statistics, basis):
    """Return linear log-posteriors of the classes from noisy sums over rows."""
    clipping = clipping_effect(statistics, basis)
    within, spread = None, None
    if len(statistics.counts) > 1 and statistics.counts.shape[1] == 2:
        _, variance, errors = _estimates(statistics, basis, clipping, within)
        within = 1 - np.sqrt(errors / np.maximum(errors + variance, TINY))
    scored, variance, errors = _estimates(statistics, basis, clipping, within)
    if within is not None:
        spread = np.sqrt([variance + 1 / (1 / (variance + errors)).sum()])
    present = occurrence(*statistics.pooled_counts)
    apart, uncertainty = d_primes(scored.means, scored.sds, scored.variances, present)
    # Step 9: rows that are asked about are not clipped, and longer.
    coefficients = scored.coefficients * np.sqrt(clipping[0])
    return LinearScores(coefficients, scored.intercepts, apart, basis, uncertainty, spread)


def _estimates(statistics, basis, clipping, within):
    """Return :class:`ScoredClasses`, and variance and errors of the intercepts of sites.

    These are None where there are more than two classes. ``within`` is the share of what a
    site differs by that is taken out, see :func:`_sites`; None for all.
    """
    population = _population(statistics, basis.variances, within)
    W, errors = _within_covariance(statistics, population, basis.variances)
    if len(population.sizes) == 2:
        return _two_classes(statistics, population, W, errors, basis, *clipping)
    scored = scores_of_several_classes(population, W, errors, basis, clipping[0])
    return scored, None, None


@dataclass(frozen=True)
class _Site:
    """What noisy sums say of the rows of one source, each number beside those of all sources.

    Frequencies and means of sites are normal about those of all rows, with what the squares of
    their differences exceed those of their noise by as variances: where noise leaves nothing of
    the differences, the rows are those of one population.
    """

    n_rows: float
    counts: np.ndarray  # (n_classes,), noisy, positive
    frequencies: np.ndarray  # (n_classes,): posterior means
    frequency_noise: np.ndarray  # (n_classes,): variances of noise in counts / n_rows
    mean: np.ndarray  # (n_basis,): posterior mean
    uncertainty: np.ndarray  # (n_basis,): posterior variances of the mean about that of all rows
    raw_mean: np.ndarray  # (n_basis,): as it is, with noise
    mean_noise: float  # variance of the noise in each of these
    size: np.ndarray  # (n_classes,): effective sample sizes of the differences of classes


@dataclass(frozen=True)
class _Population:
    """What noisy sums say of rows before their covariance: one class against the rest."""

    n_rows: float
    frequencies: np.ndarray  # (n_classes,)
    mean: np.ndarray  # (n_basis,)
    covariance: np.ndarray  # (n_basis, n_basis): noisy, of all rows about the means of their sites
    differences: np.ndarray  # (n_classes, n_basis): the mean of a class less that of the rest
    sizes: np.ndarray  # (n_classes,): Σ n π (1 − π), effective sample sizes of the differences
    noise: np.ndarray  # (n_classes, n_basis, n_basis): covariances of noise in the differences
    sites: list  # of _Site


def _population(statistics, guesses, within=None):
    counts = statistics.row_counts  # step 1
    n = counts.sum()
    pi = counts / n
    noise = np.linalg.norm(statistics.total_sd / n) ** 2
    reliable = guesses / (guesses + noise)
    mean = statistics.total.sum(axis=0) / n * reliable
    sites = _sites(statistics, guesses, pi, mean, within)  # step 2
    # Step 3. Without noise the contrasts sum to zero; what they sum to is noise.
    contrast = statistics.contrast - statistics.contrast.mean(axis=0)
    for site, public_frequencies, total in zip(
        sites, statistics.frequencies, statistics.total, strict=True
    ):
        contrast = contrast + np.outer(public_frequencies - site.frequencies, total)
        contrast -= np.outer(site.counts - site.n_rows * site.frequencies, site.mean)
    sizes = sum(site.size for site in sites)
    covariance = statistics.second / n
    for site in sites:
        square = np.outer(site.mean, site.mean) + np.diag(site.uncertainty)
        covariance = covariance - site.n_rows / n * square
    in_differences = _noise(statistics, sites, sizes, noise * reliable)
    return _Population(
        n, pi, mean, covariance, contrast / sizes[:, None], sizes, in_differences, sites
    )


def _sites(statistics, guesses, pi, mean, within=None):
    """Return a :class:`_Site` of each source."""
    # Differences between sites say of classes what those within sites do, but for the intercepts
    # of sites, which differ by a variance τ². With an error of variance e in an intercept, a share
    # of
    # 1 - \sqrt{e / (e + τ^2)}
    # of the differences of a site is taken out, as generalized least squares does with random
    # intercepts (Fuller and Battese, 1973): all where sites have many rows, none where intercepts
    # are alike.
    counts = statistics.row_counts_by_source
    sizes = counts.sum(axis=1)
    shares = sizes / sizes.sum()
    raw_frequencies, raw = counts / sizes[:, None], statistics.total / sizes[:, None]
    spread = (1 - pi) ** 2 + (len(pi) - 1) * pi**2
    errors = (statistics.count_sd / sizes)[:, None] ** 2 * spread
    errors = np.minimum(errors, _UNIFORM_VARIANCE)
    noise = (statistics.total_sd / sizes) ** 2
    # About the mean of all, a site's own noise is left but for its share.
    left = shares * (1 - shares)
    varies = np.maximum(shares @ (raw_frequencies - pi) ** 2 - left @ errors, 0)
    apart = raw - shares @ raw
    excess = shares @ (apart**2).sum(axis=1) - len(guesses) * (left @ noise)
    between = max(excess / guesses.sum(), 0.0) * guesses
    taken_out = np.ones(len(sizes)) if within is None else within
    sites = []
    for k, size in enumerate(sizes):
        credible = varies / np.maximum(varies + errors[k], TINY)
        square = (credible * (raw_frequencies[k] - pi)) ** 2 + credible * errors[k]
        of_frequency = taken_out[k] * credible
        frequencies = pi + of_frequency * (raw_frequencies[k] - pi)
        of_mean = taken_out[k] * between / np.maximum(between + noise[k], TINY)
        # Where sites differ in frequencies alone, what is left of these and of the means they
        # make counts as well.
        left = (1 - of_frequency) * (1 - of_mean @ guesses / guesses.sum())
        variance = np.maximum(pi * (1 - pi) - square * (1 - left), _LEAST_SHARE * pi * (1 - pi))
        sites.append(
            _Site(
                size,
                counts[k],
                frequencies / frequencies.sum(),
                errors[k],
                mean + of_mean * apart[k],
                of_mean * noise[k],
                raw[k],
                noise[k],
                size * variance,
            )
        )
    return sites


def _noise(statistics, sites, sizes, mean_variances):
    """Return the covariance of the noise in the difference of each class from the rest."""
    # A frequency of a site that is wrong by h leaves n h times the mean of its rows in the
    # contrast, and a mean of a site that is wrong by m leaves m times what the site has more of a
    # class than it is taken to have.
    K = len(sizes)
    contrast = statistics.contrast_sd**2 * (1 - 1 / K)
    noise = np.zeros((K, *statistics.second.shape))
    for site in sites:
        square = np.outer(site.mean, site.mean) + np.diag(site.uncertainty + mean_variances)
        more = site.counts - site.n_rows * site.frequencies
        noise += square * (site.n_rows**2 * site.frequency_noise)[:, None, None]
        noise += np.diag(site.uncertainty) * (more**2)[:, None, None]
    noise += contrast * np.eye(noise.shape[1])
    return noise / sizes[:, None, None] ** 2


def _between_covariance(population):
    """Return the covariance of the class means, each shrunk by the noise in its length."""
    lengths = np.maximum((population.differences**2).sum(axis=1), TINY)
    reliable = np.maximum(1 - np.trace(population.noise, axis1=1, axis2=2) / lengths, 0)
    # Of what lies between classes, that within sites.
    weights = (1 - population.frequencies) * population.sizes / population.n_rows * reliable
    return (population.differences.T * weights) @ population.differences


def _noisy_covariance(population):
    """Return the covariance within classes as it is."""
    return population.covariance - _between_covariance(population)


def _within_covariance(statistics, population, guesses):
    """Return the covariance within classes, and the posterior variance of each of its entries.

    Variances are shrunk to their guesses, correlations to zero; both as much as noise asks for.
    """
    n, t = population.n_rows, len(guesses)  # step 4
    raw = _noisy_covariance(population)
    noise = (statistics.second_sd / n) ** 2  # of a variance; half of it of a covariance
    prior = (_VARIANCE_SPREAD * guesses) ** 2
    remaining = prior * noise / (prior + noise)
    variances = (prior * raw.diagonal() + noise * guesses) / (prior + noise)
    variances = positive_mean(variances, np.sqrt(remaining))
    variances = np.maximum(variances, _LEAST_VARIANCE * guesses)

    errors = noise / 2
    covariance, shrinkage = shrunk_correlations(raw, variances, errors)
    off = ~np.eye(t, dtype=bool)
    return covariance, np.where(off, errors * shrinkage, np.diag(remaining))


def _direction(posteriors, covariance):
    """Return a direction of unit variance, and the posterior mean of how two classes differ."""
    likely = likely_posteriors(posteriors)  # step 6
    direction = likely @ [posterior.weights for posterior in posteriors]
    direction /= np.sqrt(max(direction @ covariance @ direction, TINY))
    return direction, likely @ [posterior.difference for posterior in posteriors]


def population_of_ends(statistics, basis):
    """Return what noisy sums of the ends of a number say, and the covariance of the rows there.

    With the variances of the errors of that; see steps 1 to 4.
    """
    population = _population(statistics, basis.variances)
    return population, *_within_covariance(statistics, population, basis.variances)


def _two_classes(statistics, population, covariance, errors, basis, shrinkage, widening):
    """Return scores along the averaged direction, with calibrated log-odds, and intercepts.

    Of these, what :func:`_spread_of_intercepts` returns.
    """
    differs = population.differences[1], covariance, errors
    # Step 5.
    posteriors = difference_posteriors(*differs, population.noise[1], population.sizes[1])
    direction, difference = _direction(posteriors, covariance)
    n, by_frequency = population.n_rows, _noise_of_frequency(population)
    distances = Distances.along(direction, posteriors, by_frequency)
    pi = distances.frequency(population.frequencies[1], by_frequency[1])
    noise = statistics.second_sd / n
    totals, guess = likely_variances(direction, population.covariance, noise, n, basis.variances)
    if shrinkage < 1:
        widening = max(widening, _LEAST_WIDENING)
    separation = Separation.of(distances, pi, widening * totals, guess)
    # Rows before clipping are longer, and so are all means.
    longer = 1 / np.sqrt(shrinkage)
    middle = population.mean + (0.5 - pi) * difference
    spread = covariance.diagonal() + pi * (1 - pi) * difference**2
    unequal = shrinkage * variance_difference(
        basis, direction, longer * middle, longer * difference, longer**2 * spread
    )
    distance, variance = separation.mean_distance, separation.mean_variance  # steps 7 and 8
    slope = separation.slope * variance / _class_variances(variance, unequal, pi).mean()

    def of_site(frequency):
        return calibrated_log_odds(distance, variance, unequal, frequency, slope)[1]

    variance_and_errors = _spread_of_intercepts(population.sites, of_site, slope * direction)
    signs, pair = np.array([-0.5, 0.5]), 1 - np.eye(2)
    mean, sd = separation.d_prime
    scored = ScoredClasses(
        np.outer(signs, slope * direction),
        signs * (of_site(pi) - slope * (direction @ population.mean)),
        mean * pair,
        sd * pair,
        pair,
    )
    return scored, *variance_and_errors


def _noise_of_frequency(population):
    """Return covariances of the noise in the frequency of class 1 with that in the difference.

    And the variance of the former.
    """
    n = population.n_rows
    joint = sum(s.n_rows**2 * s.frequency_noise[1] * s.mean for s in population.sites)
    variance = sum(s.n_rows**2 * s.frequency_noise[1] for s in population.sites) / n**2
    return -joint / (n * population.sizes[1]), variance


def _spread_of_intercepts(sites, intercept, weights):
    """Return the variance of the intercepts of sites, and that of the error of each."""
    # Each site has the intercept with which the mean probability of its rows is the frequency of
    # class 1. The variance of these, less that of their errors by noise and by the sampling of
    # rows, is that of sites (Hedges and Olkin, 1985). Of a single one nothing is known, and both
    # are 0.
    if len(sites) < 2:
        return 0.0, np.zeros(1)
    intercepts, errors = [], []
    for site in sites:
        raw_frequencies = site.counts / site.n_rows
        intercepts.append(intercept(raw_frequencies[1]) - weights @ site.raw_mean)
        binomial = raw_frequencies[0] * raw_frequencies[1]
        of_frequency = site.frequency_noise[1] / binomial**2 + 1 / (site.n_rows * binomial)
        errors.append(of_frequency + site.mean_noise * (weights @ weights))
    return max(np.var(intercepts, ddof=1) - np.mean(errors), 0.0), np.array(errors)


def calibrated_log_odds(separation, variance, unequal, frequency, slope=None):
    """Return slope and intercept of the log-odds of class 1 in a score s."""
    # Where they are linear, one class has the other's density times e^{as}: of cumulants up to the
    # third, their means differ by a times the mean of their variances,
    # a = \frac{2(μ_1 - μ_0)}{σ_1^2 + σ_0^2},
    # each class counted alike, whatever its frequency. Of normal classes of equal variance this is
    # the linear discriminant. The intercept is such that the mean probability is the frequency,
    # over normal scores of these means and variances.
    frequency = float(np.clip(frequency, _LEAST_FREQUENCY, 1 - _LEAST_FREQUENCY))
    squares = _class_variances(variance, unequal, frequency)
    slope = 2 * separation / squares.sum() if slope is None else slope
    means = np.array([-frequency * separation, (1 - frequency) * separation])
    scores = slope * (means[:, None] + np.sqrt(squares)[:, None] * _NODES)
    probabilities = np.array([1 - frequency, frequency])[:, None] * _PROBABILITIES

    def excess(intercept):
        return (probabilities * expit(scores + intercept)).sum() - frequency

    middle = logit(frequency)
    slack = max(_SLACK, NEGLIGIBLE * np.abs(scores).max())
    low, high = middle - scores.max() - slack, middle - scores.min() + slack
    return slope, float(brentq(excess, low, high))


def _class_variances(variance, unequal, frequency):
    """Return the variances of a score in two classes, as of :func:`calibrated_log_odds`."""
    most = (1 - _LEAST_SCORE_VARIANCE) * variance
    unequal = np.clip(unequal, -most / (1 - frequency), most / frequency)
    return variance + np.array([-frequency, 1 - frequency]) * unequal


def variance_difference(basis, weights, middle, difference, variances):
    """Return by how much the variance of a score differs between two classes."""
    # A class has means of all functions of a column, which say how its values spread: the square
    # of what the column adds to the score is regressed on these, by a beta distribution with the
    # mean and variance of the column. Covariances of different columns are taken to be the same in
    # both classes, and so are variances of numeric columns without cosines.
    single = basis.two_valued
    ends = basis.scale * (basis.low + basis.high - 2 * basis.center)
    excess = (weights**2 * difference * (ends - 2 * middle))[single].sum()
    for at, values in basis.numeric_tables():
        if len(at) > 1:
            w, mean, apart = weights[at], middle[at], difference[at]
            density = column_density(values[:, 0], mean[0], variances[at[0]])
            slopes = regression(values, (values @ w) ** 2, density)
            excess += slopes @ apart - 2 * (w @ mean) * (w @ apart)
    return float(excess)


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
