"""Validation shared by several subpackages, and text that is safe to display."""

from collections.abc import Iterable

import numpy as np
from sklearn import utils
from sklearn.utils import validation
from sklearn.utils.validation import check_is_fitted

from skdp.utils._frames import as_frame
from skdp.utils._text import matched
from skdp.utils._warnings import warn

# Smallest and largest magnitude of data. Kernel weights are inverse squares of ranges, and
# squares of squared errors are summed: within these bounds all of them stay
# within double precision, and squares within single precision.
SMALLEST = 1e-12
LARGEST = 1e12


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
