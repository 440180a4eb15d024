"""Rows as they come: what is refused, and what is left out."""

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, PrivacyLeakWarning, TabularEncoder
from skdp.release.statistics import check_labels

CLASSES = ["ill", "well"]


def layout(unit="record", **columns):
    source = DPStatisticsSource(classes=CLASSES, privacy_unit=unit, model="linear")
    return source.accumulator(**(columns or {"n_features": 3})).layout


@pytest.mark.parametrize("groups", [["ann", None], ["ann", np.nan], [1.0, np.nan], [1, pd.NA]])
@pytest.mark.parametrize("as_series", [False, True])
def test_rows_without_a_person_are_refused(groups, as_series):
    groups = pd.Series(groups) if as_series else groups
    with pytest.raises(ValueError, match="lacks the group"):
        layout("group").sums(np.zeros((2, 3)), CLASSES, groups)


@pytest.mark.parametrize("groups", [["x"], ["x"] * 3, [["x"], ["y"]], "xy"])
def test_groups_are_one_for_each_row(groups):
    with pytest.raises(ValueError, match="one entry for each row"):
        layout("group").sums(np.zeros((2, 3)), CLASSES, groups)


@pytest.mark.parametrize(
    ("unit", "groups", "message"),
    [
        ("group", None, "='group', but no 'groups' were given. Say there whose each row is, so"),
        ("record", ["x", "y"], "='record', but 'groups' were given. Leave them out, or use pri"),
    ],
)
def test_groups_go_with_the_unit(unit, groups, message):
    with pytest.raises(ValueError, match=message):
        layout(unit).sums(np.zeros((2, 3)), CLASSES, groups)


def test_rows_and_labels_must_fit_together(rng):
    for y in (CLASSES[:1], CLASSES * 2):
        with pytest.raises(ValueError, match="inconsistent numbers"):
            layout().sums(np.zeros((2, 3)), y)
    with pytest.raises(ValueError, match="1d array"):
        check_labels(None, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="Complex"):
        check_labels([1j, 2], np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("classes", "y", "kinds"),
    [
        ([0, 1], ["0", "1"], "text and the 'classes' parameter .* numbers"),
        (["0", "1"], [0, 1], "numbers and the 'classes' parameter .* text"),
        ([0, 1], [False, True], "booleans and .* numbers"),
        ([False, True], [0.0, 1.0], "numbers and .* booleans"),
    ],
)
def test_labels_of_another_type_than_the_classes_are_refused(classes, y, kinds):
    source = DPStatisticsSource(classes=classes)
    for labels in (y, np.array(y)):
        with pytest.raises(ValueError, match=f"'y' parameter holds {kinds}.* Write both alike"):
            source.accumulator(3).add(np.zeros((len(labels), 3)), labels)
    with pytest.raises(ValueError, match="'y' parameter holds"):
        source.fit(np.zeros((2, 3)), y)
    # Of objects only values could tell, and these must not.
    sums = source.accumulator(3).layout.sums(np.zeros((2, 3)), np.array(y, dtype=object))
    assert sums.counts.sum() == (2**31 if type(y[0]) in (bool, float) else 0)


def test_kinds_of_numbers_and_of_text_are_no_matter():
    for classes, y in (([0, 1], [0.0, 1.0]), ([0.0, 1.0], np.array([0, 1], dtype=np.uint8))):
        layout_ = DPStatisticsSource(classes=classes).accumulator(3).layout
        assert layout_.sums(np.zeros((2, 3)), y).counts.tolist() == [2**30] * 2
    longer = np.array(["ill", "well", "a longer one"])
    assert layout().sums(np.zeros((3, 3)), longer).counts.tolist() == [2**30] * 2


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_are_refused_and_not_repeated(value):
    X = np.full((2, 3), 0.4242)
    X[1, 1] = value
    with pytest.raises(ValueError, match="Input X contains") as error:
        layout().sums(X, CLASSES)
    assert "4242" not in str(error.value)


def test_other_columns_are_refused():
    with pytest.raises(ValueError, match="other columns than the 3"):
        layout().sums(np.zeros((2, 4)), CLASSES)
    named = layout(feature_names=["u", "v"])
    frame = pd.DataFrame(np.zeros((2, 2)), columns=["v", "u"])
    with pytest.raises(ValueError, match="other columns than the 2"):
        named.sums(frame, CLASSES)
    assert named.sums(frame[["u", "v"]], CLASSES).counts.tolist() == [2**30] * 2
    # Names that nobody announced cannot be compared.
    with pytest.raises(ValueError, match="feature_names"):
        layout(n_features=2).sums(frame, CLASSES)


def test_no_rows_are_rows_too():
    sums = layout().sums(np.zeros((0, 3)), [])
    assert not any(map(np.any, (sums.counts, sums.sums, sums.second)))
    schema = {"age": {"type": "numeric", "low": 0, "high": 100}}
    source = DPStatisticsSource(classes=CLASSES, encoder=TabularEncoder(schema))
    nothing = source.accumulator().layout.sums(pd.DataFrame({"age": []}), [])
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
    expected = layout().sums(X[[0, 2]], CLASSES)
    source = DPStatisticsSource(np.inf, classes=CLASSES, random_state=0)
    with pytest.warns(PrivacyLeakWarning, match="epsilon=inf|exact|no noise"):
        fitted = source.fit(X, y)
    sums = layout().sums(X, y)
    assert sums.counts.tolist() == expected.counts.tolist() == [2**30] * 2
    assert (sums.second == expected.second).all()
    assert fitted.release_.moments.class_counts == pytest.approx([1.5, 1.5])
