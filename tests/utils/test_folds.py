import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp.utils._folds import stratified_folds


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
