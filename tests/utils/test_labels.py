"""Which labels mark an unlabeled row, and folds that keep classes together."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from skdp import (
    CDMMAClassifier,
    DeepFuzzyClassifier,
    DPTransferClassifier,
    RandomizedResponse,
    WideCDMMAClassifier,
)
from skdp.utils._labels import checked_labels, is_missing, stratified_folds, unlabeled_rows


@pytest.mark.parametrize(
    ("y", "marker", "classes", "expected"),
    [
        ([0, -1, 1], "auto", None, [1]),
        ([1, -1, 1], "auto", (-1, 1), []),
        ([1, -1, None], "auto", (-1, 1), [2]),
        ([0.0, np.nan, -1.0], "auto", (0, 1), [1, 2]),
        ([0.0, np.nan, -1.0], None, None, [1]),
        ([0, -1, 2], 2, None, [2]),
        (["a", "?", None], "?", None, [1]),
        (["a", "auto", "b"], "auto", None, []),
        ([True, False], "auto", None, []),
        # −1 is a class only where that makes two.
        ([1, -1, 1], "auto", None, []),
        ([1, -1, None], "auto", None, [2]),
        ([1, -1, 2], "auto", None, [1]),
        ([-1, -1, None], "auto", None, [0, 1, 2]),
        ([1, -1, 1], "auto", (0, 1), [1]),
        ([1, -1, 1], -1, None, [1]),
    ],
)
def test_marks(y, marker, classes, expected):
    assert_array_equal(np.flatnonzero(unlabeled_rows(y, marker, classes)), expected)


def test_missing_labels():
    assert all(map(is_missing, [None, np.nan, pd.NA, pd.NaT, float("nan")]))
    assert not any(map(is_missing, ["", 0, -1, "nan", False]))


def test_folds_are_stratified(rng):
    labels = np.repeat([0, 1, 2], [30, 7, 2])
    folds = stratified_folds(labels, 4, rng)
    for c in range(3):
        counts = np.bincount(folds[labels == c], minlength=4)
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("n_folds", [2, 3, 10])
def test_folds_are_equally_large_and_random(rng, n_folds):
    labels = rng.randint(0, 3, 101)
    first, second = (stratified_folds(labels, n_folds, rng) for _ in range(2))
    for folds in (first, second):
        counts = np.bincount(folds, minlength=n_folds)
        assert len(counts) == n_folds
        assert counts.max() - counts.min() <= 1
    assert (first != second).any()
    assert_array_equal(
        *(stratified_folds(labels, n_folds, np.random.RandomState(3)) for _ in range(2))
    )


def classifiers():
    return [
        CDMMAClassifier(2, 5, 1, random_state=0),
        WideCDMMAClassifier(2, 5, 1, random_state=0),
        DeepFuzzyClassifier(2, 5, random_state=0),
        DPTransferClassifier(random_state=0),
    ]


@pytest.mark.parametrize("place", range(4))
def test_whole_numbers_may_be_objects_or_of_pandas_types(place, rng):
    X, y = rng.rand(20, 3), np.arange(20) % 2
    expected = classifiers()[place].fit(X, y)
    for labels in (y.astype(object), pd.Series(y, dtype="Int64"), pd.Series(y).astype("category")):
        model = classifiers()[place].fit(X, labels)
        assert model.classes_.dtype == y.dtype
        assert_array_equal(model.predict(X), expected.predict(X))
        assert model.score(X, labels) == expected.score(X, y)


@pytest.mark.parametrize(
    "labels", [[0, "secret"], [0, None], ["secret", np.nan], ["secret", pd.NA]]
)
def test_labels_are_all_numbers_or_all_text_and_never_quoted(labels):
    y = np.array(labels, dtype=object)
    for take in (
        lambda: checked_labels(y, "fit"),
        lambda: RandomizedResponse(1.0).fit(y),
        lambda: CDMMAClassifier().fit(np.zeros((2, 1)), pd.Series(y)),
    ):
        with pytest.raises(ValueError, match=r"all numbers or all text|contains NaN") as error:
            take()
        assert "secret" not in str(error.value)
