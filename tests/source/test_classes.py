"""The public list of classes."""

import numpy as np
import pytest

from skdp import DPStatisticsSource, PrivacyLeakWarning
from skdp.source._door import classes_of, listed_classes
from skdp.source._private_rows import chosen_outcome
from skdp.tabular import as_schema


@pytest.mark.parametrize(
    "given", [["well", "ill"], range(3), np.array([2, 7]), [True, False], (0.0, 1)]
)
def test_a_list_is_taken_and_sorted(given):
    classes = listed_classes(given)
    assert classes.tolist() == sorted(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "two or more different"),
        (["a"], "two or more different"),
        (["a", "a"], "two or more different"),
        ([1, True], "two or more different"),
        (["a", None], "two or more different"),
        ([0.0, np.nan], "two or more different"),
        ([1, "a"], "two or more different"),
        ([[1, 2], [3, 4]], "two or more different"),
        (np.array(["2020-01-01", "2021-01-01"], "M8[D]"), "two or more different"),
        (["7", "007"], "lists '007' and '7', which table readers take for the same"),
        ([0.5, 1], "lists the fraction 0.5 .*as text"),
        ([0, 0.0, 1], "two or more different"),
        ([2**53, 2**53 + 1], "take for the same"),
        (["TRUE", "1"], "take for the same"),
        (["NA", "DE"], "lists 'NA', which marks missing values in tables.* spell them"),
    ],
)
def test_what_is_no_list_of_classes_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        listed_classes(given)


def test_the_schema_may_list_them():
    schema = as_schema(
        {
            "version": 1,
            "columns": {"age": {"type": "numeric", "low": 0, "high": 100}},
            "classes": ["ill", "well"],
        }
    )
    assert chosen_outcome(DPStatisticsSource(), schema).classes == ("ill", "well")
    other = DPStatisticsSource(classes=["b", "a"])
    assert chosen_outcome(other, schema).classes == ("a", "b")
    assert not chosen_outcome(DPStatisticsSource(), None).is_complete


def test_names_that_are_taken_from_y_warn():
    for y, expected in (([3, 1, 3], [1, 3]), (["1", "b", "01", "1.0"], ["01", "b"])):
        with pytest.warns(PrivacyLeakWarning, match="names of the classes from y"):
            assert classes_of([np.array(y)]).classes == tuple(expected)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "is needed where rows arrive in parts"),
        (np.array(["secret", "secret"]), "at least two"),
        (np.array([0.1234, 1.5, 2.25]), "continuous"),
        (np.array(["secret", None, "b"], dtype=object), "NaN, or None"),
        (np.array([1.0, 2.0, np.nan]), "NaN"),
    ],
)
def test_labels_that_list_no_classes_are_refused_and_not_repeated(y, message):
    with pytest.raises(ValueError, match=message) as error:
        classes_of(None if y is None else [y])
    assert "secret" not in str(error.value)
    assert "0.1234" not in str(error.value)
