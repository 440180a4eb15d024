import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from skdp.transfer._labels import unlabelled_rows
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier

from skdp import LabeledSplit

MARKED = np.array([0, -1, 1, 0, -1, 1, 0, 1, -1, 0, 1, -1])


@pytest.mark.parametrize("cv", [2, np.int64(3), RepeatedStratifiedKFold(n_splits=2, n_repeats=2)])
def test_folds_partition_labelled_rows_and_train_on_all_others(cv):
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
        labelled = train[MARKED[train] >= 0]
        assert not set(groups[labelled]) & set(groups[test])


def test_scores_are_those_of_labelled_rows(rng):
    X = rng.rand(12, 2)
    scores = cross_val_score(KNeighborsClassifier(1), X, MARKED, cv=LabeledSplit(2))
    for score, (train, test) in zip(scores, LabeledSplit(2).split(X, MARKED), strict=True):
        model = KNeighborsClassifier(1).fit(X[train], MARKED[train])
        assert score == np.mean(model.predict(X[test]) == MARKED[test])


def test_number_of_folds_counts_labelled_rows(rng):
    splitter = LabeledSplit(LeaveOneOut())
    assert splitter.get_n_splits(y=MARKED) == np.count_nonzero(MARKED >= 0)
    scores = cross_val_score(KNeighborsClassifier(1), rng.rand(12, 2), MARKED, cv=splitter)
    assert len(scores) == np.count_nonzero(MARKED >= 0)


@pytest.mark.parametrize("cv", [None, [([0], [1])], "three"])
def test_what_is_no_splitter_is_refused(cv):
    with pytest.raises(ValueError, match="'cv' parameter of LabeledSplit"):
        next(LabeledSplit(cv).split(MARKED, MARKED))


def test_groups_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(LabeledSplit(GroupKFold(2)).split(MARKED, MARKED, [0, 1]))


def test_nothing_labelled_is_refused():
    with pytest.raises(ValueError, match="found no labelled row among 3"):
        next(LabeledSplit(2).split(np.zeros((3, 1)), [-1, None, -1]))


@pytest.mark.parametrize(
    ("y", "marker", "classes", "expected"),
    [
        ([0, -1, 1], "auto", (), [1]),
        ([1, -1, 1], "auto", (-1, 1), []),
        ([1, -1, None], "auto", (-1, 1), [2]),
        ([0.0, np.nan, -1.0], "auto", (), [1, 2]),
        ([0.0, np.nan, -1.0], None, (), [1]),
        ([0, -1, 2], 2, (), [2]),
        (["a", "?", None], "?", (), [1]),
        (["a", "auto", "b"], "auto", (), []),
        ([True, False], "auto", (), []),
    ],
)
def test_marks(y, marker, classes, expected):
    assert_array_equal(np.flatnonzero(unlabelled_rows(y, marker, classes)), expected)
