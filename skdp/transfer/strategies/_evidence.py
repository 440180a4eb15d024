"""What speaks for a candidate: agreement with the source without labels, and labels left out."""

import numpy as np
from scipy.special import softmax

# Share of the entropy of classes that a candidate must remove on the target's rows: its classes
# lie apart. Human activity has at least .97, with a third of its columns .80-.96, tables .6.
_MIN_CERTAIN = 0.95
# Of the information on classes that the source claims to have, how much must go to the classes
# of a candidate. Human activity has .85-1.12; with a quarter of its columns, where class means
# lose up to 10 points to the source, .64-.81; digits as single normals .24-.38; tables below 0.
_MIN_AGREEMENT = 0.83
# Log-odds, against the source, of what agrees with it on classes that lie apart; of what does
# not, and of the target alone: e^-3 is outweighed by about ten labels that it alone gets right.
AGREED, ALONE = 3.0, -3.0
# Probability that a labelled row is an outlier, which any candidate may get wrong.
_OUTLIERS = 0.1
# Weight below which a candidate is left out: beside posteriors that hardly differ, a small part
# of others would decide; rule of thumb.
_MIN_WEIGHT = 0.1


def entropy(probabilities):
    """Return the entropy of each row of probabilities."""
    safe = np.maximum(probabilities, np.finfo(np.float64).tiny)
    return -(probabilities * np.log(safe)).sum(axis=-1)


def agrees(posteriors, reference):
    r"""Return whether classes that were found lie apart and are those that the source means.

    If q are the posteriors of a candidate, with mean :math:`\bar q`, and p those of the source,
    the source explains the share

    .. math:: \frac{1}{N H(\bar q)} \sum_i \sum_c q_{ic} \log \frac{p_{ic}}{\bar q_c}

    of the entropy of the classes found. Where these are the true ones and p is calibrated, that
    is the share of entropy that p removes; clusters that are something else it cannot explain.
    The test asks for 0.83 of that, and for q to be certain of nearly all rows. It needs no label.

    Parameters
    ----------
    posteriors, reference : ndarrays of shape (n_samples, n_classes)
        q and p.
    """
    found, known = entropy(posteriors.mean(axis=0)), entropy(reference.mean(axis=0))
    if min(found, known) <= 0:
        return False
    certain = 1 - entropy(posteriors).mean() / found
    safe = np.maximum(reference, np.finfo(np.float64).tiny)
    explained = 1 + (posteriors * np.log(safe)).sum(axis=1).mean() / found
    claimed = 1 - entropy(reference).mean() / known
    return bool(certain >= _MIN_CERTAIN and explained >= _MIN_AGREEMENT * claimed > 0)


def log_evidence(logs, labels, tilt):
    """Return the log-likelihood of labels by log-posteriors of models that did not see them.

    Parameters
    ----------
    logs : ndarray of shape (n_samples, n_classes)

    labels : ndarray of shape (n_samples,)
        Class indices.

    tilt : ndarray of shape (n_classes,)
        See :meth:`Correction.fit`.
    """
    own = softmax(logs + tilt, axis=1)[np.arange(len(labels)), labels]
    return float(np.log((1 - _OUTLIERS) * own + _OUTLIERS / logs.shape[1]).sum())


def posterior_weights(log_odds):
    """Return the weights of candidates; those below a tenth are 0."""
    weights = softmax(log_odds)
    weights = np.where(weights < _MIN_WEIGHT, 0.0, weights)
    return weights / weights.sum()


def label_tilt(labels, posteriors):
    """Return the log-ratio of class frequencies among labels and by the posteriors of other rows.

    One more label of each class is added, for all may be missing.
    """
    counts = np.bincount(labels, minlength=posteriors.shape[1]) + 1.0
    return np.log(counts / counts.sum()) - np.log(posteriors.mean(axis=0) + 1e-6)
