"""Which rows of a target are labelled: the classes that they name, their score, their folds."""

from numbers import Integral

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skdp.utils._labels import natural_labels, scorable_labels, unlabelled_rows
from skdp.utils._warnings import warn

# What NumPy makes of marks in a list of text.
_MARKS_AS_TEXT = {"-1", "nan", "None", "<NA>"}
_AS_OBJECTS = "If NumPy turned marks into text, make y an array of dtype object."
# What numbers instead of classes may mean; for an error.
_RECODED = (
    "OneVsRestClassifier, OneVsOneClassifier, VotingClassifier, BaggingClassifier and "
    "CalibratedClassifierCV(ensemble=False) number the labels 0, 1, ..., and count marks of "
    "unlabelled rows as labels. DPTransferClassifier takes many classes itself; fit it first, and "
    "give FrozenEstimator(fitted) and labelled rows to those that can do with a fitted one."
)


def encode_labels(y, n_samples, releases, *, unlabeled, strategy):
    """Return the classes of a target, and the class index of each row, −1 where unlabelled.

    What marks an unlabelled row is the rule of :func:`unlabelled_rows`, with a release or not.
    The classes are sorted, as those of all of scikit-learn's classifiers: its metrics rely on it.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or None
        None where no row is labelled.

    n_samples : int

    releases : list of Release

    unlabeled : "auto" or label

    strategy : Strategy

    Returns
    -------
    classes : ndarray of shape (n_classes,)

    labels : ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        When labels are none that can be learned from.
    """
    y = np.full(n_samples, None) if y is None else column_or_1d(y, warn=True)
    check_consistent_length(np.empty(n_samples), y)
    known = [label for release in releases for label in release.classes.tolist()]
    unlabelled = unlabelled_rows(y, unlabeled, known if releases else None)
    given = natural_labels(y[~unlabelled])
    _refuse_misread(given, unlabelled, releases)
    named, codes = np.unique(given, return_inverse=True)
    classes = named
    if releases and _unlabelled_classes_stay(releases, len(named), strategy):
        classes = np.sort(releases[0].classes)
        codes = np.array(match_classes(named, classes), dtype=int)[codes]
    elif len(named) < 2:
        raise ValueError(
            "The 'y' parameter of DPTransferClassifier.fit must name at least two classes, got "
            f"{len(named)} class{'es'[: 2 - 2 * len(named)]} {named.tolist()} and "
            f"{unlabelled.sum()} unlabelled rows (unlabeled={unlabeled!r}). Label at least one "
            "row of each class."
        )
    labels = np.full(n_samples, -1)
    labels[~unlabelled] = codes
    return classes, labels


def _refuse_misread(given, unlabelled, releases):
    """Raise, or warn, where labels may be something else than what they look like."""
    if given.size:
        check_classification_targets(given)
    if not releases:
        _warn_of_marks_as_text(given)
    elif not unlabelled.any():
        _refuse_binary_codes(given, releases[0].classes)


def _unlabelled_classes_stay(releases, n_named, strategy):
    """Return whether the classes are those of the releases, with a label or without.

    They are where all releases have log-posteriors of the same classes (statistics and tables),
    and with any moments where one class or none is labelled.

    Raises
    ------
    ValueError
        When releases differ in their classes, of which none is named.
    """
    lists = [release.classes.tolist() for release in releases]
    same = all(set(found) == set(lists[0]) for found in lists)
    if not n_named and not same:
        raise ValueError(
            f"The sources have the classes {' and '.join(map(str, lists))}, and no row is "
            "labelled: label one row of each class that the target has, and that all sources have."
        )
    if strategy.reconstructs_rows or not same or any(each.moments is None for each in releases):
        return False
    calibrated = all(each.moments.of_statistics or each.linear is not None for each in releases)
    return calibrated or n_named < 2


def _warn_of_marks_as_text(labels):
    """Warn where labels of text name what NumPy makes of marks: they may be classes."""
    texts = {label for label in labels.tolist() if isinstance(label, str)}
    found = sorted(texts & _MARKS_AS_TEXT)
    if found and not all(text.lstrip("-").isdigit() for text in texts):
        warn(f"The labels {found} in y count as classes. {_AS_OBJECTS}")


def _refuse_binary_codes(labels, source_classes):
    """Raise ValueError where a meta-estimator made two classes, 0 and 1, of those of a source."""
    known = source_classes.tolist()
    if len(known) > 2 and {0, 1} <= set(known) and set(labels.tolist()) == {0, 1}:
        raise ValueError(
            f"All rows in y are labelled 0 or 1, while the source has the classes {known}: these "
            f"may be no classes, but what a meta-estimator made of them. {_RECODED} If the target "
            "has the classes 0 and 1 alone, leave a row without a label (None)."
        )


def match_classes(classes, source_classes):
    """Return the index of each class among those of the source.

    Raises
    ------
    ValueError
        When the source lacks one. Classes that only the source has are no error.
    """
    known, labels = source_classes.tolist(), classes.tolist()
    unknown = [label for label in labels if label not in known]
    if unknown:
        remedy = (
            "Mark unlabelled rows by -1 or None (or say which value marks them with the "
            "'unlabeled' parameter), spell classes as the source does, and leave out rows of "
            "classes that it does not have."
        )
        if len(labels) > 1 and labels == list(range(len(labels))):
            remedy += f" {_RECODED}"
        if set(unknown) & _MARKS_AS_TEXT:
            remedy = _AS_OBJECTS
        raise ValueError(
            f"The labels {unknown} in y are not among the classes of the source: {known}. {remedy}"
        )
    return [known.index(label) for label in labels]


class LabeledScoreMixin(ClassifierMixin):
    """A classifier whose score refuses rows that are marked as unlabelled."""

    def score(self, X, y, sample_weight=None):
        """Return the accuracy on labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        y : array-like of shape (n_samples,)
            Their labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        accuracy : float

        Raises
        ------
        ValueError
            When a row is marked as unlabelled: no score can be right or wrong about it.
        """
        check_is_fitted(self)
        where = f"{type(self).__name__}.score"
        y = scorable_labels(y, where, self.unlabeled, self.classes_.tolist())
        return super().score(X, y, sample_weight)


class LabeledSplit:
    """Split the labelled rows into folds; unlabelled rows are always trained on.

    For ``cv=`` of :class:`~sklearn.model_selection.GridSearchCV` and the like: a test fold
    never holds a row without a label, which no score could tell to be right or wrong, and a
    training fold holds every unlabelled row, which is what semi-supervised learning lives on.
    Its first fold also divides the labels into those to fit a model to and those to calibrate it,
    or its threshold, on: estimators that do so take labelled rows only.

    Parameters
    ----------
    cv : int or cross-validation splitter, default=5
        How to split the labelled rows. An integer is the number of stratified folds: give
        each class at least that many labelled rows.

    unlabeled : "auto" or label, default="auto"
        The value that marks an unlabelled row. ``"auto"``: None, NaN, and −1 unless fewer than
        two classes would be left; where −1 is a class besides others, set it to None.

    See Also
    --------
    DPTransferClassifier : Learns from such data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import LabeledSplit
    >>> y = np.array([0, 1, -1, 0, 1, -1])
    >>> for train, test in LabeledSplit(cv=2).split(y.reshape(-1, 1), y):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 2 5] [3 4]
    """

    def __init__(self, cv=5, *, unlabeled="auto"):
        self.cv = cv
        self.unlabeled = unlabeled

    def split(self, X, y, groups=None):
        """Generate indices of training and test rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        y : array-like of shape (n_samples,)
            Labels, with unlabelled rows marked. Numbers in an array of objects warn: metrics of
            scikit-learn refuse them, so that scores would be NaN.

        groups : array-like of shape (n_samples,), default=None
            Passed to the splitter of the labelled rows.

        Yields
        ------
        train : ndarray
            All unlabelled rows, and labelled ones.

        test : ndarray
            Labelled rows only.

        Raises
        ------
        ValueError
            When no row is labelled, when the labelled rows cannot be split, or when ``cv`` is
            neither a number nor a splitter.
        """
        labelled, unlabelled, labels, groups = self._labelled_rows(y, groups)
        if not len(labelled):
            raise ValueError(
                f"LabeledSplit(unlabeled={self.unlabeled!r}) found no labelled row among "
                f"{len(unlabelled)}. Label some, or name the value that marks the others."
            )
        if getattr(getattr(y, "dtype", None), "kind", None) == "O":
            _warn_of_numbers(labels)
        for train, test in self._splitter().split(labels, labels, groups):
            yield np.sort(np.append(labelled[train], unlabelled)), labelled[test]

    def get_n_splits(self, X=None, y=None, groups=None):
        """Return the number of folds.

        Parameters
        ----------
        X : object, default=None
            Ignored, present for API consistency.

        y : array-like of shape (n_samples,), default=None
            Labels with marks; needed where the number depends on them.

        groups : array-like of shape (n_samples,), default=None
            Passed to the splitter of the labelled rows.

        Returns
        -------
        n_splits : int
        """
        if y is None:
            return self._splitter().get_n_splits(X, y, groups)
        _, _, labels, groups = self._labelled_rows(y, groups)
        return self._splitter().get_n_splits(labels, labels, groups)

    def get_metadata_routing(self):
        """Return the metadata that the splitter of the labelled rows asks for.

        Returns
        -------
        routing : MetadataRequest
            ``groups`` where it asks for them: :class:`~sklearn.model_selection.GroupKFold` and
            the like, with ``sklearn.set_config(enable_metadata_routing=True)``.
        """
        return get_routing_for_object(self._splitter())

    def _labelled_rows(self, y, groups):
        """Return labelled rows, the other rows, and labels and groups of the former."""
        y = column_or_1d(y)
        marked = unlabelled_rows(y, self.unlabeled)
        labelled = np.flatnonzero(~marked)
        if groups is not None:
            groups = column_or_1d(groups)
            check_consistent_length(y, groups)
            groups = groups[labelled]
        return labelled, np.flatnonzero(marked), np.array(y[labelled].tolist()), groups

    def _splitter(self):
        if isinstance(self.cv, Integral):
            return StratifiedKFold(int(self.cv))
        if not hasattr(self.cv, "get_n_splits"):
            raise ValueError(
                "The 'cv' parameter of LabeledSplit must be a number of folds or a splitter, got "
                f"{self.cv!r}. Splits made beforehand need no LabeledSplit."
            )
        return self.cv

    def __repr__(self):
        return f"LabeledSplit(cv={self.cv!r}, unlabeled={self.unlabeled!r})"


def _warn_of_numbers(labels):
    """Warn of labels that are numbers, but were given as objects."""
    if labels.dtype.kind in "biuf":
        warn(
            "The labels in y are numbers in an array of objects. An estimator's own score takes "
            "them; with scoring=, metrics refuse them, and scores are NaN. Mark unlabelled rows "
            "in an array of numbers, by NaN, or by -1 if that is no class.",
        )
