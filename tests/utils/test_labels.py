import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from skdp.utils._labels import is_missing, unlabelled_rows


@pytest.mark.parametrize(
    ("y", "marker", "classes", "expected"),
    [
        ([0, -1, 1], "auto", None, [1]),
        ([1, -1, 1], "auto", (-1, 1), []),
        ([1, -1, None], "auto", (-1, 1), [2]),
        ([0.0, np.nan, -1.0], "auto", (0, 1), [1, 2]),
        ([0.0, np.nan, -1.0], None, None, [1]),
        ([0, -1, 2], 2, None, [2]),
        (["a", "?", None], "?", None, [1]),
        (["a", "auto", "b"], "auto", None, []),
        ([True, False], "auto", None, []),
        # −1 is a class only where that makes two.
        ([1, -1, 1], "auto", None, []),
        ([1, -1, None], "auto", None, [2]),
        ([1, -1, 2], "auto", None, [1]),
        ([-1, -1, None], "auto", None, [0, 1, 2]),
        ([1, -1, 1], "auto", (0, 1), [1]),
        ([1, -1, 1], -1, None, [1]),
    ],
)
def test_marks(y, marker, classes, expected):
    assert_array_equal(np.flatnonzero(unlabelled_rows(y, marker, classes)), expected)


def test_missing_labels():
    assert all(map(is_missing, [None, np.nan, pd.NA, pd.NaT, float("nan")]))
    assert not any(map(is_missing, ["", 0, -1, "nan", False]))
