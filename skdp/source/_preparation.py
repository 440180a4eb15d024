"""Rows as they come, made ready to be summed by what is public about their columns."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning

from skdp.source._private_rows import PrivateRows
from skdp.tabular import canonical, encode_table, person_ids
from skdp.utils._private_data import as_elements, check_table, validate_private_data
from skdp.utils._warnings import warn

# What labels of a dtype are, where it cannot be text.
_KINDS = {
    "b": "booleans",
    "i": "numbers",
    "u": "numbers",
    "f": "numbers",
    "M": "dates",
    "m": "durations",
}
# What is no person in a column of objects, besides NaN.
_MISSING = {type(None), type(pd.NA), type(pd.NaT)}


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
    check_table(X, settings.get("ensure_min_samples", 1))
    try:
        return validate_private_data(estimator, X, **settings)
    except (TypeError, ValueError) as error:
        if not ("NaN" in str(error) or "of type" in str(error)):
            raise
        raise type(error)(
            f"{error}\nRows of a table that has text or missing values need the 'encoder' "
            "parameter: encoder=TabularEncoder(schema)."
        ) from None


def encode_rows(columns, X):
    """Return rows of a table as bounded numbers, by the schema of its columns."""
    return encode_table(columns.schema, X)


def label_rows(X, y, groups, classes, by_group):
    """Return private rows with their classes.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)

    y : ndarray of shape (n_samples,)
        From :func:`check_labels`.

    groups : array-like of shape (n_samples,) or None
        Whole numbers, or text.

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
    groups = check_groups(groups, len(y), by_group)
    return PrivateRows.of_labels(X, y, classes, None if groups is None else person_ids(groups))


def check_labels(y, X):
    """Return labels, any, one for each row and each by itself; raise ValueError otherwise."""
    labels = _column(y)
    if labels is None or labels.ndim != 1:
        raise ValueError("y should be a 1d array: one label for each row.")
    if labels.dtype.kind == "c":
        raise ValueError("Complex data not supported: labels must be real numbers or text.")
    if len(labels) != len(X):
        raise ValueError(
            "The 'X' and 'y' parameters have inconsistent numbers of samples. Give one label for "
            "each row."
        )
    return labels


def _column(y):
    """Return labels as an array, that of a single column too; None where they are no column."""
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        warn(
            "A column-vector y was passed when a 1d array was expected. Pass y.ravel(), or the "
            "column itself.",
            DataConversionWarning,
        )
        y = y.iloc[:, 0] if hasattr(y, "iloc") else np.asarray(y)[:, 0]
    try:
        return as_elements(y.tolist() if isinstance(y, np.ma.MaskedArray) else y)
    except Exception:  # whatever y raises, its message is not for others
        return None


def check_kind(y, classes):
    """Raise ValueError where labels cannot equal classes, by their type and not their values.

    Text of any type can: what is a number among numbers is text among text.
    """
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if kind not in _KINDS or not len(y):
        return
    forms = set(map(canonical, classes.tolist()))
    possible = {"b": {0.0, 1.0}, "m": set(), "M": set()}.get(kind, forms)
    if not any(isinstance(form, float) for form in forms & possible):
        raise ValueError(
            f"The 'y' parameter holds {_KINDS[kind]}, and no class of the 'classes' parameter or "
            "schema is one of these, so that no label is one of the classes. Write both alike, "
            "as in classes=[0, 1] for y = [0, 1, 0]."
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
    persons = _column(groups)
    if persons is None or persons.shape != (n_samples,):
        raise ValueError(
            "The 'groups' parameter must hold one entry for each row, whose it is, and no more."
        )
    _check_persons(persons)
    return persons


def _check_persons(persons):
    """Raise ValueError where persons could be written in two ways that are not equal.

    As dates in other units, or floats of other widths: one who comes back in a later chunk would
    pass for another one.
    """
    if persons.dtype.kind == "O":
        # NaN is a float, and missing; what is missing is refused elsewhere.
        types = {type(p) for p in persons.tolist() if not (isinstance(p, float) and p != p)}
        types -= _MISSING
        text = all(issubclass(t, str) for t in types)
        whole = all(issubclass(t, int | np.integer) and t is not bool for t in types)
    else:
        text, whole = persons.dtype.kind == "U", persons.dtype.kind in "iu"
    if not (text or whole):
        raise ValueError(
            "The 'groups' parameter must hold whole numbers only, or text only. Convert ids to "
            "text or whole numbers, the same way in all chunks."
        )
