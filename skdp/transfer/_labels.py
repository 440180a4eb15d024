"""Which rows are unlabelled, and which classes the labelled ones name."""

import numpy as np
from sklearn.utils import column_or_1d


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
        raise ValueError(
            f"The labels {unknown} in y are not among the classes of the source: {known}. Mark "
            "unlabelled rows by -1 or None (or say which value marks them with the 'unlabeled' "
            "parameter), spell classes as the source does, and leave out rows of classes that "
            "it does not have."
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
