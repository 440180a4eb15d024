"""Private rows with their labels and persons: read, checked, and asked for chunk by chunk."""

from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning

from skdp.source._integers import ExactSums, chunk_rows
from skdp.tabular import Vocabulary, canonical, encode_table, person_ids
from skdp.utils._linalg import as_slice
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


@dataclass(frozen=True, eq=False, repr=False)
class PrivateRows:
    """Rows whose class is one of a public list, on the owner's side of the wall.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        May be a memory map: no more than a chunk of it is copied.

    class_indices : ndarray of shape (n_samples,)
        −1 for a row that belongs to no class of the list, which is left out.

    n_classes : int

    sizes : ndarray of shape (n_samples,) or None, default=None
        Rows of the person whose row this is; None where each row is a record of its own.

    persons : frozenset, default=frozenset()
        Whose rows these are.
    """

    X: np.ndarray
    class_indices: np.ndarray
    n_classes: int
    sizes: np.ndarray | None = None
    persons: frozenset = frozenset()

    @classmethod
    def of_labels(cls, X, y, classes, groups=None):
        """Return rows with their classes.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        y : ndarray of shape (n_samples,)
            Labels, of which those that are not among the classes are left out.

        classes : ndarray of shape (n_classes,)
            The public list.

        groups : array-like of shape (n_samples,) or None, default=None
            Whose row each one is.

        Raises
        ------
        ValueError
            When a row has no group.
        """
        class_indices = Vocabulary(classes.tolist()).codes(y)
        if groups is None:
            return cls(X, class_indices, len(classes))
        sizes, persons = group_sizes(groups)
        return cls(X, class_indices, len(classes), sizes, frozenset(persons.tolist()))

    def chunks(self, grid):
        """Yield rows on a grid, their class indices, and their persons' numbers of rows."""
        n = chunk_rows(grid.n_basis)
        for start in range(0, len(self.X), n):
            here = start + np.flatnonzero(self.class_indices[start : start + n] >= 0)
            here = as_slice(here)
            sizes = None if self.sizes is None else self.sizes[here]
            yield grid.quantise(self.X[here]), self.class_indices[here], sizes

    def sums(self, grid):
        """Return exact sums of the rows on a grid."""
        zero = ExactSums.zero(self.n_classes, grid.n_basis)
        parts = (ExactSums.of_rows(Q, y, self.n_classes, k) for Q, y, k in self.chunks(grid))
        return replace(reduce(add, parts, zero), persons=self.persons)


def group_sizes(groups):
    """Return for each row the number of rows of its group, and the groups.

    Raises
    ------
    ValueError
        When a group is missing.

    Examples
    --------
    >>> sizes, persons = group_sizes(["ann", "bob", "ann"])
    >>> sizes.tolist(), persons.tolist()
    ([2, 1, 2], ['ann', 'bob'])
    """
    codes, persons = pd.factorize(np.asarray(groups))
    if codes.size and codes.min() < 0:
        raise ValueError(
            "The 'groups' parameter lacks the group of some rows. Say of each row whose it is, "
            "or leave such rows out."
        )
    return np.bincount(codes)[codes], persons


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


def read_table(columns, X, y, *, keep_all):
    """Return a private table as numbers, and its labels.

    Parameters
    ----------
    columns : PublicColumns
        With a schema.

    X : DataFrame, or array-like of shape (n_samples, n_columns)
        The table.

    y : array-like of shape (n_samples,)
        Labels.

    keep_all : bool
        Whether rows stay whose label is none of the classes of the schema. Where labels are
        private they have to, for the number of rows is public.

    Returns
    -------
    rows : ndarray of shape (n_samples, n_encoded)
        In [0, 1].

    labels : ndarray of shape (n_samples,)
        Classes of the schema, where it lists them and not all rows are kept.

    Raises
    ------
    ValueError
        When no label is a class of the schema, and rows of others are left out.
    """
    rows = encode_rows(columns, X)
    labels = check_labels(y, rows)
    if columns.schema.classes is None or keep_all:
        return rows, labels
    classes = np.array(columns.schema.classes)
    check_kind(y, classes)
    indices = PrivateRows.of_labels(rows, labels, classes).class_indices
    if not (indices >= 0).any():
        raise ValueError(
            f"No label in y is one of the classes of the schema, {classes.tolist()}. Spell them "
            "alike: rows of other labels are left out."
        )
    return rows[indices >= 0], classes[indices[indices >= 0]]
