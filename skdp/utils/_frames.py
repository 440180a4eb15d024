"""Conversion of tables and columns of any library, and names that look alike.

macOS and some spreadsheets write "ö" as two characters, "o" and a mark (NFD), others as one (NFC).
Names of columns, categories and classes that look alike are the same.
"""

import unicodedata
from math import inf
from shutil import get_terminal_size

import numpy as np
import pandas as pd


class WholeTable(pd.DataFrame):
    """A table that prints all columns, in parts if they are too wide for the terminal.

    Results computed from it are ordinary DataFrames.
    """

    def __repr__(self):
        return self.to_string(line_width=text_width(inf))


def as_frame(X, name="X", *, text_as_categories=True):
    """Return a table in Arrow's format as a DataFrame of views, and anything else unchanged.

    Likewise columns become Series. Errors name the parameter and quote no value.
    """
    # These are tables and record batches of pyarrow, frames of polars, lazy ones too, and other
    # objects with the Arrow stream interface. Numbers without missing values are not copied;
    # distinct text values are stored once, as categories in no particular order unless told
    # otherwise. Columns of Arrow's types in a DataFrame or Series become those of pandas. Without
    # pyarrow, frames of polars stay, and are read element by element.
    if isinstance(X, pd.DataFrame):
        return _without_arrow_types(X, text_as_categories)
    if isinstance(X, pd.Series):
        is_arrow = isinstance(X.dtype, pd.ArrowDtype)
        return as_frame(X.to_frame(), name).iloc[:, 0] if is_arrow else X
    is_lazy = hasattr(X, "collect_schema") and hasattr(X, "collect")  # of polars
    if not (is_lazy or hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")):
        return X
    what = f"The {name!r} parameter, of type {type(X).__name__},"
    error: Exception
    try:
        return _read(X.collect() if is_lazy else X, text_as_categories)
    except ImportError:
        error = ImportError(f"{what} needs the package pyarrow: pip install 'skdp[parquet]'.")
    except Exception:  # the message of any exception may quote values
        error = ValueError(f"{what} cannot be read. Convert it to a DataFrame to see why.")
    raise error


def as_column(values):
    """Return labels or groups of any library in a form that scikit-learn reads unchanged."""
    # It would convert whole numbers and booleans of pandas' own types to floats, and fails on NA,
    # which objects may hold too: these become objects, with None for missing values.
    values = as_frame(values, "y")
    if not isinstance(values, pd.Series):
        return values
    objects = values.dtype == object and any(value is pd.NA for value in values)
    if isinstance(values.dtype, np.dtype) and not objects:
        return values
    return np.where(values.isna(), None, as_elements(values))


def one_row(x):
    """Return one row as a DataFrame if it has names, or as an array (1, n_features)."""
    is_row = isinstance(x, pd.Series)  # of a DataFrame, whose values have become objects
    x = as_frame(x, "x")
    if is_row:
        x = x.to_frame().T.infer_objects()
    x = x if hasattr(x, "columns") else np.asarray(x)
    if getattr(x, "ndim", 2) < 2:
        return x.reshape(1, -1)
    if len(x) != 1:
        raise ValueError(
            f"The 'x' parameter of explain must be one row, got {len(x)}. Call it for each row."
        )
    return x


def _read(X, text_as_categories):
    """Return an object in Arrow's format as a DataFrame or Series."""
    try:
        import pyarrow
    except ImportError:
        if hasattr(X, "__array__"):  # polars works without it: columns are read by element
            return X
        raise
    try:
        table = pyarrow.table(X)
    except (TypeError, ValueError):  # a column
        chunks = X if hasattr(X, "__arrow_c_stream__") else [X]
        column = pyarrow.table([pyarrow.chunked_array(chunks)], names=["values"])
        return _in_pandas(column, text_as_categories).iloc[:, 0].rename(None)
    return _in_pandas(table, text_as_categories)


def _without_arrow_types(frame, text_as_categories):
    """Return a frame of pandas with pandas' own types; unchanged if it has no others."""
    places = [i for i, dtype in enumerate(frame.dtypes) if isinstance(dtype, pd.ArrowDtype)]
    if not places:
        return frame
    import pyarrow

    columns = [pyarrow.array(frame.iloc[:, i].array) for i in places]
    table = pyarrow.table(columns, names=[str(i) for i in places])
    converted = _in_pandas(table, text_as_categories).set_axis(frame.index)
    frame = frame.copy(deep=False)
    for i in places:
        frame.isetitem(i, converted[str(i)])
    return frame


def _in_pandas(table, text_as_categories):
    """Return a table of pyarrow in pandas."""
    import pyarrow

    # Booleans with missing values, and dates, would become objects, which are refused by type.
    settings = {
        "types_mapper": {pyarrow.bool_(): pd.BooleanDtype()}.get,
        "date_as_object": False,
        "strings_to_categorical": text_as_categories,
        "split_blocks": True,
        "ignore_metadata": True,
    }
    try:
        frame = table.to_pandas(**settings)
    except ValueError:  # a dictionary that lists a value twice, or a missing one
        fields = [
            field.with_type(getattr(field.type, "value_type", field.type))
            if pyarrow.types.is_dictionary(field.type)
            else field
            for field in table.schema
        ]
        frame = table.cast(pyarrow.schema(fields)).to_pandas(**settings)
    # With a missing value, integers would become floats: one row would round all others.
    for i, column in enumerate(table.columns):
        if pyarrow.types.is_integer(column.type) and column.null_count:
            large = column.type == pyarrow.uint64()
            kind = pd.UInt64Dtype() if large else pd.Int64Dtype()
            frame.isetitem(i, kind.__from_arrow__(column))
    return frame


def as_elements(values):
    """Return a column as an array whose elements do not depend on each other."""
    # A list with one text would become an array of text, and integers with one missing value would
    # become floats: a single row would change all others. Only arrays with a given dtype keep it;
    # anything else becomes an array of objects.
    if isinstance(values, np.ndarray):
        return values
    values = as_frame(values, "y")
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
        raise ValueError("A column must be an array or a list. Convert it.")
    return _objects(list(values))


def _objects(values):
    elements = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # elementwise, as sequences would become rows otherwise
        elements[i] = value
    return elements


def text_width(most):
    """Return the width of the terminal in characters, or 80 without one; ``most`` at most."""
    return min(most, get_terminal_size().columns)


def composed(text):
    """Return text with each letter in one character if possible (NFC); others unchanged."""
    if not isinstance(text, str) or text.isascii():
        return text
    return unicodedata.normalize("NFC", text)


def matched(names, spellings):
    """Return names in those spellings that look alike; others unchanged."""
    exact = dict.fromkeys(spellings)
    forms = {composed(name): name for name in exact}
    return [
        forms.get(composed(name), name) if isinstance(name, str) and name not in exact else name
        for name in names
    ]


def named_like(frame, names):
    """Return a DataFrame with its columns named as those that look alike; others unchanged."""
    if names is None or not isinstance(frame, pd.DataFrame):
        return frame
    given = frame.columns.tolist()
    renamed = matched(given, names)
    if all(one is other for one, other in zip(given, renamed, strict=True)):
        return frame
    frame = frame.copy(deep=False)
    frame.columns = pd.Index(renamed, dtype=object)
    return frame
