"""What moved one prediction, in the names and units of the columns."""

import numpy as np
from sklearn.utils import check_array

from skdp.tabular import NumericColumn, Schema, explain_prediction

# Bounds of numbers of which nothing else is known.
_UNIT = np.array([[0.0], [1.0]])


def one_row(x):
    """Return one row as a DataFrame, where it has names, or as an array of shape (1, n_features).

    Raises
    ------
    ValueError
        When there are more rows, or none.
    """
    if hasattr(x, "to_frame"):  # a row of a DataFrame, which made its values objects
        x = x.to_frame().T.infer_objects()
    x = x if hasattr(x, "columns") else np.asarray(x)
    if getattr(x, "ndim", 2) < 2:
        return x.reshape(1, -1)
    if len(x) != 1:
        raise ValueError(
            f"The 'x' parameter of explain must be one row, got {len(x)}. Ask about each of them."
        )
    return x


def bounded_columns(names, bounds, row):
    """Return columns of numbers within bounds, which are widened to hold a row.

    Parameters
    ----------
    names : list of str

    bounds : ndarray of shape (2, n_features)
        The lower and the upper ones.

    row : ndarray of shape (n_features,)

    Returns
    -------
    columns : tuple of NumericColumn
    """
    low, high = np.minimum(bounds[0], row), np.maximum(bounds[1], row)
    high = np.where(high > low, high, low + 1)
    limits = zip(names, low.tolist(), high.tolist(), strict=True)
    return tuple(NumericColumn(str(name), *ends) for name, *ends in limits)


def encoded_row(x, matching, n_columns, validated):
    """Return one row as the model reads it.

    Parameters
    ----------
    x : DataFrame of one row, Series, or array-like of shape (n_features,)
        Of the table, or encoded already. A Series, as X.iloc[0], has the names in its index.

    matching : Matching

    n_columns : int
        Encoded columns that the model reads.

    validated : callable
        ``validated(X)`` returns rows like those that were fitted, as numbers.

    Returns
    -------
    row : ndarray of shape (n_columns,)
    """
    x, release = one_row(x), next(iter(matching.releases), None)
    is_table = hasattr(x, "columns")
    if is_table and matching.names is not None and set(matching.names) <= set(x.columns):
        return validated(x)[0]
    if release is not None and release.encoder is not None and release.n_features == n_columns:
        return release.encode(x)[0]
    if is_table or not matching.is_raw:
        return validated(x)[0]
    if x.shape[1] != n_columns:
        raise ValueError(
            f"The 'x' parameter of explain has {x.shape[1]} values, and {n_columns} encoded ones "
            "are expected. Pass a row of the table as a DataFrame."
        )
    return check_array(x)[0]


def readable_columns(row, matching, names):
    """Return a schema of the columns that a row is in, and where each of these starts and ends.

    Parameters
    ----------
    row : ndarray of shape (n_columns,)

    matching : Matching
        The columns of the sources come first: as their schema has them, or as numbers in their
        bounds. The others are the target's own.

    names : list of str or None
        Those of the fitted table.

    Returns
    -------
    schema : Schema

    low, width : ndarrays of shape (n_columns,)
        An encoded value u of the schema is ``low + u * width`` for the model.
    """
    n = len(row) if matching.n_shared is None else matching.n_shared
    same = [release for release in matching.releases if release.n_features == n]
    known = [matching.names, names, *(release.feature_names for release in same)]
    names = next((list(each) for each in known if each is not None), None)
    names = [f"x{j}" for j in range(len(row))] if names is None else names
    encoders = [release.encoder for release in same if release.encoder is not None]
    bounds = [release.bounds for release in same if release.bounds is not None]
    columns: tuple = ()
    low, width = np.zeros(len(row)), np.ones(len(row))
    parts = [
        (slice(0, n), encoders[0] if encoders else None, bounds[0] if bounds else _UNIT),
        (slice(n, len(row)), None if matching.own is None else matching.own.schema_, _UNIT),
    ]
    for part, schema, limits in parts:
        if schema is not None:
            columns += schema.columns
            continue
        numbers = bounded_columns(names[part], limits, row[part])
        low[part] = [column.low for column in numbers]
        width[part] = [column.high - column.low for column in numbers]
        columns += numbers
    return Schema(columns), low, width


def explain_row(scores, row, classes, columns, n_columns):
    """Explain the prediction of a row, see :meth:`DPTransferClassifier.explain`.

    Parameters
    ----------
    scores : callable
        Log-probabilities of rows, up to a constant in each.

    row : ndarray of shape (n_features,)
        See :func:`encoded_row`.

    classes : ndarray of shape (n_classes,)

    columns : tuple
        See :func:`readable_columns`.

    n_columns : int

    Returns
    -------
    explanation : Explanation
    """
    schema, low, width = columns
    return explain_prediction(
        lambda positions: scores(low + positions * width),
        (row - low) / width,
        classes,
        schema=schema,
        n_columns=n_columns,
    )
