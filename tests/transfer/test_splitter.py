import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RepeatedStratifiedKFold,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier

from skdp import (
    DPStatisticsSource,
    DPTransferClassifier,
    DPTransferRegressor,
    DPTransferSurvival,
    LabeledScorer,
    LabeledSplit,
)

MARKED = np.array([0, -1, 1, 0, -1, 1, 0, 1, -1, 0, 1, -1])


@pytest.mark.parametrize("cv", [2, np.int64(3), RepeatedStratifiedKFold(n_splits=2, n_repeats=2)])
def test_folds_partition_labeled_rows_and_train_on_all_others(cv):
    splitter = LabeledSplit(cv)
    folds = list(splitter.split(MARKED[:, np.newaxis], MARKED))
    assert len(folds) == splitter.get_n_splits()
    times_tested = np.zeros(len(MARKED), dtype=int)
    for train, test in folds:
        assert not set(train) & set(test)
        assert_array_equal(np.sort(np.append(train, test)), np.arange(len(MARKED)))
        assert np.all(MARKED[test] >= 0)
        assert len(np.unique(MARKED[test])) == 2  # stratified
        times_tested[test] += 1
    assert set(times_tested[MARKED < 0]) == {0}
    assert len(set(times_tested[MARKED >= 0])) == 1


@pytest.mark.parametrize("y", [
    np.array(["a", None, "b", "a", None, "b"], dtype=object),
    pd.Series(["a", pd.NA, "b", "a", np.nan, "b"]),
    ["a", None, "b", "a", float("nan"), "b"],
])  # fmt: skip
def test_missing_labels(y):
    for train, test in LabeledSplit(2).split(np.zeros((6, 1)), y):
        assert {1, 4} <= set(train)
        assert not {1, 4} & set(test)


def test_groups_go_to_the_inner_splitter():
    groups = np.arange(12) % 3
    for train, test in LabeledSplit(GroupKFold(3)).split(MARKED, MARKED, groups):
        labeled = train[MARKED[train] >= 0]
        assert not set(groups[labeled]) & set(groups[test])


@pytest.mark.parametrize("cv", [None, [([0], [1])], "three"])
def test_what_is_no_splitter_is_refused(cv):
    with pytest.raises(ValueError, match="'cv' parameter of LabeledSplit"):
        next(LabeledSplit(cv).split(MARKED, MARKED))


def test_nothing_labeled_is_refused():
    with pytest.raises(ValueError, match="found no labeled row among 3"):
        next(LabeledSplit(2).split(np.zeros((3, 1)), [-1, None, -1]))


ROWS = np.random.RandomState(0).rand(12, 2)
GRID = {"n_neighbors": [1, 2]}


def group_search(cv):
    return GridSearchCV(KNeighborsClassifier(), GRID, cv=cv, error_score="raise")


def test_groups_are_routed_to_the_inner_splitter():
    groups, seen = np.arange(12) % 3, []

    class Noting(GroupKFold):
        def split(self, X, y=None, groups=None):
            seen.append(groups)
            return super().split(X, y, groups)

    with config_context(enable_metadata_routing=True):
        splitter = LabeledSplit(Noting(3))
        scores = cross_validate(
            KNeighborsClassifier(1), ROWS, MARKED, cv=splitter, params={"groups": groups}
        )["test_score"]
        search = group_search(LabeledSplit(Noting(3))).fit(ROWS, MARKED, groups=groups)
    assert len(seen) == 2
    for given in seen:
        assert_array_equal(given, groups[MARKED >= 0])
    found = search.cv_results_
    assert [found[f"split{k}_test_score"][0] for k in range(3)] == list(scores)
    for score, (train, test) in zip(
        scores, LabeledSplit(GroupKFold(3)).split(ROWS, MARKED, groups), strict=True
    ):
        model = KNeighborsClassifier(1).fit(ROWS[train], MARKED[train])
        assert score == np.mean(model.predict(ROWS[test]) == MARKED[test])


@pytest.mark.parametrize("classes", [[-1, 0, 1], [-1.0, 0.0, 1.0], ["-1", "0", "1"], None])
@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning", "ignore:This release may")
def test_splitter_scorer_and_classifier_have_one_rule_for_minus_one(rng, classes):
    X, y = rng.rand(60, 3), np.repeat([-1, 0, 1], 20)
    release = None
    if classes is not None:
        source = DPStatisticsSource(bounds=(0, 1), classes=classes, random_state=0)
        release = source.fit(X, y).release_
    model = DPTransferClassifier(release, label_sampling="random").fit(X, y)
    assert_array_equal(model.classes_.astype(float), [-1, 0, 1] if release else [0, 1])
    of_source = None if release is None else release.classes
    folds = LabeledSplit(3, classes=of_source).split(X, y)
    tested = np.sort(np.concatenate([test for _, test in folds]))
    assert_array_equal(tested, np.flatnonzero(np.isin(y, model.classes_.astype(float))))
    # The scorer takes as many rows for labeled ones.
    assert LabeledScorer(lambda model, X, y: len(y))(model, X, y) == len(tested)


def test_minus_one_is_a_class_where_a_target_without_a_source_takes_it_for_one():
    y = np.array([-1, 1, -1, 1])
    tests = [test for _, test in LabeledSplit(2).split(y, y)]
    assert_array_equal(np.sort(np.concatenate(tests)), [0, 1, 2, 3])
    assert [len(test) for _, test in LabeledSplit(2, unlabeled=-1).split(y, y)] == [1, 1]


def outcomes_of(kind):
    """Rows and outcomes, the last thirty of them unknown in part or altogether."""
    rng = np.random.default_rng(0)
    X = rng.random((90, 2))
    known = np.arange(90) < 60
    if kind == "classes":
        return X, np.where(known, (X[:, 0] > 0.5) * 1, -1)
    if kind == "numbers":
        return X, np.where(known, X[:, 0] - 1, np.nan)
    y = np.empty(90, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(90) < 0.6, np.where(known, 2 - X[:, 0], np.nan)
    if kind == "times":
        return X, y
    table = pd.DataFrame({"event": y["event"], "time": np.arange(90) + 1.0})
    table["event"] = table["event"].astype("boolean").where(known)  # partly known times
    return X, table


ESTIMATORS = {"classes": DPTransferClassifier, "numbers": DPTransferRegressor}


@pytest.mark.parametrize("kind", ["classes", "numbers", "times", "table"])
def test_known_outcomes_of_all_kinds_are_tested_and_others_trained_on(kind):
    X, y = outcomes_of(kind)
    times_tested = np.zeros(90, dtype=int)
    for train, test in LabeledSplit(3).split(X, y):
        assert set(range(60, 90)) <= set(train)
        times_tested[test] += 1
    assert times_tested.tolist() == [1] * 60 + [0] * 30


@pytest.mark.parametrize("kind", ["classes", "numbers", "times", "table"])
def test_searches_score_all_kinds_alike(kind):
    X, y = outcomes_of(kind)
    estimator = ESTIMATORS.get(kind, DPTransferSurvival)()
    settings = {"cv": LabeledSplit(3), "error_score": "raise"}
    scores = cross_validate(estimator, X, y, **settings)["test_score"]
    assert np.isfinite(scores).all()
    both = cross_validate(
        estimator, X, y, **settings, scoring=LabeledScorer(), return_train_score=True
    )
    np.testing.assert_allclose(both["test_score"], scores)
    assert np.isfinite(both["train_score"]).all()
    with pytest.raises(ValueError, match=r"\.score marks 30 of 90 .*LabeledSplit"):
        estimator.fit(X, y).score(X, y)


def test_folds_of_integers_are_stratified_where_they_are_classes():
    X = np.zeros((12, 1))
    counts = np.arange(12.0)  # no number occurs twice
    assert len(list(LabeledSplit(4).split(X, counts))) == 4
    y = np.arange(12.0) % 3
    assert all(len(np.unique(y[test])) == 3 for _, test in LabeledSplit(4).split(X, y))
