"""No type of input moves neighbors further apart than the sensitivity says."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import config_context

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise

NOISES = [OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise]
N = 20_000


def outputs(cls, value, sensitivity, wrap):
    noise = cls(1.0, sensitivity=sensitivity, random_state=np.random.RandomState(value % 2))
    return np.asarray(noise.fit_transform(wrap(np.full((N, 1), value)))).ravel()


def gap(one, other):
    """Kolmogorov-Smirnov distance: at most 1 − e^−ε for ε-private outputs of neighbors."""
    return stats.ks_2samp(one, other).statistic


@pytest.mark.parametrize("wrap", [np.asarray, pd.DataFrame, np.ndarray.tolist])
@pytest.mark.parametrize("cls", NOISES)
@pytest.mark.parametrize(
    ("value", "sensitivity"),
    [(2**62 + 512, 1.0), (1700000000000000128, 10.0)],  # the latter: nanoseconds
)
def test_large_whole_numbers_are_no_further_apart_than_they_were(cls, value, sensitivity, wrap):
    one, other = (outputs(cls, v, sensitivity, wrap) for v in (value, value + 1))
    assert gap(one, other) < 1 - np.exp(-1) + 0.02


@pytest.mark.parametrize("cls", NOISES)
def test_that_gap_refuses_whole_numbers_cast_to_floats(cls):
    def cast(X):
        return X.astype(np.float64)

    one, other = (outputs(cls, v, 1.0, cast) for v in (2**62 + 512, 2**62 + 513))
    assert gap(one, other) == 1


@pytest.mark.parametrize("cls", NOISES)
def test_nan_is_never_taken_for_a_number(cls):
    X = np.array([[1.0], [np.nan]])
    with config_context(assume_finite=True):
        with pytest.raises(ValueError, match="contains NaN"):
            cls().fit_transform(X)
        noise = cls().fit(np.ones((2, 1)))
        with pytest.raises(ValueError, match="contains NaN"):
            noise.transform(X)
