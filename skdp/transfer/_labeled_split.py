"""Cross-validation and scores of partially labeled data."""

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_consistent_length
from sklearn.utils.metadata_routing import get_routing_for_object

from skdp.tabular import canonical, missing_values, spelled_as
from skdp.utils._frames import as_frame
from skdp.utils._labels import label_array, natural_labels, unlabeled_rows
from skdp.utils._sklearn import safe_indexing
from skdp.utils._warnings import warn


class LabeledSplit:
    """Split the labeled rows into folds; unlabeled rows are in every training set.

    Pass it as ``cv=`` to :class:`~sklearn.model_selection.GridSearchCV` and similar tools. Test
    sets contain no unlabeled rows, because these cannot be scored. Training sets contain all
    unlabeled rows, because semi-supervised estimators learn from them. For tools that calibrate a
    model or its threshold and accept labeled rows only, use the first fold to divide the labels
    between fitting and calibration.

    Parameters
    ----------
    cv : int or cross-validation splitter, default=5
        How to split the labeled rows. An integer is the number of folds, which are stratified by
        class or event: each class needs at least that many labeled rows.

    unlabeled : "auto" or label, default="auto"
        The value that marks an unlabeled row. ``"auto"``: None, NaN, and −1. But −1 is a label if
        labels are fractions, if it is one of ``classes`` or, without ``classes``, if fewer than
        two classes would otherwise remain. A time is unlabeled if it or its event is missing.

    classes : array-like or None, default=None
        Labels that are certainly classes, such as ``release.classes``. Required if −1 is one of
        several classes: DPTransferClassifier knows the classes of its source, but this splitter
        does not, and would never test that class. Without a source, set ``unlabeled=None`` here
        and in the classifier.

    See Also
    --------
    DPTransferClassifier : Learns from such data.
    LabeledScorer : Scores the labeled rows among training rows.

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

    def __init__(self, cv: Any = 5, *, unlabeled: Any = "auto", classes: ArrayLike | None = None):
        self.cv = cv
        self.unlabeled = unlabeled
        self.classes = classes

    def split(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Generate indices of training and test rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        y : array-like of shape (n_samples,), structured array or DataFrame
            Labels, numbers or times, with unlabeled rows marked.

        groups : array-like of shape (n_samples,), default=None
            Passed to the splitter of the labeled rows.

        Yields
        ------
        train : ndarray
            All unlabeled rows, and labeled ones.

        test : ndarray
            Labeled rows only.

        Raises
        ------
        ValueError
            If no row is labeled, if the labeled rows cannot be split, or if ``cv`` is
            neither a number nor a splitter.

        Warns
        -----
        UserWarning
            If the labels are numbers in an array of objects: scikit-learn's metrics refuse them,
            and scores would be NaN.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import LabeledSplit
        >>> X, y = np.zeros((5, 1)), np.array([0, 0, 1, 1, -1])
        >>> [test.tolist() for _, test in LabeledSplit(cv=2).split(X, y)]
        [[0, 2], [1, 3]]
        """
        labeled, unlabeled, labels, groups = self._labeled_rows(y, groups)
        if not len(labeled):
            raise ValueError(
                f"LabeledSplit(unlabeled={self.unlabeled!r}) found no labeled row among "
                f"{len(unlabeled)}. Label some."
            )
        if getattr(getattr(y, "dtype", None), "kind", "") == "O" and labels.dtype.kind in "biuf":
            warn(
                "The labels in y are numbers in an array of objects, which scikit-learn's metrics "
                "refuse. Mark unlabeled rows by NaN or -1, or use scoring=LabeledScorer(scoring).",
            )
        for train, test in self._splitter(labels).split(labels, labels, groups):
            yield np.sort(np.append(labeled[train], unlabeled)), labeled[test]

    def get_n_splits(
        self, X: Any = None, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X : object, default=None
            Ignored, present for API consistency.

        y : array-like of shape (n_samples,), default=None
            Labels with marks; needed by splitters whose number of folds depends on the data.

        groups : array-like of shape (n_samples,), default=None
            Passed to the splitter of the labeled rows.

        Returns
        -------
        n_splits : int

        Examples
        --------
        >>> from skdp import LabeledSplit
        >>> LabeledSplit(cv=3).get_n_splits()
        3
        """
        if y is None:
            return self._splitter().get_n_splits(X, y, groups)
        _, _, labels, groups = self._labeled_rows(y, groups)
        return self._splitter().get_n_splits(labels, labels, groups)

    def get_metadata_routing(self) -> Any:
        """Return the metadata that the splitter of the labeled rows requests.

        Returns
        -------
        routing : MetadataRequest
            ``groups`` for splitters such as :class:`~sklearn.model_selection.GroupKFold`, with
            ``sklearn.set_config(enable_metadata_routing=True)``.
        """
        return get_routing_for_object(self._splitter())

    def _labeled_rows(self, y, groups):
        """Return labeled rows, unlabeled rows, and labels and groups of the labeled rows."""
        classes = np.asarray(() if self.classes is None else self.classes)
        marked, labels = _read(y, self.unlabeled, classes)
        labeled = np.flatnonzero(~marked)
        if groups is not None:
            groups = label_array(groups)
            check_consistent_length(marked, groups)
            groups = groups[labeled]
        return labeled, np.flatnonzero(marked), natural_labels(labels[labeled]), groups

    def _splitter(self, labels=None):
        if isinstance(self.cv, Integral):
            n = int(self.cv)
            return StratifiedKFold(n) if labels is None or _are_classes(labels, n) else KFold(n)
        if not hasattr(self.cv, "get_n_splits"):
            raise ValueError(
                "The 'cv' parameter of LabeledSplit must be a number or a splitter, got "
                f"{self.cv!r}."
            )
        return self.cv

    def __repr__(self) -> str:
        settings = f"cv={self.cv!r}, unlabeled={self.unlabeled!r}, classes={self.classes!r}"
        return f"LabeledSplit({settings})"


class LabeledScorer:
    """Score only the labeled rows.

    Pass it as ``scoring=`` to tools that also score training rows, some of which are unlabeled
    (``return_train_score=True``, :func:`~sklearn.model_selection.learning_curve`,
    :func:`~sklearn.model_selection.validation_curve`,
    :class:`~sklearn.model_selection.HalvingGridSearchCV`). The test sets of :class:`LabeledSplit`
    contain labeled rows only, and need this scorer only if labels are numbers in an array of
    objects.

    Parameters
    ----------
    scoring : str, callable or None, default=None
        The score, as for ``scoring=`` in scikit-learn; None for the estimator's ``score``:
        accuracy for classes, R² for numbers, concordance for times.

    unlabeled : "auto" or label, default="auto"
        The value that marks an unlabeled row. ``"auto"``: None, NaN, and −1 unless −1 is a class
        of the estimator.

    See Also
    --------
    LabeledSplit : Folds of the labeled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skdp import LabeledScorer
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> LabeledScorer("roc_auc")(model, np.array([[0.1], [0.5], [0.9]]), np.array([0, -1, 1]))
    1.0
    """

    def __init__(
        self, scoring: str | Callable[..., float] | None = None, *, unlabeled: Any = "auto"
    ):
        self.scoring = scoring
        self.unlabeled = unlabeled

    def __call__(self, estimator: Any, X: ArrayLike, y: Any) -> float:
        """Return the score of an estimator on the labeled rows."""
        classes = np.asarray(getattr(estimator, "classes_", ()))
        marked, labels = _read(y, self.unlabeled if classes.size else None, classes)
        if marked.all():
            raise ValueError(f"{self!r} found no labeled row among {len(labels)}. Label some.")
        labeled = np.flatnonzero(~marked)
        y_true = safe_indexing(y, labeled) if _parts(y) else natural_labels(labels[labeled])
        y_true = spelled_as(y_true, classes) if classes.size else y_true
        score = check_scoring(estimator, self.scoring)
        return score(estimator, safe_indexing(as_frame(X), labeled), y_true)

    def __repr__(self) -> str:
        return f"LabeledScorer({self.scoring!r}, unlabeled={self.unlabeled!r})"


def _parts(y):
    """Return the fields or columns of times to an event; nothing for other outcomes."""
    if getattr(getattr(y, "dtype", None), "names", None):
        return [y[name] for name in y.dtype.names]
    columns = list(getattr(y, "columns", ()))
    return [y[name] for name in columns] if len(columns) > 1 else []


def _read(y, marker, classes):
    """Return which rows are unlabeled, and the labels; for times, the events.

    A time is unlabeled if the time or the event is missing; a number if it is missing.
    """
    parts = _parts(y)
    if parts:
        return np.any([missing_values(part) for part in parts], axis=0), label_array(parts[0])
    labels = label_array(y)
    if not classes.size and isinstance(marker, str) and marker == "auto":
        missing = unlabeled_rows(labels, None)
        if _is_continuous(natural_labels(labels[~missing])):
            return missing, labels
    return unlabeled_rows(labels, marker, list(map(canonical, classes.tolist())) or None), labels


def _is_continuous(labels):
    return labels.dtype.kind == "f" and bool((labels != np.round(labels)).any())


def _are_classes(labels, n_folds):
    """Return whether folds can be stratified: numbers hardly occur twice."""
    if _is_continuous(labels):
        return False
    return (
        labels.dtype.kind not in "iuf" or np.unique(labels, return_counts=True)[1].max() >= n_folds
    )
