"""A first draft of a schema, from rows that are no secret."""

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from skdp.tabular._columns import CategoryColumn, NumericColumn
from skdp.tabular._schema import Schema

# Bounds are rounded to 1, 2 or 5 times a power of ten, at most so many of them within the range:
# coarse enough to look like bounds (rule of thumb).
_STEPS = 10
# Most different values of a column of text: with more, one-hot columns drown in noise (rule of
# thumb).
_MOST_VALUES = 100
# Number of different values from which they are taken for names or ids where they are more than
# half as many as the rows (rule of thumb).
_NAMES = 20


def schema_from(frame, *, public, label=None):
    """Draft a schema from rows that are public, or the target's own.

    Bounds and categories that come from private rows are private, and a release that carries them
    tells about single rows, outside every guarantee. Nothing can tell private rows from public
    ones, so the caller has to say it. Read the draft, widen its bounds to what the instruments
    and code books allow, mark logarithmic scales and ordered categories, and save it with
    ``to_json()``.

    Parameters
    ----------
    frame : DataFrame of shape (n_samples, n_columns)
        Columns of numbers get bounds, rounded outwards; those of text, categories, booleans or
        objects get their values as categories, in sorted order or in that of their dtype. Numbers
        of which all are one of two whole ones, such as 0 and 1, are categories too: as numbers
        such columns cost much (area under the ROC curve at ε = 1 without and with this rule:
        whas500 .747 and .806, actg320 .643 and .718).

    public : bool
        True says that the rows are public or the target's own. Anything else is refused.

    label : str or None, default=None
        Name of the column with labels, whose values become the classes.

    Returns
    -------
    schema : Schema

    Raises
    ------
    ValueError
        Unless ``public`` is True; or when a column has nothing to learn from, or as many
        different values as names or ids have, naming it.

    Examples
    --------
    >>> import pandas as pd
    >>> from skdp.tabular import schema_from
    >>> frame = pd.DataFrame({"age": [23, 68, 41], "sex": ["F", "M", None], "died": [0, 1, 0]})
    >>> print(schema_from(frame, public=True, label="died").summary())
    Schema(1 numeric column, 1 of categories; 4 encoded; classes 0, 1)
      'age': numeric, 20 to 70
      'sex': category, 'F', 'M'; may be missing
    """
    if public is not True:
        raise ValueError(
            "The 'public' parameter of schema_from must be True: bounds and categories of private "
            "rows are private, and a release would give them away. Draft from public rows or "
            "the target's own, or write the schema from units, instruments and code books."
        )
    if label is not None and label not in frame.columns:
        raise ValueError(f"The frame has no column 'label'={label!r}; name one that it has.")
    names = [name for name in frame.columns if name != label]
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"Column {name!r} has no text as its name; rename it.")
    columns = tuple(_drafted(name, frame[name]) for name in names)
    return Schema(columns, None if label is None else _classes(frame[label]))


def _classes(labels):
    """Return the sorted labels, as JSON has them."""
    return tuple(np.unique(labels.dropna().to_numpy()).tolist())


def _drafted(name, values):
    """Return the column of the schema that describes these values."""
    missing = bool(values.isna().any())
    if values.dtype.kind in "mM":
        raise ValueError(f"Column {name!r} has dates or durations; turn them into numbers.")
    if not is_numeric_dtype(values.dtype) or is_bool_dtype(values.dtype):
        categories, ordered = _categories(name, values)
        return CategoryColumn(name, categories, ordered, missing)
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    found = np.unique(numbers[np.isfinite(numbers)])
    if not found.size:
        raise ValueError(f"Column {name!r} has no finite number; leave it out.")
    if len(found) == 2 and np.all(found == np.rint(found)):
        return CategoryColumn(name, tuple(found.tolist()), missing=missing)
    low, high = _rounded(found[0], found[-1])
    return NumericColumn(name, low, high, missing=missing)


def _categories(name, values):
    """Return the categories of a column, and whether their order means something."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        categories, ordered = values.cat.categories.tolist(), bool(values.cat.ordered)
    else:
        categories = sorted(values.dropna().unique().tolist(), key=lambda v: (str(type(v)), v))
        ordered = False
    if len(categories) < 2:
        raise ValueError(
            f"Column {name!r} has fewer than two values in these rows; leave it out, or describe "
            "its categories by hand."
        )
    n = values.nunique()
    if n > _MOST_VALUES or n > max(_NAMES, len(values) / 2):
        raise ValueError(
            f"Column {name!r} has {n} different values in {len(values)} rows, as names or ids "
            "have; leave it out, or merge values, or describe its categories by hand."
        )
    return tuple(categories), ordered


def _rounded(low, high):
    """Return bounds rounded outwards to multiples of a step that suits their range."""
    step = (high - low or abs(high) or 1.0) / _STEPS
    exponent = int(np.floor(np.log10(step)))
    step = next(m for m in (1, 2, 5, 10) if m * 10.0**exponent >= step) * 10.0**exponent
    below, above = np.floor(low / step), np.ceil(high / step)
    above += above == below
    return round(float(below * step), -exponent), round(float(above * step), -exponent)
