from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp.tabular import CategoryColumn, NumericColumn

SCALES = [
    (NumericColumn("x", -5, 15), lambda x: (x + 5) / 20),
    (NumericColumn("x", 0.2, 12, log=True), lambda x: np.log(x / 0.2) / np.log(60)),
    (NumericColumn("x", 0, 700, log=True), lambda x: np.log(1 + x / 7) / np.log(101)),
]
each_scale = pytest.mark.parametrize(("column", "formula"), SCALES)


@each_scale
def test_positions_follow_the_formula(column, formula):
    values = np.linspace(column.low, column.high, 50)
    positions = column.positions(values)
    assert_allclose(positions, formula(values), atol=1e-12)
    assert (positions[0], positions[-1]) == (0, pytest.approx(1, abs=1e-15))
    assert (np.diff(positions) > 0).all()
    assert_allclose(column.decode(positions[:, None]), values)


@each_scale
def test_positions_do_not_depend_on_the_unit(column, formula):
    values = np.linspace(column.low, column.high, 50)
    other = NumericColumn("x", 1000 * column.low, 1000 * column.high, log=column.log)
    assert_allclose(other.positions(1000 * values), column.positions(values), atol=1e-12)


@each_scale
@pytest.mark.filterwarnings("error")
def test_any_number_becomes_a_position(column, formula):
    extreme = [-np.inf, -1e308, -1, 0, 5e-324, 1e308, np.inf]
    positions = column.positions(extreme)
    assert positions.min() >= 0
    assert positions.max() <= 1
    assert_array_equal(positions[[0, -1]], [0, 1])


@pytest.mark.parametrize(
    ("low", "high", "log"), [(-8e307, 8e307, False), (1e-300, 1e8, True), (0, 1e-300, True)]
)
@pytest.mark.filterwarnings("error")
def test_extreme_bounds_work(low, high, log):
    column = NumericColumn("x", low, high, log)
    positions = column.positions([low, (low + high) / 2, high, np.inf])
    assert_array_equal(positions[[0, 2, 3]], [0, 1, 1])
    assert 0 < positions[1] < 1
    assert column.decode(positions[:, None])[1] == pytest.approx((low + high) / 2)


@pytest.mark.parametrize(
    ("low", "high", "log"), [(1e-300, 1e308, True), (5e-324, 1, True), (-1e308, 1e308, False)]
)
def test_bounds_beyond_floating_point_are_refused(low, high, log):
    with pytest.raises(ValueError, match="Column 'x' of the schema has a range beyond"):
        NumericColumn("x", low, high, log)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 3], [0, 1, 2]),
        ([1.0, 3.0, None, 1.5], [0, 2, -1, -1]),
        (["1", "2", "x", ""], [0, 1, -1, -1]),
        (np.array(["2", "3"]), [1, 2]),
        (pd.array([3, None], dtype="Int8"), [2, -1]),
        (pd.Categorical(["3", "9", None]), [2, -1, -1]),
        (pd.Series(["1", None], dtype="string"), [0, -1]),
        (np.array([np.int64(2), np.float32(3), pd.NA, "1"], dtype=object), [1, 2, -1, 0]),
    ],
)
def test_codes_of_any_type(values, expected, missing):
    column = CategoryColumn("x", ("1", "2", "3"), missing=missing)
    other = 3 if missing else -1
    assert_array_equal(column.codes(values), np.where(np.array(expected) < 0, other, expected))


def test_numbers_and_booleans_are_categories_too():
    assert CategoryColumn("x", (0, 1.0, 2.5)).categories == ("0", "1", "2.5")
    smoker = CategoryColumn("smoker", (False, True))
    assert smoker.encoded_names == ("smoker_True",)
    assert_array_equal(smoker.positions([True, False, None]), [1, 0, np.nan])
    assert_array_equal(smoker.positions(pd.array([True, None], dtype="boolean")), [1, np.nan])


def test_only_the_same_is_read_alike():
    column = CategoryColumn("x", ("1", "Male", "1.5"))
    values = ["01", 1, "male", True, "TRUE", "1.50", "no", 2, "1e999", 0, None, b"1"]
    assert_array_equal(
        column.codes(pd.Series(values, dtype=object)), [0, 0, -1, 0, 0, 2, -1, -1, -1, -1, -1, 0]
    )
    padded = CategoryColumn("x", ("01", "2"))
    assert padded.encoded_names == ("x_2",)
    assert padded.decode(np.array([[0.0]])).tolist() == ["01"]
    assert_array_equal(padded.codes(["01", "1", "1.0", True]), [0, 0, 0, 0])


@pytest.mark.parametrize(
    ("column", "names", "kinds"),
    [
        (NumericColumn("x", 0, 1), ["x"], [0]),
        (NumericColumn("x", 0, 1, missing=True), ["x", "x_missing"], [0, 1]),
        (CategoryColumn("x", ("a", "b")), ["x_b"], [1]),
        (CategoryColumn("x", ("a", "b"), ordered=True), ["x"], [1]),
        (CategoryColumn("x", ("a", "b"), missing=True), ["x_a", "x_b", "x_missing"], [3] * 3),
        (CategoryColumn("x", ("a", "b", "c")), ["x_a", "x_b", "x_c"], [3] * 3),
        (CategoryColumn("x", ("a", "b", "c"), True), ["x"], [0]),
        (CategoryColumn("x", ("a", "b", "c"), True, True), ["x", "x_missing"], [0, 1]),
    ],
)
def test_encoded_columns(column, names, kinds):
    assert list(column.encoded_names) == names
    assert list(column.kinds) == kinds


@pytest.mark.parametrize(
    "arguments",
    [
        {"low": 0, "high": 1, "missing": "yes"},
        {"low": 0, "high": 1, "log": 1},
        {"low": 1, "high": 1},
        {"low": 2, "high": 1},
        {"low": 0, "high": np.inf},
        {"low": np.nan, "high": 1},
        {"low": 0, "high": 10**400},
        {"low": False, "high": True},
        {"low": "0", "high": "1"},
        {"low": -1, "high": 1, "log": True},
        {"low": -1e308, "high": 1e308},
        {"low": 1e16, "high": 1e16 + 2, "log": "no"},
        {"categories": "abc"},
        {"categories": ()},
        {"categories": ("a",), "missing": True},
        {"categories": ("a", "a")},
        {"categories": (1, "1")},
        {"categories": ("a", None)},
        {"categories": ("a", np.nan)},
        {"categories": ("a", "")},
        {"categories": ("a", "b" * 1001)},
        {"categories": ("a", "\ud800")},
        {"categories": ("a", ["b"])},
        {"categories": ("a", "b"), "ordered": "no"},
    ],
)
def test_bad_columns_are_refused(arguments):
    column = CategoryColumn if "categories" in arguments else NumericColumn
    with pytest.raises(ValueError, match=r"Column 'x' of the schema .*; \w+ .*\."):
        column("x", **arguments)


@pytest.mark.parametrize("name", ["", None, 3, "a" * 1001, "\udfff"])
def test_bad_names_are_refused(name):
    with pytest.raises(ValueError, match="of the schema has an invalid name; use text of 1 to"):
        NumericColumn(name, 0, 1)


def test_any_encoded_row_has_a_valid_value(rng):
    for column in [
        NumericColumn("x", 0.2, 12, log=True, missing=True),
        CategoryColumn("x", ("a", "b", "c"), missing=True),
        CategoryColumn("x", ("a", "b", "c"), ordered=True, missing=True),
        CategoryColumn("x", ("a", "b")),
    ]:
        block = 3 * rng.randn(200, len(column.kinds))
        values = pd.Series(column.decode(block))
        assert values.isna().any() == column.missing
        known = values.dropna()
        if isinstance(column, NumericColumn):
            assert known.between(column.low, column.high).all()
        else:
            assert set(known) == set(column.categories)


def test_no_value_is_refused_for_what_its_text_would_be():
    values = pd.Series([10**5000, (10**5000,), Fraction(10**5000), "b"], dtype=object)
    column = CategoryColumn("x", ("a", "b"), missing=True)
    assert column.codes(values).tolist() == [2, 2, 2, 1]
