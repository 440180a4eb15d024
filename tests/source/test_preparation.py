"""Rows as they come: what is refused, and what is left out."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

from skdp import DPStatisticsSource, PrivacyLeakWarning, TabularEncoder
from skdp.source._private_rows import check_labels

CLASSES = ["ill", "well"]


def plan(unit="record", **columns):
    source = DPStatisticsSource(classes=CLASSES, privacy_unit=unit, model="linear")
    return source.accumulator(**(columns or {"n_features": 3})).plan


@pytest.mark.parametrize("groups", [["ann", None], ["ann", np.nan], [1, pd.NA], [1, pd.NaT]])
@pytest.mark.parametrize("as_series", [False, True])
def test_rows_without_a_person_are_refused(groups, as_series):
    groups = pd.Series(groups) if as_series else groups
    with pytest.raises(ValueError, match="lacks the group"):
        plan("group").sums(np.zeros((2, 3)), CLASSES, groups)


@pytest.mark.parametrize("groups", [["x"], ["x"] * 3, np.array([["x", "y"]] * 2), "xy", 1])
def test_groups_are_one_for_each_row(groups):
    with pytest.raises(ValueError, match="one entry for each row"):
        plan("group").sums(np.zeros((2, 3)), CLASSES, groups)


@pytest.mark.parametrize(
    ("unit", "groups", "message"),
    [
        ("group", None, "='group', but no 'groups' were given. Say there whose each row is, so"),
        ("record", ["x", "y"], "='record', but 'groups' were given. Leave them out, or use pri"),
    ],
)
def test_groups_go_with_the_unit(unit, groups, message):
    with pytest.raises(ValueError, match=message):
        plan(unit).sums(np.zeros((2, 3)), CLASSES, groups)


def test_rows_and_labels_must_fit_together(rng):
    for y in (CLASSES[:1], CLASSES * 2):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            plan().sums(np.zeros((2, 3)), y)
    with pytest.raises(ValueError, match="1d array"):
        check_labels(None, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="Complex"):
        check_labels(np.array([1j, 2]), np.zeros((2, 3)))
    for wrong in (np.zeros((2, 2)), "ab", pd.DataFrame(np.zeros((2, 2)))):
        with pytest.raises(ValueError, match="1d array: one label for each row"):
            check_labels(wrong, np.zeros((2, 3)))
    source = DPStatisticsSource(np.inf, classes=[0, 1])
    with pytest.warns(DataConversionWarning) as found:
        source.fit(np.zeros((2, 3)), np.zeros((2, 1)))
    assert len([w for w in found if w.category is DataConversionWarning]) == 1
    for column in (np.zeros((2, 1)), pd.DataFrame(np.zeros((2, 1)))):
        with pytest.warns(DataConversionWarning, match="column-vector"):
            assert check_labels(column, np.zeros((2, 3))).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("classes", "y", "kinds"),
    [
        (CLASSES, [0, 1], "numbers"),
        (CLASSES, [0.5, 1], "numbers"),
        ([2, 3], [False, True], "booleans"),
        (CLASSES, np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[s]"), "dates"),
        ([0, 1], np.array([0, 1], dtype="timedelta64[s]"), "durations"),
        (CLASSES, pd.array([0, 1], dtype="Int64"), "numbers"),
        (CLASSES, pd.array([True, False], dtype="boolean"), "booleans"),
    ],
)
def test_labels_of_a_type_that_no_class_has_are_refused(classes, y, kinds):
    source = DPStatisticsSource(classes=classes)
    y = y if hasattr(y, "dtype") else np.array(y)
    with pytest.raises(ValueError, match=f"holds {kinds}.* Write labels and classes alike"):
        source.accumulator(3).add(np.zeros((2, 3)), y)
    with pytest.raises(ValueError, match="'y' parameter holds"):
        source.fit(np.zeros((2, 3)), y)
    # Of objects only values could tell, and these must not.
    labels = np.array(y.tolist(), dtype=object)
    assert source.accumulator(3).plan.sums(np.zeros((2, 3)), labels).counts.sum() == 0


@pytest.mark.parametrize("classes", [[0, 1], [False, True], ["0", "1"], [0.0, 1.0], ["0.0", "01"]])
@pytest.mark.parametrize(
    "y",
    [
        [0, 1],
        np.array([0.0, 1.0]),
        np.array([False, True]),
        np.array(["0", "1"]),
        np.array([b"0", b"1"]),
        pd.Series(["0", "1.0"]),
        pd.Series(["0", "TRUE"], dtype="string"),
        pd.Series([0, 1], dtype="category"),
        pd.array([0, 1], dtype="UInt8"),
        ["false", " 1 "],
    ],
)
def test_labels_are_compared_whatever_their_type(classes, y):
    sums = DPStatisticsSource(classes=classes).accumulator(3).plan.sums
    assert sums(np.zeros((2, 3)), y).counts.tolist() == [2**30] * 2
    # One label that is none of them makes text of the column, in a CSV file, and moves no other.
    more = [*map(str, [0, 1]), "unknown"]
    assert sums(np.zeros((3, 3)), pd.Series(more)).counts.tolist() == [2**30] * 2


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_are_refused_and_not_repeated(value):
    X = np.full((2, 3), 0.4242)
    X[1, 1] = value
    with pytest.raises(ValueError, match="Input X contains") as error:
        plan().sums(X, CLASSES)
    assert "4242" not in str(error.value)


def test_other_columns_are_refused():
    with pytest.raises(ValueError, match="other columns than the 3"):
        plan().sums(np.zeros((2, 4)), CLASSES)
    named = plan(feature_names=["u", "v"])
    frame = pd.DataFrame(np.zeros((2, 2)), columns=["v", "u"])
    with pytest.raises(ValueError, match="other columns than the 2"):
        named.sums(frame, CLASSES)
    assert named.sums(frame[["u", "v"]], CLASSES).counts.tolist() == [2**30] * 2
    # Names that nobody announced cannot be compared.
    with pytest.raises(ValueError, match="feature_names"):
        plan(n_features=2).sums(frame, CLASSES)


def test_no_rows_are_rows_too():
    sums = plan().sums(np.zeros((0, 3)), [])
    assert not any(map(np.any, (sums.counts, sums.sums, sums.second)))
    schema = {"age": {"type": "numeric", "low": 0, "high": 100}}
    source = DPStatisticsSource(classes=CLASSES, encoder=TabularEncoder(schema))
    nothing = source.accumulator().plan.sums(pd.DataFrame({"age": []}), [])
    assert not nothing.counts.any()


@pytest.mark.parametrize(
    "y",
    [
        ["ill", "strange", "well", None],
        pd.Series(["ill", pd.NA, "well", "strange"], dtype="string"),
        np.array(["ill", 3.5, "well", np.nan], dtype=object),
        pd.Series(["ill", None, "well", None], dtype="category"),
    ],
)
def test_labels_of_no_class_are_left_out_of_fits_and_of_chunks(y, rng):
    X = rng.rand(4, 3)
    expected = plan().sums(X[[0, 2]], CLASSES)
    source = DPStatisticsSource(np.inf, classes=CLASSES, random_state=0)
    with pytest.warns(PrivacyLeakWarning, match="epsilon=inf|exact|no noise"):
        fitted = source.fit(X, y)
    sums = plan().sums(X, y)
    assert sums.counts.tolist() == expected.counts.tolist() == [2**30] * 2
    assert (sums.second == expected.second).all()
    assert fitted.release_.moments.class_counts == pytest.approx([1.5, 1.5])


BIG = [2**53, 2**53 + 2]


def difference(source, X, y, extra):
    """What one record more, of this label, adds to the counts: 0 or one row."""
    layout_ = source.accumulator(X.shape[1]).plan
    before = layout_.sums(X, y)
    after = layout_.sums(np.vstack([X, X[:1]]), extra)
    assert np.abs(after.sums - before.sums).max() <= 2**16
    return ((after.counts - before.counts) / 2**30).tolist()


@pytest.mark.parametrize("classes", [[0, 1], BIG, CLASSES])
@pytest.mark.parametrize(
    "label",
    ["x", b"x", 0.5, None, np.nan, pd.NA, pd.NaT, [1], (1,), {1: 2}, 2**70, 1j, np.zeros(2)],
)
def test_one_label_of_any_kind_moves_no_other(classes, label, rng):
    X, y = rng.rand(50, 3), [classes[i] for i in rng.randint(2, size=50)]
    source = DPStatisticsSource(classes=classes)
    assert difference(source, X, y, [*y, label]) == [0, 0]
    objects = np.empty(51, dtype=object)
    objects[:50], objects[50] = y, label
    assert difference(source, X, y, objects) == [0, 0]
    assert difference(source, X, y, [*y, classes[0]]) == [1, 0]


@pytest.mark.parametrize("dtype", ["Int64", "UInt64", pd.CategoricalDtype(BIG)])
def test_one_missing_label_of_a_nullable_column_moves_no_other(dtype, rng):
    X, y = rng.rand(50, 3), [BIG[i] for i in rng.randint(2, size=50)]
    source = DPStatisticsSource(classes=BIG)
    whole, more = (pd.Series(labels, dtype=dtype) for labels in (y, [*y, None]))
    assert difference(source, X, whole, more) == [0, 0]
    assert source.accumulator(3).plan.sums(X, whole).counts.sum() == 50 * 2**30


def category(*categories):
    return {"type": "category", "categories": list(categories), "missing": True}


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (BIG, "Int64"),
        (BIG, "UInt64"),
        (BIG, pd.CategoricalDtype([*BIG, 3])),
        ([1, 2], pd.CategoricalDtype([1, 2, 3])),
        ([True, False], pd.CategoricalDtype([True, False])),
        ([True, False], "boolean"),
        ([0.1, 0.2], "Float32"),
        ([0.1, 0.2], "Float64"),
        (["a", "b"], "string"),
        (["a", "b"], "category"),
        ([1, 2], object),
    ],
)
@pytest.mark.parametrize("numeric", [False, True])
def test_one_missing_value_of_a_column_moves_no_other_row(values, dtype, numeric):
    column = {"type": "numeric", "low": 0, "high": 1, "missing": True}
    schema = {"c": column if numeric else category(*values, "else")}
    source = DPStatisticsSource(classes=CLASSES, encoder=TabularEncoder(schema))
    sums = source.accumulator().plan.sums
    rows = values * 10
    before = sums(pd.DataFrame({"c": pd.Series(rows, dtype=dtype)}), CLASSES * 10)
    missing = sums(pd.DataFrame({"c": pd.Series([None], dtype=dtype)}), CLASSES[:1])
    more = pd.DataFrame({"c": pd.Series([*rows, None], dtype=dtype)})
    after = sums(more, [*CLASSES * 10, CLASSES[0]])
    assert (after.sums == before.sums + missing.sums).all()
    assert (after.second == before.second + missing.second).all()


NUMBERS = {name: {"type": "numeric", "low": 0, "high": 1} for name in "ab"}


def wrong_inputs():
    rng = np.random.RandomState(0)
    X, y = rng.rand(19, 2), rng.randint(2, size=19)
    text = X.astype(object)
    text[3, 1] = "John Smith"
    ragged = [*X[:-1].tolist(), [0.5]]
    none, numbers, plain = {}, {"encoder": TabularEncoder(NUMBERS)}, {"encoder": TabularEncoder()}
    people = {"privacy_unit": "group"}
    return [
        (none, text, y),
        (none, text.tolist(), y),
        (none, text.astype(str), y),
        (plain, text, y),
        (plain, text.tolist(), y),
        (plain, pd.DataFrame(text, columns=["a", "b"]), y),
        (plain, X.astype(complex), y),
        (numbers, X.astype(complex), y),
        (none, X.astype(complex), y),
        (none, X, y.astype(complex) + 42j),
        (none, ragged, y),
        (plain, ragged, y),
        (numbers, ragged, y),
        (none, X[:, 0], y),
        (plain, X[:, 0], y),
        (numbers, X[:, 0], y),
        (none, X, y[:-1]),
        (none, X, np.column_stack([y, y])),
        (numbers, X, y[:-1]),
        (none, X[:, :0], y),
        (none, X[:0], y[:0]),
        (plain, X[:0], y[:0]),
        ({"classes": None}, X, [*y[:-1].tolist(), "John Smith"]),
        ({"classes": None}, X, [*y[:-1].tolist(), [42]]),
        (people, X, y, [*range(18), "John Smith"]),
        (people, X, y, [*range(18), [42]]),
        (people, X, y, range(18)),
    ]


@pytest.mark.parametrize("case", range(len(wrong_inputs())))
def test_no_error_shows_a_value_or_a_number_of_rows(case):
    settings, *given = wrong_inputs()[case]
    with pytest.raises((TypeError, ValueError)) as error:
        DPStatisticsSource(**{"classes": [0, 1], **settings}).fit(*given)
    shown, texts = error.value, []
    while shown is not None:
        texts.append(str(shown))
        shown = None if shown.__suppress_context__ else shown.__context__
    assert not re.search(r"\b(0 s|18|19|20)\b|42|John|<U|0\.\d\d", " ".join(texts))


DAY = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[ns]")


@pytest.mark.parametrize(
    "groups",
    [
        DAY,
        DAY.astype("datetime64[us]"),
        pd.Series(DAY),
        [pd.Timestamp("2020-01-01"), 1],
        DAY - DAY[0],
        np.array([0.1, 0.2], dtype=np.float32),
        [0.1, 0.2],
        [1.0, 2],
        np.array([b"a", b"b"]),
        [b"a", "a"],
        [1, "a"],
        [(float("nan"),), (1,)],
        [True, False],
        np.array([True, False]),
        [1, True],
        [["x"], ["y"]],
    ],
)
def test_ids_that_may_be_written_in_two_ways_are_refused(groups):
    with pytest.raises(ValueError, match=r"Convert IDs alike in all .* missing in some rows"):
        plan("group").sums(np.zeros((2, 3)), CLASSES, groups)


@pytest.mark.parametrize(
    ("some", "same"),
    [
        (["a", "b"], np.array(["b", "c"])),
        (pd.Series(["a", "b"], dtype="string"), pd.Series(["b", "c"], dtype="category")),
        ([1, 2], np.array([2, 3], dtype=np.uint64)),
        (pd.Series([1, 2], dtype="Int64"), [np.int8(2), 5]),
        (np.array([2**60, 1]), [2**60, 2]),
    ],
)
def test_a_person_is_known_again_in_any_form_of_text_or_whole_numbers(some, same):
    source = DPStatisticsSource(classes=CLASSES, privacy_unit="group", model="linear")
    accumulator = source.accumulator(3)
    accumulator.add(np.zeros((2, 3)), CLASSES, some)
    with pytest.raises(ValueError, match="rows in several chunks"):
        accumulator.add(np.zeros((2, 3)), CLASSES, same)
    accumulator.add(np.zeros((2, 3)), CLASSES, [7, 8])
    for same in (["x", "07"], np.array(["8", "y"])):
        with pytest.raises(ValueError, match="rows in several chunks"):
            accumulator.add(np.zeros((2, 3)), CLASSES, same)
    assert accumulator._exact().counts.sum() == 2**32
