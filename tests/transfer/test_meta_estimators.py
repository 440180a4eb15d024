"""DPTransferClassifier inside scikit-learn's meta-estimators: it works, or says why not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from skdp import DPStatisticsSource, DPTransferClassifier, LabeledSplit, TabularEncoder

pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
SCHEMA = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "ward": {"type": "category", "categories": ["A", "B", "C"]},
}
ENCODER = TabularEncoder(SCHEMA).fit(pd.DataFrame(columns=["age", "ward"]))
CLASSES = {"text": ["ill", "well"], "binary": [0, 1], "three": [0, 1, 2], "names": list("abc")}
SCORING = ["roc_auc", "neg_log_loss", "balanced_accuracy"]
MARKS = ["-1", "None", "NaN"]
LABELLED = 40


def table(n, seed, classes):
    rng = np.random.RandomState(seed)
    age, ward = rng.uniform(0, 100, n), rng.choice(list("ABC"), n)
    score = age / 100 + 0.3 * (ward == "B") + 0.2 * rng.randn(n)
    ranks = score.argsort().argsort()
    return pd.DataFrame({"age": age, "ward": ward}), np.array(classes)[ranks * len(classes) // n]


def release_of(classes, encoder=None, epsilon=4.0):
    X, y = table(2000, 0, sorted(classes))
    state = np.random.RandomState(0)
    source = DPStatisticsSource(epsilon, encoder=encoder, classes=classes, random_state=state)
    return source.fit(X if encoder else ENCODER.transform(X), y).release_


@pytest.fixture(scope="module")
def releases():
    """Releases of encoded rows, and of the table itself."""
    found = {name: release_of(classes) for name, classes in CLASSES.items()}
    return found | {"table": release_of(CLASSES["text"], SCHEMA)}


def target(name, n=100, seed=7):
    X, y = table(n, seed, CLASSES["text" if name == "table" else name])
    return (X if name == "table" else ENCODER.transform(X)), y


def marked(y, mark):
    """Return labels of which all but the first are marked, in the dtype that one would use."""
    if mark == "None" or y.dtype.kind == "U":
        y = y.astype(object)
    elif mark == "NaN":
        y = y.astype(float)
    y = y.copy()
    y[LABELLED:] = {"-1": -1, "None": None, "NaN": np.nan}[mark]
    return y


def classifier(release):
    return DPTransferClassifier(release, random_state=0)


def rows(X, index):
    return X.iloc[index] if hasattr(X, "iloc") else X[index]


def held_out(release, X, y):
    """Fit to all but half of the labels, and return those with their rows: the documented way."""
    train, held = next(LabeledSplit(2).split(X, y))
    model = classifier(release).fit(rows(X, train), y[train])
    return model, rows(X, held), np.array(y[held].tolist())


# All rows labelled


@pytest.mark.parametrize("name", ["table", "text", "binary", "three", "names"])
@pytest.mark.parametrize("cv", [2, LabeledSplit(2)])
def test_calibration_of_labelled_rows(releases, name, cv):
    X, y = target(name)
    X_test, y_test = target(name, 200, 8)
    model = CalibratedClassifierCV(classifier(releases[name]), cv=cv).fit(X, y)
    assert_array_equal(model.classes_, np.unique(y))
    assert np.mean(model.predict(X_test) == y_test) > (0.55 if model.classes_.size > 2 else 0.7)
    assert log_loss(y_test, model.predict_proba(X_test)) < 0.85 * np.log(model.classes_.size)


@pytest.mark.parametrize("name", ["table", "text", "binary"])
def test_thresholds_of_labelled_rows(releases, name):
    X, y = target(name)
    tuned = TunedThresholdClassifierCV(classifier(releases[name]), cv=LabeledSplit(2)).fit(X, y)
    fixed = FixedThresholdClassifier(classifier(releases[name]), threshold=0.3).fit(X, y)
    alone = classifier(releases[name]).fit(X, y)
    above = alone.predict_proba(X)[:, 1] > 0.3
    assert_array_equal(fixed.predict(X), alone.classes_[above.astype(int)])
    assert tuned.best_score_ > 0.65


def test_one_against_the_rest_of_two_classes_is_the_classifier_itself(releases):
    X, y = target("binary")
    alone = classifier(releases["binary"]).fit(X, y)
    rest = OneVsRestClassifier(classifier(releases["binary"])).fit(X, y)
    assert_allclose(rest.predict_proba(X), alone.predict_proba(X))
    one = OneVsOneClassifier(classifier(releases["binary"])).fit(X, y)
    assert_array_equal(one.predict(X), alone.predict(X))


@pytest.mark.parametrize("name", ["binary", "three"])
def test_committees_of_numbered_classes(releases, name):
    X, y = target(name)
    alone = classifier(releases[name]).fit(X, y)
    pair = [(key, classifier(releases[name])) for key in "ab"]
    voting = VotingClassifier(pair, voting="soft").fit(X, y)
    assert_allclose(voting.predict_proba(X), alone.predict_proba(X))
    bagging = BaggingClassifier(classifier(releases[name]), n_estimators=2, random_state=0)
    assert bagging.fit(X, y).score(X, y) > 0.55


# What recodes labels


@pytest.mark.parametrize("wrapped", [
    OneVsRestClassifier,
    BaggingClassifier,
    lambda each: VotingClassifier([("a", each)]),
    lambda each: CalibratedClassifierCV(each, cv=2, ensemble=False),
])  # fmt: skip
def test_text_that_was_numbered_is_refused(releases, wrapped):
    X, y = target("text")
    message = r"\[0, 1\] in y are not among .* VotingClassifier, .* FrozenEstimator"
    with pytest.raises(ValueError, match=message):
        wrapped(classifier(releases["text"])).fit(X, y)


@pytest.mark.parametrize("wrapper", [OneVsRestClassifier, OneVsOneClassifier])
def test_two_of_three_classes_are_refused_as_recoded(releases, wrapper):
    X, y = target("three")
    with pytest.raises(ValueError, match=r"0 or 1, while .* takes many classes itself"):
        wrapper(classifier(releases["three"])).fit(X, y)
    with pytest.raises(ValueError, match=r"not among .* takes many classes itself"):
        wrapper(classifier(releases["names"])).fit(*target("names"))


def test_two_of_three_classes_are_taken_where_nothing_recoded_them(releases):
    X, y = target("three")
    X, y = X[y < 2], y[y < 2]
    model = classifier(releases["three"]).fit(X, np.append(y[:-1].astype(object), None))
    assert_array_equal(model.classes_, [0, 1, 2])
    X, y = X[y > 0], y[y > 0]
    assert classifier(releases["three"]).fit(X, y).score(X, y) > 0.5  # one class, not recoded


def test_a_mark_that_was_numbered_is_refused(releases):
    X, y = target("binary")
    with pytest.raises(ValueError, match=r"labels \[2\] in y .* count marks of unlabelled rows"):
        VotingClassifier([("a", classifier(releases["binary"]))]).fit(X, marked(y, "-1"))


@pytest.mark.parametrize("name", ["table", "text", "binary", "three"])
@pytest.mark.parametrize("mark", ["None", "NaN"])
def test_missing_labels_are_no_classes_to_any_meta_estimator(releases, name, mark):
    X, y = target(name)
    y, each = marked(y, mark), classifier(releases[name])
    for model in (
        CalibratedClassifierCV(each, cv=LabeledSplit(2)),
        OneVsRestClassifier(each),
        OneVsOneClassifier(each),
        TunedThresholdClassifierCV(each, cv=LabeledSplit(2)),
        FixedThresholdClassifier(each),
        BaggingClassifier(each),
        VotingClassifier([("a", each)]),
    ):
        with pytest.raises((TypeError, ValueError)):
            model.fit(X, y)


# Unlabelled rows


@pytest.mark.filterwarnings("ignore:The labels in y are numbers in an array of objects")
@pytest.mark.parametrize("name", ["table", "text", "binary"])
def test_held_out_labels_calibrate_and_set_thresholds(releases, name):
    X, y = target(name)
    X_test, y_test = target(name, 200, 8)
    expected = None
    for mark in MARKS:
        model, X_held, y_held = held_out(releases[name], X, marked(y, mark))
        assert len(y_held) == LABELLED // 2
        frozen = FrozenEstimator(model)
        calibrated = CalibratedClassifierCV(frozen).fit(X_held, y_held)
        tuned = TunedThresholdClassifierCV(frozen, cv="prefit", refit=False).fit(X_held, y_held)
        fixed = FixedThresholdClassifier(frozen, threshold=0.3).fit(X_held, y_held)
        voting = VotingClassifier([("a", frozen), ("b", frozen)], voting="soft")
        voting.fit(X_held, y_held)
        assert_allclose(voting.predict_proba(X_test), model.predict_proba(X_test))
        found = np.column_stack(
            [
                calibrated.predict_proba(X_test),
                tuned.predict(X_test) == y_test,
                fixed.predict(X_test) == y_test,
            ]
        )
        expected = found if expected is None else expected
        assert_allclose(found, expected)
    assert_array_equal(calibrated.classes_, np.unique(y))
    assert log_loss(y_test, expected[:, :2]) < 0.6
    assert expected[:, 2].mean() > 0.7
    above = model.predict_proba(X_test)[:, 1] > 0.3
    assert_array_equal(fixed.predict(X_test), model.classes_[above.astype(int)])


@pytest.mark.parametrize("name", ["table", "three"])
def test_a_model_without_labels_is_calibrated_on_all_of_them(releases, name):
    X, y = target(name)
    X_test, y_test = target(name, 200, 8)
    model = classifier(releases[name]).fit(X)
    few = np.arange(LABELLED)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(rows(X, few), y[few])
    uniform = np.log(len(model.classes_))
    assert log_loss(y_test, calibrated.predict_proba(X_test)) < 0.9 * uniform


@pytest.mark.parametrize("name", ["table", "text", "binary"])
def test_several_scores_of_labelled_rows(releases, name):
    X, y = target(name)
    expected = {}
    for scoring in SCORING:
        expected[scoring] = []
    for train, test in LabeledSplit(2).split(X, marked(y, "-1")):
        model = classifier(releases[name]).fit(rows(X, train), marked(y, "-1")[train])
        p, truth = model.predict_proba(rows(X, test)), y[test]
        expected["roc_auc"].append(roc_auc_score(truth == model.classes_[1], p[:, 1]))
        expected["neg_log_loss"].append(-log_loss(truth, p))
        guess = model.classes_[p.argmax(axis=1)]
        expected["balanced_accuracy"].append(balanced_accuracy_score(truth, guess))
    for mark in ["-1", "NaN"] + ["None"] * (y.dtype.kind == "U"):
        found = cross_validate(
            classifier(releases[name]), X, marked(y, mark), cv=LabeledSplit(2), scoring=SCORING
        )
        for scoring in SCORING:
            assert_allclose(found[f"test_{scoring}"], expected[scoring])


def test_numbers_as_objects_warn_of_scores_that_are_no_number(releases):
    X, y = target("binary")
    split, each = LabeledSplit(2), classifier(releases["binary"])
    with pytest.warns(UserWarning, match="numbers in an array of objects"):
        scores = cross_val_score(each, X, marked(y, "None"), cv=split)
    assert_allclose(scores, cross_val_score(each, X, marked(y, "-1"), cv=split))
    nullable = pd.Series(y, dtype="Int64").where(np.arange(len(y)) < LABELLED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in (nullable, marked(y, "NaN"), marked(target("text")[1], "None")):
            next(split.split(X, given))
        areas = cross_val_score(each, X, nullable, cv=split, scoring="roc_auc")
    assert_allclose(areas, cross_val_score(each, X, marked(y, "NaN"), cv=split, scoring="roc_auc"))


def test_scores_of_unlabelled_rows_are_refused(releases):
    X, y = target("binary")
    y = marked(y, "-1")
    with pytest.raises(ValueError, match=r"use cv=LabeledSplit\(\)"):
        cross_val_score(classifier(releases["binary"]), X, y, cv=2, error_score="raise")
    with pytest.raises(ValueError, match=r"use cv=LabeledSplit\(\)"):
        permutation_importance(classifier(releases["binary"]).fit(X, y), X, y)


@pytest.mark.filterwarnings("ignore:Scoring failed")  # of training rows, which hold marked ones
@pytest.mark.parametrize("mark", MARKS)
def test_learning_curves_score_labelled_rows(releases, mark):
    X, y = target("table")
    _, _, scores = learning_curve(
        classifier(releases["table"]),
        X,
        marked(y, mark),
        cv=LabeledSplit(2),
        train_sizes=[0.5, 1.0],
        shuffle=True,
        random_state=0,
        scoring="roc_auc",
    )
    assert scores.shape == (2, 2)
    assert np.all(scores > 0.7)


@pytest.mark.parametrize("mark", MARKS)
def test_importances_on_labelled_rows(releases, mark):
    X, y = target("table")
    X_test, y_test = target("table", 200, 8)
    model = classifier(releases["table"]).fit(X, marked(y, mark))
    for scoring in (None, "roc_auc", "neg_log_loss"):
        found = permutation_importance(
            model, X_test, y_test, scoring=scoring, n_repeats=2, random_state=0
        )
        age, ward = found.importances_mean
        assert age > ward > 0


# Searches


@pytest.mark.parametrize("mark", MARKS)
def test_a_search_asks_whether_the_release_is_of_use(releases, mark):
    X, y = target("table")
    model = make_pipeline(TabularEncoder(SCHEMA), classifier(None))
    grid = {"dptransferclassifier__source": [releases["table"], None]}
    search = GridSearchCV(
        model, grid, cv=LabeledSplit(2), scoring="roc_auc", error_score="raise"
    ).fit(X, marked(y, mark))
    assert_array_equal(search.classes_, ["ill", "well"])
    assert np.all(search.cv_results_["mean_test_score"] > 0.6)
    assert search.score(*target("table", 200, 8)) > 0.8


def test_text_without_an_encoder_names_the_remedy(releases):
    X, y = target("table")
    for release in (None, releases["text"]):
        with pytest.raises(
            ValueError, match=r"columns \['ward'\] of X .* TabularEncoder\(schema\)"
        ):
            classifier(release).fit(X, y)
    with pytest.raises(ValueError, match="X contains NaN"):
        classifier(None).fit(pd.DataFrame({"age": [np.nan, 1.0]}), [0, 1])


# Order of classes


def test_the_order_of_the_release_s_classes_changes_no_score():
    X, y = target("text")
    X_test, y_test = target("text", 200, 8)
    sorted_, other = (
        release_of(list(c), None, np.inf) for c in (["ill", "well"], ["well", "ill"])
    )
    assert_array_equal(other.classes, ["well", "ill"])
    for given in (None, marked(y, "None"), y):
        models = [classifier(release).fit(X, given) for release in (sorted_, other)]
        expected, found = (model.predict_proba(X_test) for model in models)
        assert_array_equal(models[1].classes_, ["ill", "well"])
        assert_allclose(found, expected, atol=1e-6)
        assert_array_equal(models[1].transduction_, models[0].transduction_)
        assert roc_auc_score(y_test, found[:, 1]) > 0.8
