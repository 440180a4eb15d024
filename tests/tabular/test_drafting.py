import numpy as np
import pandas as pd
import pytest

from skdp import Schema, TabularEncoder, schema_from
from skdp.tabular import CategoryColumn, ClassOutcome, NumericColumn, is_record_number


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "age": [23, 68, 41, 55],
            "children": [0, 1, 0, 1],
            "weight": [51.3, np.nan, 88.8, np.inf],
            "ward": ["B", "A", None, "C"],
            "smoker": [True, False, True, True],
            "stage": pd.Categorical(["II", "I", None, "I"], ["I", "II", "III"], ordered=True),
            "site": np.array([2, 10, 2, 2], dtype=object),
            "died": [0, 1, 0, 1],
        }
    )


def test_draft(frame):
    assert schema_from(frame, public=True, label="died") == Schema(
        (
            NumericColumn("age", 20, 70, step=1),
            CategoryColumn("children", ("0", "1")),
            NumericColumn("weight", 50, 90, missing=True),
            CategoryColumn("ward", ("A", "B", "C"), missing=True),
            CategoryColumn("smoker", ("False", "True")),
            CategoryColumn("stage", ("I", "II", "III"), ordered=True, missing=True),
            CategoryColumn("site", ("2", "10")),
        ),
        ClassOutcome((0, 1)),
    )
    assert schema_from(frame, public=True).classes is None


def test_a_draft_encodes_its_own_rows(frame):
    frame = frame.drop(columns="died")
    encoder = TabularEncoder(schema_from(frame, public=True)).fit(frame)
    back = encoder.inverse_transform(encoder.transform(frame))
    assert back["ward"].tolist()[:2] == ["B", "A"]
    assert back["site"].tolist() == ["2", "10", "2", "2"]
    assert back["age"].tolist() == pytest.approx(frame["age"].tolist())
    assert back["weight"].isna().tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        ([17, 40, 90], (10, 90)),
        ([0, 5, 99_999], (0, 100_000)),
        ([-0.31, 0.42], (-0.4, 0.5)),
        ([1995, 1999, 2003], (1995, 2003)),
        ([7, 7], (7, 8)),
        ([0, 0], (0, 0.1)),
        ([-7.5, -7.5], (-8, -7)),
        ([1e-9, 3.3e-9], (1e-9, 3.5e-9)),
    ],
)
def test_bounds_are_rounded_outwards(values, bounds):
    [column] = schema_from(pd.DataFrame({"x": values}), public=True).columns
    assert (column.low, column.high) == pytest.approx(bounds)
    assert column.low <= min(values)
    assert max(values) <= column.high


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 1, 1], ("0", "1")),
        ([1.0, np.nan, 2.0], ("1", "2")),
        (pd.array([3, None, -1], dtype="Int64"), ("-1", "3")),
        (np.array([0, 1, 0], dtype=np.float32), ("0", "1")),
        ([0, 1, 2], None),
        ([18, 110], None),
        ([0.5, 1, 1], None),
        ([1, 1, 1], None),
        ([0, 1, np.inf], ("0", "1")),
    ],
)
def test_two_whole_numbers_are_codes(values, expected):
    frame = pd.DataFrame({"x": values})
    [column] = schema_from(frame, public=True).columns
    assert getattr(column, "categories", None) == expected
    assert column.missing == frame["x"].isna().any()


@pytest.mark.parametrize(
    ("n_values", "n_rows", "accepted"),
    [(20, 20, True), (21, 21, False), (21, 42, True), (100, 1000, True), (101, 1000, False)],
)
def test_names_and_ids_are_refused(n_values, n_rows, accepted):
    values = np.resize([f"P{i:03}" for i in range(n_values)], n_rows)
    for column in (values, pd.Categorical(values)):
        frame = pd.DataFrame({"patient": column, "age": np.arange(n_rows) % 19})
        if accepted:
            assert len(schema_from(frame, public=True).columns[0].categories) == n_values
            continue
        message = f"Column 'patient' has {n_values} different values in {n_rows} rows, like names"
        with pytest.raises(ValueError, match=message):
            schema_from(frame, public=True)


RANDOM = np.random.RandomState(0).permutation


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("Unnamed: 0", np.arange(20), True),
        ("row", 5000.0 + RANDOM(30), True),
        ("visit", [*map(str, RANDOM(30)), "NA", None], True),
        ("account", RANDOM(20_000)[:1000], True),  # draws would repeat with p > 1 - 1e-10
        ("Patient-ID", RANDOM(10**6)[:200] * 1000, True),
        ("account", RANDOM(10**6)[:200] * 1000, False),  # under this name they may be costs
        ("cost", np.sort(RANDOM(60_000)[:30]), False),
        ("age", RANDOM(60)[:20], False),  # which occurs by chance
        ("row", np.arange(19), False),
        ("row", [*range(40), 7], False),
        ("row", np.arange(40) + 0.5, False),
        ("patients", RANDOM(10**6)[:200], False),  # a number of them
        ("id", np.array(["a", "b"] * 20), False),
        ("id", [np.inf, *range(30)], False),
    ],
)
def test_record_numbers_are_told_from_measurements(name, values, expected):
    values = pd.Series(values)
    assert is_record_number(name, values) is expected
    if values.dtype.kind in "if" and np.isfinite(values).all():
        frame = pd.DataFrame({name: values})
        if expected:
            with pytest.raises(ValueError, match=f"Column '{name}' has a different whole number"):
                schema_from(frame, public=True)
        else:
            assert schema_from(frame, public=True).names == (name,)


def test_measurements_of_whole_numbers_that_differ_by_chance_are_seldom_hit():
    """Of 20 to 100 draws from ranges at which none repeats once in 1,000 tables, the worst."""
    rng = np.random.RandomState(0)
    for n, size in ((20, 35), (30, 75), (100, 760)):
        hits = sum(is_record_number("age", rng.randint(size, size=n)) for _ in range(2000))
        assert hits < 12  # 2 are expected


def test_declared_categories_are_no_names():
    values = pd.Categorical(["A1", "A2", "A1"], [f"A{i}" for i in range(150)])
    [column] = schema_from(pd.DataFrame({"code": values}), public=True).columns
    assert len(column.categories) == 150


def test_a_single_number_says_nothing_of_bounds(frame):
    frame["vessels"] = [0.0, np.nan, 0.0, 0.0]
    with pytest.warns(UserWarning, match=r"The columns \['vessels'\] have only one value"):
        draft = schema_from(frame, public=True)
    assert draft.names[-1] == "vessels"


def test_bounds_hold_all_values_and_waste_little(rng):
    for _ in range(200):
        values = rng.randn(5) * 10.0 ** rng.randint(-8, 8)
        [column] = schema_from(pd.DataFrame({"x": values}), public=True).columns
        assert column.low <= values.min()
        assert values.max() <= column.high
        assert column.high - column.low <= 1.6 * np.ptp(values)


@pytest.mark.parametrize("public", [False, 1, "yes", None])
def test_private_rows_are_refused(frame, public):
    with pytest.raises(ValueError, match="would reveal bounds and categories"):
        schema_from(frame, public=public)
    with pytest.raises(TypeError, match="public"):
        schema_from(frame)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([np.nan, np.inf], "Column 'x' has no finite number; leave it out"),
        (["a", "a"], "Column 'x' has fewer than two values in these rows; leave it out"),
        ([None, None], "Column 'x' has fewer than two values"),
        (
            pd.to_datetime(["2020-01-01", "2021-01-01"]),
            "Column 'x' has dates or durations; convert",
        ),
    ],
)
def test_columns_without_information_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        schema_from(pd.DataFrame({"x": values}), public=True)


def test_names_are_checked(frame):
    with pytest.raises(
        ValueError, match="The 'label' parameter, 'dead', is not a column; name one"
    ):
        schema_from(frame, public=True, label="dead")
    with pytest.raises(ValueError, match="Column 3 has a name that is not text; rename it"):
        schema_from(pd.DataFrame({3: [1, 2]}), public=True)


def test_a_draft_has_each_value_in_one_spelling():
    frame = pd.DataFrame(
        {
            "ward": ["7", "007", "X01", "NA", "7.0", None],
            "died": ["1", "0", "01", "NA", "1.0", "0"],
        }
    )
    schema = schema_from(frame, public=True, label="died")
    assert schema.columns == (CategoryColumn("ward", ("007", "X01"), missing=True),)
    assert schema.classes == ("0", "01")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.arange(21) % 21, (0, 20, 1.0)),
        ([0.5, 1.5, 2.5] * 7, (0.4, 2.6, 0.1)),
        ([*range(20), 19], None),
        ([True, False] * 10 + [True], None),
    ],
)
def test_labels_of_many_numbers_are_an_outcome(labels, expected):
    frame = pd.DataFrame({"x": np.arange(21) / 7, "label": labels})
    schema = schema_from(frame, public=True, label="label")
    if expected is None:
        assert len(schema.classes) == len(set(labels))
        return
    assert schema.classes is None
    outcome = schema.outcome
    assert (outcome.low, outcome.high, outcome.step) == expected
    np.testing.assert_array_equal(outcome.decode(outcome.positions(labels)[:, None]), labels)
