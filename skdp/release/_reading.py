"""Rows that a release is asked about, as numbers in its own columns; and back as a table."""

import numpy as np
import pandas as pd
from sklearn.utils import check_array

from skdp.release._validation import check_names
from skdp.tabular import NumericColumn, fitted_encoder, missing_values
from skdp.utils._warnings import warn

# How far beyond its public bounds a value must lie to count, in widths of these, and of how many
# rows: where both are exceeded, the column is likely in other units (rules of thumb).
_FAR, _MOST = 0.1, 0.5
# Share of the values that are there from which values that cannot be read are likely written in
# another way, rather than rare categories that the source does not list (rule of thumb).
_MANY = 0.1
# How many columns a warning describes.
_SHOWN = 5


def encode_rows(release, X):
    """Return rows in the columns of a release, see :meth:`Release.encode`."""
    names = getattr(X, "columns", None)
    if names is not None and release.encoder is not None and not release.encoder.is_encoded(names):
        rows = check_array(fitted_encoder(release.encoder).transform(X))
        _warn_of_unread(release.encoder, X)
        _warn_of_units(_numeric_columns(release.encoder, X))
        return rows
    if names is None and release.encoder is not None:
        _refuse_raw(release, X)
    if names is not None and release.feature_names is not None:
        X = X[check_names(list(names), release.feature_names.tolist())]
    rows = check_array(X, dtype=[np.float64, np.float32], input_name="X")
    if rows.shape[1] != release.n_features:
        raise ValueError(
            f"X has {rows.shape[1]} features, but Release is expecting {release.n_features} "
            "features as input. Rows of another space need DPTransferClassifier."
        )
    if release.bounds is not None:
        _warn_of_units(zip(_names(release), rows.T, *release.bounds, strict=True))
    return rows


def decode_rows(release, rows):
    """Return rows in the columns of a release as a DataFrame: of its tables, where it has some.

    Parameters
    ----------
    release : Release

    rows : ndarray of shape (n_samples, n_features)

    Returns
    -------
    frame : DataFrame
        With values that the schema allows, where there is an encoder.
    """
    if release.encoder is not None:
        return fitted_encoder(release.encoder).inverse_transform(rows)
    return pd.DataFrame(rows, columns=_names(release))


def _names(release):
    if release.feature_names is not None:
        return release.feature_names.tolist()
    return [f"x{i}" for i in range(release.n_features)]


def _refuse_raw(release, X):
    """Raise ValueError where an array holds text: rows of a table that lost its names."""
    X = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    if X.dtype.kind in "OUST" and any(isinstance(value, str) for value in X.ravel()):
        raise ValueError(
            "X is an array with text, and this release has a schema, whose columns are found by "
            "their names. Pass a DataFrame with the columns "
            f"{list(release.encoder.names)!r:.300}."
        )


def _numeric_columns(schema, X):
    """Yield names, values that are there and bounds of the numeric columns of a table."""
    for column in schema.columns:
        if isinstance(column, NumericColumn):
            values = column.numbers(X[column.name])
            yield column.name, values[~np.isnan(values)], column.low, column.high


def _warn_of_unread(schema, X):
    """Warn of columns in which many values are no number, or no category of the schema."""
    found = []
    for column in schema.columns:
        values = X[column.name]
        given = ~missing_values(values)
        read = ~np.isnan(column.positions(values))
        if (given & ~read).sum() > _MANY * given.sum():
            found.append(column.name)
    if found:
        lines = schema.restrict(found[:_SHOWN]).summary().splitlines()[1:]
        expected = "; ".join(line.strip() for line in lines)
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        warn(
            f"Many values of the columns {found!r:.300} of X are no number, or no category, that "
            "the schema of this release allows, and count as missing. Write them as the schema "
            "says, categories spelt alike, and numbers with a decimal point and without units: "
            f"{expected:.800}{more}.",
        )


def _warn_of_units(columns):
    """Warn of columns most of whose values lie far outside their public bounds."""
    found = []
    for name, values, low, high in columns:
        margin = _FAR * (high - low)
        if len(values) and np.mean((values < low - margin) | (values > high + margin)) > _MOST:
            found.append(name)
    if found:
        warn(
            f"Most values of the columns {found!r:.300} of X lie outside the public bounds of "
            "this release: are they in other units? Bring them to those of the source.",
        )
