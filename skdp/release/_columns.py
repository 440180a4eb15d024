"""The columns of a release, and rows of others in these: names, values and units."""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from skdp.tabular import (
    MANY,
    NumericColumn,
    cells_without_value,
    fitted_encoder,
    mostly_far_outside,
    numbers,
)
from skdp.utils._frames import as_frame, named_like
from skdp.utils._validation import check_array, checked_subset
from skdp.utils._warnings import warn

# Largest number of columns that a warning describes.
_SHOWN = 5


@dataclass(frozen=True)
class UnboundedColumn:
    """A column of numbers without public bounds."""

    name: str
    missing: ClassVar[bool] = False


def column_names(release):
    """Return the names of the features, or x0, x1 and so on."""
    if release.feature_names is not None:
        return release.feature_names.tolist()
    return [f"x{i}" for i in range(release.n_features)]


def public_columns(release):
    """Yield the public description of each column, and the slice of its encoded columns."""
    if release.encoder is not None:
        yield from zip(release.encoder.columns, release.encoder.encoded_slices, strict=True)
        return
    for j, name in enumerate(map(str, column_names(release))):
        column: Any = UnboundedColumn(name)
        if release.bounds is not None:
            column = NumericColumn(name, *release.bounds[:, j].tolist())
        yield column, slice(j, j + 1)


def public_scales(release):
    """Return low and width of each encoded column; of 0 and 1 if it has no others."""
    p = release.n_features
    if release.encoder is not None or release.bounds is None:
        return np.zeros(p), np.ones(p)
    return release.bounds[0], np.ptp(release.bounds, axis=0)


def chosen_columns(release, names):
    """Return the numbers of the columns with these names, in their order, and what they change."""
    if release.feature_names is None:
        raise ValueError(
            f"The {release.n_features} columns of this release have no names to restrict it by. "
            "Ask its owner for one that was made from a DataFrame, or pass rows of all columns."
        )
    encoder = None if release.encoder is None else release.encoder.restrict(names)
    all_names = release.feature_names.tolist()
    if encoder is None:
        wanted = checked_subset("Release.restrict", names, all_names)
    else:
        wanted = encoder.encoded_names
    place = {name: number for number, name in enumerate(all_names)}
    columns = np.array([place[name] for name in wanted])
    return columns, {
        "n_features": len(columns),
        "feature_names": release.feature_names[columns],
        "bounds": None if release.bounds is None else release.bounds[:, columns],
        "encoder": encoder,
    }


def encoded_rows(release, X):
    """Return rows as numbers in the columns of a release, see :meth:`Release.encode`."""
    schema = release.encoder
    X = named_like(as_frame(X), release.feature_names if schema is None else schema.names)
    names = getattr(X, "columns", None)
    if names is not None and schema is not None and not schema.is_encoded(names):
        # Finite by construction. scikit-learn's check would first search all installed
        # packages for table libraries, which takes longer than encoding 1,000 rows.
        rows = np.asarray(fitted_encoder(schema).transform(X))
        if not len(rows):
            raise ValueError("X has 0 sample(s), while a minimum of 1 is required.")
        warn_of_unread(schema, X)
        warn_of_units(numeric_columns(schema, X))
        return rows
    if names is None and schema is not None:
        refuse_text(schema, X)
    if names is not None and release.feature_names is not None:
        X = cast(Any, X)[check_names(list(names), release.feature_names.tolist())]
    rows = check_array(X, dtype=[np.float64, np.float32], input_name="X")
    if rows.shape[1] != release.n_features:
        raise ValueError(
            f"X has {rows.shape[1]} features, but Release is expecting {release.n_features} "
            "features as input. Use DPTransferClassifier for rows with other features."
        )
    if release.bounds is not None:
        warn_of_units(zip(column_names(release), rows.T, *release.bounds, strict=True))
    return rows


def check_names(given, wanted):
    """Return the wanted names; warn of others, raise where one is missing or duplicated."""
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
    """Raise ValueError where an array contains text: a table without column names."""
    X = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    if X.dtype.kind in "OUST" and any(isinstance(value, str) for value in X.ravel()):
        raise ValueError(
            "X is an array with text, and this release has a schema, whose columns are matched "
            f"by name. Pass a DataFrame with the columns {list(schema.names)!r:.300}."
        )


def numeric_columns(schema, X):
    """Yield names, nonmissing values and bounds of the numeric columns of a table."""
    for column in schema.columns:
        if isinstance(column, NumericColumn):
            values = numbers(X[column.name])
            yield column.name, values[~np.isnan(values)], column.low, column.high


def warn_of_unread(schema, X):
    """Warn of columns in which many values are no number, or no category of the schema."""
    names = []
    for column in schema.columns:
        missing, unread = cells_without_value(column, X[column.name])
        if unread.sum() > MANY * (~missing).sum():
            names.append(column.name)
    if names:
        lines = schema.restrict(names[:_SHOWN]).summary().splitlines()[1:]
        expected = "; ".join(line.strip() for line in lines)
        more = f"; and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        warn(
            f"Many values of the columns {names!r:.300} of X are neither numbers nor listed "
            "categories, and count as missing. Write them as the schema of the release says, "
            f"with a decimal point and without units: {expected:.800}{more}.",
        )


def warn_of_units(columns):
    """Warn of columns most of whose values lie far outside their public bounds."""
    names = [name for name, values, *bounds in columns if mostly_far_outside(values, *bounds)]
    if names:
        warn(
            f"Most values of the columns {names!r:.300} of X lie outside the public bounds of "
            "this release: are they in other units? Convert them to the units of the source.",
        )
