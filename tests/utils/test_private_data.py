"""Private rows: each is read by itself, is not rounded, and is refused without a value shown."""

import decimal
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator

from skdp.utils._frames import as_elements
from skdp.utils._validation import check_table, validate_private_data

LARGE = [2**62 + 512, 2**62 + 513]


def frame(*columns):
    return pd.DataFrame({f"c{i}": column for i, column in enumerate(columns)})


@pytest.mark.parametrize(
    "X",
    [
        np.array([LARGE]).T,
        np.array([LARGE], dtype=np.uint64).T,
        np.array([LARGE], dtype=object).T,
        [[value] for value in LARGE],
        [[value, 0.5] for value in LARGE],  # NumPy makes one float64 array of these
        [[10**30], [10**30 + 2**50]],
        frame(LARGE),
        frame(LARGE, [0.5, 0.5]),
        frame(np.array(LARGE), np.array([0.5, 0.5], dtype=np.float32)),
        frame(pd.array(LARGE, dtype="Int64"), [0.5, 0.5]),
        frame(pd.Series(LARGE, dtype=object)),
        frame(pd.Categorical(LARGE)),
    ],
)
def test_whole_numbers_one_apart_stay_one_apart(X):
    rows = validate_private_data(BaseEstimator(), X)
    assert_array_equal(rows[:, 0], [2.0**53, 2.0**53])
    if rows.shape[1] == 2:
        assert_array_equal(rows[:, 1], [0.5, 0.5])


def test_clipping_is_exact_below_and_symmetric():
    X = np.array([[2**53 - 1], [2**53], [2**53 + 1], [-(2**53) + 1], [-(2**60)]])
    rows = validate_private_data(BaseEstimator(), X)
    assert rows.ravel().tolist() == [2**53 - 1, 2**53, 2**53, -(2**53) + 1, -(2**53)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_stay_as_they_are(dtype, rng):
    X = (rng.standard_normal((50, 3)) * 10.0 ** rng.randint(-30, 30, (50, 3))).astype(dtype)
    for given in (X, X[:, ::-1], pd.DataFrame(X, columns=list("abc"))):
        rows = validate_private_data(BaseEstimator(), given)
        assert rows.dtype == dtype
        assert_array_equal(rows, np.asarray(given))
    mixed = pd.DataFrame({"a": X[:, 0], "b": np.arange(50)})
    assert_array_equal(validate_private_data(BaseEstimator(), mixed)[:, 0], X[:, 0])


def test_small_types_are_kept():
    X = np.array([[1, 0], [3, 1]])
    for dtype in (bool, np.int8, np.uint16, np.int32, np.float16, object):
        given = X.astype(dtype)
        assert_array_equal(validate_private_data(BaseEstimator(), given), given.astype(float))


def test_targets_pass_and_the_input_is_not_written():
    X, y = np.array([[2**60, 1], [3, 4]]), np.array([0, 1])
    before = X.copy()
    rows, target = validate_private_data(BaseEstimator(), X, y)
    assert rows.max() == 2.0**53
    assert_array_equal(target, y)
    assert_array_equal(X, before)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="longdouble is float64 here")
@pytest.mark.parametrize("wrap", [np.asarray, list, pd.DataFrame, lambda X: X.astype(object)])
def test_longdouble_is_refused(wrap):
    with pytest.raises(TypeError, match=r"float128|longdouble"):
        validate_private_data(BaseEstimator(), wrap(np.ones((3, 2), dtype=np.longdouble)))


SECRET = "31.4159"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "X",
    [
        [[SECRET], ["2"]],
        np.array([[SECRET], ["2"]]),
        np.array([[SECRET], [1.0]], dtype=object),
        frame([SECRET, "2"]),
        frame([SECRET, "2"], [1.0, 2.0]),
        [[decimal.Decimal(SECRET)]],
        np.array([["2020-01-01"]], dtype="M8[ns]"),
        frame(pd.to_datetime(["2020-01-01"])),
        frame(pd.to_timedelta([1], unit="s")),
        frame(pd.period_range("2020", periods=2)),
        np.array([float(SECRET), 1.0]),
        np.array(float(SECRET)),
        np.full((2, 2, 2), float(SECRET)),
        np.full((2, 2), complex(SECRET)),
        [[10**400], [1]],
    ],
)
def test_what_would_be_rounded_is_refused_without_its_values(X):
    with pytest.raises((TypeError, ValueError)) as caught:
        validate_private_data(BaseEstimator(), X)
    error = caught.value
    while error is not None:
        assert SECRET not in str(error)
        assert "2020" not in str(error)
        error = error.__context__


def test_nothing_but_finite_numbers_passes_whatever_is_configured():
    with config_context(assume_finite=True):
        for bad in (np.nan, np.inf, -np.inf):
            with pytest.raises(ValueError, match="Input X contains"):
                validate_private_data(BaseEstimator(), np.array([[1.0], [bad]]))


def test_no_error_prints_complex_labels():
    with pytest.raises(ValueError, match="labels must be real numbers or text") as caught:
        validate_private_data(BaseEstimator(), np.zeros((2, 1)), np.array([1 + 99.5j, 2]))
    assert "99.5" not in str(caught.value)


class Column:
    """A column of a library that is neither NumPy nor pandas, with a mask."""

    dtype = "masked integers"

    def to_list(self):
        return [2**53 + 1, None]

    def __array__(self, dtype=None, copy=None):
        return np.array([2.0**53, np.nan], dtype=dtype)


@pytest.mark.parametrize(
    "column",
    [
        [2**53 + 1, None],
        (2**53 + 1, None),
        Column(),
        pd.Series([2**53 + 1, None], dtype="Int64"),
        pd.array([2**53 + 1, None], dtype="Int64"),
        pd.Series([2**53 + 1, None], dtype=pd.CategoricalDtype([2**53 + 1])),
        pd.Categorical([2**53 + 1, None], categories=[2**53 + 1]),
        np.array([2**53 + 1, None], dtype=object),
    ],
)
def test_one_missing_element_rounds_no_other(column):
    first, second = as_elements(column)
    assert first == 2**53 + 1
    assert pd.isna(second)


def test_what_has_a_dtype_keeps_it():
    numbers = np.arange(3, dtype=np.int8)
    assert as_elements(numbers) is numbers
    assert as_elements(pd.Series(numbers)).dtype == np.int8
    assert as_elements(np.array(["a"])).dtype.kind == "U"


def test_elements_may_be_sequences_and_columns_must_be():
    assert as_elements([[1, 2], (3, 4)]).tolist() == [[1, 2], (3, 4)]
    for wrong in ("ab", b"ab", None, 3, iter([1])):
        with pytest.raises(ValueError, match="an array or a list"):
            as_elements(wrong)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1, 2], [3]], "Reshape your data"),
        (np.full(7, 4.25), "Expected 2D array, got 1D array instead. Reshape your data"),
        (np.full((7, 7, 7), 4.25), "got 3D array"),
        (4.25, "got scalar"),
        (np.full((7, 1), 4.25j), "Complex"),
        (pd.DataFrame({"a": [4.25j]}), "Complex"),
        (np.empty((7, 0)), "a minimum of 1 is required"),
        (np.empty((0, 7)), "a minimum of 1 sample"),
    ],
)
def test_shapes_are_refused_without_their_size(X, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        check_table(X)
    assert not re.search("7|4.25", str(error.value))


def test_tables_pass():
    for X in (np.zeros((2, 3)), [[1, 2]], pd.DataFrame({"a": ["x"]}), sparse.eye(3)):
        check_table(X)
    check_table(np.empty((0, 7)), min_samples=0)
