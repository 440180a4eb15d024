"""Rows worth labeling, and what their labels say of class frequencies."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.metrics import log_loss

from skdp import DPTransferClassifier, representative_rows
from skdp.transfer._label_correction import represented_frequencies, sampling_offsets

pytestmark = pytest.mark.usefixtures("few_rounds")


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
    with pytest.warns(UserWarning, match="distinct"):  # of k-means
        rows = representative_rows(X, 6, random_state=0)
    assert len(set(rows.tolist())) == 6
    assert set(X[rows[:2], 0]) == {0.0, 1.0}


def test_all_rows_can_be_chosen_and_repeated():
    X = np.random.default_rng(0).normal(size=(9, 2))
    assert sorted(representative_rows(X, 9, random_state=0)) == list(range(9))
    first = representative_rows(pd.DataFrame(X), 4, random_state=0)
    assert_array_equal(first, representative_rows(X, 4, random_state=0))


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


def test_each_row_counts_for_the_nearest_label():
    rng = np.random.default_rng(0)
    X, is_labeled = rng.normal(size=(50, 2)), np.arange(50) % 9 == 0
    labels = rng.integers(3, size=is_labeled.sum())
    counts, labeled = np.zeros(3), np.flatnonzero(is_labeled)
    for x in X:
        distances = [sum((x - X[i]) ** 2) for i in labeled]
        counts[labels[np.argmin(distances)]] += 1
    expected = counts / 50 * len(labels) + 1
    frequencies = represented_frequencies(X, is_labeled, labels, 3)
    assert_allclose(frequencies, expected / expected.sum(), rtol=1e-12)


def test_labels_that_stand_for_equally_many_rows_are_a_random_sample():
    X = np.arange(8.0)[:, np.newaxis]
    is_labeled, labels = np.array([1, 0, 0, 1, 1, 0, 0, 1], dtype=bool), np.array([0, 1, 0, 0])
    frequencies = represented_frequencies(X, is_labeled, labels, 2)
    assert_allclose(sampling_offsets(labels, frequencies), 0, atol=1e-5)


def sick_and_well(rng, n):
    """Rows of many who are well, close together, and of few who are ill, far apart."""
    y = (rng.random(n) < 0.1).astype(int)
    X = rng.normal(size=(n, 2)) * np.where(y, 2.0, 0.3)[:, np.newaxis]
    return X, y


def test_frequencies_are_those_of_the_rows_and_not_of_the_labels():
    rng = np.random.default_rng(0)
    (X, y), (X_test, y_test) = sick_and_well(rng, 1000), sick_and_well(rng, 4000)
    losses, shares = {}, {}
    rows = representative_rows(X, 40, random_state=0)
    labels = np.full(1000, -1)
    labels[rows] = y[rows]
    assert y[rows].mean() > 0.3  # clusters cover the ill evenly, who are a tenth of all
    for sampling in ("random", "representative"):
        model = DPTransferClassifier(label_sampling=sampling, random_state=0).fit(X, labels)
        p = model.predict_proba(X_test)
        losses[sampling], shares[sampling] = log_loss(y_test, p), p[:, 1].mean()
        assert model.label_sampling_ == sampling
    assert losses["representative"] < losses["random"] - 0.05
    assert abs(shares["representative"] - 0.1) < abs(shares["random"] - 0.1) / 2


def test_rows_of_weight_zero_are_not_chosen_and_weights_move_the_choice():
    X = np.linspace(0, 1, 41)[:, np.newaxis]
    weight = np.where(X[:, 0] > 0.7, 1.0, 0.0)
    rows = representative_rows(X, 3, sample_weight=weight, random_state=0)
    assert (X[rows, 0] > 0.7).all()
    even = representative_rows(X, 3, random_state=0)
    assert (X[even, 0] > 0.7).sum() == 1
