"""Labels: marks of unlabeled rows, and folds."""

from numbers import Real

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from skdp.utils._frames import as_column


def unlabeled_rows(y, marker="auto", classes=None):
    """Return which entries of y mark an unlabeled row; None, NaN and pandas' NA are equivalent.

    "auto" are these, and −1 unless it is one of the ``classes``.
    """
    # Without known classes, −1 is one if fewer than two would remain otherwise, and two with it:
    # scikit-learn's common checks train on the classes −1 and 1.
    values = label_array(y).tolist()
    auto = isinstance(marker, str) and marker == "auto"
    missing = np.array([is_missing(value) for value in values], dtype=bool)
    if is_missing(marker):
        return missing
    mark = -1 if auto else marker
    marked = np.array([not is_missing(v) and v == mark for v in values], dtype=bool)
    if not auto:
        return marked
    if classes is None:
        others = {v for v, no in zip(values, missing | marked, strict=True) if not no}
        is_class = len(others) == 1 and bool(marked.any())
    else:
        is_class = any(c == -1 or c == "-1" for c in classes)
    return missing if is_class else missing | marked


def is_missing(value):
    """Return whether a label is None, NaN or pandas' NA."""
    # pandas' NA is neither equal nor unequal to itself.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def label_array(y, **settings):
    """Return labels of any library as an array of one dimension; None where one is missing."""
    return column_or_1d(as_column(y), **settings)


def natural_labels(y):
    """Return labels in their own dtype, which marks may have changed to objects."""
    return np.array(y.tolist()) if y.dtype.kind == "O" else y


def checked_labels(y, where):
    """Return the labels of all rows in their own dtype; errors name the caller and quote none."""
    kinds = str, Real | np.bool_
    if y.dtype.kind == "O" and not any(all(isinstance(v, kind) for v in y) for kind in kinds):
        raise ValueError(
            f"Unknown label type: the 'y' parameter of {where} must hold labels that are all "
            "numbers or all text, one per row."
        )
    y = natural_labels(y)
    check_classification_targets(y)
    return y


def scorable_labels(y, where, marker, classes):
    """Return labels that metrics accept; ValueError if one of them is a mark."""
    y = label_array(y, warn=True)
    unlabeled = unlabeled_rows(y, marker, classes)
    if unlabeled.any():
        raise ValueError(
            f"The 'y' parameter of {where} marks {unlabeled.sum()} of {len(y)} rows as "
            "unlabeled. Score labeled rows only; in cross-validation, use cv=LabeledSplit(), "
            "and scoring=LabeledScorer() for scores of training rows."
        )
    return natural_labels(y)


def stratified_folds(labels, n_folds, random_state):
    """Return a fold for each row, with the rows of each class spread over all folds."""
    order = np.lexsort((random_state.uniform(size=len(labels)), labels))
    folds = np.empty(len(labels), dtype=int)
    folds[order] = np.arange(len(labels)) % n_folds
    return folds
