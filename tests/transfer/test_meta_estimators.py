"""DPTransferClassifier inside scikit-learn's meta-estimators: it works, or says why not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from skdp import (
    DPStatisticsSource,
    DPTransferClassifier,
    LabeledScorer,
    LabeledSplit,
    TabularEncoder,
)
from skdp.datasets import load_heart_disease

pytestmark = [
    pytest.mark.usefixtures("few_rounds"),
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:The columns .* lie where the source"),
]
HEART = load_heart_disease()
SCHEMA = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "ward": {"type": "category", "categories": ["A", "B", "C"]},
}
ENCODER = TabularEncoder(SCHEMA).fit(pd.DataFrame(columns=["age", "ward"]))
CLASSES = {"text": ["ill", "well"], "binary": [0, 1], "three": [0, 1, 2], "names": list("abc")}
MARKS = ["-1", "None", "NaN"]
# Each mark, and each kind of table: what one says of the rows does not depend on the other.
each_mark = pytest.mark.parametrize(
    ("name", "mark"), [("table", "-1"), ("heart", "None"), ("heart", "NaN")]
)
LABELED = 40


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
    """Releases of encoded rows, and of the table itself; of a hospital's patients."""
    found = {name: release_of(classes) for name, classes in CLASSES.items()}
    own = HEART.hospital == "Cleveland"
    state = np.random.RandomState(0)
    source = DPStatisticsSource(4.0, encoder=HEART.schema, random_state=state)
    found["heart"] = source.fit(HEART.data[own], HEART.target[own]).release_
    return found | {"table": release_of(CLASSES["text"], SCHEMA)}


def target(name, n=100, seed=7):
    if name == "heart":  # another hospital
        there = np.flatnonzero(HEART.hospital == "Budapest")
        there = np.random.RandomState(seed).permutation(there)[:n]
        return HEART.data.iloc[there].reset_index(drop=True), HEART.target[there]
    X, y = table(n, seed, CLASSES["text" if name == "table" else name])
    return (X if name == "table" else ENCODER.transform(X)), y


def marked(y, mark):
    """Return labels of which all but the first are marked, in the dtype that one would use."""
    if mark == "None" or y.dtype.kind == "U":
        y = y.astype(object)
    elif mark == "NaN":
        y = y.astype(float)
    y = y.copy()
    y[LABELED:] = {"-1": -1, "None": None, "NaN": np.nan}[mark]
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


# All rows labeled


@pytest.mark.parametrize("name", ["table", "text", "binary", "three", "names"])
@pytest.mark.parametrize("cv", [2, LabeledSplit(2)])
def test_calibration_of_labeled_rows(releases, name, cv):
    X, y = target(name)
    X_test, y_test = target(name, 200, 8)
    model = CalibratedClassifierCV(classifier(releases[name]), cv=cv).fit(X, y)
    assert_array_equal(model.classes_, np.unique(y))
    assert np.mean(model.predict(X_test) == y_test) > (0.55 if model.classes_.size > 2 else 0.7)
    assert log_loss(y_test, model.predict_proba(X_test)) < 0.85 * np.log(model.classes_.size)


# What recodes labels


@pytest.mark.parametrize("wrapped", [
    OneVsRestClassifier,
    BaggingClassifier,
    lambda each: VotingClassifier([("a", each)]),
    lambda each: VotingClassifier([("a", each)], voting="soft"),
    lambda each: StackingClassifier([("a", each)], cv=2),
    lambda each: CalibratedClassifierCV(each, cv=2, ensemble=False),
])  # fmt: skip
def test_text_that_was_numbered_is_refused(releases, wrapped):
    X, y = target("text")
    message = r"\[0, 1\] in y are not among .* Numbers do not say .* Meta-estimators .* Frozen"
    with pytest.raises(ValueError, match=message):
        wrapped(classifier(releases["text"])).fit(X, y)
    # A mark that NumPy turned into text counts as a class, and is numbered too.
    with pytest.raises(ValueError, match=r"not among .*marks of unlabeled rows .*'prefit'"):
        wrapped(classifier(releases["text"])).fit(X, np.where(np.arange(len(y)) < 40, y, "-1"))


def test_probabilities_of_text_out_of_fold(releases):
    X, y = target("text")
    each = classifier(releases["text"])
    message = r"not among .* cross_val_predict of probabilities .* loop over LabeledSplit"
    with pytest.raises(ValueError, match=message):
        cross_val_predict(each, X, y, cv=2, method="predict_proba")
    known = marked(y, "None")
    out_of_fold = np.full((len(y), 2), np.nan)
    for train, test in LabeledSplit(2).split(X, known):
        out_of_fold[test] = (
            classifier(releases["text"]).fit(X[train], known[train]).predict_proba(X[test])
        )
    assert log_loss(y[:LABELED], out_of_fold[:LABELED]) < 0.6
    frozen = FrozenEstimator(classifier(releases["text"]).fit(X, known))
    assert cross_val_predict(frozen, X, y, cv=2, method="predict_proba").shape == (len(y), 2)


@pytest.mark.parametrize("wrapper", [OneVsRestClassifier, OneVsOneClassifier])
def test_two_of_three_classes_are_refused_as_recoded(releases, wrapper):
    X, y = target("three")
    with pytest.raises(ValueError, match=r"0 or 1, while .* handles many classes itself"):
        wrapper(classifier(releases["three"])).fit(X, y)
    with pytest.raises(ValueError, match=r"not among .* handles many classes itself"):
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
    with pytest.raises(ValueError, match=r"labels \[2\] in y .* treat marks of unlabeled rows"):
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


# Unlabeled rows


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The labels in y are numbers in an array of objects")
@pytest.mark.parametrize("name", ["table", "text", "binary", "heart"])
def test_held_out_labels_calibrate_and_set_thresholds(releases, name):
    X, y = target(name)
    X_test, y_test = target(name, 200, 8)
    expected = None
    for mark in MARKS:
        model, X_held, y_held = held_out(releases[name], X, marked(y, mark))
        assert len(y_held) == LABELED // 2
        frozen = FrozenEstimator(model)
        calibrated = CalibratedClassifierCV(frozen).fit(X_held, y_held)
        tuned = TunedThresholdClassifierCV(frozen, cv="prefit", refit=False).fit(X_held, y_held)
        fixed = FixedThresholdClassifier(frozen, threshold=0.3).fit(X_held, y_held)
        voting = VotingClassifier([("a", frozen), ("b", frozen)], voting="soft")
        voting.fit(X_held, y_held)
        assert_allclose(voting.predict_proba(X_test), model.predict_proba(X_test))
        stacking = StackingClassifier([("a", frozen)], cv="prefit").fit(X_held, y_held)
        final = LogisticRegression().fit(model.predict_proba(X_held)[:, 1:], y_held)
        expected_stack = final.predict_proba(model.predict_proba(X_test)[:, 1:])
        assert_allclose(stacking.predict_proba(X_test), expected_stack, atol=1e-6)
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


def test_numbers_as_objects_warn_of_scores_that_are_no_number(releases):
    X, y = target("binary")
    split, each = LabeledSplit(2), classifier(releases["binary"])
    with pytest.warns(UserWarning, match="numbers in an array of objects"):
        scores = cross_val_score(each, X, marked(y, "None"), cv=split)
    assert_allclose(scores, cross_val_score(each, X, marked(y, "-1"), cv=split))
    nullable = pd.Series(y, dtype="Int64").where(np.arange(len(y)) < LABELED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in (nullable, marked(y, "NaN"), marked(target("text")[1], "None")):
            next(split.split(X, given))
        areas = cross_val_score(each, X, nullable, cv=split, scoring="roc_auc")
    assert_allclose(areas, cross_val_score(each, X, marked(y, "NaN"), cv=split, scoring="roc_auc"))


def test_scores_of_unlabeled_rows_are_refused(releases):
    X, y = target("binary")
    y = marked(y, "-1")
    with pytest.raises(ValueError, match=r"use cv=LabeledSplit\(\)"):
        cross_val_score(classifier(releases["binary"]), X, y, cv=2, error_score="raise")
    with pytest.raises(ValueError, match=r"use cv=LabeledSplit\(\)"):
        permutation_importance(classifier(releases["binary"]).fit(X, y), X, y)


def scores_of(fits, X, y, scoring):
    """Return the score of each fit on labeled training rows, and on test rows, one by one."""
    found = []
    for model, train, test in fits:
        known = train[train < LABELED]
        parts = [(rows(X, part), y[part]) for part in (known, test)]
        found.append([get_scorer(scoring)(model, *part) for part in parts])
    return np.transpose(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The labels in y are numbers in an array of objects")
@each_mark
def test_curves_and_training_scores_are_of_labeled_rows(releases, name, mark):
    X, y = target(name)
    known, each = marked(y, mark), classifier(releases[name])
    split, scoring = LabeledSplit(2), "neg_log_loss"
    fits = [
        (classifier(releases[name]).fit(rows(X, train), known[train]), train, test)
        for train, test in split.split(X, known)
    ]
    expected = scores_of(fits, X, y, scoring)
    settings = {"cv": split, "scoring": LabeledScorer(scoring), "error_score": "raise"}
    found = cross_validate(each, X, known, return_train_score=True, **settings)
    assert_allclose([found["train_score"], found["test_score"]], expected)
    curve = {"param_name": "random_state", "param_range": [0, 0]}
    train, test = validation_curve(each, X, known, **curve, **settings)
    assert_allclose([train[0], test[0]], expected)
    sizes = {"train_sizes": [0.6, 1.0], "shuffle": True, "random_state": 0}
    _, train, test = learning_curve(each, X, known, **sizes, **settings)
    assert_allclose(test[1], expected[1], rtol=0.1)  # all rows, in another order
    assert np.isfinite(train).all()
    assert np.isfinite(test).all()


def test_the_scorer_takes_labeled_rows_and_says_what_it_lacks(releases):
    X, y = target("binary")
    model = classifier(releases["binary"]).fit(X, marked(y, "-1"))
    scorer = LabeledScorer("roc_auc")
    expected = roc_auc_score(y[:LABELED], model.predict_proba(X[:LABELED])[:, 1])
    for mark in MARKS:
        assert scorer(model, X, marked(y, mark)) == pytest.approx(expected)
    odd = np.where(np.arange(len(y)) < LABELED, y, 7)
    assert LabeledScorer("roc_auc", unlabeled=7)(model, X, odd) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"LabeledScorer\('roc_auc', unlabeled='auto'\) found no"):
        scorer(model, X, np.full(len(y), -1))
    with pytest.raises(ValueError, match=r"scoring=LabeledScorer\(\)"):
        model.score(X, marked(y, "-1"))


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


def test_a_table_without_an_encoder_names_the_remedy(releases):
    X, y = target("table")
    remedy = r"Put TabularEncoder\(release.encoder\)"
    for release in (None, releases["text"]):
        with pytest.raises(ValueError, match=rf"columns \['ward'\] of X have text.* {remedy}"):
            classifier(release).fit(X, y)
    with pytest.raises(ValueError, match=rf"\['age'\] of X have missing values.* {remedy}"):
        classifier(None).fit(pd.DataFrame({"age": [np.nan, 1.0], "bp": [2.0, 3.0]}), [0, 1])


def test_the_remedy_searches_over_a_release_and_none(releases):
    X, y = target("table")
    release = releases["table"]
    model = make_pipeline(TabularEncoder(release.encoder), DPTransferClassifier())
    grid = {"dptransferclassifier__source": [release, None]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


# Order of classes


def test_the_order_in_which_classes_are_listed_changes_no_score():
    X, y = target("text")
    X_test, y_test = target("text", 200, 8)
    sorted_, other = (
        release_of(list(c), None, np.inf) for c in (["ill", "well"], ["well", "ill"])
    )
    assert_array_equal(other.classes, ["ill", "well"])
    assert_allclose(other.predict_proba(X_test), sorted_.predict_proba(X_test), atol=1e-6)
    for given in (None, marked(y, "None"), y):
        models = [classifier(release).fit(X, given) for release in (sorted_, other)]
        expected, found = (model.predict_proba(X_test) for model in models)
        assert_allclose(found, expected, atol=1e-6)
        assert_array_equal(models[1].transduction_, models[0].transduction_)
        assert roc_auc_score(y_test, found[:, 1]) > 0.8
