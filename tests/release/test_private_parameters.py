"""Errors about parameters quote no rows that were given for one by mistake."""

import numpy as np
import pandas as pd
import pytest

from skdp import DPSource, DPStatisticsSource

SECRET = 8675309
ROWS = pd.DataFrame({"age": [SECRET, 1.0], "ward": ["secret", "A"]})
NAMES = (
    "encoder",
    "bounds",
    "epsilon",
    "delta",
    "radius",
    "privacy_unit",
    "noise",
    "label_noise",
    "ledger",
    "verbose",
)


@pytest.mark.parametrize("source", [DPSource, DPStatisticsSource])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [ROWS, ROWS["age"], ROWS.to_numpy(), {"age": ROWS["age"]}])
def test_no_parameter_is_quoted_that_may_be_private(source, name, value):
    if name not in source().get_params(deep=False):
        pytest.skip(f"{source.__name__} has no {name}")
    X, y = np.random.RandomState(0).rand(40, 2), np.arange(40) % 2
    settings = {"classes": [0, 1]} if source is DPStatisticsSource else {}
    with pytest.raises((ValueError, TypeError)) as caught:
        source(**{**settings, name: value}).fit(X, y)
    assert str(SECRET) not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_numbers_and_words_are_quoted():
    with pytest.raises(ValueError, match=r"'epsilon' parameter of DPSource .* Got -3 instead"):
        DPSource(-3).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"'encoder' parameter .* Got a value of type DataFrame"):
        DPStatisticsSource(encoder=ROWS).fit([[0.0], [1.0]], [0, 1])
