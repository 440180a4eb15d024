"""Class frequencies and costs that a target's owner gives, and the decisions that follow."""

from collections.abc import Mapping

import numpy as np

from skdp.transfer.strategies import log_posteriors_elsewhere

# By how much given probabilities may miss a sum of 1: rule of thumb, for rounded decimals.
_TOLERANCE = 1e-3


def check_class_prior(class_prior, strategy, classes, frequencies):
    """Return the class frequencies to expect, see :class:`~skdp.DPTransferClassifier`.

    Parameters
    ----------
    class_prior : None, "source", "estimate", mapping or array-like of shape (n_classes,)
        As given.

    strategy : str

    classes : ndarray of shape (n_classes,)

    frequencies : ndarray of shape (n_classes,) or None
        Those of the sources.

    Returns
    -------
    prior : None, "source", "estimate" or ndarray of shape (n_classes,)

    Raises
    ------
    ValueError
        When there are no probabilities to move, nothing says how frequent classes are in the
        source, or these are no probabilities of the classes.
    """
    if class_prior is None:
        return None
    what = "The 'class_prior' parameter of DPTransferClassifier"
    if strategy != "noise_aware":
        raise ValueError(
            f"{what} moves probabilities, of which strategy={strategy!r} has none. Use "
            "strategy='noise_aware', or class_prior=None."
        )
    if isinstance(class_prior, str):
        if frequencies is None:
            raise ValueError(
                f"{what} is {class_prior!r}, which needs a source that says how frequent its "
                "classes are, and there is none with moments. Give the frequencies themselves, or "
                "a release that has moments."
            )
        return class_prior
    named = isinstance(class_prior, Mapping)
    prior = _of_mapping(class_prior, classes, what) if named else _of_array(class_prior, what)
    if prior.shape != (len(classes),):
        raise ValueError(
            f"{what} must have one probability for each of the classes {classes.tolist()}, in "
            f"their order, got shape {prior.shape}. A mapping of labels to probabilities needs no "
            "order."
        )
    if not ((prior > 0).all() and abs(prior.sum() - 1) <= _TOLERANCE):
        raise ValueError(
            f"{what} must be positive and add up to 1, got {prior.tolist()}. Divide frequencies "
            "by their sum, and give a class that hardly occurs a small one."
        )
    return prior / prior.sum()


def _of_array(values, what):
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must hold numbers, got {values!r:.200}.") from error


def _of_mapping(mapping, classes, what):
    """Return the values of a mapping in the order of the classes, which it must name."""
    labels = classes.tolist()
    if set(mapping) != set(labels):
        raise ValueError(
            f"{what} names {list(mapping)!r:.200}, but the classes are {labels}. Give the "
            "probability of each of them, and of no other."
        )
    return _of_array([mapping[label] for label in labels], what)


def check_class_weight(class_weight, classes):
    """Return what errors of each class cost; None as long as predictions are to say it.

    Parameters
    ----------
    class_weight : None, "balanced" or mapping
        As given.

    classes : ndarray of shape (n_classes,)

    Returns
    -------
    weights : ndarray of shape (n_classes,) or None

    Raises
    ------
    ValueError
        When a mapping names something else than classes, or a weight is not positive.
    """
    labels = classes.tolist()
    if class_weight is None:
        return np.ones(len(labels))
    if isinstance(class_weight, str):
        return None
    what = "The 'class_weight' parameter of DPTransferClassifier"
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ValueError(
            f"{what} names {unknown!r:.200}, but the classes are {labels}. Spell them alike; "
            "those that are not named count 1."
        )
    weights = _of_array([class_weight.get(label, 1.0) for label in labels], what)
    if not ((weights > 0) & np.isfinite(weights)).all():
        raise ValueError(
            f"{what} must be positive and finite, got {weights.tolist()}. To leave a class out of "
            "predictions, give it a small weight."
        )
    return weights


def balanced_weights(result, task):
    """Return weights inverse to the mean posteriors of the unlabelled rows.

    Of all rows where all are labelled. A class counts as one row at least.

    Parameters
    ----------
    result : SelfTraining

    task : Task
    """
    posteriors = np.exp(log_posteriors_elsewhere(result, task))
    frequencies = np.maximum(posteriors.mean(axis=0), 1 / len(posteriors))
    return 1 / (len(frequencies) * frequencies)


def decisive_scores(model, X, class_weight):
    """Return the scores of which the largest is predicted: with ln of the weights added.

    Parameters
    ----------
    model : object
        Of log-posteriors, or of errors, which its ``temperature`` makes such ones.

    X : ndarray of shape (n_samples, n_features)

    class_weight : ndarray of shape (n_classes,)
    """
    return model.scores(X) + model.temperature * np.log(class_weight)


def decided_labels(result, task, class_weight):
    """Return the class index of each row: the given one, or what is to be predicted.

    Parameters
    ----------
    result : SelfTraining

    task : Task

    class_weight : ndarray of shape (n_classes,)
    """
    hidden = task.unlabelled
    if (class_weight == class_weight[0]).all() or not hidden.any():
        return result.labels
    labels = result.labels.copy()
    if hasattr(result.model, "probabilities"):
        labels[hidden] = (result.distributions[hidden] * class_weight).argmax(axis=1)
    else:
        # Guesses by errors have no distribution.
        scores = decisive_scores(result.model, task.X[hidden], class_weight)
        labels[hidden] = scores.argmax(axis=1)
    return labels
