"""The classes of a target, and their indices among the classes of a source."""

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets

from skdp.tabular import Vocabulary, canonical, spelled_as
from skdp.utils._labels import label_array, natural_labels, unlabeled_rows
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
