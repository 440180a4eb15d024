"""A release is a fitted classifier to scikit-learn's tools, on tables as they are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay, calibration_curve
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    average_precision_score,
    confusion_matrix,
    get_scorer,
    log_loss,
    roc_auc_score,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skdp import DPSource, DPStatisticsSource, TabularEncoder
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


def test_displays(case):
    release, X, y = case
    positive = release.classes_[1]
    p, truth = release.predict_proba(X)[:, 1], y == positive
    area = RocCurveDisplay.from_estimator(release, X, y).roc_auc
    assert area == pytest.approx(roc_auc_score(truth, p))
    assert area > 0.8
    precision = PrecisionRecallDisplay.from_estimator(release, X, y).average_precision
    assert precision == pytest.approx(average_precision_score(truth, p))
    matrix = ConfusionMatrixDisplay.from_estimator(release, X, y).confusion_matrix
    assert_array_equal(matrix, confusion_matrix(y, release.predict(X)))
    shown = CalibrationDisplay.from_estimator(release, X, y)
    fraction, mean = calibration_curve(truth, p)
    assert_allclose(shown.prob_true, fraction)
    assert_allclose(shown.prob_pred, mean)


def test_scorers(case):
    release, X, y = case
    p = release.predict_proba(X)
    expected = {
        "roc_auc": roc_auc_score(y == release.classes_[1], p[:, 1]),
        "neg_log_loss": -log_loss(y, p),
        "accuracy": release.score(X, y),
    }
    for name, value in expected.items():
        assert get_scorer(name)(release, X, y) == pytest.approx(value)
    folds = list(StratifiedKFold(3).split(X, y))
    found = cross_val_score(FrozenEstimator(release), X, y, cv=folds, scoring="roc_auc")
    area = [roc_auc_score(y[test] == release.classes_[1], p[test, 1]) for _, test in folds]
    assert_allclose(found, area)
    out_of_fold = cross_val_predict(FrozenEstimator(release), X, y, method="predict_proba")
    assert_allclose(out_of_fold, p)


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", None])
def test_importances_of_raw_columns(case, scoring):
    release, X, y = case
    settings = {"scoring": scoring, "n_repeats": 1}
    found, expected = (
        permutation_importance(model, X, y, random_state=0, **settings)
        for model in (release, Wrapper(release).fit(X, y))
    )
    assert_allclose(found.importances, expected.importances)
    assert scoring is None or found.importances_mean.max() > 0.01
    # A column that is not there at all, in another order of rows, is the same.
    unknown = X.assign(ca=np.nan)
    gone = permutation_importance(release, unknown, y, random_state=0, **settings)
    assert not gone.importances[X.columns.get_loc("ca")].any()


def test_partial_dependence_is_the_mean_probability(case):
    release, X, _ = case
    X = X.astype({"age": float})
    curve = partial_dependence(release, X, ["age"], grid_resolution=4)
    for age, mean in zip(curve["grid_values"][0], curve["average"][0], strict=True):
        assert mean == pytest.approx(release.predict_proba(X.assign(age=age))[:, 1].mean())


def test_calibration_and_thresholds(case):
    release, X, y = case
    positive = release.classes_[1]
    p, truth = release.predict_proba(X)[:, 1], y == positive
    frozen = FrozenEstimator(release)
    calibrated = CalibratedClassifierCV(frozen, method="isotonic").fit(X, y)
    assert_array_equal(calibrated.classes_, release.classes_)
    steps = IsotonicRegression(out_of_bounds="clip").fit(p, truth).predict(p)
    assert_allclose(calibrated.predict_proba(X)[:, 1], steps, atol=1e-9)
    fixed = FixedThresholdClassifier(frozen, threshold=0.3).fit(X, y)
    assert_array_equal(fixed.predict(X) == positive, p >= 0.3)
    tuned = TunedThresholdClassifierCV(frozen, cv="prefit", refit=False).fit(X, y)
    assert tuned.best_score_ >= get_scorer("balanced_accuracy")(release, X, y) - 0.01


def test_committees(case):
    release, X, y = case
    frozen = [("a", FrozenEstimator(release)), ("b", FrozenEstimator(release))]
    p = release.predict_proba(X)
    voting = VotingClassifier(frozen, voting="soft").fit(X, y)
    assert_allclose(voting.predict_proba(X), p)
    assert_array_equal(voting.predict(X), release.predict(X))
    stacking = StackingClassifier(frozen[:1], cv="prefit").fit(X, y)
    final = LogisticRegression().fit(p[:, 1:], y)
    assert_allclose(stacking.predict_proba(X), final.predict_proba(p[:, 1:]), atol=1e-6)


def test_encoded_rows_in_a_pipeline(case):
    release, X, y = case
    model = make_pipeline(TabularEncoder(release.encoder), FrozenEstimator(release)).fit(X, y)
    assert_allclose(model.predict_proba(X), release.predict_proba(X))


def test_one_without_scores_names_the_remedy():
    X, y = HEART.data[["age", "thalach"]].dropna(), HEART.target
    y = y[X.index]
    source = DPSource(epsilon=8.0, bounds=([20, 60], [90, 210]), parts="noise_aware")
    release = source.fit(X, y).release_.restrict(["age"])
    moments_alone = type(release)(
        **{name: getattr(release, name) for name in ("n_features", "dtype", "guarantee")},
        classes=release.classes,
        model=RowsModel(release.moments),
    )
    for tool in (
        lambda: RocCurveDisplay.from_estimator(moments_alone, X[["age"]], y),
        lambda: permutation_importance(moments_alone, X[["age"]], y, scoring="roc_auc"),
        lambda: FrozenEstimator(moments_alone).predict(X[["age"]]),
    ):
        with pytest.raises(ValueError, match="Learn from it with DPTransferClassifier"):
            tool()


def test_tables_without_a_column_are_refused_by_name(case):
    release, X, y = case
    with pytest.raises(ValueError, match="thal"):
        RocCurveDisplay.from_estimator(release, X.drop(columns="thal"), y)
