import numpy as np
import pytest

from skdp.utils._indices import as_slice


@pytest.mark.parametrize("positions", [[], [0], [3], [0, 1, 2], [4, 5]])
def test_positions_that_follow_each_other_are_a_slice(positions):
    index = as_slice(np.array(positions, dtype=int))
    assert isinstance(index, slice)
    assert np.arange(10)[index].tolist() == positions


@pytest.mark.parametrize("positions", [[1, 3], [2, 1], [1, 1], [2, 0, 1], [0, 2, 2]])
def test_others_stay_as_they_are(positions):
    positions = np.array(positions)
    assert as_slice(positions) is positions
