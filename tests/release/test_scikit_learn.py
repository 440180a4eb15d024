"""A release is a fitted classifier to scikit-learn's tools, on tables as they are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.metrics import (
    RocCurveDisplay,
)
from sklearn.model_selection import (
    cross_val_score,
)
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skdp import DPSource, DPStatisticsSource
from skdp.datasets import load_heart_disease
from skdp.release import RowsModel

pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning", "ignore:The values of")
HEART = load_heart_disease()
NAMES = {"numbers": [0, 1], "text": ["well", "ill"]}  # the latter are listed in another order


@pytest.fixture(scope="module", params=NAMES)
def case(request):
    """A release of one hospital, the table of another one, and its labels."""
    classes = NAMES[request.param]
    X, y = HEART.data, np.array(classes)[HEART.target]
    schema = HEART.schema | {"classes": classes}
    own, other = HEART.hospital == "Cleveland", np.flatnonzero(HEART.hospital == "Budapest")[::2]
    source = DPStatisticsSource(4.0, encoder=schema, random_state=np.random.RandomState(0))
    release = source.fit(X[own], y[own]).release_
    return release, X.iloc[other].reset_index(drop=True), y[other]


class Wrapper(ClassifierMixin, BaseEstimator):
    """An ordinary estimator that predicts what a release does."""

    def __init__(self, release):
        self.release = release

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return self.release.predict_proba(X)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_it_is_a_fitted_classifier(case):
    release, X, y = case
    assert is_classifier(release)
    assert get_tags(release).estimator_type == "classifier"
    assert get_tags(release).input_tags.allow_nan
    check_is_fitted(release)
    assert_array_equal(release.classes_, np.unique(y))
    assert_array_equal(release.predict(X), Wrapper(release).fit(X, y).predict(X))
    assert clone(release) is release
    frozen = FrozenEstimator(release).fit(X, y)
    assert clone(frozen).estimator is release
    assert_array_equal(frozen.predict(X), release.predict(X))
    assert repr(release) in frozen._repr_html_()


def test_it_is_not_fitted_again(case):
    release, X, y = case
    with pytest.raises(TypeError, match=r"DPTransferClassifier\(release\).fit\(X, y\); for"):
        release.fit(X, y)
    with pytest.raises(TypeError, match=r"pass FrozenEstimator\(release\)"):
        cross_val_score(release, X, y, error_score="raise")


def test_one_without_scores_names_the_remedy():
    X, y = HEART.data[["age", "thalach"]].dropna(), HEART.target
    y = y[X.index]
    source = DPSource(epsilon=8.0, bounds=([20, 60], [90, 210]), parts="noise_aware")
    release = source.fit(X, y).release_.restrict(["age"])
    moments_alone = type(release)(
        **{name: getattr(release, name) for name in ("n_features", "dtype", "guarantee")},
        outcome=release.outcome,
        model=RowsModel(release.moments),
    )
    for tool in (
        lambda: RocCurveDisplay.from_estimator(moments_alone, X[["age"]], y),
        lambda: permutation_importance(moments_alone, X[["age"]], y, scoring="roc_auc"),
        lambda: FrozenEstimator(moments_alone).predict(X[["age"]]),
    ):
        with pytest.raises(ValueError, match="Learn from it with DPTransferClassifier"):
            tool()
