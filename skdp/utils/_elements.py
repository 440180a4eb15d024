"""Arrays of which no element depends on another one, and tables refused without a value shown."""

import numpy as np


def as_elements(values):
    """Return a column as an array in which each element is what it is by itself.

    A list that holds one text would become an array of text, and whole numbers beside one
    missing value would become floats: a row would change all others. Only arrays whose dtype is
    given keep it; all else becomes an array of objects.

    Parameters
    ----------
    values : array-like of shape (n_samples,)

    Returns
    -------
    elements : ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        When it is no sequence.

    Examples
    --------
    >>> import pandas as pd
    >>> from skdp.utils._elements import as_elements
    >>> as_elements([0, 1, "x"]).tolist()
    [0, 1, 'x']
    >>> as_elements(pd.Series([2**53 + 1, None], dtype="Int64")).tolist()
    [9007199254740993, <NA>]
    """
    if isinstance(values, np.ndarray):
        return values
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype):
        return np.asarray(values)
    if dtype is not None and hasattr(values, "astype"):  # of pandas, with a mask or categories
        return np.asarray(values.astype(object), dtype=object)
    for method in ("to_list", "tolist"):
        if hasattr(values, method):
            return _objects(getattr(values, method)())
    if hasattr(values, "__array__"):
        return np.asarray(values)
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise ValueError("A column must be an array or a list.")
    return _objects(list(values))


def _objects(values):
    elements = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # at once, sequences would become rows
        elements[i] = value
    return elements


def check_table(X, min_samples=1):
    """Raise ValueError where X has not the shape of a table of real numbers.

    scikit-learn's own errors say how many rows there are, and print complex numbers and columns
    that are no tables. These say neither.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)

    min_samples : int, default=1
    """
    shape, dtypes = _shape_and_types(X)
    if shape is None:
        raise ValueError(
            "Input X has rows of different lengths. Reshape your data: one row for each sample, "
            "one column for each feature."
        )
    if any(getattr(dtype, "kind", "O") == "c" for dtype in dtypes):
        raise ValueError("Complex data not supported: input X must hold real numbers.")
    if len(shape) != 2:
        kind = "scalar" if len(shape) == 0 else f"{len(shape)}D"
        raise ValueError(
            f"Expected 2D array, got {kind} array instead. Reshape your data: one row for each "
            "sample, one column for each feature."
        )
    if shape[1] == 0:
        # In scikit-learn's words, without the number of rows.
        raise ValueError("0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    if shape[0] < min_samples:
        raise ValueError(
            f"Input X has no rows, while a minimum of {min_samples} sample is needed."
        )


def _shape_and_types(X):
    if hasattr(X, "shape"):
        if hasattr(X, "dtypes"):
            return tuple(X.shape), list(X.dtypes)
        return tuple(X.shape), [getattr(X, "dtype", None)]
    try:
        array = np.asarray(X)
    except ValueError:
        return None, []
    return array.shape, [array.dtype]
