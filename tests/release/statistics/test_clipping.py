import numpy as np
import pytest
from scipy.stats import gamma

from skdp.release.statistics import square_before_clipping


@pytest.mark.parametrize("mean", [0.2, 0.7, 1.0, 1.5])
def test_the_mean_square_of_clipped_rows_is_recovered(mean):
    squares = gamma.rvs(10.0, scale=mean / 10.0, size=400_000, random_state=0)
    clipped = np.minimum(squares, 1.0).mean()
    assert square_before_clipping(clipped, 1.0, 2.0) == pytest.approx(mean, rel=0.03)


def test_where_all_rows_are_clipped_the_public_guess_is_left():
    assert square_before_clipping(1.0, 1.0, 1.7) == 1.7
    assert square_before_clipping(0.9999, 1.0, 1.7) == 1.7


@pytest.mark.parametrize("clipped", [1e-9, 0.1, 0.5, 1.0, 1.1])
def test_rows_are_never_shorter_than_they_look(clipped):
    assert square_before_clipping(clipped, 1.0, 0.3) >= clipped
    assert square_before_clipping(clipped, 1.0, 3.0) >= clipped
