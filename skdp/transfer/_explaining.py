"""What moved one prediction, in the names and units of the columns."""

import numpy as np

from skdp.tabular import NumericColumn, Schema, explain_prediction


def one_row(x):
    """Return one row as a DataFrame, where it is one, or as an array of shape (1, n_features).

    Raises
    ------
    ValueError
        When there are more rows, or none.
    """
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
    schema : Schema
    """
    low, high = np.minimum(bounds[0], row), np.maximum(bounds[1], row)
    high = np.where(high > low, high, low + 1)
    limits = zip(names, low.tolist(), high.tolist(), strict=True)
    return Schema(tuple(NumericColumn(str(name), *ends) for name, *ends in limits))


def encoding_release(releases, n_columns):
    """Return the first release whose schema encodes rows into so many columns, or None."""
    found = (r for r in releases if r.encoder is not None and r.n_features == n_columns)
    return next(found, None)


def explain_row(scores, row, classes, releases, names, n_columns):
    """Explain the prediction of a row, see :meth:`DPTransferClassifier.explain`.

    Parameters
    ----------
    scores : callable
        Log-probabilities of rows, up to a constant in each.

    row : ndarray of shape (n_features,)
        Encoded as the model's rows were.

    classes : ndarray of shape (n_classes,)

    releases : list of Release
        Whose schema, or else whose bounds and names, are taken.

    names : ndarray of shape (n_features,) or None
        The target's own names of columns.

    n_columns : int

    Returns
    -------
    explanation : Explanation
    """
    encoding = encoding_release(releases, len(row))
    if encoding is not None:
        schema = encoding.encoder
        return explain_prediction(scores, row, classes, schema=schema, n_columns=n_columns)
    same = [release for release in releases if release.n_features == len(row)]
    called = [given for given in (names, *(r.feature_names for r in same)) if given is not None]
    bounds = [release.bounds for release in same if release.bounds is not None]
    names = called[0] if called else [f"x{j}" for j in range(len(row))]
    schema = bounded_columns(names, bounds[0] if bounds else np.array([[0.0], [1.0]]), row)
    low = np.array([column.low for column in schema.columns])
    width = np.array([column.high for column in schema.columns]) - low
    return explain_prediction(
        lambda positions: scores(low + positions * width),
        (row - low) / width,
        classes,
        schema=schema,
        n_columns=n_columns,
    )
