"""Columns of rows that a release is asked about: their names, their values, their units."""

import numpy as np

from skdp.tabular import (
    MANY,
    NumericColumn,
    cells_without_value,
    mostly_far_outside,
    numbers,
)
from skdp.utils._warnings import warn

# How many columns a warning describes.
_SHOWN = 5


def check_names(given, wanted):
    """Return the wanted names; warn of others, raise where one is missing or there twice."""
    missing = [name for name in wanted if name not in given]
    if missing:
        raise ValueError(
            f"X lacks the columns {missing} of this release. Add them, or pass an array whose "
            "columns are in the order of feature_names."
        )
    twice = sorted({name for name in wanted if given.count(name) > 1})
    if twice:
        raise ValueError(f"X has several columns called {twice}. Give each its own name.")
    surplus = [name for name in given if name not in wanted]
    if surplus:
        warn(f"The columns {surplus} do not belong to this release, and are left out.")
    return wanted


def refuse_text(schema, X):
    """Raise ValueError where an array holds text: rows of a table that lost its names."""
    X = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    if X.dtype.kind in "OUST" and any(isinstance(value, str) for value in X.ravel()):
        raise ValueError(
            "X is an array with text, and this release has a schema, whose columns are matched "
            f"by name. Pass a DataFrame with the columns {list(schema.names)!r:.300}."
        )


def numeric_columns(schema, X):
    """Yield names, values that are there and bounds of the numeric columns of a table."""
    for column in schema.columns:
        if isinstance(column, NumericColumn):
            values = numbers(X[column.name])
            yield column.name, values[~np.isnan(values)], column.low, column.high


def warn_of_unread(schema, X):
    """Warn of columns in which many values are no number, or no category of the schema."""
    found = []
    for column in schema.columns:
        missing, unread = cells_without_value(column, X[column.name])
        if unread.sum() > MANY * (~missing).sum():
            found.append(column.name)
    if found:
        lines = schema.restrict(found[:_SHOWN]).summary().splitlines()[1:]
        expected = "; ".join(line.strip() for line in lines)
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        warn(
            f"Many values of the columns {found!r:.300} of X are no number, or no category, that "
            "the schema of this release allows, and count as missing. Write them as the schema "
            "says, categories spelled alike, and numbers with a decimal point and without units: "
            f"{expected:.800}{more}.",
        )


def warn_of_units(columns):
    """Warn of columns most of whose values lie far outside their public bounds."""
    found = [name for name, values, *bounds in columns if mostly_far_outside(values, *bounds)]
    if found:
        warn(
            f"Most values of the columns {found!r:.300} of X lie outside the public bounds of "
            "this release: are they in other units? Convert them to the units of the source.",
        )
