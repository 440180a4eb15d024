import numpy as np
import pytest

from skdp.utils._validation import check_magnitude, stored_array


@pytest.mark.parametrize("largest", [0.0, 1e-11, 1.0, -1e11])
def test_magnitudes_whose_powers_are_numbers_pass(largest):
    check_magnitude(np.array([[0.0, largest]]), "X")


@pytest.mark.parametrize("largest", [1e-12, -1e-15, 1e12, -1e15])
def test_other_magnitudes_are_refused_by_name(largest):
    with pytest.raises(ValueError, match=r"Input y must have its largest magnitude.*Scale it"):
        check_magnitude(np.array([0.0, largest]), "y")


@pytest.mark.parametrize("shape", [(3, 2), (None, 2), (None, None)])
def test_stored_arrays_of_the_right_kind_are_returned_as_they_are(shape):
    array = np.ones((3, 2), dtype=np.float32)
    assert stored_array({"a": array}, "a", np.float32, shape) is array


@pytest.mark.parametrize(
    "array",
    [
        None,
        [[1.0, 1.0]],
        np.ones((3, 3)),
        np.ones((3, 2, 1)),
        np.ones((0, 2)),
        np.ones((3, 2), dtype=np.float32),
        np.ones((3, 2), dtype=complex),
        np.ones((3, 2), dtype=object),
        np.full((3, 2), "x"),
        np.full((3, 2), np.nan),
        np.full((3, 2), -np.inf),
    ],
)
def test_other_stored_arrays_are_refused_by_name(array):
    with pytest.raises(ValueError, match=r"array 'a' is not .*float64 .*shape \(any, 2\)"):
        stored_array({"a": array}, "a", float, (None, 2))
    with pytest.raises(ValueError, match="array 'b'"):
        stored_array({"a": array}, "b", float, (None, 2))
