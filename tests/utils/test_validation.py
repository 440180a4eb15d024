"""Checks of magnitudes and names, and text that does nothing to a terminal."""

import numpy as np
import pytest

from skdp.utils._validation import check_magnitude, checked_subset, inline


@pytest.mark.parametrize("largest", [0.0, 1e-11, 1.0, -1e11])
def test_magnitudes_whose_powers_are_numbers_pass(largest):
    check_magnitude(np.array([[0.0, largest]]), "X")


@pytest.mark.parametrize("largest", [1e-12, -1e-15, 1e12, -1e15])
def test_other_magnitudes_are_refused_by_name(largest):
    with pytest.raises(ValueError, match=r"Input y must have its largest magnitude.*Scale it"):
        check_magnitude(np.array([0.0, largest]), "y")


@pytest.mark.parametrize("names", [["c", "a"], ("c", "a"), iter("ca"), np.array(["c", "a"])])
def test_names_keep_their_order(names):
    assert checked_subset("f", names, ["a", "b", "c"]) == ("c", "a")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("a", r"'names' parameter of f must be a list of names, got 'a'. Pass \['a'\]"),
        (7, "must be a list of names, got 7"),
        ([], "is empty. Name at least one"),
        (["a", "d", 5], r"unknown columns, \['d', 5\]. Use some of \['a', 'b'\]"),
        (["b", "a", "b"], r"columns \['b'\] more than once"),
    ],
)
def test_what_is_no_subset_is_named(names, message):
    with pytest.raises(ValueError, match=message):
        checked_subset("f", names, ["a", "b"])


def test_only_what_does_not_print_is_escaped():
    assert inline("ε ≤ 1") == "ε ≤ 1"
    assert inline("a\r\x1b[2J\n\x07") == "a\\r\\x1b[2J\\n\\x07"
