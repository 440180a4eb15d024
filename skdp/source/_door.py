"""Input checks of private data: one for tables, one for labels, one for the IDs of people.

Sources, accumulators, bounds, evaluations and commands all use them. Wherever possible, checks
depend on types rather than values. No message quotes a value.
"""

import sys
from math import inf
from numbers import Real

import numpy as np
import pandas as pd
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from skdp.privacy import PrivacyLeakWarning
from skdp.source._integers import ROW
from skdp.tabular import ClassOutcome, canonical, class_fault, numbers, person_ids
from skdp.utils._frames import as_elements
from skdp.utils._labels import natural_labels
from skdp.utils._validation import validate_private_data
from skdp.utils._warnings import warn

# Largest number of classes taken from numbers, or from text that hardly repeats: more are probably
# measurements or IDs.
_MOST_CLASSES = 50
# Missing values in a column of objects, besides NaN.
_MISSING = {type(None), type(pd.NA), type(pd.NaT)}


def is_dask(X):
    """Return whether X is a Dask array or DataFrame, or a column of one."""
    dask = sys.modules.get("dask")  # it has been imported where such a collection exists
    return dask is not None and dask.is_dask_collection(X) and hasattr(X, "to_delayed")


def read_numbers(estimator, X, **settings):
    """Return rows of numbers, see :func:`validate_private_data`; errors advise on tables."""
    try:
        return validate_private_data(estimator, X, **settings)
    except (TypeError, ValueError) as error:
        if not ("NaN" in str(error) or "of type" in str(error)):
            raise
        raise type(error)(
            f"{str(error).splitlines()[0]} Rows of a table that has text or missing values need "
            "the 'encoder' parameter: encoder=schema."
        ) from None


def check_labels(y, X):
    """Return labels of any type, one for each row; raise ValueError otherwise."""
    labels = _column(y)
    if labels is None or labels.ndim != 1:
        raise ValueError("y should be a 1d array: one label for each row.")
    if labels.dtype.kind == "c":
        raise ValueError("Complex data not supported: labels must be real numbers or text.")
    if len(labels) != len(X):
        raise ValueError(
            "The 'X' and 'y' parameters have inconsistent numbers of samples. Give one label for "
            "each row."
        )
    return labels


def read_outcome(y, X, outcome):
    """Return the columns of y, each with one label per row, of types that fit the outcome."""
    try:
        columns = outcome.parts(y)
    except Exception:  # an error of y may quote private values
        columns = None
    if columns is None:
        names = " and ".join(map(repr, outcome.columns))
        raise ValueError(
            "The 'y' parameter must be a structured array of event and time, such as "
            "numpy.array([(True, 5.0)], dtype=[('event', bool), ('time', float)]), or a table "
            f"with the columns {names}, as the outcome is a time."
        )
    labels = tuple(check_labels(column, X) for column in columns)
    refusal = outcome.refusal(y, *labels) if outcome.is_complete else None
    if refusal is not None:
        raise ValueError(refusal)
    return labels


def _column(y):
    """Return labels, or a single column of labels, as an array; None for anything else."""
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        warn(
            "A column-vector y was passed when a 1d array was expected. Pass y.ravel(), or the "
            "column itself.",
            DataConversionWarning,
        )
        y = y.iloc[:, 0] if hasattr(y, "iloc") else np.asarray(y)[:, 0]
    try:
        return as_elements(y.tolist() if isinstance(y, np.ma.MaskedArray) else y)
    except Exception:  # an error of y may quote private values
        return None


def classes_of(labels):
    """Return the outcome whose classes are the labels that occur, possibly none."""
    if labels is None:
        raise ValueError(
            "The 'classes' parameter of DPStatisticsSource is needed where rows arrive in parts: "
            "list the classes that may occur, such as classes=['ill', 'well']."
        )
    [y] = labels
    refuse_measurements(y, "DPStatisticsSource")
    labels = y.tolist()
    different: list = sorted(set(labels), reverse=True) if _alike(labels) else [None]
    # The first of several spellings of a class, such as "1" and "1.0".
    spellings = {canonical(label): label for label in different}
    if None in spellings:
        raise ValueError(
            "Input y contains NaN, or None, or labels that are not all numbers or all text. List "
            "the classes in the 'classes' parameter: rows of no class of the list are left out."
        )
    check_classification_targets(natural_labels(y))
    classes = np.array(sorted(spellings.values()))
    if len(classes) < 2:
        raise ValueError(
            "The 'y' parameter of DPStatisticsSource.fit must hold at least two classes, got "
            "one class. List all that may occur in the 'classes' parameter."
        )
    warn(
        "DPStatisticsSource(classes=None) takes the names of the classes from y, and releases "
        "them: that each of them occurs is not protected. List those that may occur, known "
        "without looking at the rows, in the 'classes' parameter.",
        PrivacyLeakWarning,
    )
    return ClassOutcome(classes)


def listed_classes(given):
    """Return the list of the 'classes' parameter, sorted."""
    labels = list(given)
    classes = np.sort(np.array(labels if _alike(labels) else []))
    fault = class_fault(tuple(classes.tolist()))
    if fault is not None:
        raise ValueError(f"The 'classes' parameter of DPStatisticsSource {fault}")
    return classes


def _alike(labels):
    """Return whether labels are all text, or all real numbers that a release can hold.

    An array of both would convert numbers to text, which equals no number in y.
    """
    if all(isinstance(label, str) for label in labels):
        return True
    if not all(isinstance(label, Real | np.bool_) for label in labels):
        return False
    numbers = np.array(labels)  # of objects, where one is too large
    # A release holds numbers of 64 bits at most.
    stored = numbers.dtype.kind in "biuf" and numbers.itemsize <= 8
    return stored and bool(np.isfinite(numbers).all())


def refuse_measurements(y, where):
    """Raise ValueError where labels look like measurements, names or IDs rather than classes.

    This comes before any work, because each class costs time, memory and noise.
    """
    different = len(set(y.tolist())) if y.dtype.kind in "OUS" else len(np.unique(y))
    if different <= _MOST_CLASSES:
        return
    number = y.dtype.kind in "iuf" or not np.isnan(numbers(y)).any()
    if number or different > len(y) / 2:
        what = "numbers" if number else "values, about as many as rows"
        raise ValueError(
            f"The 'y' parameter of {where}.fit holds more than {_MOST_CLASSES} different {what}: "
            "measurements or names rather than classes. Group measurements by public limits, as "
            "numpy.digitize(y, [100, 1000]) does. If these are classes, list them in 'classes' "
            "or the schema."
        )


def check_budget(where, epsilon, delta):
    """Raise ValueError unless ε and δ are valid parameters of a function."""
    for name, value, most in (("epsilon", epsilon, inf), ("delta", delta, 1)):
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not (number and value > 0 and (value < most or most == inf)):
            raise ValueError(
                f"The {name!r} parameter of {where} must be a number above 0"
                f"{'' if most == inf else ' and below 1'}, got {value!r:.100}. epsilon=1 and "
                "delta=1e-5 are usual choices; smaller is more private."
            )


def read_persons(groups, n_samples, where):
    """Return the ID of each row's person in one form; None if single records are protected."""
    # IDs are whole numbers, or text, in which numbers are the same IDs. Other types can represent
    # a person in several ways, as dates in other units or floats of other widths do: a single
    # broken number would turn all IDs into floats, in which large ones collide, and a person who
    # returns in a later chunk would count as another one.
    if groups is None:
        return None
    persons = _column(groups)
    if persons is None or persons.shape != (n_samples,):
        raise ValueError(
            f"The 'groups' parameter of {where} must have one entry for each row, and no more."
        )
    if not _are_ids(persons):
        raise ValueError(
            f"The 'groups' parameter of {where} must hold whole numbers only, or text only. "
            "Convert IDs alike in all chunks. If IDs are missing in some rows, pandas makes them "
            "floats: leave such rows out, or read text."
        )
    persons = person_ids(persons)
    if pd.isna(persons).any():
        raise ValueError(
            f"The 'groups' parameter of {where} lacks the group of some rows. Name the person of "
            "each row, or leave such rows out."
        )
    return persons


def _are_ids(persons):
    """Return whether an array holds whole numbers only, or text only, besides missing values."""
    if persons.dtype.kind != "O":
        return persons.dtype.kind in "Uiu"
    # NaN is a float, and missing.
    types = {type(p) for p in persons.tolist() if not (isinstance(p, float) and p != p)}
    types -= _MISSING
    text = all(issubclass(t, str) for t in types)
    return text or all(issubclass(t, int | np.integer) and t is not bool for t in types)


def group_sizes(persons):
    """Return for each row the number of rows of its person, and the people."""
    codes, different = pd.factorize(np.asarray(persons))
    return np.bincount(codes)[codes], different


def row_weights(persons, n_rows):
    """Return the weight of each row in units of 1/ROW: a person's rows add up to at most one."""
    if persons is None:
        return np.full(n_rows, ROW, dtype=np.int64)
    return ROW // group_sizes(persons)[0]
