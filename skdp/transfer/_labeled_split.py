"""Labelled rows among others: folds and scores of them, and scores that refuse the others."""

from numbers import Integral

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted

from skdp.tabular import canonical, spelled_as
from skdp.utils._labels import natural_labels, scorable_labels, unlabelled_rows
from skdp.utils._sklearn import safe_indexing
from skdp.utils._warnings import warn


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
        known = list(map(canonical, self.classes_.tolist()))
        y = spelled_as(scorable_labels(y, where, self.unlabeled, known), self.classes_)
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
    LabeledScorer : Scores the labelled rows among training rows.

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


class LabeledScorer:
    """Score the labelled rows among those that are given.

    For ``scoring=`` where rows without a label are scored besides: training rows
    (``return_train_score=True``, :func:`~sklearn.model_selection.learning_curve`,
    :func:`~sklearn.model_selection.validation_curve`,
    :class:`~sklearn.model_selection.HalvingGridSearchCV`). Test rows of :class:`LabeledSplit` are
    labelled, and need it only where labels that are numbers are in an array of objects.

    Parameters
    ----------
    scoring : str or callable, default="accuracy"
        What to score them by, as ``scoring=`` of scikit-learn's tools takes it.

    unlabeled : "auto" or label, default="auto"
        The value that marks an unlabelled row. ``"auto"``: None, NaN, and −1 unless −1 is a class
        of the estimator.

    See Also
    --------
    LabeledSplit : Folds of the labelled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skdp import LabeledScorer
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> LabeledScorer("roc_auc")(model, np.array([[0.1], [0.5], [0.9]]), np.array([0, -1, 1]))
    1.0
    """

    def __init__(self, scoring="accuracy", *, unlabeled="auto"):
        self.scoring = scoring
        self.unlabeled = unlabeled

    def __call__(self, estimator, X, y):
        """Return the score of an estimator on the labelled rows.

        Parameters
        ----------
        estimator : object
            A fitted classifier.

        X : array-like of shape (n_samples, n_features)
            Rows.

        y : array-like of shape (n_samples,)
            Labels, with unlabelled rows marked.

        Returns
        -------
        score : float

        Raises
        ------
        ValueError
            When no row is labelled.
        """
        y = column_or_1d(y)
        classes = list(map(canonical, estimator.classes_.tolist()))
        marked = unlabelled_rows(y, self.unlabeled, classes)
        if marked.all():
            raise ValueError(
                f"{self!r} found no labelled row among {len(y)}. Label some, or name the value "
                "that marks the others."
            )
        labelled = np.flatnonzero(~marked)
        known = spelled_as(natural_labels(y[labelled]), estimator.classes_)
        return get_scorer(self.scoring)(estimator, safe_indexing(X, labelled), known)

    def __repr__(self):
        return f"LabeledScorer({self.scoring!r}, unlabeled={self.unlabeled!r})"


def _warn_of_numbers(labels):
    """Warn of labels that are numbers, but were given as objects."""
    if labels.dtype.kind in "biuf":
        warn(
            "The labels in y are numbers in an array of objects. An estimator's own score takes "
            "them; with scoring=, metrics refuse them, and scores are NaN. Mark unlabelled rows "
            "in an array of numbers, by NaN, or by -1 if that is no class; or give "
            "scoring=LabeledScorer(scoring), which takes them.",
        )
