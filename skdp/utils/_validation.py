"""Validation shared by several subpackages, and text that is safe to display.

Private rows are validated without rounding, and without values in error messages.
"""

from collections.abc import Iterable

import numpy as np
from scipy import sparse
from sklearn import config_context, utils
from sklearn.utils import validation
from sklearn.utils.validation import check_is_fitted

from skdp.utils._frames import as_frame, matched
from skdp.utils._sklearn import InvalidParameterError
from skdp.utils._warnings import warn

# Smallest and largest magnitude of data. Kernel weights are inverse squares of ranges, and
# squares of squared errors are summed: within these bounds all of them stay
# within double precision, and squares within single precision.
SMALLEST = 1e-12
LARGEST = 1e12
# Bytes of the widest float that is no wider than float64, and of the widest integer all of whose
# values are float64 numbers.
_FLOAT_BYTES, _INTEGER_BYTES = 8, 4
# Types that an array or column of objects may contain: float64 numbers, or integers that are
# clipped to these.
_SCALARS = (float, int, bool, type(None), np.float16, np.float32, np.float64, np.integer, np.bool_)


def check_magnitude(values, name):
    """Raise ValueError unless the largest magnitude is within the supported range.

    Squares, products and inverse squares of the values must be floating-point numbers.
    """
    # Without np.abs, which would copy all values.
    largest = max(float(values.max()), -float(values.min()))
    if largest and not SMALLEST < largest < LARGEST:
        raise ValueError(
            f"Input {name} must have its largest magnitude between {SMALLEST:g} and "
            f"{LARGEST:g}, got {largest:g}. Scale it to about unit range."
        )


def validate_data(estimator, X, *y, **settings):
    """Validate rows, and outputs if given, as scikit-learn does, of any library."""
    outputs = [as_frame(values, "y") for values in y]
    return validation.validate_data(estimator, as_frame(X), *outputs, **settings)


def check_array(X, **settings):
    """Validate rows as scikit-learn does, of any library."""
    return utils.check_array(as_frame(X), **settings)


def validate_training_data(estimator, X, *y, **settings):
    """Return validated training rows, and outputs of a regression if given."""
    settings["dtype"] = [np.float64, np.float32]
    validated = validate_data(estimator, X, *y, **settings)
    for values, name in zip(validated if y else (validated,), "Xy", strict=False):
        check_magnitude(values, name)
    return validated


def warn_of_scales(estimator, X):
    """Warn if a few columns decide distances because their values are much larger than others.

    The text reveals nothing about the rows, which may be private.
    """
    deviations = X.std(axis=0, dtype=np.float64)
    varying = deviations[deviations > 0]
    # Pixels of images, which need no scaling, are far above a hundredth.
    if varying.size and np.median(varying) < 0.01 * varying.max():
        warn(
            f"{type(estimator).__name__} adds up squared errors of columns of very different "
            "scales, so the largest ones decide. Scale the columns first, by public bounds if "
            "rows are private, otherwise by a StandardScaler in a pipeline."
        )


def validate_queries(estimator, X):
    """Return validated rows for a prediction of a fitted estimator."""
    check_is_fitted(estimator)
    return validate_data(estimator, X, dtype="numeric", reset=False)


def forget_fit(estimator):
    """Delete the fitted attributes, which end in an underscore."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)


def checked_subset(caller, names, available):
    """Return chosen names as a tuple; refuse empty lists and unknown or repeated names."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ValueError(
            f"The 'names' parameter of {caller} must be a list of names, got {names!r:.100}. "
            f"Pass [{names!r:.100}]."
        )
    chosen = tuple(matched(names, available))
    if not chosen:
        raise ValueError(
            f"The 'names' parameter of {caller} is empty. Name at least one column to keep."
        )
    unknown = [name for name in chosen if name not in available]
    if unknown:
        raise ValueError(
            f"The 'names' parameter of {caller} has unknown columns, {unknown!r:.300}. Use some "
            f"of {list(available)!r:.1000}."
        )
    twice = [name for name in dict.fromkeys(chosen) if chosen.count(name) > 1]
    if twice:
        raise ValueError(
            f"The 'names' parameter of {caller} has the columns {twice!r:.300} more than once. "
            "Name each column once."
        )
    return chosen


def listed(names, shown=10, show="{!r:.100}".format):
    """Return names as text, only the first ones of many."""
    more = f" and {len(names) - shown:,} more" if len(names) > shown else ""
    return ", ".join(map(show, names[:shown])) + more


def inline(text):
    """Return untrusted text as one line without control characters."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def check_table(X, min_samples=1):
    """Raise ValueError unless X has the shape of a table of real numbers."""
    # scikit-learn's own errors reveal the number of rows, and print complex numbers and values of
    # other shapes. These errors do not.
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
        frame = hasattr(X, "dtypes") and len(X.shape) == 2
        return tuple(X.shape), list(X.dtypes) if frame else [getattr(X, "dtype", None)]
    try:
        array = np.asarray(X)
    except Exception:  # the message of any exception may quote values
        return None, []
    return array.shape, [array.dtype]


def validate_private_data(estimator, X, *y, **settings):
    """Validate rows as scikit-learn does, so that neighbors remain neighbors; quote no value."""
    # float32 and float64 rows are not changed. Integers are clipped to ±2^53 before conversion to
    # float64, which does not increase the distance of any two of them and does not depend on the
    # data. Anything that is neither an array nor a DataFrame may contain integers among floats,
    # and is clipped likewise. Other types, which would be rounded by more than the sensitivity if
    # values are large, are refused.
    X = as_frame(X)
    check_table(X, settings.get("ensure_min_samples", 1))
    exact = True if sparse.issparse(X) else _is_exact(X)  # scikit-learn refuses sparse rows
    if any(getattr(np.asarray(labels).dtype, "kind", "O") == "c" for labels in y):
        raise ValueError("Complex data not supported: labels must be real numbers or text.")
    settings = {"dtype": [np.float64, np.float32], **settings}
    try:
        with config_context(assume_finite=False):
            validated = validate_data(estimator, X, *y, **settings)
    except OverflowError:
        validated = None
    if validated is None:
        raise ValueError("Input X holds whole numbers too large for float64. Scale it.")
    if np.all(exact):
        return validated
    rows, *rest = validated if y else (validated,)
    # float64 represents every integer up to here; beyond, neighbors that differ by 1 may become
    # floats that differ by 1,024.
    limit = np.where(exact, np.inf, 2.0**53).astype(rows.dtype)
    rows = np.clip(rows, -limit, limit)
    return (rows, *rest) if y else rows


def _is_exact(X):
    """Return whether X, or each of its columns, can be converted to float64 without rounding."""
    if hasattr(X, "iloc") and hasattr(X, "dtypes"):
        columns = [X.iloc[:, i] for i in range(X.shape[1])]
        return np.array([_type_is_exact(column.dtype, column) for column in columns], dtype=bool)
    try:
        array = np.asarray(X)
    except Exception:  # the message of any exception may quote values
        array = None
    if array is None:
        raise ValueError("Input X cannot be read as an array. Pass an array, or a DataFrame.")
    return _type_is_exact(array.dtype, array) and (
        isinstance(X, np.ndarray) or array.dtype.kind != "f"
    )


def _type_is_exact(dtype, values):
    kind, size = getattr(dtype, "kind", "O"), getattr(dtype, "itemsize", _FLOAT_BYTES)
    if kind == "O":
        types = set(map(type, np.asarray(values, dtype=object).ravel().tolist()))
        wrong = sorted(t.__name__ for t in types if not issubclass(t, _SCALARS))
        if wrong:
            # scikit-learn's checks want "argument must be", "string" and "number" in this order.
            raise TypeError(
                f"Input X holds objects of type {', '.join(wrong)}. Each element of the argument "
                "must be an integer or a float of at most 64 bits, no string or wider number. "
                "Convert others by a public rule."
            )
        return False
    if kind not in "biuf" or (kind == "f" and size > _FLOAT_BYTES):
        raise TypeError(
            f"Input X is of type {_type_name(dtype)}; float64 would round large values by more "
            "than a sensitivity. Convert it to float64 by a rule that does not "
            "depend on the data, such as hours since a public date."
        )
    return kind in "bf" or size <= _INTEGER_BYTES


def _type_name(dtype):
    """Return the name of a dtype; for text without the length of the longest one."""
    return dtype.type.__name__ if getattr(dtype, "kind", "O") in "SUV" else str(dtype)


class PrivateParametersMixin:
    """An estimator whose errors about parameters do not quote arrays or tables.

    Private rows may be passed as a parameter by mistake, and errors are often logged.
    """

    def _validate_params(self):
        try:
            super()._validate_params()  # type: ignore[misc]
        except InvalidParameterError as error:
            start, _, _ = str(error).partition(" Got ")
            value = getattr(self, start.split("'")[1])
            if isinstance(value, str | int | float | None):
                raise
            kind = type(value).__name__
            raise InvalidParameterError(f"{start} Got a value of type {kind} instead.") from None
