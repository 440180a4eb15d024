"""The public list of classes: given, or taken from y, which tells that they occur."""

from numbers import Real

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from skdp.privacy import PrivacyLeakWarning
from skdp.tabular import ambiguity, canonical
from skdp.utils._labels import natural_labels
from skdp.utils._warnings import warn

# Of the widest numbers that a release can hold.
_BYTES = 8


def class_list(given, schema, y):
    """Return the list of classes.

    Parameters
    ----------
    given : array-like of shape (n_classes,) or None
        By the owner.

    schema : Schema or None
        Which may list them.

    y : ndarray of shape (n_samples,) or None
        Labels; None where there are none yet.

    Returns
    -------
    classes : ndarray of shape (n_classes,)

    Raises
    ------
    ValueError
        When fewer than two different classes are known.
    """
    if given is None and schema is not None:
        given = schema.classes
    if given is not None:
        return _listed(given)
    if y is None:
        raise ValueError(
            "The 'classes' parameter of DPStatisticsSource is needed where rows arrive in parts: "
            "list the classes that may occur, such as classes=['ill', 'well']."
        )
    labels = y.tolist()
    different: list = sorted(set(labels), reverse=True) if _alike(labels) else [None]
    # Of several spellings of a class, as "1" and "1.0", the first.
    known = {canonical(label): label for label in different}
    if None in known:
        raise ValueError(
            "Input y contains NaN, or None, or labels that are not all numbers or all text. List "
            "the classes in the 'classes' parameter: rows of no class of the list are left out."
        )
    check_classification_targets(natural_labels(y))
    classes = np.array(sorted(known.values()))
    if len(classes) < 2:
        raise ValueError(
            "The 'y' parameter of DPStatisticsSource.fit must hold at least two classes, got "
            "one class. List all that may occur in the 'classes' parameter."
        )
    warn(
        "DPStatisticsSource(classes=None) takes the names of the classes from y, and releases "
        "them: that each of them occurs is not protected. List those that may occur, known "
        "without looking at the rows, in the 'classes' parameter.",
        PrivacyLeakWarning,
    )
    return classes


def _listed(given):
    labels = list(given)
    if not _alike(labels) or len(set(labels)) != len(labels):
        raise ValueError(
            f"The 'classes' parameter of DPStatisticsSource must list different labels, all "
            f"numbers or all text, got {labels!r:.200}. None and NaN are none."
        )
    if len(labels) < 2:
        raise ValueError(
            f"The 'classes' parameter of DPStatisticsSource must list at least two labels, got "
            f"{labels!r:.200}."
        )
    fault = ambiguity(labels)
    if fault is not None:
        raise ValueError(
            f"The 'classes' parameter of DPStatisticsSource {fault}. Spell them differently in "
            "the list and in y."
        )
    return np.array(labels)


def _alike(labels):
    """Return whether labels are all text, or all real numbers that a release can hold.

    An array of both would turn all into text, which no number in y equals.
    """
    if all(isinstance(label, str) for label in labels):
        return True
    if not all(isinstance(label, Real | np.bool_) for label in labels):
        return False
    numbers = np.array(labels)  # of objects, where one is too large
    stored = numbers.dtype.kind in "biuf" and numbers.itemsize <= _BYTES
    return stored and bool(np.isfinite(numbers).all())
