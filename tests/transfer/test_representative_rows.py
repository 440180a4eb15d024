"""Rows worth labeling."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans

from skdp import representative_rows


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_each_is_the_row_nearest_to_the_mean_of_its_cluster(dtype):
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(dtype)
    rows = representative_rows(X, 7, random_state=3)
    clusters = KMeans(7, random_state=np.random.RandomState(3)).fit(X).labels_
    sizes = []
    for row in rows:
        members = [i for i in range(60) if clusters[i] == clusters[row]]
        mean = sum(X[i].astype(float) for i in members) / len(members)
        nearest = min(members, key=lambda i: sum((X[i] - mean) ** 2))
        assert row == nearest
        sizes.append(len(members))
    assert len(set(clusters[rows])) == 7
    assert sizes == sorted(sizes, reverse=True)


def test_rows_are_distinct_even_if_their_values_are_not():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    with warnings.catch_warnings(action="error"):  # k-means' own, about distinct rows
        rows = representative_rows(X, 6, random_state=0)
    assert len(set(rows.tolist())) == 6
    assert set(X[rows[:2], 0]) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("X", "n_rows", "message"),
    [
        ([[0.0], [1.0]], 3, "'n_rows' parameter of representative_rows is 3, and X has 2 rows"),
        ([[0.0], [1.0]], 0, "'n_rows' parameter of representative_rows must be an int"),
        ([[0.0], [np.nan]], 1, "NaN"),
        ([["a"], ["b"]], 1, "could not convert"),
        ([[0.0], [1e20]], 1, "largest magnitude"),
    ],
)
def test_what_cannot_be_chosen_is_refused(X, n_rows, message):
    with pytest.raises(ValueError, match=message):
        representative_rows(X, n_rows)


def test_rows_of_weight_zero_are_not_chosen_and_weights_move_the_choice():
    X = np.linspace(0, 1, 41)[:, np.newaxis]
    weight = np.where(X[:, 0] > 0.7, 1.0, 0.0)
    rows = representative_rows(X, 3, sample_weight=weight, random_state=0)
    assert (X[rows, 0] > 0.7).all()
    even = representative_rows(X, 3, random_state=0)
    assert (X[even, 0] > 0.7).sum() == 1


@pytest.mark.parametrize("weight", [[1, -1, 1], [1, np.nan, 1]])
def test_weights_below_zero_are_refused(weight):
    with pytest.raises(ValueError, match="'sample_weight' parameter of representative_rows"):
        representative_rows([[0.0], [1.0], [2.0]], 2, sample_weight=weight)
