"""Evidence for a candidate: agreement with the source without labels, and held-out labels."""

import numpy as np
from scipy.special import softmax

# Share of the entropy of classes that a candidate must remove on the target's rows: its classes
# lie apart. Human activity has .95 or more; with a quarter of its columns, where class means lose
# up to four points to a good source, .92 or less; tables have below .1.
_MIN_CERTAIN = 0.93
# The same after the first round of self-training, which needs no other evidence from there. Digits
# have .93 or more with five labels a class, human activity .79; tables .74 or less, where all that
# is trained further is worse than a logistic regression.
_MIN_APART = 0.75
# Of the agreement beyond chance that a source claims to have with the true classes, how much must
# be with those of a candidate. Human activity has .57-1.1; clusters that are something else none.
_MIN_AGREEMENT = 0.5
# Agreement beyond chance that a source must claim at least: one that says nothing confirms
# nothing; rule of thumb.
_MIN_CLAIM = 0.05
# Log-odds, against the source, of what agrees with it on classes that lie apart.
AGREED = 3.0
# Largest log-odds of the source against what is learned from the target's labels; see prior_odds.
# On whas500 with 10 labels a class, 3 let luck favour the labels in one draw of ten, which cost
# .06-.12 of AUC there.
_MOST_ODDS = 6.0
# Power of the likelihood of labels: candidates err on the same rows, and twenty labels can favour
# the target alone by luck. On four tables with 10 labels a class, powers from 1/3 to 1/2 give the
# same; on normal classes with a source that knows little, 1/2 is best.
_POWER = 1 / 2
# Probability that a labelled row is an outlier, which any candidate may get wrong.
_OUTLIERS = 0.1
# Weight below which a candidate is left out: beside posteriors that hardly differ, a small part
# of others would decide; rule of thumb.
_MIN_WEIGHT = 0.1


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


def lie_apart(posteriors):
    """Return whether classes lie apart enough for rows to train each other.

    Parameters
    ----------
    posteriors : ndarray of shape (n_samples, n_classes)
        After the first round of self-training, by models that left each row out.
    """
    return certainty(posteriors) >= _MIN_APART


def agrees(posteriors, reference):
    r"""Return whether classes that were found lie apart and are those that the source means.

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
    if certainty(posteriors) < _MIN_CERTAIN:
        return False
    found, named = posteriors.argmax(axis=1), reference.argmax(axis=1)
    K = reference.shape[1]
    chance = np.bincount(found, minlength=K) @ np.bincount(named, minlength=K) / len(found) ** 2
    claimed = max(reference.max(axis=1).mean() - chance, _MIN_CLAIM)
    return bool(np.mean(found == named) - chance >= _MIN_AGREEMENT * claimed)


def prior_odds(precision, n_labels):
    """Return the log-odds, against the source, of what is learned from labels, beforehand.

    The odds are the cubed ratio of the rows of a class that each side stands for, e⁶ at most:
    where noise has left as little of a source as a few labels tell, neither is favoured.

    Parameters
    ----------
    precision : float
        Rows of a class that would tell as much as the source does, see :func:`precision`.

    n_labels : float
        Labels of a class, on average.
    """
    return -float(np.clip(3 * np.log(precision / n_labels), 0, _MOST_ODDS))


def held_out_probabilities(logs, labels, tilt):
    """Return the probabilities of labels by posteriors that have not seen them.

    Parameters
    ----------
    logs : ndarray of shape (n_samples, n_classes)

    labels : ndarray of shape (n_samples,)
        Class indices.

    tilt : ndarray of shape (n_classes,)
        See :meth:`Correction.fit`.
    """
    return softmax(logs + tilt, axis=1)[np.arange(len(labels)), labels]


def log_evidence(probabilities, n_classes):
    """Return what labels say of a candidate: half of their log-likelihood.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples,)
        See :func:`held_out_probabilities`.

    n_classes : int
        Any label may be an outlier.
    """
    return _POWER * float(np.log((1 - _OUTLIERS) * probabilities + _OUTLIERS / n_classes).sum())


def posterior_weights(log_odds):
    """Return the weights of candidates; those below a tenth are 0.

    Of more than ten candidates, those below the mean: all could be below a tenth.
    """
    weights = softmax(log_odds)
    least = min(_MIN_WEIGHT, 1 / len(weights), weights.max())
    weights = np.where(weights < least, 0.0, weights)
    return weights / weights.sum()


def label_tilt(labels, posteriors):
    """Return the log-ratio of class frequencies among labels and by the posteriors of other rows.

    One more label of each class is added, for all may be missing.
    """
    counts = np.bincount(labels, minlength=posteriors.shape[1]) + 1.0
    return np.log(counts / counts.sum()) - np.log(posteriors.mean(axis=0) + 1e-6)
