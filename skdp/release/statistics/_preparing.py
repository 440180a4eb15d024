"""Rows as they come, made ready to be summed by what is public about their columns."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, column_or_1d

from skdp.release.statistics._private_rows import PrivateRows
from skdp.tabular import TabularEncoder
from skdp.utils._private_data import validate_private_data


def prepare_rows(columns, classes, by_group, X, y, groups=None):
    """Return private rows of known columns and classes.

    Parameters
    ----------
    columns : PublicColumns

    classes : ndarray of shape (n_classes,)

    by_group : bool
        Whether persons are protected, not rows.

    X : array-like of shape (n_samples, n_features)

    y : array-like of shape (n_samples,)

    groups : array-like of shape (n_samples,) or None, default=None

    Returns
    -------
    rows : PrivateRows

    Raises
    ------
    ValueError
        When they do not fit together, or have other columns.
    """
    if columns.schema is not None:
        X = encode_rows(columns, X)
    else:
        reader = BaseEstimator()
        X = validate_private_data(reader, X)
        names = getattr(reader, "feature_names_in_", None)
        known = names is None or columns.names is None or np.array_equal(names, columns.names)
        if X.shape[1] != columns.n_features or not known:
            raise ValueError(
                f"X has other columns than the {columns.n_features} that were announced. Give "
                "every chunk the same columns, in the same order."
            )
    y = column_or_1d(y)
    check_consistent_length(X, y)
    return PrivateRows.of_labels(X, y, classes, check_groups(groups, len(y), by_group))


def encode_rows(columns, X):
    """Return rows of a table as bounded numbers, by the schema of its columns."""
    return TabularEncoder(columns.schema).fit(X).transform(X).astype(np.float64, copy=False)


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
    groups = column_or_1d(groups)
    if len(groups) != n_samples:
        raise ValueError(
            f"The 'groups' parameter has {len(groups)} entries for {n_samples} rows. Say of each "
            "row whose it is."
        )
    return groups
