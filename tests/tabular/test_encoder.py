import pickle
import warnings
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal
from sklearn.base import clone

from skdp import Schema, TabularEncoder
from skdp.tabular import as_schema, encode_table, fitted_encoder

SCHEMA = {
    "age": {"type": "numeric", "low": 20, "high": 100},
    "stage": {"type": "category", "categories": ["I", "II", "III"], "ordered": True},
    "ward": {"type": "category", "categories": ["A", "B", "C"]},
    "cd4": {"type": "numeric", "low": 0, "high": 700, "log": True, "missing": "17 %"},
    "sex": {"type": "category", "categories": [0, 1]},
    "blood": {"type": "category", "categories": ["0", "A", "B", "AB"], "missing": True},
    "grade": {"type": "category", "categories": [1, 2, 3], "ordered": True, "missing": True},
}
NAMES = [
    *("age", "stage", "ward_A", "ward_B", "ward_C", "cd4", "cd4_missing", "sex_1"),
    *("blood_0", "blood_A", "blood_B", "blood_AB", "blood_missing", "grade", "grade_missing"),
]


def draw(rng, n, missing=True):
    """Rows of valid values, of which some are missing where the schema says so."""
    frame = pd.DataFrame(
        {
            "sex": rng.randint(0, 2, n),
            "grade": rng.randint(1, 4, n).astype(float),
            "age": rng.uniform(20, 100, n),
            "ward": rng.choice(list("ABC"), n),
            "blood": rng.choice(["0", "A", "B", "AB"], n),
            "cd4": rng.uniform(0, 700, n),
            "stage": rng.choice(["I", "II", "III"], n),
        }
    )
    for name in ("cd4", "blood", "grade") if missing else ():
        frame.loc[rng.rand(n) < 0.2, name] = None
    return frame


def by_hand(row):
    """One row, encoded value by value."""
    ward = [float(row.ward == c) for c in "ABC"]
    blood = [float(row.blood == c) for c in ("0", "A", "B", "AB")]
    no_cd4, no_grade = pd.isna(row.cd4), pd.isna(row.grade)
    cd4 = 0.5 if no_cd4 else np.log(1 + row.cd4 / 7) / np.log(101)
    stage = {"I": 0, "II": 0.5, "III": 1}[row.stage]
    grade = 0.5 if no_grade else (row.grade - 1) / 2
    return [
        *((row.age - 20) / 80, stage, *ward, cd4, no_cd4, row.sex),
        *(*blood, pd.isna(row.blood), grade, no_grade),
    ]


def test_rows_are_encoded_as_by_hand(rng):
    frame = draw(rng, 300)
    encoder = TabularEncoder(SCHEMA)
    encoded = encoder.fit_transform(frame)
    assert_array_equal(encoder.get_feature_names_out(), NAMES)
    assert_allclose(encoded, [by_hand(row) for row in frame.itertuples()], atol=1e-14)
    assert encoded.dtype == np.float64


def test_nothing_is_learned_from_rows(rng):
    frame, query = draw(rng, 50), draw(rng, 20)
    one = TabularEncoder(SCHEMA).fit(frame.iloc[:1])
    other = TabularEncoder(SCHEMA).fit(draw(rng, 200, missing=False))
    assert_array_equal(one.transform(query), other.transform(query))
    rowwise = np.vstack([one.transform(query[i : i + 1]) for i in range(len(query))])
    assert_array_equal(rowwise, one.transform(query))
    dumps = [pickle.dumps(vars(e)) for e in (one, other)]
    assert dumps[0] == dumps[1]


def test_rows_do_not_depend_on_other_rows():
    schema = {
        "number": {"type": "numeric", "low": 0, "high": 10},
        "flag": {"type": "category", "categories": ["1", "X01", "5"]},
    }
    cells = [True, 1, 1.0, "1", "True", 5, 1j, "5.0", 2**53 + 1, None, b"5", Decimal(5), 0.1]
    cells += ["0x5", " 5", "TRUE", "X01", b"X01", np.float32(0.1), "nan", "", "1e0"]
    schema = as_schema(schema)
    for order in (cells, cells[::-1]):
        frame = pd.DataFrame({name: pd.Series(order, dtype=object) for name in schema.names})
        encoded = encode_table(schema, frame)
        assert_array_equal(TabularEncoder(schema).fit_transform(frame), encoded)
        for i, cell in enumerate(order):
            alone = pd.DataFrame({name: pd.Series([cell]) for name in schema.names})
            if alone["flag"].dtype.kind != "c":
                assert_array_equal(encode_table(schema, alone)[0], encoded[i])


@pytest.mark.filterwarnings("error")
def test_no_value_is_refused():
    hostile = [np.nan, None, pd.NA, np.inf, -np.inf, -1e300, 10**400, "", "Z", "é", True, 2.5]
    hostile += [1j, b"A", [1], {"a": 1}, (1, 2), object(), Decimal("30"), pd.Timestamp(0), "1e999"]
    frame = pd.DataFrame({name: pd.Series(hostile, dtype=object) for name in SCHEMA})
    encoded = TabularEncoder(SCHEMA).fit_transform(frame)
    assert np.isfinite(encoded).all()
    assert encoded.min() >= 0
    assert encoded.max() <= 1
    expected = dict.fromkeys(NAMES, 0.0) | {"age": 0.5, "stage": 0.5, "cd4": 0.5, "sex_1": 0.5}
    expected |= {"grade": 0.5, "cd4_missing": 1, "blood_missing": 1, "grade_missing": 1}
    for row in encoded[:3]:
        assert dict(zip(NAMES, row, strict=True)) == expected


def test_public_description(rng):
    encoder = TabularEncoder(SCHEMA).fit(draw(rng, 3))
    assert_array_equal(encoder.column_kinds_, [0, 0, 3, 3, 3, 0, 1, 1, 5, 5, 5, 5, 5, 0, 1])
    origins = ["age", "stage", *["ward"] * 3, *["cd4"] * 2, "sex", *["blood"] * 5, *["grade"] * 2]
    assert_array_equal(encoder.column_origins_, origins)
    assert encoder.elements_per_change_ == 2
    plain = {name: SCHEMA[name] for name in ("age", "stage", "sex")}
    assert TabularEncoder(plain).fit(draw(rng, 3)[[*plain]]).elements_per_change_ == 1
    assert_array_equal(encoder.feature_names_in_, [*SCHEMA])


def test_bounds_are_met_and_never_exceeded(rng):
    encoder = TabularEncoder(SCHEMA)
    frame = draw(rng, 500)
    # Of each column the values with the largest norms: upper bounds, and missing ones.
    top = pd.DataFrame([{"age": 100, "stage": "III", "ward": "A", "sex": 1}])
    norms = np.linalg.norm(encoder.fit_transform(frame), axis=1)
    top = top.assign(cd4=np.nan, blood=None, grade=np.nan)
    assert norms.max() <= encoder.row_norm_bound_
    assert np.linalg.norm(encoder.transform(top)) == pytest.approx(encoder.row_norm_bound_)
    for name in SCHEMA:
        changed = frame.assign(**{name: rng.permutation(frame[name].to_numpy())})
        moved = encoder.transform(frame) != encoder.transform(changed)
        assert set(encoder.column_origins_[moved.any(axis=0)]) == {name}
        assert moved.sum(axis=1).max() <= encoder.elements_per_change_


def test_inverse_gives_the_values_back(rng):
    frame = draw(rng, 200).set_index(np.arange(200) * 3)
    encoder = TabularEncoder(SCHEMA).set_output(transform="pandas").fit(frame)
    back = encoder.inverse_transform(encoder.transform(frame))
    expected = frame[[*SCHEMA]].astype({"sex": str})
    grades = frame["grade"].map({1.0: "1", 2.0: "2", 3.0: "3"})
    expected["grade"] = grades
    assert back.index.equals(frame.index)
    for name in SCHEMA:
        assert_array_equal(back[name].isna(), frame[name].isna())
        known = frame[name].notna()
        if name in ("age", "cd4"):
            assert_allclose(back.loc[known, name], expected.loc[known, name])
        else:
            assert_array_equal(back.loc[known, name], expected.loc[known, name])


def test_inverse_of_synthetic_rows_is_valid_and_stable(rng):
    encoder = TabularEncoder(SCHEMA).fit(draw(rng, 3))
    synthetic = rng.randn(300, len(NAMES)) + 0.5
    values = encoder.inverse_transform(synthetic)
    assert values["age"].between(20, 100).all()
    assert set(values["ward"]) == set("ABC")
    assert_array_equal(values["cd4"].isna(), synthetic[:, NAMES.index("cd4_missing")] > 0.5)
    blood = synthetic[:, [name.startswith("blood") for name in NAMES]].argmax(axis=1)
    assert_array_equal(values["blood"].isna(), blood == 4)
    again = encoder.inverse_transform(encoder.transform(values))
    assert_frame_equal(again, values)
    for bad, message in [
        (synthetic[:, 1:], "14 columns, but 15 encoded"),
        ([[np.nan] * 15], "NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            encoder.inverse_transform(bad)


def test_rows_in_lists_are_decoded_by_a_schema_alone():
    schema = as_schema(
        {
            "age": {"type": "numeric", "low": 20, "high": 100},
            "sex": {"type": "category", "categories": ["F", "M"]},
        }
    )
    encoder = fitted_encoder(schema)
    expected = pd.DataFrame({"age": [60.0, 20.0], "sex": ["M", "F"]})
    assert_frame_equal(encoder.inverse_transform([[0.5, 0.9], [-3, 0.2]]), expected)
    assert_array_equal(encoder.transform(expected), [[0.5, 1], [0, 0]])
    assert encoder.schema_ == schema
    with pytest.raises(ValueError, match="X has 1 columns, but 2"):
        encoder.inverse_transform([[0.5]])


def test_columns_are_taken_by_name(rng):
    frame = draw(rng, 20)
    encoder = TabularEncoder(SCHEMA).fit(frame)
    encoded = encoder.transform(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(encoder.transform(frame[frame.columns[::-1]]), encoded)
    wide = frame.assign(name="private person", **{"id": 7})
    for method in (encoder.transform, clone(encoder).fit_transform):
        with pytest.warns(UserWarning, match=r"does not describe, 'name', 'id'; left out"):
            assert_array_equal(method(wide), encoded)
    for method in (encoder.transform, clone(encoder).fit):
        with pytest.raises(ValueError, match=r"lacks the columns 'age', 'sex' .* Add or rename"):
            method(frame.drop(columns=["sex", "age"]))
    with pytest.raises(ValueError, match="the columns 'age' more than once"):
        encoder.transform(pd.concat([frame, frame[["age"]]], axis=1))


def test_schema_is_checked_before_rows():
    class Untouchable:
        def __getattr__(self, name):
            raise AssertionError(f"{name} was looked at")

    with pytest.raises(ValueError, match="Column 'age' of the schema has empty bounds"):
        TabularEncoder({"age": {"type": "numeric", "low": 3, "high": 3}}).fit(Untouchable())


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(["2020-01-01", None]),
        pd.to_datetime(["2020-01-01", None], utc=True),
        pd.to_timedelta([1, 2], unit="D"),
        np.array([1j, 2]),
    ],
)
def test_types_that_are_no_numbers_are_refused(values):
    with pytest.raises(
        ValueError, match=r"complex numbers in the columns 'age'\. Convert them to"
    ):
        TabularEncoder({"age": SCHEMA["age"]}).fit(pd.DataFrame({"age": values}))


def test_arrays_need_a_schema_of_numbers(rng):
    schema = {name: SCHEMA[name] for name in ("age", "cd4")}
    frame = draw(rng, 20)[["age", "cd4"]]
    encoder = TabularEncoder(schema).fit(frame.to_numpy())
    assert_array_equal(encoder.transform(frame.to_numpy()), encoder.transform(frame))
    with pytest.raises(ValueError, match="X has 1 features, but TabularEncoder is expecting 2"):
        encoder.transform(frame[["age"]].to_numpy())
    with pytest.raises(ValueError, match=r"must be a DataFrame .* schema has categories. Pass"):
        TabularEncoder(SCHEMA).fit(np.zeros((3, 7)))


def test_without_a_schema_numbers_are_clipped(rng):
    X = 2 * rng.rand(10, 3).astype(np.float32)
    encoder = TabularEncoder().fit(X)
    assert_array_equal(encoder.transform(X), np.clip(X, 0, 1))
    assert encoder.transform(X).dtype == np.float32
    assert encoder.schema_.names == ("x0", "x1", "x2")
    assert_array_equal(encoder.column_kinds_, 0)
    assert encoder.row_norm_bound_ == pytest.approx(3**0.5)
    frame = pd.DataFrame(X, columns=list("abc"))
    assert_array_equal(TabularEncoder().fit(frame).get_feature_names_out(), list("abc"))


def test_frames_of_float32_stay_so(rng):
    schema = {name: SCHEMA[name] for name in ("age", "cd4")}
    frame = draw(rng, 20)[["age", "cd4"]].astype(np.float32)
    assert TabularEncoder(schema).fit_transform(frame).dtype == np.float32


def test_output_keeps_names_and_index(rng):
    frame = draw(rng, 5).set_axis(list("vwxyz"))
    encoder = TabularEncoder(SCHEMA).fit(frame)
    plain = encoder.transform(frame)
    expected = pd.DataFrame(plain, columns=NAMES, index=frame.index)
    with sklearn.config_context(transform_output="pandas"):
        assert_frame_equal(TabularEncoder(SCHEMA).fit_transform(frame), expected)
        assert_frame_equal(encoder.transform(frame), expected)


# Of each table: encoded columns, and columns with indicators of several categories.
TABLES = {
    "adult": (103, 7),
    "flchain": (9, 0),
    "whas500": (13, 0),
    "actg320": (23, 4),
    "actg175": (18, 1),
    "randhie": (9, 0),
}


@pytest.mark.parametrize("name", TABLES)
def test_real_tables(name, real_table):
    data, target, schema = real_table(name)
    encoder = TabularEncoder(schema)
    frame = data[:2000]
    encoded = encoder.fit_transform(frame)
    assert encoded.shape == (len(frame), TABLES[name][0])
    several = set(encoder.column_origins_[encoder.column_kinds_ > 1])
    assert len(several) == TABLES[name][1]
    assert np.linalg.norm(encoded, axis=1).max() <= encoder.row_norm_bound_
    assert encoder.schema_.classes == tuple(np.unique(target).tolist())
    assert Schema.from_json(encoder.schema_.to_json()) == encoder.schema_
    # Every value that is there is within its bounds or one of its categories.
    back = encoder.inverse_transform(encoded)
    for column in encoder.schema_.columns:
        known = frame[column.name].notna()
        there = frame.loc[known, column.name]
        if hasattr(column, "categories"):
            assert_array_equal(back.loc[known, column.name], there.astype(str))
        else:
            assert_allclose(back.loc[known, column.name], there, atol=1e-9)


@pytest.mark.parametrize("value", [np.datetime64("2020"), timedelta(1), 10**400])
def test_no_row_decides_the_type_of_objects(value):
    encoder = fitted_encoder({"x": {"type": "category", "categories": [str(value), "b"]}})
    alike = pd.DataFrame({"x": pd.Series([value, value], dtype=object)})
    mixed = pd.DataFrame({"x": pd.Series([value, "b"], dtype=object)})
    assert encoder.transform(alike).tolist() == [[0.0], [0.0]]
    assert encoder.transform(mixed).tolist() == [[0.0], [1.0]]


def test_an_array_of_objects_keeps_its_type():
    encoder = fitted_encoder({"x": {"type": "numeric", "low": 0, "high": 1}})
    values = np.array([[10**400], [-(10**400)], ["1e400"], [0.5], ["x"]], dtype=object)
    assert encoder.transform(values).ravel().tolist() == [1.0, 0.0, 1.0, 0.5, 0.5]
