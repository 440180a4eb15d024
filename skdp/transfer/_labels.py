"""Which rows are unlabelled, what the labelled ones name, and whether a source fits them."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.transfer._source import DPSource
from skdp.utils._validation import check_magnitude


def unlabelled_rows(y, marker="auto", classes=()):
    """Return which entries of y mark an unlabelled row.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels and marks.

    marker : "auto" or label, default="auto"
        The value that marks an unlabelled row; None and NaN stand for each other and for
        pandas' NA. ``"auto"`` takes these and −1, unless −1 is one of ``classes``.

    classes : sequence, default=()
        Labels that are certainly classes.

    Returns
    -------
    unlabelled : ndarray of shape (n_samples,), bool
    """
    values = column_or_1d(y).tolist()
    auto = isinstance(marker, str) and marker == "auto"
    missing = auto or _is_missing(marker)
    mark = -1 if auto else marker
    compare = not _is_missing(mark) and not (auto and -1 in list(classes))
    return np.array(
        [missing if _is_missing(value) else compare and value == mark for value in values],
        dtype=bool,
    )


def _is_missing(value):
    # pandas' NA is neither equal nor unequal to itself.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def validate_training(owner, X, y):
    """Return rows, classes, class numbers with −1 for what is unlabelled, and the marker.

    Raises
    ------
    ValueError
        When rows or labels are none that can be learned from.
    """
    classes = () if owner.source is None else owner.source.classes_.tolist()
    may_mark = owner.source is not None or owner.unlabeled != "auto"
    dtype = [np.float64, np.float32]
    if y is None or not may_mark:
        refuse_missing(owner, y)
        X, y = validate_data(owner, X, y, dtype=dtype)
        hidden = np.zeros(len(y), dtype=bool)
    else:
        X, y = validate_data(owner, X, dtype=dtype), column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        hidden = unlabelled_rows(y, owner.unlabeled, classes)
    check_magnitude(X, "X")
    return X, *encode_labels(owner, y, hidden), owner.unlabeled if may_mark else None


def encode_labels(owner, y, hidden):
    """Return the classes of the labelled rows, and class numbers with −1 where unlabelled.

    Raises
    ------
    ValueError
        When there are fewer than two classes.
    """
    given = _natural(y[~hidden])
    if given.size:
        check_classification_targets(given)
    classes, known = np.unique(given, return_inverse=True)
    n_classes = len(classes)
    if n_classes < 2:
        raise ValueError(
            f"The 'y' parameter of {type(owner).__name__}.fit must name at least two classes, "
            f"got {n_classes} class{'es'[: 2 - 2 * n_classes]} {classes.tolist()} and "
            f"{hidden.sum()} unlabelled rows (unlabeled={owner.unlabeled!r}). Label at least one "
            "row of each class."
        )
    labels = np.full(len(y), -1)
    labels[~hidden] = known
    return classes, labels


def _natural(y):
    """Return labels in the dtype that they have by themselves; marks made them objects."""
    return np.array(y.tolist()) if y.dtype.kind == "O" else y


def refuse_missing(owner, y):
    """Raise ValueError where labels that nothing is said about hold None."""
    if getattr(getattr(y, "dtype", None), "kind", "") == "O" and any(v is None for v in y):
        raise ValueError(
            f"The 'y' parameter of {type(owner).__name__}.fit holds None. Without a source "
            "nothing is unlabelled unless you say so: set unlabeled=None."
        )


def scorable_labels(owner, y, marker):
    """Return labels that a metric takes; raise ValueError where one is a mark."""
    y = column_or_1d(y, warn=True)
    hidden = unlabelled_rows(y, marker, owner.classes_.tolist())
    if hidden.any():
        raise ValueError(
            f"The 'y' parameter of {type(owner).__name__}.score marks {hidden.sum()} of {len(y)} "
            "rows as unlabelled. Score labelled rows only; in cross-validation, use "
            "cv=LabeledSplit()."
        )
    return _natural(y)


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
            When a row is marked as unlabelled: no score can judge it.
        """
        check_is_fitted(self)
        y = scorable_labels(self, y, self._marker)
        return super().score(X, y, sample_weight)


def match_classes(classes, source_classes):
    """Return the position of each class among those of the source.

    Raises
    ------
    ValueError
        When the source lacks one. Classes that only the source has are no error.
    """
    known = source_classes.tolist()
    unknown = [label for label in classes.tolist() if label not in known]
    if unknown:
        remedy = (
            "Mark unlabelled rows by -1 or None (or say which value marks them with the "
            "'unlabeled' parameter), spell classes as the source does, and leave out rows of "
            "classes that it does not have."
        )
        if set(unknown) & {"-1", "nan", "None", "<NA>"}:
            remedy = "NumPy turned the marks into text: make y an array of dtype object."
        raise ValueError(
            f"The labels {unknown} in y are not among the classes of the source: {known}. {remedy}"
        )
    return [known.index(label) for label in classes.tolist()]


def check_columns(target, source):
    """Raise ValueError where equally many columns of target and source have other names."""
    names = [list(getattr(side, "feature_names_in_", ())) for side in (target, source)]
    same_number = target.n_features_in_ == source.n_features_in_
    if same_number and all(names) and names[0] != names[1]:
        raise ValueError(
            f"Source and target both have {source.n_features_in_} columns, but they are called "
            f"{names[1]} and {names[0]}. As many columns must be the same columns "
            "in the same order: reorder or rename those of X, or pass a plain array if they "
            "mean the same."
        )


def check_source(source, strategy):
    """Raise where what was given as a source is no release that the strategy can use.

    Raises
    ------
    ValueError
        It is neither a DPSource nor None, or a denoised one for a strategy of the papers.

    sklearn.exceptions.NotFittedError
        It is a DPSource that is not fitted.
    """
    if not isinstance(source, DPSource | None):
        raise ValueError(
            "The 'source' parameter of DPTransferClassifier must be a fitted DPSource or None, "
            f"got {source!r}. Read the file of a release with DPSource.load(path)."
        )
    if source is None:
        return
    check_is_fitted(source)
    if strategy != "noise_aware" and source._subspace is not None:
        raise ValueError(
            f"The 'strategy' parameter of DPTransferClassifier is {strategy!r}, which compares "
            "reconstructions of whole rows, but the classifier of this source reads denoised "
            "codes. Use strategy='noise_aware', or make the source with "
            "DPSource(denoise=False)."
        )
