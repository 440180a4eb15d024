"""What is predicted: classes, a number or a time, each by what others ask of it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from skdp.tabular import ClassOutcome, EventOutcome, NumberOutcome, outcome_of

CLASSES = ClassOutcome(("a", "b", "c"))
NUMBER = NumberOutcome(0, 80, step=1)
TIME = EventOutcome(10, "died", "days")
ALL = [CLASSES, NUMBER, TIME]
DATES = pd.Series(pd.to_datetime(["2020-01-01"] * 6))


@pytest.mark.parametrize("outcome", [*ALL, ClassOutcome(), NumberOutcome(1, 9, True, noisy=True)])
def test_it_is_described_in_a_schema_and_read_again(outcome):
    again = outcome_of(outcome.description())
    assert again == outcome
    assert hash(again) == hash(outcome)
    assert outcome.fault() == "" or not outcome.is_complete


@pytest.mark.parametrize("outcome", ALL)
def test_sums_add_to_those_of_the_same_outcome_alone(outcome):
    for other in [*ALL, ClassOutcome(("a", "b")), NumberOutcome(0, 81), EventOutcome(11)]:
        reason = outcome.mismatch(other)
        assert (reason == "") == (outcome == other)
        assert outcome.covers(other) == (outcome == other or outcome.covers(other))
    assert EventOutcome(10).mismatch(TIME) == ""  # names of columns are no part of sums


def test_a_list_covers_classes_in_any_spelling():
    assert ClassOutcome(("0", "1", "2")).covers(ClassOutcome((0, 2)))
    assert not ClassOutcome((0, 1)).covers(ClassOutcome((0, 2)))
    assert ClassOutcome().covers(CLASSES)
    assert not ClassOutcome().covers(NUMBER)


def test_rows_are_coded_and_left_out():
    assert_array_equal(CLASSES.codes(["c", None, "d", "a"]), [2, -1, -1, 0])
    assert_array_equal(NUMBER.codes([0, "20", None, 400, -5], steps=4), [0, 1, -1, 4, 0])
    cells = TIME.codes([True, False, None, True], [9.9, 10, 3, 11], steps=4)
    assert_array_equal(cells, [19, 40, -1, 40])
    assert [outcome.n_cells for outcome in ALL] == [3, 2, 41]
    assert [outcome.n_sums for outcome in ALL] == [3, 2, 2]


@pytest.mark.parametrize(
    ("outcome", "right", "wrong"),
    [
        (CLASSES, np.array(["a"] * 6), np.arange(6)),
        (ClassOutcome((0, 1)), np.array(["1"] * 6), DATES),
        (NUMBER, np.array(["3"] * 6), np.ones(6, dtype=bool)),
        (NUMBER, np.arange(6), DATES),
    ],
)
def test_types_decide_what_is_refused(outcome, right, wrong):
    assert outcome.refusal(right, right) is None
    assert "'y' parameter holds" in outcome.refusal(wrong, wrong)


def test_events_that_cannot_be_read_are_refused_without_quoting_them():
    times = np.full(6, 3.0)
    assert TIME.refusal(None, np.array(["yes"] * 6), times) is None
    assert "secret" not in TIME.refusal(None, np.array(["secret"] * 6), times)
    assert TIME.refusal(None, np.array(["yes"] * 2 + ["other"] * 4), times) is None  # too few


def test_only_classes_have_classes_and_only_times_have_curves():
    for outcome in (NUMBER, TIME):
        with pytest.raises(AttributeError, match="no classes"):
            _ = outcome.classes
        with pytest.raises(ValueError, match="cannot be combined with an outcome"):
            outcome.with_classes(("a", "b"), "DPStatisticsSource")
        assert outcome.groups == ()
    for outcome in (CLASSES, NUMBER):
        with pytest.raises(AttributeError, match="survival curves"):
            _ = outcome.curve_times
    assert TIME.curve_times[-1] == 10
    assert_array_equal(TIME.curve_times[9::10], TIME.ends)


@pytest.mark.parametrize(
    ("classes", "fault"),
    [
        (("b", "a"), "sorted"),
        (("a", "a"), "two or more different"),
        (("a",), "two or more different"),
        ((0, "a"), "of one type"),
        ((0.0, float("inf")), "finite"),
        (([0], [1]), "list of numbers"),
        (None, "list of numbers"),
    ],
)
def test_classes_that_no_release_can_have(classes, fault):
    assert fault in ClassOutcome(classes).fault()
