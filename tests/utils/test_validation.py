import numpy as np
import pytest

from skdp.utils._validation import check_magnitude


@pytest.mark.parametrize("largest", [0.0, 1e-11, 1.0, -1e11])
def test_magnitudes_whose_powers_are_numbers_pass(largest):
    check_magnitude(np.array([[0.0, largest]]), "X")


@pytest.mark.parametrize("largest", [1e-12, -1e-15, 1e12, -1e15])
def test_other_magnitudes_are_refused_by_name(largest):
    with pytest.raises(ValueError, match=r"Input y must have its largest magnitude.*Scale it"):
        check_magnitude(np.array([0.0, largest]), "y")
