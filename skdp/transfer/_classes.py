"""The classes of a target: its labels, the class frequencies to expect, and costs of errors.

Saerens, Latinne and Decaestecker (2002).
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, logsumexp, rel_entr, softmax
from scipy.stats import chi2
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets

from skdp.tabular import Vocabulary, canonical, spelled_as
from skdp.utils._labels import label_array, natural_labels, unlabeled_rows
from skdp.utils._linalg import TINY
from skdp.utils._warnings import warn

# What NumPy makes of marks in a list of text.
_MARKS_AS_TEXT = {"-1", "nan", "None", "<NA>"}
_AS_OBJECTS = "If NumPy turned marks into text, make y an array of dtype object."
# Possible cause of labels that are numbers instead of classes; for an error message.
_RECODED = (
    "Meta-estimators and cross_val_predict of probabilities number labels 0, 1, ..., and treat "
    "marks of unlabeled rows as labels. DPTransferClassifier handles many classes itself: fit it, "
    "and pass FrozenEstimator(fitted) (StackingClassifier: cv='prefit') or loop over LabeledSplit."
)

# Largest deviation of given probabilities from a sum of 1: rule of thumb, for rounded decimals.
MAX_ROUNDING = 1e-3

# Significance level of class frequencies among labels for a warning, and the same if all labels
# are of one class, when more depends on it; rules of thumb.
_SURPRISING, _SURPRISING_ALONE = 1e-3, 0.05
# Prior standard deviation of the log-odds of a class whose frequency is arbitrary, and up to which
# labels of a single class may be a random sample.
OTHER_LEVEL = 1.0


def encode_labels(y, n_samples, releases, *, unlabeled, strategy):
    """Return the classes of a target, and the class index of each row, −1 where unlabeled."""
    # Unlabeled rows are found by unlabeled_rows, with a release or without. The classes are
    # sorted, as in all of scikit-learn's classifiers, whose metrics rely on it. Labels that equal
    # a class of the first release in canonical form are spelled like that class: readers of tables
    # turn one cell into 1, 1.0 or "1".
    y = np.full(n_samples, None) if y is None else label_array(y, warn=True)
    check_consistent_length(np.empty(n_samples), y)
    source_labels = [
        canonical(label) for release in releases for label in release.classes.tolist()
    ]
    is_unlabeled = unlabeled_rows(y, unlabeled, source_labels if releases else None)
    given = natural_labels(y[~is_unlabeled])
    if releases:
        given = spelled_as(given, releases[0].classes)
    if given.size:
        check_classification_targets(given)
    if not releases:
        _warn_of_marks_as_text(given)
    elif not is_unlabeled.any():
        _refuse_binary_codes(given, releases[0].classes)
    named, codes = np.unique(given, return_inverse=True)
    classes = named
    if releases and _unlabeled_classes_stay(releases, len(named), strategy):
        classes = releases[0].classes
        codes = np.array(match_classes(named, classes), dtype=int)[codes]
    elif len(named) < 2:
        raise ValueError(
            "The 'y' parameter of DPTransferClassifier.fit must name at least two classes, got "
            f"{len(named)} class{'es'[: 2 - 2 * len(named)]} {named.tolist()} and "
            f"{is_unlabeled.sum()} unlabeled rows (unlabeled={unlabeled!r}). Label a row of each."
        )
    labels = np.full(n_samples, -1)
    labels[~is_unlabeled] = codes
    return classes, labels


def _unlabeled_classes_stay(releases, n_named, strategy):
    """Return whether all classes of the releases are kept, even those without a label."""
    # This is so if all releases have log-posteriors of the same classes (statistics and tables),
    # and for releases with any moments if at most one class is labeled.
    lists = [release.classes.tolist() for release in releases]
    same = len({frozenset(map(canonical, classes)) for classes in lists}) == 1
    if not n_named and not same:
        raise ValueError(
            f"The sources have the classes {' and '.join(map(str, lists))}, and no row is "
            "labeled: label one row of each class of the target."
        )
    if strategy.reconstructs_rows or not same:
        return False
    if not all(release.moments for release in releases):
        return False
    return all(release.model.calibrated for release in releases) or n_named < 2


def _warn_of_marks_as_text(labels):
    """Warn if NumPy may have turned the marks of unlabeled rows into text."""
    texts = {label for label in labels.tolist() if isinstance(label, str)}
    marks = sorted(texts & _MARKS_AS_TEXT)
    if marks and not all(text.lstrip("-").isdigit() for text in texts):
        warn(f"The labels {marks} in y count as classes. {_AS_OBJECTS}")


def _refuse_binary_codes(labels, source_classes):
    """Raise ValueError if a meta-estimator replaced the classes of a source by 0 and 1."""
    source_labels = source_classes.tolist()
    named, forms = (set(map(canonical, array.tolist())) for array in (labels, source_classes))
    if len(source_labels) > 2 and {0, 1} <= forms and named == {0, 1}:
        raise ValueError(
            f"All rows in y are labeled 0 or 1, while the source has the classes {source_labels}. "
            f"{_RECODED} If these are its classes, leave one row without a label (None)."
        )


def match_classes(classes, source_classes):
    """Return the index of each class among those of the source, by their canonical forms."""
    source_labels, labels = source_classes.tolist(), classes.tolist()
    indices = Vocabulary(source_labels).codes(classes).tolist()
    unknown = [label for label, index in zip(labels, indices, strict=True) if index < 0]
    if unknown:
        remedy = (
            "Mark unlabeled rows by -1, None or the 'unlabeled' parameter, spell classes as the "
            "source does, and remove rows of other classes."
        )
        if len(labels) > 1 and set(labels) <= set(range(len(source_labels) + 1)):
            # Numbers of text labels are not taken for the sorted classes of the source: labels of
            # other names or another order would be learned as if they were these.
            text = all(isinstance(label, str) for label in source_labels)
            without = "Numbers do not say which of these they stand for."
            remedy = f"{without if text else remedy} {_RECODED}"
        if set(unknown) & _MARKS_AS_TEXT:
            remedy = _AS_OBJECTS
        raise ValueError(
            f"The labels {unknown} in y are not among the classes of the source: "
            f"{source_labels}. {remedy}"
        )
    return indices


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
