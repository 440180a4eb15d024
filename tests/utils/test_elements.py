"""Columns whose elements stay what they are, and shapes that are refused without their size."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skdp.utils._elements import as_elements, check_table


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
