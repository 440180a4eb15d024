"""Class frequencies that are expected of a target, and the offsets that bring them about.

Saerens, Latinne and Decaestecker (2002).
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, softmax

# Probabilities that have become 0 count as this one: their logarithm is finite.
_LEAST = np.finfo(np.float64).tiny
# Largest deviation from the frequencies, and largest change of an estimate, that count as none.
_TOLERANCE = 1e-8
# Steps of the estimate at most: where classes overlap, each moves by little. Rule of thumb.
_MAX_STEPS = 10_000


def prior_offsets(logs, prior):
    r"""Return what to add to log-posteriors for their mean to have given class frequencies.

    .. math:: \min_b \; \frac{1}{N} \sum_i \log \sum_c e^{s_{ic} + b_c} - \pi^T b

    is convex, and its gradient is the mean posterior less the frequencies π. Where only these
    have changed since the posteriors were learned, and as the rows show them, that is exact; it
    also corrects intercepts that are off.

    Parameters
    ----------
    logs : ndarray of shape (n_samples, n_classes)
        Log-posteriors, up to a constant for each row.

    prior : ndarray of shape (n_classes,)
        Positive, of sum 1.

    Returns
    -------
    offsets : ndarray of shape (n_classes,)
        With mean 0.
    """

    def loss(offsets):
        moved = logs + offsets
        value = logsumexp(moved, axis=1).mean() - prior @ offsets
        return value, softmax(moved, axis=1).mean(axis=0) - prior

    def curvature(offsets):
        posteriors = softmax(logs + offsets, axis=1)
        return np.diag(posteriors.mean(axis=0)) - posteriors.T @ posteriors / len(posteriors)

    # A start at which the frequencies of single-class rows would be right.
    start = np.log(prior) - np.log(softmax(logs, axis=1).mean(axis=0) + _LEAST)
    fit = minimize(
        loss,
        start - start.mean(),
        jac=True,
        hess=curvature,
        method="trust-exact",
        options={"gtol": _TOLERANCE},
    )
    return fit.x - fit.x.mean()


def estimated_prior(logs, old):
    r"""Return the class frequencies under which a target's rows are likeliest.

    The EM algorithm of Saerens, Latinne and Decaestecker (2002),

    .. math:: \pi_c \leftarrow \frac{1}{N} \sum_i
       \frac{p_{ic}\, \pi_c / \pi^{old}_c}{\sum_d p_{id}\, \pi_d / \pi^{old}_d},

    for posteriors p that were learned where the frequencies are :math:`\pi^{old}`.

    Parameters
    ----------
    logs : ndarray of shape (n_samples, n_classes)
        Log-posteriors, up to a constant for each row.

    old : ndarray of shape (n_classes,)
        Positive, of sum 1.

    Returns
    -------
    prior : ndarray of shape (n_classes,)
        Positive, of sum 1.
    """
    ratios = logs - np.log(old)
    likelihoods = np.exp(ratios - ratios.max(axis=1, keepdims=True))
    prior = old
    for _ in range(_MAX_STEPS):
        new = prior * (likelihoods.T @ (1 / (likelihoods @ prior))) / len(logs)
        change = np.abs(new - prior).max()
        prior = np.maximum(new / new.sum(), _LEAST)
        if change < _TOLERANCE:
            break
    return prior


def expected_offsets(logs, prior, old):
    """Return the offsets of log-posteriors for a prior.

    Parameters
    ----------
    logs : ndarray of shape (n_samples, n_classes)

    prior : "source", "estimate" or ndarray of shape (n_classes,)

    old : ndarray of shape (n_classes,) or None
        Class frequencies of the source.
    """
    if isinstance(prior, str) and prior == "estimate":
        offsets = np.log(estimated_prior(logs, old)) - np.log(old)
        return offsets - offsets.mean()
    return prior_offsets(logs, old if isinstance(prior, str) else prior)


def log_posteriors_elsewhere(result, task):
    """Return log-posteriors of the unlabelled rows; of all, where all are labelled.

    Those of unlabelled rows are of models that have not seen what was guessed of them.

    Parameters
    ----------
    result : SelfTraining
        Where distributions are certain, as those by errors, they are taken as they are.

    task : Task
    """
    hidden = task.unlabelled
    if hidden.any():
        return np.log(np.maximum(result.distributions[hidden], _LEAST, dtype=np.float64))
    scores = np.asarray(result.model.scores(task.X), dtype=np.float64)
    return log_softmax(scores / result.model.temperature, axis=1)


def with_prior(result, task, prior):
    """Return what was learned, brought to the class frequencies that are expected.

    Parameters
    ----------
    result : SelfTraining
        With a model of log-posteriors.

    task : Task

    prior : "source", "estimate", ndarray of shape (n_classes,) or None
        None leaves everything as it is.
    """
    if prior is None:
        return result
    logs = log_posteriors_elsewhere(result, task)
    offsets = expected_offsets(logs, prior, task.frequencies)
    model = PriorShifted(result.model, offsets)
    hidden = task.unlabelled
    if not hidden.any():
        return replace(result, model=model)
    distributions, labels = result.distributions.copy(), result.labels.copy()
    distributions[hidden] = softmax(logs + offsets, axis=1)
    labels[hidden] = distributions[hidden].argmax(axis=1)
    return replace(result, labels=labels, distributions=distributions, model=model)


class PriorShifted:
    """A model of log-posteriors, moved to other class frequencies.

    Parameters
    ----------
    model : NoiseAwareModel or WeighedModel

    offsets : ndarray of shape (n_classes,)
    """

    def __init__(self, model, offsets):
        self.model, self.offsets = model, offsets
        self.source_weight = model.source_weight
        self.least_source_weight = model.least_source_weight
        self.target_classifier, self.temperature = model.target_classifier, model.temperature
        self.contributions = model.contributions

    def source_scores(self, X):
        """Return what the source says, before the offsets."""
        return self.model.source_scores(X)

    def target_scores(self, X):
        """Return what the target says, before the offsets."""
        return self.model.target_scores(X)

    def scores(self, X):
        """Return log-posteriors, up to a constant for each row."""
        return (self.model.scores(X) + self.offsets).astype(X.dtype)

    def probabilities(self, X):
        """Return the probability of each class."""
        return softmax(self.scores(X), axis=1)
