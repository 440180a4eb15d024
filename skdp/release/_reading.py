"""Rows that a release is asked about, as numbers in its own columns; and back as a table."""

import warnings

import numpy as np
import pandas as pd
from sklearn.utils import check_array

from skdp.release._validation import check_names
from skdp.tabular import NumericColumn, fitted_encoder

# How far beyond its public bounds a value must lie to count, in widths of these, and of how many
# rows: where both are exceeded, the column is likely in other units (rules of thumb).
_FAR, _MOST = 0.1, 0.5


def encode_rows(release, X):
    """Return rows in the columns of a release, see :meth:`Release.encode`."""
    names = getattr(X, "columns", None)
    if names is not None and release.encoder is not None and not _is_encoded(release, names):
        rows = check_array(fitted_encoder(release.encoder).transform(X))
        _warn_of_units(_numeric_columns(release.encoder, X))
        return rows
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


def _is_encoded(release, names):
    """Return whether a table has the encoded columns rather than those of the schema."""
    raw = set(release.encoder.names) <= set(names)
    return not raw and set(release.encoder.encoded_names) <= set(names)


def _numeric_columns(schema, X):
    """Yield names, values and bounds of the columns of a table that hold nothing but numbers."""
    for column in schema.columns:
        values = X[column.name].to_numpy()
        if isinstance(column, NumericColumn) and values.dtype.kind in "iuf":
            yield column.name, values, column.low, column.high


def _warn_of_units(columns):
    """Warn of columns most of whose values lie far outside their public bounds."""
    found = []
    for name, values, low, high in columns:
        margin = _FAR * (high - low)
        if np.mean((values < low - margin) | (values > high + margin)) > _MOST:
            found.append(name)
    if found:
        warnings.warn(
            f"Most values of the columns {found!r:.300} of X lie outside the public bounds of "
            "this release: are they in other units? Bring them to those of the source.",
            stacklevel=5,
        )
