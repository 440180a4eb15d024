from numbers import Integral

import pytest
from sklearn.base import BaseEstimator

from skdp.utils._sklearn import Interval, StrOptions, fit_context


def test_fit_checks_parameters():
    class Estimator(BaseEstimator):
        _parameter_constraints: dict = {
            "low": [Interval(Integral, 0, None, closed="left")],
            "kind": [StrOptions({"a", "b"})],
        }

        def __init__(self, low=0, kind="a"):
            self.low = low
            self.kind = kind

        @fit_context(prefer_skip_nested_validation=True)
        def fit(self, X, y=None):
            return self

    Estimator().fit(None)
    with pytest.raises(ValueError, match="'low' parameter of Estimator"):
        Estimator(low=-1).fit(None)
    with pytest.raises(ValueError, match="'kind' parameter of Estimator"):
        Estimator(kind="c").fit(None)
