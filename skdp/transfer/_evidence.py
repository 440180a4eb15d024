"""Agreement of candidates with a source, and weights of scorers in self-training.

Without labels, evidence is agreement with the source and separation of classes. Scores on any
scale are averaged over all subsets of scorers, with the slope that fits the labels best.
"""

from itertools import combinations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from skdp.utils._linalg import TINY

# Probability that a labeled row is an outlier, which may be wrong under any candidate or scorer.
# Without it, one confident error gave a source of 33-59 % accuracy the same weight as a target of
# 71 % (human activity at ε = 0.1: 62 instead of 71 %).
_OUTLIERS = 0.1


class _Agreement:
    """When a candidate and the source agree, so that it is used without labels."""

    # Fraction of the entropy of classes that a candidate must remove on the target's rows, so that
    # its classes are well separated. Human activity has .95 or more; with a quarter of its
    # columns, where class means are up to four points worse than a good source, .92 or less;
    # tables have below .1.
    min_certainty = 0.93
    # Required agreement of source and candidate beyond chance, relative to that which the source
    # claims with the true classes. Human activity has .57-1.1; unrelated clusters have none.
    min_agreement = 0.5
    # Floor of the agreement beyond chance that a source claims: one that cannot distinguish
    # classes confirms nothing; rule of thumb.
    min_claim = 0.05
    # Largest number of rows on which a candidate may disagree with the source, relative to the
    # number on which the source claims to err. Among mixtures and regressions on digits and human
    # activity, all that improve have 1.4 or less, and all below 1.5 improve; on Fashion-MNIST all
    # get worse, and with many source rows have 2.1 or more; oriented gradients of digits get worse
    # too, with 1.4 or more. With 9,000 rows at ε = 1, mixtures on Fashion-MNIST have .8, and eight
    # points are lost.
    max_disagreement = 1.3


# Fraction of columns with two values, each in at least this fraction of the rows, from which rows
# are treated as records with indicators, which create clusters independently of the classes; rules
# of thumb.
_MIN_INDICATORS, _MIN_SHARE = 0.1, 0.01

# Standard deviations below the mean from which labels contradict scores or a source: by chance,
# six in a thousand do.
CONTRADICTION = 2.5

# Scale of the normal prior of slopes. With a weight of 1 the best class is on average e times as
# likely as the second; a weight of 5 is as certain as a scorer can reasonably be.
_SLOPE_SCALE = 5.0
# Smallest weight of the last scorer, the target's own, which has information on every row; rule of
# thumb.
_MIN_LAST_WEIGHT = 0.1


def has_indicators(X):
    """Return whether a tenth of the columns or more have just two values, neither of them rare."""
    counts = np.array([(X.min(axis=0) == X).sum(axis=0), (X.max(axis=0) == X).sum(axis=0)])
    two = (counts.sum(axis=0) == len(X)) & (counts.min(axis=0) >= _MIN_SHARE * len(X))
    return bool(two.mean() >= _MIN_INDICATORS)


def entropy(probabilities):
    """Return the entropy of each row of probabilities."""
    safe = np.maximum(probabilities, TINY)
    return -(probabilities * np.log(safe)).sum(axis=-1)


def certainty(posteriors):
    """Return the fraction of the entropy of classes that posteriors remove, 0 if it is zero."""
    possible = entropy(posteriors.mean(axis=0))
    return float(1 - entropy(posteriors).mean() / possible) if possible > 0 else 0.0


def agrees_with_source(posteriors, reference):
    """Return whether the classes of a candidate are well separated and agree with the source."""
    # If the source is correct as often as its posteriors imply, its agreement with the true
    # classes is Cohen's
    # κ = \frac{\bar p - p_e}{1 - p_e}, \qquad p_e = \sum_c f_c g_c
    # with the mean \bar p of its largest posteriors and the frequencies f and g with which source
    # and candidate predict the classes. The test requires half of that between source and
    # candidate, and a candidate that is certain of nearly all rows. It needs no labels.
    if certainty(posteriors) < _Agreement.min_certainty:
        return False
    guesses, source_guesses = posteriors.argmax(axis=1), reference.argmax(axis=1)
    K = reference.shape[1]
    counts = [np.bincount(predicted, minlength=K) for predicted in (guesses, source_guesses)]
    chance = counts[0] @ counts[1] / len(guesses) ** 2
    claimed = max(reference.max(axis=1).mean() - chance, _Agreement.min_claim)
    agreement = np.mean(guesses == source_guesses) - chance
    return bool(agreement >= _Agreement.min_agreement * claimed)


def errs_as_claimed(posteriors, reference):
    """Return whether the source errs as often as it claims, assuming that a candidate is right."""
    # True classes differ from those of the source exactly on the rows on which the source errs.
    # With the mean \bar p of its largest posteriors, the fraction of rows on which the two differ
    # should thus be about 1 - \bar p; unrelated clusters differ on more.
    differ = np.mean(posteriors.argmax(axis=1) != reference.argmax(axis=1))
    claimed = 1 - reference.max(axis=1).mean()
    return bool(differ <= _Agreement.max_disagreement * claimed)


def contradicts(labels, scores):
    """Return whether labels contradict scores: scores of the rows' own classes are too low."""
    # The sum over rows of the score of the label, minus the averages of the row and the class, is
    # compared with its distribution under permutations of the labels, which has mean 0 and the
    # variance of Hoeffding's combinatorial central limit theorem (1951).
    n = len(labels)
    if n < 2:
        return False
    frequencies = np.bincount(labels, minlength=scores.shape[1]) / n
    more = scores - scores.mean(axis=0)
    more -= (more @ frequencies)[:, np.newaxis]
    variance = (more**2 @ frequencies).sum() * n / (n - 1)
    return bool(more[np.arange(n), labels].sum() < -CONTRADICTION * np.sqrt(variance))


def log_likelihood(probabilities, n_classes):
    """Return the log-likelihood of labels, each of which may be an outlier of any class."""
    return np.log((1 - _OUTLIERS) * probabilities + _OUTLIERS / n_classes).sum()


# Of scores on any scale.


def mean_margin(scores):
    """Return the average margin of the best class over the second best, a unit of scores."""
    top = np.partition(scores, -2, axis=1)[:, -2:]
    return float(np.mean(top[:, 1] - top[:, 0])) or 1.0


def scorer_weights(scores, labels):
    """Return non-negative weights with which scores add up to log-posteriors."""
    # Bayesian model averaging over all subsets of scorers. The scorers of a subset have equal
    # weights: few labeled rows suffice to select scorers, not to estimate their weights. Their
    # common slope is that of a multinomial logistic regression on the labeled rows, with a normal
    # prior of scale 5. Each subset is weighted by its likelihood at the best slope, including the
    # prior. A labeled row is an outlier with probability 1/10: a single confident error must not
    # make all subsets uncertain, and hence equal.
    scorers = range(len(scores))
    sets = [list(s) for n in scorers for s in combinations(scorers, n + 1)]
    fits = [_fit_slope(scores[chosen].mean(axis=0), labels) for chosen in sets]
    weights = np.zeros(len(scores))
    probabilities = softmax([-fit.fun for fit in fits])
    for probability, chosen, fit in zip(probabilities, sets, fits, strict=True):
        weights[chosen] += probability * fit.x / len(chosen)
    weights[-1] = max(weights[-1], _MIN_LAST_WEIGHT)
    return weights


def _fit_slope(scores, labels):
    """Return the SciPy result of the best slope x of scores, and its loss, prior included."""
    ahead = scores - scores[np.arange(len(labels)), labels][:, np.newaxis]

    def loss(slope):
        with np.errstate(over="ignore"):  # the label then has probability 0: an outlier
            probabilities = 1 / np.exp(slope * ahead).sum(axis=1)
        return (slope / _SLOPE_SCALE) ** 2 / 2 - log_likelihood(probabilities, scores.shape[1])

    # With outliers it is not convex: a grid comes before the refinement.
    grid = np.linspace(0, 4 * _SLOPE_SCALE, 81)
    best = np.argmin([loss(slope) for slope in grid])
    bounds = grid[np.clip([best - 1, best + 1], 0, len(grid) - 1)]
    return minimize_scalar(loss, bounds=bounds, method="bounded")
