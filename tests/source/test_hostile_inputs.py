"""Inputs of every wrong kind: no error shows a value or a number of rows, none costs anything."""

import re
import warnings
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skdp import DPSource, DPStatisticsSource, evaluate_privately, quantile_bounds
from skdp.privacy import PrivacyLedger

N_ROWS, N_COLUMNS = 37, 3
# What is private bears these digits, and so do the rows' numbers: no public number does.
SECRET = re.compile(r"7391|S-7|\b3[5678]\b")
SCHEMA = {
    "columns": {
        "age": {"type": "numeric", "low": 0, "high": 1},
        "sex": {"type": "category", "categories": ["f", "m"]},
        "ward": {"type": "category", "categories": ["A", "B", "C"], "missing": True},
    },
    "classes": [0, 1],
    "version": 1,
}
VALUES = [
    *(
        0.7391,
        7391,
        -7391,
        7391e300,
        7391e-320,
        -0.0,
        np.nan,
        np.inf,
        -np.inf,
        None,
        pd.NA,
        pd.NaT,
    ),
    *(True, "S-7391", "0.7391", b"S-7391", "", "A", 7391j, 2**70, -(2**63), 2**64 - 1, 10**400),
    *(Decimal("7391.5"), Fraction(7391, 3), date(1973, 9, 1), pd.Timestamp("1973-09-01")),
    *(np.float16(7.391), np.longdouble("7391.5"), np.uint8(73), np.datetime64("1973-09-01")),
    *([7391], (7391,), {7391: 1}, {7391}, np.array([7391]), slice(7391), object, print),
    *(
        np.ma.masked,
        pd.Interval(0, 7391),
        pd.Period("1973-09"),
        complex(np.nan, 7391),
        range(7391),
    ),
]
DTYPES = [
    *(
        "f2",
        "f4",
        "f8",
        "g",
        "i1",
        "u8",
        "i8",
        "?",
        "c16",
        "O",
        "U8",
        "S8",
        "M8[s]",
        "m8[s]",
        "V8",
    ),
]


class Hostile:
    """No array, and quotes its secret whatever is asked of it."""

    shape, ndim, dtype, columns = (N_ROWS, N_COLUMNS), 2, "S-7391", ["S-7391"]

    def __len__(self):
        return N_ROWS

    def __repr__(self):
        return "S-7391"

    def __array__(self, *args, **kwargs):
        raise ValueError("S-7391")

    def __iter__(self):
        raise KeyError("S-7391")


def choice(rng, options):
    return options[rng.randint(len(options))]


def changed(rng, values):
    """Return values of which one or several are of another kind, in an array of objects."""
    objects = np.empty(values.shape, dtype=object)
    objects.ravel()[:] = values.ravel()
    flat = objects.reshape(-1)
    value = choice(rng, VALUES)
    for i in rng.randint(flat.size, size=choice(rng, [1, 1, 3, flat.size])):
        flat[i] = value
    return flat.reshape(values.shape)


def cast(rng, values):
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return values.astype(choice(rng, DTYPES))
    except Exception:  # some values are none of that kind
        return values


def shaped(rng, values):
    """Return values of another shape."""
    n = len(values)
    cut = rng.randint(n)
    forms = [
        *(values[:cut], values[:0], values[:1], values.ravel(), values[np.newaxis], values.T),
        *(values[..., np.newaxis], np.repeat(values, 2, axis=0), values[:, ..., None], 0.7391),
    ]
    return choice(rng, forms)


def nullable(frame):
    """Return a table in pandas' own types, where it has some (of complex numbers not before 3)."""
    try:
        return frame.convert_dtypes()
    except TypeError:
        return frame


def wrapped(rng, values):
    """Return values in another container."""
    if np.ndim(values) == 0:
        return values
    forms = [
        *(lambda: values, lambda: values.tolist(), lambda: tuple(values.tolist())),
        *(lambda: np.ma.masked_array(values, rng.rand(*values.shape) > 0.9), Hostile),
        *(lambda: sparse.csr_matrix(values), lambda: sparse.coo_array(values)),
        *(lambda: pd.DataFrame(values), lambda: nullable(pd.DataFrame(values))),
        *(
            lambda: pd.DataFrame(values, index=["S-7391"] * len(values)),
            lambda: pl.DataFrame(values if values.dtype.kind in "biuf" else [values.size]),
        ),
        *(lambda: pd.Series(list(values)), lambda: iter(values)),
        *(lambda: pd.Series(list(values), dtype="category"), lambda: np.asfortranarray(values)),
        *(
            lambda: np.array(values, order="F")[::-1],
            lambda: dict(enumerate(values)),
            lambda: None,
        ),
        *(
            lambda: [*values.tolist(), [0.7391]],
            lambda: values.view(np.recarray),
            lambda: "S-7391",
        ),
    ]
    try:
        return choice(rng, forms)()
    except Exception:  # the form is none for these values
        return values


def spoiled(rng, values, often):
    """Return values with something wrong."""
    values = np.asarray(values)
    for change in (changed, cast, shaped):
        if rng.rand() < often and np.ndim(values):
            values = change(rng, values)
    return wrapped(rng, values) if rng.rand() < often else values


def table(rng):
    """Return a table with values and columns that may be wrong."""
    columns = {
        "age": rng.rand(N_ROWS),
        "sex": rng.choice(["f", "m"], N_ROWS),
        "ward": rng.choice(["A", "B", "S-7391"], N_ROWS).astype(object),
    }
    for name in columns:
        if rng.rand() < 0.4:
            columns[name] = cast(rng, changed(rng, columns[name]))
        if rng.rand() < 0.1:
            columns[name] = choice(rng, [columns[name][:-1], columns[name][:, None], "S-7391"])
    if rng.rand() < 0.2:
        columns.pop(choice(rng, list(columns)))
    plain = all(np.asarray(column).dtype.kind in "biufU" for column in columns.values())
    frames = [pd.DataFrame] * 8 + [pl.DataFrame if plain else dict, dict, pd.Series]
    frame = choice(rng, frames)
    try:
        made = frame(columns)
    except Exception:  # the columns differ in length, or are none
        return pd.DataFrame(dict.fromkeys(columns, 0.7391), index=range(N_ROWS))
    if frame is pd.DataFrame and rng.rand() < 0.3:
        return choice(
            rng,
            [nullable(made), made.T, made.set_index([["S-7391"] * len(made)])],
        )
    return made


def case(rng):
    """Return a source, and what it is fitted to."""
    ledger, y = PrivacyLedger(), rng.randint(2, size=N_ROWS)
    X, groups = rng.rand(N_ROWS, N_COLUMNS) * 0.7391, rng.randint(9, size=N_ROWS)
    X.flat[rng.randint(X.size)] = 0.7391
    encoded = rng.rand() < 0.4
    X = table(rng) if encoded else spoiled(rng, X, 0.35)
    y = spoiled(rng, y, 0.15)
    by_group = rng.rand() < 0.2
    if rng.rand() < 0.6:
        listed = choice(rng, [[0, 1], [0, 1], ["a", "b"], None])
        source = DPStatisticsSource(
            classes=listed, model="linear", privacy_unit="group" if by_group else "record"
        )
        data = (X, y, spoiled(rng, groups, 0.3)) if by_group else (X, y)
    else:
        source = DPSource(
            n_layers=1, n_components=1, n_inducing=2, parts=choice(rng, ["papers", "noise_aware"])
        )
        if not encoded:
            source.set_params(**choice(rng, [{"bounds": (0, 1)}, {"sensitivity": 1.0}]))
        data = X, y
    if encoded:
        source.set_params(encoder=SCHEMA)
    return source.set_params(ledger=ledger), data


class Model:
    """A public classifier of any rows."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def function_case(rng):
    """Return a call of a function that takes private rows, and its ledger."""
    ledger, y = PrivacyLedger(), spoiled(rng, rng.randint(2, size=N_ROWS), 0.3)
    groups = spoiled(rng, rng.randint(9, size=N_ROWS), 0.3) if rng.rand() < 0.5 else None
    settings = {"groups": groups, "ledger": ledger}
    rows = table(rng)
    if rng.rand() < 0.5:
        X = spoiled(rng, rng.rand(N_ROWS, N_COLUMNS), 0.3) if rng.rand() < 0.5 else rows
        return lambda: evaluate_privately(Model(), X, y, **settings), ledger
    numeric = ["age"] if rng.rand() < 0.8 else choice(rng, [["sex", "age"], [], ["S-no"]])
    return lambda: quantile_bounds(rows, numeric, ["ward"], epsilon=1.0, **settings), ledger


def texts(error):
    """Yield all that a traceback shows of an error."""
    while error is not None:
        yield str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def outcome(call):
    """Return the result of a call, or None, and all that it shows."""
    result, shown = None, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:
            shown = " ".join(texts(error))
    return result, shown + " ".join(str(each.message) for each in caught)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(11))
def test_hostile_inputs_show_nothing_and_cost_nothing(seed):
    rng, refused = np.random.RandomState(seed), 0
    for _ in range(100):
        source, data = case(rng)
        fitted, shown = outcome(lambda source=source, data=data: source.fit(*data))
        refused += fitted is None
        entered = [guarantee for _, guarantee in source.ledger.entries]
        assert entered == ([] if fitted is None else [source.guarantee_]), shown
        assert hasattr(source, "release_") == (fitted is not None)
        assert not SECRET.search(shown), shown
    assert 50 < refused < 95  # of each kind some


@pytest.mark.parametrize("seed", range(2))
def test_hostile_inputs_of_functions_show_nothing_and_cost_nothing(seed):
    rng, refused = np.random.RandomState(seed), 0
    for _ in range(100):
        call, ledger = function_case(rng)
        result, shown = outcome(call)
        refused += result is None
        entered = [guarantee for _, guarantee in ledger.entries]
        assert entered == ([] if result is None else [result.guarantee]), shown
        assert not SECRET.search(shown), shown
    assert 20 < refused < 95  # of each kind some


def by_ledger(source, data):
    """Return a source that its ledger has released."""
    ledger = source.ledger
    source.set_params(ledger=None)
    groups = {"groups": data[2]} if len(data) > 2 else {}
    fitted = ledger.release(source, *data[:2], **groups)
    return fitted


def test_hostile_inputs_of_a_ledger_show_nothing_and_cost_nothing():
    rng = np.random.RandomState(303)  # text in place of labels is among these
    for _ in range(60):
        source, data = case(rng)
        ledger = source.ledger
        fitted, shown = outcome(lambda source=source, data=data: by_ledger(source, data))
        assert len(ledger.entries) == (fitted is not None), shown
        assert not SECRET.search(shown), shown
