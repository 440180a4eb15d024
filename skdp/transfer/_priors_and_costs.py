"""Class frequencies expected in a target, and costs of errors.

Saerens, Latinne and Decaestecker (2002).
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, logsumexp, rel_entr, softmax
from scipy.stats import chi2

from skdp.tabular import spelled_as
from skdp.utils._linalg import TINY
from skdp.utils._warnings import warn

# Largest deviation of given probabilities from a sum of 1: rule of thumb, for rounded decimals.
MAX_ROUNDING = 1e-3

# Significance level of class frequencies among labels for a warning, and the same if all labels
# are of one class, when more depends on it; rules of thumb.
_SURPRISING, _SURPRISING_ALONE = 1e-3, 0.05
# Prior standard deviation of the log-odds of a class whose frequency is arbitrary, and up to which
# labels of a single class may be a random sample.
OTHER_LEVEL = 1.0


def prior_offsets(log_posteriors, prior):
    r"""Return offsets that give the mean of log-posteriors the wanted class frequencies.

    They minimize the convex loss

    .. math:: \frac{1}{N} \sum_i \log \sum_c e^{s_{ic} + b_c} - \pi^T b,

    whose gradient is the mean posterior minus the frequencies.
    """
    # Newton's method: L-BFGS-B is off by 8e-6 at frequencies of .005. The result is exact if only
    # the class frequencies have changed since the posteriors were learned; it also corrects wrong
    # intercepts.

    def loss(offsets):
        moved = log_posteriors + offsets
        excess = softmax(moved, axis=1).mean(axis=0) - prior
        return logsumexp(moved, axis=1).mean() - prior @ offsets, excess

    def curvature(offsets):
        posteriors = softmax(log_posteriors + offsets, axis=1)
        return np.diag(posteriors.mean(axis=0)) - posteriors.T @ posteriors / len(posteriors)

    # A start that would be exact if each row were certain of its class.
    means = softmax(log_posteriors, axis=1).mean(axis=0)
    start = np.log(prior) - np.log(means + TINY)
    start -= start.mean()
    settings = {"method": "trust-exact", "options": {"gtol": 1e-8}}  # of the frequencies
    fit = minimize(loss, start, jac=True, hess=curvature, **settings)
    return fit.x - fit.x.mean()


def log_posteriors_of(result, task):
    """Return normalized log-posteriors of all rows by the learned model, in float64."""
    # With weights, errors are on the scale of log-posteriors.
    scores = result.model.weighted_scores(task.X, np.ones(task.n_classes))
    return log_softmax(np.asarray(scores, dtype=np.float64), axis=1)


def with_prior(result, task, prior):
    """Return a result whose mean probabilities over all rows are the expected frequencies."""
    model = copy(result.model)
    model.offsets = prior_offsets(log_posteriors_of(result, task), prior)
    moved = task.unlabeled[:, np.newaxis]
    distributions = np.where(moved, model.probabilities(task.X), result.distributions)
    return replace(result, distributions=distributions, model=model)


def balanced_weights(result, task):
    """Return weights inverse to the mean posteriors of all rows; a class has at least one row."""
    posteriors = np.exp(log_posteriors_of(result, task))
    frequencies = np.maximum(posteriors.mean(axis=0), 1 / len(posteriors))
    return 1 / (len(frequencies) * frequencies)


def predicted_labels(result, task, class_weight):
    """Return the class index of each row: the given one, or the predicted one."""
    labels, hidden = result.labels, task.unlabeled
    if hidden.any() and (class_weight != class_weight[0]).any():
        scores = result.model.weighted_scores(task.X[hidden], class_weight)
        labels[hidden] = scores.argmax(axis=1)
    return labels


def check_class_prior(class_prior, strategy, classes, frequencies):
    """Return the class frequencies to expect, see :class:`~skdp.DPTransferClassifier`."""
    what = "The 'class_prior' parameter of DPTransferClassifier"
    if strategy.reconstructs_rows:
        raise ValueError(
            f"{what} changes probabilities, which strategy={strategy.name!r} does not have. Use "
            "'noise_aware'."
        )
    if isinstance(class_prior, str):
        if not len(frequencies):
            raise ValueError(
                f"{what} is {class_prior!r}, which needs the class frequencies of a source with "
                "moments. Give the frequencies themselves."
            )
        return frequencies
    prior = _per_class(class_prior, classes, what, 0.0)
    if not ((prior > 0).all() and abs(prior.sum() - 1) <= MAX_ROUNDING):
        raise ValueError(
            f"{what} must be positive and add up to 1, got {prior.tolist()}. Divide by the sum."
        )
    return prior / prior.sum()


def _per_class(values, classes, what, others):
    """Return a number for each class; a mapping stands for ``others`` where it lacks a class."""
    labels = classes.tolist()
    if isinstance(values, Mapping):
        named = spelled_as(np.array(list(values), dtype=object), classes).tolist()
        given = dict(zip(named, values.values(), strict=True))
        if len(given) < len(named) or not set(given) <= set(labels):
            raise ValueError(
                f"{what} names {list(values)!r:.200}, but the classes are {labels}. Name no "
                "other, and each in one spelling."
            )
        values = [given.get(label, others) for label in labels]
    try:
        values = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must hold numbers, got {values!r:.200}.") from error
    if values.shape != (len(labels),):
        raise ValueError(
            f"{what} must have one number for each of the classes {labels}, got shape "
            f"{values.shape}. Pass so many, or a mapping."
        )
    return values


def check_class_weight(class_weight, classes):
    """Return the weight of each class; all are 1 for those that depend on predictions."""
    if not isinstance(class_weight, Mapping):
        return np.ones(len(classes))
    what = "The 'class_weight' parameter of DPTransferClassifier"
    weights = _per_class(class_weight, classes, what, 1.0)
    if not ((weights > 0) & np.isfinite(weights)).all():
        raise ValueError(
            f"{what} must be positive and finite, got {weights.tolist()}. Use small weights to "
            "avoid a class."
        )
    return weights


def sampling_of(labels, label_sampling, frequencies):
    """Return how the labeled rows were chosen, "random" or "stratified"."""
    # "auto" stands for stratified if some rows are unlabeled and the classes with labels have
    # equally many of them. Labels of a single class are a random sample, for which this is common
    # with few labels, unless it would be unlikely even if the class were as frequent as one
    # standard deviation of the prior of the intercepts allows.
    if label_sampling != "auto":
        return label_sampling
    classes, counts = np.unique(labels[labels >= 0], return_counts=True)
    if (labels >= 0).all() or (counts != counts[:1]).any():
        return "random"
    if len(classes) == 1 and len(frequencies):
        likely = expit(logit(frequencies[classes[0]]) + OTHER_LEVEL)
        return "random" if likely ** counts[0] >= _SURPRISING else "stratified"
    return "stratified"


def warn_of_frequencies(labels, expected, sampling):
    """Warn if class frequencies among labels differ much from those expected of all rows."""
    # The likelihood-ratio test of a random sample must be significant at one in a thousand, or at
    # one in twenty if a single class has labels.
    shares = np.bincount(labels, minlength=len(expected)) / len(labels)
    level = _SURPRISING_ALONE if shares.max() == 1 else _SURPRISING
    if 2 * len(labels) * rel_entr(shares, expected).sum() < chi2.isf(level, len(expected) - 1):
        return
    consequence = {
        "random": "They count as a random sample: predictions follow their frequencies. If they "
        "were chosen class by class, set label_sampling='stratified'",
        "stratified": "They count as chosen class by class: predictions follow the frequencies "
        "that the source expects. If they are a random sample, set label_sampling='random'",
    }[sampling]
    observed, expected = (np.round(p, 2).tolist() for p in (shares, expected))
    warn(
        f"The {len(labels)} labels name the classes with frequencies {observed}, where the source "
        f"expects {expected} (in the order of classes_). {consequence}; name it either way, or "
        "give class_prior, to end this warning."
    )


def sampling_offsets(labels, posteriors):
    """Return the log-ratio of class frequencies among labels and in the posteriors of all rows."""
    # With these offsets, labels drawn equally from each class are no evidence of its frequency.
    # One label of each class is added, since all may be missing.
    counts = np.bincount(labels, minlength=posteriors.shape[1]) + 1.0
    return np.log(counts / counts.sum()) - np.log(posteriors.mean(axis=0) + 1e-6)
