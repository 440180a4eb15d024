import numpy as np
import pandas as pd
import pytest

from skdp.commands._labels import class_labels


@pytest.mark.parametrize(
    ("cells", "classes", "expected"),
    [
        (["1", "0.0", "2", ""], [0, 1], [1, 0, None, None]),
        (["1", "0.0", "2", ""], ["0", "1"], ["1", "0", None, None]),
        (["true", "FALSE", "True", "no"], [False, True], [True, False, True, None]),
        (["home", "Home", "died", "NA"], ["died", "home"], ["home", None, "died", None]),
        (["NA", "DE", "", "x"], ["FR", "DE"], [None, "DE", None, None]),
        (["07", "TRUE", " 1", "7e0"], [1, 7], [7, 1, 1, 7]),
        (["0.5", "1.5", "1.50", "1"], [0.5, 1.5], [0.5, 1.5, 1.5, None]),
    ],
)
def test_cells_are_classes_by_themselves(cells, classes, expected):
    labels, given = class_labels(pd.Series(cells, dtype=object), classes)
    assert labels.tolist() == expected
    assert [type(label) for label in labels] == [type(label) for label in expected]
    empty = [cell in ("", "NA") for cell in cells]
    assert given.tolist() == np.logical_not(empty).tolist()


@pytest.mark.parametrize("dtype", ["Int64", "Float64", object, "category"])
def test_columns_that_are_typed_already(dtype):
    labels, given = class_labels(pd.Series([1, 0, None], dtype=dtype), [0, 1])
    assert labels.tolist() == [1, 0, None]
    assert given.tolist() == [True, True, False]
