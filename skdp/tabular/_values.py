"""The canonical form of a value: the meaning of a cell, whatever the type of its column.

Table readers choose the type of a column by all its cells: one cell "X01" turns the numbers 7 and
0.1 of all other rows into text, "007" and "0.10" as they were written. The meaning of a cell must
not depend on other rows, so values count as equal if a table reader could convert one into the
other:

- Numbers, truth values, and text of these, are numbers: 7, 7.0, "7", "007", " 7" and "7e0" are
  one value, 1, True and "TRUE" another. Whole numbers are compared as float64, which a missing
  value in their column makes of them, and fractions as float32.
- None, NaN, NA, NaT, blank text, and texts that readers take for missing values, are missing.
- Dates and times are their ISO text: "12:30" is "12:30:00". Bytes are the text in UTF-8.
- All other text is compared unchanged, including white space and case, except for Unicode's forms
  of one letter: "ö" is one character or two.
"""

import math
import re
from contextlib import suppress
from datetime import datetime, time
from decimal import Decimal
from itertools import compress
from numbers import Real

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from skdp.utils._frames import as_elements, composed

# Marks of missing values in CSV files that pandas and Arrow know, and their text forms.
_MISSING = frozenset(
    [
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
        *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "NaT", "None", "n/a", "nan", "null"),
    ]
)
# Arrow reads these as numbers of 64 bits, the first of which is the sign.
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,16}")


def canonical(value):
    """Return a float for a number or truth value, text for others, None if missing."""
    if isinstance(value, bytes):
        value = _decoded(value)
    if value is None or value is pd.NA:
        return None
    if not (isinstance(value, str) or _is_number(value)):
        try:
            value = str(value)
        except Exception:  # errors of unusual objects may quote them
            return None
    number = as_number(value)
    if not math.isnan(number):
        whole = number.is_integer() or math.isinf(number)
        return number if whole else float(np.float32(number))
    if not isinstance(value, str):
        return None
    text = value.strip()
    missing = text in _MISSING or text.lower().lstrip("+-") == "nan"
    return None if missing else _as_iso(text) or composed(str(value))


def as_number(value):
    """Return a value as a float, NaN unless it is a number, truth value or text of one."""
    if isinstance(value, bytes):
        value = _decoded(value)
    try:
        if isinstance(value, str):
            text = value.strip()
            if "_" in text:  # Python's own way to write a number
                return math.nan
            if _HEXADECIMAL.fullmatch(text):
                return float((int(text, 16) + 2**63) % 2**64 - 2**63)
            truth = {"true": 1.0, "false": 0.0}.get(text.lower())
            return float(text) if truth is None else truth
        if _is_number(value):
            return float(value)
    except OverflowError:
        return math.copysign(math.inf, 1 if value > 0 else -1)
    except Exception:  # of any class of elements: its text may be private
        pass
    return math.nan


def numbers(values):
    """Return a column as float64, each cell on its own; NaN if it is not a number."""
    if _is_numeric(values):
        with np.errstate(over="ignore"):  # of wider floats; a warning would reveal them
            if isinstance(values.dtype, np.dtype):
                return np.asarray(values).astype(np.float64)
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
    return _mapped(values, as_number, np.float64, math.nan)


def truths(values):
    """Return a column as :func:`numbers` does, with "yes" and "no", in any case, as 1 and 0."""
    if _is_numeric(values):
        return numbers(values)
    return _mapped(values, _as_truth, np.float64, math.nan)


def coded(values, code):
    """Return 1 if a cell is the code, 0 if it is another value of its type, NaN otherwise.

    Case and white space around text do not matter. Truth values, "yes" and "no" are 1 and 0
    unless the code is one of them.
    """
    form = _code(code)
    if _is_numeric(values) and not is_bool_dtype(values.dtype):
        given = numbers(values)
        return np.where(np.isnan(given) | isinstance(form, str), np.nan, given == form)
    # One by one, as :func:`_mapped` takes 1 and True for one value.
    return np.array([_is_code(value, form) for value in as_elements(values).tolist()], np.float64)


def missing_values(values):
    """Return which cells of a column are missing, ndarray of shape (n_samples,) of bool."""
    if _is_numeric(values):
        return np.isnan(numbers(values))
    return _mapped(values, lambda value: canonical(value) is None, bool, False)


def person_ids(values):
    """Return IDs, with text of whole numbers converted to numbers, as readers do."""
    return values if values.dtype.kind in "iu" else _mapped(values, _person_id, object, None)


class Vocabulary:
    """Public, different values, found by their canonical forms."""

    def __init__(self, values):
        self._codes = {canonical(value): code for code, value in enumerate(values)}

    def codes(self, values, other=-1):
        """Return the positions of values in the list, ``other`` for missing or unlisted ones."""
        return _mapped(
            values, lambda value: self._codes.get(canonical(value), other), np.int64, other
        )


def spelled_as(labels, classes):
    """Return labels in the spelling of the classes, 1 as "1"; unchanged if one is not a class."""
    codes = Vocabulary(classes.tolist()).codes(labels)
    return classes[codes] if (codes >= 0).all() else labels


def ambiguity(values):
    """Return why values of a public list are ambiguous in tables, or None."""
    forms: dict = {}
    for value in values:
        form = canonical(value)
        if form is None:
            return f"lists {value!r:.100}, which marks missing values in tables"
        if form in forms:
            return (
                f"lists {forms[form]!r:.100} and {value!r:.100}, which table readers "
                "take for the same value"
            )
        forms[form] = value
    return None


def _as_truth(value):
    """Return a truth value as 1 or 0; other values as :func:`as_number` does."""
    text = _decoded(value) if isinstance(value, bytes) else value
    known = {"yes": 1.0, "no": 0.0}
    word = str.lower(str.strip(text)) if isinstance(text, str) else None
    return known[word] if word in known else as_number(value)


def _code(value):
    """Return a cell as a truth value, a float, or text without case; None if missing."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    form = canonical(value)
    form = form.strip().casefold() if isinstance(form, str) else form
    word = str(value).strip().casefold() if isinstance(value, str | bytes) else ""
    return {"yes": True, "true": True, "no": False, "false": False}.get(word, form)


def _is_code(value, form):
    """Return 1.0 if a value is the code, 0.0 if it is another of its type, NaN otherwise."""
    given = _code(value)
    if isinstance(given, bool):
        return float(given if isinstance(form, str) or form not in (0, 1) else given == form)
    return (
        float(given == form)
        if isinstance(given, str) is isinstance(form, str) and given is not None
        else math.nan
    )


def _is_number(value):
    # NumPy's durations count as whole numbers.
    number = isinstance(value, float | int | Real | Decimal | np.bool_)
    return number and not isinstance(value, np.timedelta64)


def _is_numeric(values):
    """Return whether a column has only numbers or truth values, by its type."""
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype.kind in "biuf"
    extension = isinstance(dtype, pd.api.extensions.ExtensionDtype)
    if not extension or isinstance(dtype, pd.CategoricalDtype):
        return False
    return is_numeric_dtype(dtype) or is_bool_dtype(dtype)


def _mapped(values, function, dtype, other):
    """Return the result of a function for each value.

    ``other`` is the result for types that tables refuse: dates, complex numbers.
    """
    if isinstance(getattr(values, "dtype", None), pd.CategoricalDtype):
        column = pd.Series(values, copy=False).cat
        # Each category once; −1, the code of a missing value, is the last place.
        categories = [*column.categories.astype(object), None]
        return _mapped(categories, function, dtype, other)[column.codes.to_numpy()]
    elements = as_elements(values)
    result = np.empty(len(elements), dtype=dtype)
    if elements.dtype.kind in "cmM":
        result[:] = other
        return result
    for start in range(0, len(elements), 2**16):  # so many Python objects at a time
        part = elements[start : start + 2**16].tolist()
        # Equal values of these types have the same meaning, 1 and True too: each is converted
        # once.
        plain = [type(value) in {str, int, float, bool} for value in part]
        results = {value: function(value) for value in set(compress(part, plain))}
        result[start : start + len(part)] = [
            results[value] if is_plain else function(value)
            for value, is_plain in zip(part, plain, strict=True)
        ]
    return result


def _decoded(value):
    with suppress(UnicodeDecodeError):
        return value.decode()
    return None


def _as_iso(text):
    """Return the ISO form of a date or time in text, or None."""
    if text[:1].isdigit() and (":" in text or "-" in text):
        for kind in (time, datetime):
            with suppress(ValueError):
                return kind.fromisoformat(text).isoformat()
    return None


def _person_id(value):
    """Return the ID in a text, and any other value unchanged: IDs are whole numbers or text.

    Unlike :func:`canonical`, which compares floats, it distinguishes large whole numbers.
    """
    if isinstance(value, str):
        text = value.strip()
        if _HEXADECIMAL.fullmatch(text):
            return (int(text, 16) + 2**63) % 2**64 - 2**63
        if re.fullmatch(r"[+-]?[0-9]{1,4000}", text):  # Python reads no longer ones
            return int(text)
        return None if text in _MISSING else composed(str(value))
    return value
