"""Rows as they come, made ready to be summed by what is public about their columns."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, column_or_1d

from skdp.release.statistics._private_rows import PrivateRows
from skdp.tabular import fitted_encoder
from skdp.utils._private_data import validate_private_data

# What labels of a dtype are; those of others, as of objects, are known by their values alone.
_KINDS = {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text"}


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
    X = read_numbers(reader, X, ensure_min_samples=0)
    names = getattr(reader, "feature_names_in_", None)
    known = names is None or np.array_equal(names, columns.names)
    if X.shape[1] != columns.n_features or not known:
        raise ValueError(
            f"X has other columns than the {columns.n_features} that were announced by "
            "DPStatisticsSource.accumulator. Give every chunk the same columns, in the same "
            "order, and list their names, where they have names, in 'feature_names'."
        )
    return X


def read_numbers(estimator, X, **settings):
    """Return rows of numbers, see :func:`validate_private_data`; errors say what tables need."""
    try:
        return validate_private_data(estimator, X, **settings)
    except (TypeError, ValueError) as error:
        if not ("NaN" in str(error) or "of type" in str(error)):
            raise
        raise type(error)(
            f"{error}\nRows of a table that has text or missing values need the 'encoder' "
            "parameter: encoder=TabularEncoder(schema)."
        ) from error


def encode_rows(columns, X):
    """Return rows of a table as bounded numbers, by the schema of its columns."""
    encoder = fitted_encoder(columns.schema)
    if len(X) == 0:  # which the encoder's own steps refuse
        encoder.fit(X)
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
    _check_kind(y, classes)
    return PrivateRows.of_labels(X, y, classes, check_groups(groups, len(y), by_group))


def check_labels(y, X):
    """Return labels, any, one for each row; raise ValueError where they are not."""
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: labels must be real numbers or text.")
    check_consistent_length(X, y)
    return y


def _check_kind(y, classes):
    """Raise ValueError where labels cannot equal classes, by their types and not their values."""
    given, listed = _KINDS.get(y.dtype.kind), _KINDS[classes.dtype.kind]
    if len(y) and given not in (None, listed):
        raise ValueError(
            f"The 'y' parameter holds {given} and the 'classes' parameter of DPStatisticsSource "
            f"{listed}, so that no label is one of the classes. Write both alike, as in "
            "classes=[0, 1] for y = [0, 1, 0]."
        )


def check_groups(groups, n_samples, by_group):
    """Return groups; raise ValueError where they are lacking, or would have no effect."""
    if by_group != (groups is not None):
        unit, but, remedy = (
            ("group", "no 'groups' were given", "Say there whose each row is")
            if by_group
            else ("record", "'groups' were given", "Leave them out, or use privacy_unit='group'")
        )
        raise ValueError(
            f"DPStatisticsSource has privacy_unit={unit!r}, but {but}. {remedy}, so that all rows "
            "of a person are protected together."
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
