"""One canonical form of values, whatever a program that reads a table makes of its columns."""

import datetime
import io
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from skdp import DPStatisticsSource, Schema
from skdp.commands._tables import read_table
from skdp.tabular import (
    CategoryColumn,
    Vocabulary,
    canonical,
    encode_table,
    missing_values,
    numbers,
    person_ids,
)
from skdp.tabular._values import ambiguity

# Values of one line are one value, those of different lines are different ones.
SAME = [
    [7, 7.0, "7", "007", " 7", "7 ", "+7", "7.", "7e0", "0x7", Decimal(7), Fraction(7), b"07"],
    [1, True, "TRUE", "true", " True", "1.0", np.bool_(True), np.int8(1), b"true"],
    [0, False, "-0", -0.0, "False", "0e5"],
    [0.1, "0.10", ".1", "1e-1", np.float32(0.1), np.float64(0.1), 0.1 + 1e-17, Decimal("0.10")],
    [2139, "02139", "2139.0", np.uint16(2139)],
    [2**53, 2**53 + 1, "9007199254740993", float(2**53)],
    [math.inf, "inf", "1e999", 10**400, "1" * 400],
    [-math.inf, "-Infinity", -(10**400)],
    [16, "0x10", "0X10"],
    [-1, "0xFFFFFFFFFFFFFFFF"],
    ["X01", b"X01", np.str_("X01")],
    ["x01"],
    ["X01 "],
    ["1_000"],
    ["1,000"],
    ["64 years"],
    ["2020-01-01", datetime.date(2020, 1, 1), pd.Timestamp("2020-01-01"), "2020-01-01 00:00"],
    ["12:30", datetime.time(12, 30), "12:30:00"],
    ["T12"],
    ["yes"],
    [np.timedelta64(1, "D")],
    [pd.Interval(0, 1), "(0, 1]"],
    [(1, 2)],
    [1j],
    ["none"],
    [
        None,
        np.nan,
        pd.NA,
        pd.NaT,
        Decimal("NaN"),
        Decimal("sNaN"),
        np.timedelta64("NaT"),
        "",
        "  ",
        "NA",
        "N/A",
        "nan",
        "NAN",
        "None",
    ],
]


def test_values_that_a_reader_may_turn_into_each_other_are_one():
    forms = [[canonical(value) for value in line] for line in SAME]
    for line, found in zip(SAME, forms, strict=True):
        assert set(found) == {found[0]}, line
    assert len({found[0] for found in forms}) == len(SAME)
    assert ambiguity(line[0] for line in SAME[:-1]) is None
    for line in SAME[:-1]:
        for value in line[1:]:
            fault = ambiguity([line[0], value])
            assert fault.endswith("which table readers take for the same value")
    for mark in SAME[-1]:
        assert ambiguity(["A", mark]).endswith("which marks missing values in tables")


@pytest.mark.parametrize("k", range(len(SAME)))
def test_values_are_found_in_a_vocabulary(k):
    vocabulary = Vocabulary([line[0] for line in SAME[:-1]])
    is_missing = k == len(SAME) - 1
    column = pd.Series(SAME[k], dtype=object)
    for values in (SAME[k], column, column.to_numpy()):
        assert vocabulary.codes(values).tolist() == [-1 if is_missing else k] * len(SAME[k])
        assert missing_values(values).tolist() == [is_missing] * len(SAME[k])
        found = numbers(values)
        assert_array_equal(
            np.isnan(found), [not isinstance(canonical(SAME[k][0]), float)] * len(found)
        )


@pytest.mark.parametrize(
    ("cells", "classes", "expected"),
    [
        (["1", "0.0", "2", ""], [0, 1], [1, 0, None, None]),
        (["1", "0.0", "2", ""], ["0", "1"], ["1", "0", None, None]),
        (["true", "FALSE", "True", "no"], [False, True], [True, False, True, None]),
        (["home", "Home", "died", "NA"], ["died", "home"], ["home", None, "died", None]),
        (["NA", "DE", "", "x"], ["FR", "DE"], [None, "DE", None, None]),
        (["07", "TRUE", " 1", "7e0"], [1, 7], [7, 1, 1, 7]),
        (["0.5", "1.5", "1.50", "1"], [0.5, 1.5], [0.5, 1.5, 1.5, None]),
    ],
)
def test_labels_are_found_in_a_list_of_classes(cells, classes, expected):
    cells = pd.Series(cells, dtype=object)
    found = [*classes, None]
    labels = [found[code] for code in Vocabulary(classes).codes(cells)]
    assert labels == expected
    assert [type(label) for label in labels] == [type(label) for label in expected]
    assert missing_values(cells).tolist() == [cell in ("", "NA") for cell in cells]


@pytest.mark.parametrize("dtype", ["Int64", "Float64", object, "category"])
def test_labels_of_columns_that_have_a_type(dtype):
    values = pd.Series([1, 0, None], dtype=dtype)
    assert Vocabulary([0, 1]).codes(values).tolist() == [1, 0, -1]
    assert missing_values(values).tolist() == [False, False, True]


@pytest.mark.parametrize(
    "dtype",
    ["float64", "float32", "Float64", "Float32", "double[pyarrow]", "category", object, "string"],
)
def test_fractions_of_any_width(dtype):
    if "pyarrow" in str(dtype):
        pytest.importorskip("pyarrow")
    values = pd.Series([0.1, 2.5, None, 3.0, 1e30], dtype=dtype)
    vocabulary = Vocabulary(["3", "0.1", 2.5])
    assert vocabulary.codes(values, 9).tolist() == [1, 2, 9, 0, 9]
    assert missing_values(values).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("dtype", ["int64", "uint8", "Int64", "bool", "boolean", "int64[pyarrow]"])
def test_whole_numbers_and_truth_values_of_any_type(dtype):
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    values = pd.Series([1, 0, 1], dtype=dtype)
    for listed in ([0, 1], [False, True], ["00", "TRUE"]):
        assert Vocabulary(listed).codes(values).tolist() == [1, 0, 1]
    assert numbers(values).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        (("7", "007"), "lists '7' and '007', which table readers take for the same"),
        (("1", "True"), "lists '1' and 'True', .*; spell them differently in schema and table"),
        (("0.1", "0.10", "b"), "lists '0.1' and '0.10'"),
        (("12:30", "12:30:00"), "lists .* for the same value"),
        ((2**53, 2**53 + 1), "lists .* for the same value"),
        (("DE", "NA"), "lists 'NA', which marks missing values in tables; spell"),
        (("some", "None"), "lists 'None', which marks missing values"),
    ],
)
def test_a_schema_lists_no_value_twice(categories, message):
    with pytest.raises(ValueError, match=f"Column 'x' of the schema {message}"):
        CategoryColumn("x", categories)
    mapping = {"version": 1, "columns": {"x": {"type": "numeric", "low": 0, "high": 1}}}
    if isinstance(categories[0], str):
        with pytest.raises(ValueError, match="as 'classes'; spell them differently"):
            Schema.from_mapping(mapping | {"classes": list(categories)})


def test_ids_are_known_again():
    ids = ["007", "7", " 7", "+7", "X7", "7.0", "NA", "", "0x7", str(2**53 + 1), "1" * 5000]
    expected = [7, 7, 7, 7, "X7", "7.0", None, None, 7, 2**53 + 1, "1" * 5000]
    assert person_ids(np.array(ids)).tolist() == expected
    assert person_ids(np.array([7, None, "X7"], dtype=object)).tolist() == [7, None, "X7"]


# Of each column a few cells that anybody's table may hold; none decides about others.
SCHEMA = Schema.from_mapping(
    {
        "version": 1,
        "columns": {
            "x": {"type": "numeric", "low": 0, "high": 10, "missing": True},
            "ward": {"type": "category", "categories": ["007", "10", "X01", "b"], "missing": True},
            "dose": {"type": "category", "categories": ["0.1", "0.25", "1e3", "max"]},
            "zip": {"type": "category", "categories": ["02139", "10001", "K1A"], "missing": True},
            "flag": {"type": "category", "categories": ["no", "TRUE"], "missing": True},
            "time": {"type": "category", "categories": ["12:30", "13:00:00", "2020-01-01"]},
            "big": {"type": "category", "categories": [str(2**53), "1e400", "-1"]},
        },
        "classes": [0, 1],
    }
)
CELLS = {
    "x": ["1", "2.50", "7", "", "1e1", "0.30000000000000004", "TRUE", "-3", "9" * 20],
    "ward": ["007", "7", "10", "", "7.0", "010", "X01", "NA"],
    "dose": ["0.1", "0.10", "0.25", ".25", "1000", "", "max"],
    "zip": ["02139", "2139", "10001", "", "K1A", "NULL"],
    "flag": ["TRUE", "true", "False", "1", "0", "", "no", "T"],
    "time": ["12:30", "12:30:00", "13:00", "", "2020-01-01", "late"],
    "big": [str(2**53), str(2**53 + 1), "-1", "", "1e400", "1e999", "0xFFFFFFFFFFFFFFFF"],
    "label": ["0", "1", "1", "0", "1.0", "true", "", "unknown"],
}  # fmt: skip
ADVERSARIES = [
    "X01",
    "",
    "0.5",
    "7",
    "True",
    "2020-01-01",
    "12:30",
    "NA",
    "1e400",
    str(2**60),
    "é",
]


def _readers():
    # Before its version 3, pandas reads the last bit of a number in two ways, of which one differs
    # from what the cell says; its reader in Python has that one only.
    is_exact = int(pd.__version__.split(".")[0]) >= 3
    exactly = {} if is_exact else {"float_precision": "round_trip"}

    def pandas(**settings):
        return lambda path: pd.read_csv(path, **settings)

    def polars(path):
        return pytest.importorskip("polars").read_csv(path, infer_schema_length=None)

    def arrow(path):
        return pytest.importorskip("pyarrow.csv").read_csv(path).to_pandas()

    def arrow_engine(path, **settings):
        pytest.importorskip("pyarrow")
        return pd.read_csv(path, engine="pyarrow", **settings)

    def arrow_types(path):
        pytest.importorskip("pyarrow")
        return pd.read_csv(path, dtype_backend="pyarrow", **exactly)

    return {
        "command line": read_table,
        "pandas": pandas(**exactly),
        "pandas, text": pandas(dtype=str),
        "pandas, text only": pandas(dtype=str, keep_default_na=False),
        "pandas, objects": pandas(dtype=object),
        **({"pandas, in Python": pandas(engine="python")} if is_exact else {}),
        "pandas, categories": pandas(dtype="category"),
        "pandas, nullable": pandas(dtype_backend="numpy_nullable", **exactly),
        "pandas, Arrow's types": arrow_types,
        "pandas, by Arrow": arrow_engine,
        "pandas, by Arrow, nullable": lambda p: arrow_engine(p, dtype_backend="numpy_nullable"),
        "Arrow": arrow,
        "polars": polars,
    }


READERS = _readers()


def _cells(rng, k, n=12):
    """Return rows of which those of small k hold few of the cells, as columns of one type do."""
    few = {name: cells[: 2 + k % len(cells)] for name, cells in CELLS.items()}
    return [
        [cells[i] for cells in few.values() for i in [rng.randint(len(cells))]] for _ in range(n)
    ]


def _written(path, rows):
    lines = [",".join(CELLS), *(",".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_one_row_changes_no_other(reader, rng, tmp_path):
    """In CSV files with and without one row more, each row is what its cells say, bit by bit."""
    sums = DPStatisticsSource(encoder=SCHEMA).accumulator().plan.sums
    read = READERS[reader]
    for k in range(22):
        rows = _cells(rng, k // 2)
        plain = pd.DataFrame(rows, columns=[*CELLS], dtype=object)
        expected = encode_table(SCHEMA, plain[[*SCHEMA.names]])
        classes = Vocabulary(SCHEMA.classes).codes(plain["label"])
        adversary = [ADVERSARIES[(k + j) % len(ADVERSARIES)] for j in range(len(CELLS))]
        adversary = adversary if k % 3 else [ADVERSARIES[k % len(ADVERSARIES)]] * len(CELLS)
        tables = [
            read(_written(tmp_path / f"{len(more)}.csv", rows + more))
            for more in ([], [adversary])
        ]
        for table in tables:
            part = table[[*SCHEMA.names]]
            assert_array_equal(encode_table(SCHEMA, part)[: len(rows)], expected)
            assert_array_equal(
                Vocabulary(SCHEMA.classes).codes(table["label"])[: len(rows)], classes
            )
        one = pd.DataFrame([adversary], columns=[*CELLS], dtype=object)
        alone = sums(one[[*SCHEMA.names]], one["label"])
        before, after = (sums(table[[*SCHEMA.names]], table["label"]) for table in tables)
        assert_array_equal(after.sums, before.sums + alone.sums)
        assert_array_equal(after.counts, before.counts + alone.counts)


def test_a_row_that_is_no_unicode_changes_no_other(tmp_path):
    """Arrow makes bytes of a column in which one cell is no UTF-8."""
    csv = pytest.importorskip("pyarrow.csv")
    schema = Schema.from_mapping({"ward": {"type": "category", "categories": ["A", "B", "007"]}})
    rows = b"ward,n\nA,1\nB,1\n007,1\n"
    before, after = (
        csv.read_csv(io.BytesIO(rows + more)).to_pandas()[["ward"]] for more in (b"", b"\xff,1\n")
    )
    assert isinstance(after["ward"][0], bytes)
    assert_array_equal(encode_table(schema, after)[:3], encode_table(schema, before))
    assert_array_equal(encode_table(schema, before), np.eye(3))


def test_one_float64_among_float32_changes_no_other(rng):
    schema = Schema.from_mapping(
        {
            "x": {"type": "numeric", "low": 0, "high": 1},
            "dose": {"type": "category", "categories": [0.1, 0.2]},
        }
    )
    frame = pd.DataFrame({"x": rng.rand(9), "dose": [0.1, 0.2, 0.3] * 3}, dtype=np.float32)
    more = pd.concat([frame, pd.DataFrame({"x": [0.5], "dose": [0.1]})])
    assert set(more.dtypes) == {np.dtype(np.float64)}
    assert_array_equal(encode_table(schema, more)[:9], encode_table(schema, frame))
    assert_array_equal(encode_table(schema, frame)[:, 1], [0, 1, 0.5] * 3)
