"""Evidence: what may be considered as a candidate, and the weights of candidates and scorers.

Without labels, by agreement with the source and by how well classes are separated; with labels,
by their likelihood, of any of which a tenth may be outliers. Two averages follow from it, and are
not one: of the candidates, which are log-posteriors already, by labels that they have not seen;
and of scores on any scale, over all sets of scorers, by the scale that suits the labels best.
"""

from itertools import combinations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax

# Probability that a labeled row is an outlier, which any candidate or scorer may get wrong.
# Without it one confident error made a source of 33-59 % count as much as a target of 71 % (human
# activity at ε = 0.1: 62 instead of 71 %).
_OUTLIERS = 0.1

# Share of the entropy of classes that a candidate must remove on the target's rows: its classes
# are well separated. Human activity has .95 or more; with a quarter of its columns, where class
# means lose up to four points to a good source, .92 or less; tables have below .1.
_MIN_CERTAINTY = 0.93
# Of the agreement beyond chance that a source claims to have with the true classes, how much must
# be with those of a candidate. Human activity has .57-1.1; clusters that are something else none.
_MIN_AGREEMENT = 0.5
# Agreement beyond chance that a source must claim at least: one that cannot tell classes
# apart confirms nothing; rule of thumb.
_MIN_CLAIM = 0.05
# Rows on which classes that were found may differ from the source's, for each row on which the
# source claims to err. Of mixtures and regressions, on digits and human activity all that gains
# has 1.4 or less and what has less than 1.5 gains; on Fashion-MNIST all loses, and has 2.1 or more
# from many rows of a source; so do oriented gradients of digits, with 1.4 or more. From 9,000 rows
# at ε = 1, mixtures claim too little on Fashion-MNIST: .8, and eight points are lost.
_MAX_DISAGREEMENT = 1.3
# Share of the columns that hold two values, each in this share of the rows or more, from which
# rows are records: indicators make clusters of their own, whatever the classes are.
_MIN_INDICATORS, _MIN_SHARE = 0.1, 0.01

# Log-odds, against the source, of what agrees with it on classes that are well separated.
AGREEMENT_LOG_ODDS = 3.0
# Largest log-odds of the source against what is learned from the target's labels; see prior_odds.
# On whas500 with 10 labels a class, 3 let luck favor the labels in one draw of ten, which cost
# .06-.12 of AUC there.
_MAX_LOG_ODDS = 6.0
# Power of the likelihood of labels: candidates err on the same rows, and twenty labels can favor
# the target alone by luck. On four tables with 10 labels a class, powers from 1/3 to 1/2 give the
# same; on normal classes with a source that knows little, 1/2 is best.
_POWER = 1 / 2
# Weight below which a candidate is left out: where posteriors hardly differ, a small part of
# others would decide; rule of thumb.
_MIN_WEIGHT = 0.1

# Standard deviations by which labels must lie on the wrong side to contradict scores: by chance,
# six in a thousand do.
_CONTRADICTION = 2.5

# Scale of the normal prior of slopes. A weight of 1 makes the winner e times as likely as the
# second, on average: one of 5 is as sure as a scorer can reasonably be.
_SLOPE_SCALE = 5.0
# Weight of the last scorer, the target's own, at least: it knows something of every row.
_MIN_LAST_WEIGHT = 0.1
# Points at which the likelihood of a slope is tried before it is refined: it has several maxima.
_N_SLOPES = 81


def has_indicators(X):
    """Return whether a tenth of the columns or more hold just two values, none of them rare.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    """
    counts = np.array([(X.min(axis=0) == X).sum(axis=0), (X.max(axis=0) == X).sum(axis=0)])
    two = (counts.sum(axis=0) == len(X)) & (counts.min(axis=0) >= _MIN_SHARE * len(X))
    return bool(two.mean() >= _MIN_INDICATORS)


def entropy(probabilities):
    """Return the entropy of each row of probabilities."""
    safe = np.maximum(probabilities, np.finfo(np.float64).tiny)
    return -(probabilities * np.log(safe)).sum(axis=-1)


def certainty(posteriors):
    """Return the share of the entropy of classes that posteriors remove, 0 where there is none.

    Parameters
    ----------
    posteriors : ndarray of shape (n_samples, n_classes)
    """
    possible = entropy(posteriors.mean(axis=0))
    return float(1 - entropy(posteriors).mean() / possible) if possible > 0 else 0.0


def agrees_with_source(posteriors, reference):
    r"""Return whether classes that were found are well separated, and those of the source.

    If the source is right as often as its posteriors say, it agrees with the true classes by
    Cohen's

    .. math:: κ = \frac{\bar p - p_e}{1 - p_e}, \qquad p_e = \sum_c f_c g_c

    with the mean :math:`\bar p` of its largest posteriors and the frequencies f and g with which
    source and candidate name the classes. The test asks for half of that between source and
    candidate, and for a candidate that is certain of nearly all rows. It needs no label.

    Parameters
    ----------
    posteriors, reference : ndarrays of shape (n_samples, n_classes)
        Of the candidate, and of the source.
    """
    if certainty(posteriors) < _MIN_CERTAINTY:
        return False
    guesses, source_guesses = posteriors.argmax(axis=1), reference.argmax(axis=1)
    K = reference.shape[1]
    counts = [np.bincount(each, minlength=K) for each in (guesses, source_guesses)]
    chance = counts[0] @ counts[1] / len(guesses) ** 2
    claimed = max(reference.max(axis=1).mean() - chance, _MIN_CLAIM)
    return bool(np.mean(guesses == source_guesses) - chance >= _MIN_AGREEMENT * claimed)


def errs_as_claimed(posteriors, reference):
    r"""Return whether the source errs as often as it claims, if classes that were found are right.

    Classes that are right differ from those of the source on exactly the rows on which the
    source errs. With the mean :math:`\bar p` of its largest posteriors, the share of rows on which
    the two differ is thus to be about :math:`1 - \bar p`; clusters that are something else differ
    on more.

    Parameters
    ----------
    posteriors, reference : ndarrays of shape (n_samples, n_classes)
        Of the candidate, and of the source.
    """
    differ = np.mean(posteriors.argmax(axis=1) != reference.argmax(axis=1))
    return bool(differ <= _MAX_DISAGREEMENT * (1 - reference.max(axis=1).mean()))


def contradicts(labels, scores):
    """Return whether labels contradict scores: those of each row's own class are too low.

    The sum over rows of the score of the label, less what the row and the class have on average,
    is compared to its distribution where labels are permuted, whose mean is 0 and whose variance
    is that of Hoeffding's combinatorial central limit theorem (1951).

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Class indices.

    scores : ndarray of shape (n_samples, n_classes)
    """
    n = len(labels)
    if n < 2:
        return False
    frequencies = np.bincount(labels, minlength=scores.shape[1]) / n
    more = scores - scores.mean(axis=0)
    more -= (more @ frequencies)[:, np.newaxis]
    variance = (more**2 @ frequencies).sum() * n / (n - 1)
    return bool(more[np.arange(n), labels].sum() < -_CONTRADICTION * np.sqrt(variance))


def log_likelihood(probabilities, n_classes):
    """Return the log-likelihood of labels, each of which may be an outlier, of any class.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples,)
        Of the labels.

    n_classes : int
    """
    return np.log((1 - _OUTLIERS) * probabilities + _OUTLIERS / n_classes).sum()


# Of candidates, whose scores are log-posteriors.


def effective_rows(release):
    """Return how many rows would tell as much as a release does.

    Of statistics, whatever was learned from them: noise in a mean of N rows of p features, by a
    mechanism of sensitivity/σ = μ, leaves what N/(1 + p/(μ²N)) rows say; of sums that are there,
    :attr:`Statistics.effective_rows` knows the noise. Of noisy rows, what their moments say, see
    :attr:`Moments.precision`.

    Parameters
    ----------
    release : Release
        With moments.
    """
    if release.statistics is not None:
        return release.statistics.effective_rows
    if not release.moments.of_statistics:
        return release.moments.precision
    n_rows = release.moments.class_counts.sum()
    distance = release.guarantee.gaussian_distance
    square = (release.guarantee.epsilon if distance is None else distance) ** 2
    return float(n_rows / (1 + release.n_features / (square * n_rows)))


def prior_odds(n_rows, n_labels):
    """Return the log-odds, against the source, of what is learned from labels, beforehand.

    The odds are the cubed ratio of the rows of a class that each side stands for, e⁶ at most:
    where noise has left as little of a source as a few labels tell, neither is favored.

    Parameters
    ----------
    n_rows : float
        For which the source stands, see :func:`effective_rows`.

    n_labels : float
        Labels of a class, on average.
    """
    return -float(np.clip(3 * np.log(n_rows / n_labels), 0, _MAX_LOG_ODDS))


def held_out_probabilities(log_posteriors, labels, sampling_offsets):
    """Return the probabilities of labels by posteriors that have not seen them.

    Parameters
    ----------
    log_posteriors : ndarray of shape (n_samples, n_classes)

    labels : ndarray of shape (n_samples,)
        Class indices.

    sampling_offsets : ndarray of shape (n_classes,)
        See :func:`~skdp.transfer._label_correction.sampling_offsets`.
    """
    return softmax(log_posteriors + sampling_offsets, axis=1)[np.arange(len(labels)), labels]


def log_evidence(probabilities, n_classes):
    """Return what labels say of a candidate: half of their log-likelihood.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples,)
        See :func:`held_out_probabilities`.

    n_classes : int
    """
    return _POWER * float(log_likelihood(probabilities, n_classes))


def candidate_weights(log_odds):
    """Return the weights of candidates; those below a tenth are 0.

    Of more than ten candidates, those below the mean: all could be below a tenth.
    """
    weights = softmax(log_odds)
    least = min(_MIN_WEIGHT, 1 / len(weights), weights.max())
    weights = np.where(weights < least, 0.0, weights)
    return weights / weights.sum()


def average_posteriors(log_posteriors, weights):
    """Return the logarithms of posteriors averaged by weights of sum 1, those of 0 left out.

    Parameters
    ----------
    log_posteriors : list of ndarray of shape (n_samples, n_classes)

    weights : ndarray of shape (n_candidates,)
    """
    kept = np.flatnonzero(weights)
    return logsumexp([log_posteriors[k] + np.log(weights[k]) for k in kept], axis=0)


# Of scores on any scale.


def mean_margin(scores):
    """Return how far the best class is above the second best, on average: a unit of scores."""
    top = np.partition(scores, -2, axis=1)[:, -2:]
    return float(np.mean(top[:, 1] - top[:, 0])) or 1.0


def scorer_weights(scores, labels):
    """Return non-negative weights with which scores add up to log-posteriors.

    Bayesian model averaging over all sets of scorers. Those of a set count equally: few
    labeled rows suffice to select scorers, not to estimate their weights. How sure they are
    together is the slope of a multinomial logistic regression on the labeled rows, under a
    normal prior of scale 5. Each set counts by its likelihood at the best slope, prior included.
    A labeled row is an outlier with probability 1/10: a single confident error must not make all
    sets unsure, and so alike.

    Parameters
    ----------
    scores : ndarray of shape (n_scorers, n_samples, n_classes)
        In units of :func:`mean_margin`. The last one keeps a weight of 0.1.

    labels : ndarray of shape (n_samples,)
        Class indices.

    Returns
    -------
    weights : ndarray of shape (n_scorers,)
    """
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
        with np.errstate(over="ignore"):  # then the label has probability 0: an outlier
            probabilities = 1 / np.exp(slope * ahead).sum(axis=1)
        return (slope / _SLOPE_SCALE) ** 2 / 2 - log_likelihood(probabilities, scores.shape[1])

    # Outliers make it anything but convex.
    grid = np.linspace(0, 4 * _SLOPE_SCALE, _N_SLOPES)
    best = np.argmin([loss(slope) for slope in grid])
    bounds = grid[np.clip([best - 1, best + 1], 0, len(grid) - 1)]
    return minimize_scalar(loss, bounds=bounds, method="bounded")
