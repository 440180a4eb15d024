"""Rows as they come, made ready to be summed by what is public about their columns."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, column_or_1d

from skdp.release.statistics._private_rows import PrivateRows
from skdp.tabular import TabularEncoder
from skdp.utils._private_data import validate_private_data


def read_rows(columns, X):
    """Return a chunk of rows as numbers, in known columns.

    Parameters
    ----------
    columns : PublicColumns

    X : array-like of shape (n_samples, n_features)
        There may be no rows.

    Returns
    -------
    X : ndarray of shape (n_samples, n_encoded)

    Raises
    ------
    ValueError
        When these are not the columns, or hold no finite numbers.
    """
    if columns.schema is not None:
        return encode_rows(columns, X)
    reader = BaseEstimator()
    X = validate_private_data(reader, X, ensure_min_samples=0)
    names = getattr(reader, "feature_names_in_", None)
    known = names is None or np.array_equal(names, columns.names)
    if X.shape[1] != columns.n_features or not known:
        raise ValueError(
            f"X has other columns than the {columns.n_features} that were announced by "
            "DPStatisticsSource.accumulator. Give every chunk the same columns, in the same "
            "order, and list their names, where they have names, in 'feature_names'."
        )
    return X


def encode_rows(columns, X):
    """Return rows of a table as bounded numbers, by the schema of its columns."""
    encoder = TabularEncoder(columns.schema).fit(X)
    if len(X) == 0:  # which the encoder's own steps refuse
        return np.empty((0, columns.n_features))
    return encoder.transform(X).astype(np.float64, copy=False)


def label_rows(X, y, groups, classes, by_group):
    """Return private rows with their classes.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)

    y : array-like of shape (n_samples,)

    groups : array-like of shape (n_samples,) or None

    classes : ndarray of shape (n_classes,)

    by_group : bool
        Whether persons are protected, not rows.

    Returns
    -------
    rows : PrivateRows

    Raises
    ------
    ValueError
        When they do not fit together.
    """
    y = check_labels(y, X)
    return PrivateRows.of_labels(X, y, classes, check_groups(groups, len(y), by_group))


def check_labels(y, X):
    """Return labels, any, one for each row; raise ValueError where they are not."""
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: labels must be real numbers or text.")
    check_consistent_length(X, y)
    return y


def check_groups(groups, n_samples, by_group):
    """Return groups; raise ValueError where they are lacking, or would have no effect."""
    if by_group != (groups is not None):
        unit, given = ("group", "no") if by_group else ("record", "but also")
        remedy = "say whose each row is" if by_group else "use privacy_unit='group'"
        raise ValueError(
            f"DPStatisticsSource has privacy_unit={unit!r} {given} 'groups' parameter: {remedy}, "
            "so that all rows of a person are protected together."
        )
    if groups is None:
        return None
    # An array of text would turn None and NaN into names.
    groups = np.asarray(groups) if hasattr(groups, "dtype") else np.array(groups, dtype=object)
    if groups.shape != (n_samples,):
        raise ValueError(
            "The 'groups' parameter must hold one entry for each row, whose it is, and no more."
        )
    return groups
