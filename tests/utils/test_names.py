import numpy as np
import pytest

from skdp.utils._names import checked_subset


@pytest.mark.parametrize("names", [["c", "a"], ("c", "a"), iter("ca"), np.array(["c", "a"])])
def test_names_keep_their_order(names):
    assert checked_subset("f", names, ["a", "b", "c"]) == ("c", "a")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("a", r"'names' parameter of f must be a list of names, got 'a'. Pass \['a'\]"),
        (7, "must be a list of names, got 7"),
        ([], "is empty. Name one"),
        (["a", "d", 5], r"unknown columns, \['d', 5\]. Use some of \['a', 'b'\]"),
        (["b", "a", "b"], r"columns \['b'\] more than once"),
    ],
)
def test_what_is_no_subset_is_named(names, message):
    with pytest.raises(ValueError, match=message):
        checked_subset("f", names, ["a", "b"])
