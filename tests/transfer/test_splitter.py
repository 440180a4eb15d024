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

from skdp import DPStatisticsSource, DPTransferClassifier, LabeledScorer, LabeledSplit

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
