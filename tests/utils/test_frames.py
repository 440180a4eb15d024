"""Tables and columns of other libraries: what is converted, what is not, and what fails."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

from skdp.utils._frames import as_column, as_elements, as_frame
from skdp.utils._validation import check_array

pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
pl = pytest.importorskip("polars", reason="compares with polars")

LARGE = 2**53 + 1


class Stream:
    """A table or column with Arrow's interface and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def test_arrays_and_tables_of_pandas_stay_what_they_are(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((3, 2)))
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    frame = pd.DataFrame({"a": [1, 2], "b": pd.array([1, None], dtype="Int64"), "c": ["x", None]})
    for given in (rows, frame, frame["a"], frame["b"], [[1, 2]], None, "text", frame.index):
        assert as_frame(given) is given
    assert np.shares_memory(check_array(rows), rows)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda values: pa.table({"id": values}),
        lambda values: pl.DataFrame({"id": values}),
        lambda values: pl.LazyFrame({"id": values}),
        lambda values: Stream(pa.table({"id": values})),
        lambda values: pd.DataFrame({"id": pd.Series(values, dtype="int64[pyarrow]")}),
    ],
)
def test_a_missing_value_rounds_no_other(wrap):
    assert as_frame(wrap([LARGE, None]))["id"].tolist() == [LARGE, pd.NA]
    assert as_frame(wrap([LARGE, 1]))["id"].dtype == np.int64


@pytest.mark.parametrize(
    "column",
    [
        pa.array([LARGE, None]),
        pa.chunked_array([[LARGE], [None]]),
        pl.Series([LARGE, None]),
        Stream(pa.chunked_array([[LARGE, None]])),
        pd.Series([LARGE, None], dtype="int64[pyarrow]"),
        pa.array([2**63, None], pa.uint64()),
    ],
)
def test_columns_are_read_exactly(column):
    first, second = as_elements(column)
    assert first in {LARGE, 2**63}
    assert second is pd.NA
    assert as_column(column).tolist() == [first, None]


def test_tables_of_pandas_keep_their_index_and_names():
    frame = pd.DataFrame([[1, "x", 1.5], [None, "y", 2.5]], index=[7, 9], columns=["a", "b", "a"])
    arrow = frame.copy()
    arrow.isetitem(0, frame.iloc[:, 0].astype("int64[pyarrow]"))
    arrow.isetitem(1, pd.Series(["x", "y"], dtype=pd.ArrowDtype(pa.string()), index=[7, 9]))
    found = as_frame(arrow)
    assert_frame_equal(found.astype(object), arrow.astype(object))
    assert [str(dtype) for dtype in found.dtypes] == ["Int64", "category", "float64"]
    assert [str(dtype) for dtype in arrow.dtypes] == [
        "int64[pyarrow]",
        "string[pyarrow]",
        "float64",
    ]


def test_what_cannot_be_read_is_named_without_a_value():
    fails = pl.LazyFrame({"age": ["secret", "2"]}).select(pl.col("age").cast(pl.Int64))

    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError("secret")

    for given in (fails, Broken()):
        with pytest.raises(ValueError, match=r"'frame' parameter, of type \w+, cannot") as error:
            as_frame(given, "frame")
        assert error.value.__context__ is None
        assert "secret" not in str(error.value)


def test_without_pyarrow_polars_is_read_and_others_are_named(monkeypatch):
    table = pa.table({"age": [1, 2]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = pl.DataFrame({"age": [1, 2]})
    assert as_frame(frame) is frame
    assert as_frame(frame.lazy()).equals(frame)
    assert_array_equal(check_array(frame), [[1], [2]])
    assert as_elements(frame["age"]).tolist() == [1, 2]
    with pytest.raises(ImportError, match=r"'X' parameter, of type Stream, .*skdp\[parquet\]"):
        as_frame(Stream(table))
