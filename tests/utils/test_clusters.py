import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp.utils._clusters import kmeans_centres, kmeans_partition, resolve_count


@pytest.mark.parametrize(
    ("value", "n", "expected"),
    [(0.5, 7, 4), (1.0, 7, 7), (0.01, 7, 1), (3, 7, 3), (100, 7, 7), (1, 7, 1)],
)
def test_resolve_count(value, n, expected):
    assert resolve_count(value, n) == expected


def test_centres_are_a_fixed_point_of_lloyds_iteration(rng):
    x = rng.rand(200, 2)
    centres = kmeans_centres(x, 5, np.random.RandomState(0))
    labels = ((x[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    means = np.array([x[labels == k].mean(axis=0) for k in range(5)])
    np.testing.assert_allclose(centres, means, atol=0.02)


def test_no_more_centres_than_distinct_rows():
    x = np.repeat(np.eye(3), 4, axis=0)
    assert_array_equal(kmeans_centres(x, 12, None), np.unique(x, axis=0))
    assert len(kmeans_centres(x, 2, np.random.RandomState(0))) == 2


def test_partition_is_a_partition(rng):
    X = rng.rand(100, 3)
    subsets = kmeans_partition(X, 4, 0)
    assert len(subsets) == 4
    assert_array_equal(np.sort(np.concatenate(subsets)), np.arange(100))
    assert_array_equal(kmeans_partition(X, 1, 0)[0], np.arange(100))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_partition_of_duplicates_has_no_empty_subset():
    subsets = kmeans_partition(np.repeat(np.eye(2), 10, axis=0), 5, 0)
    assert sum(map(len, subsets)) == 20
    assert min(map(len, subsets)) > 0
