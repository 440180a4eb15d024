"""Class means that follow rows: a slow expectation maximisation, and classes that lie apart."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from skdp.release import ClassModel, Moments
from skdp.transfer.strategies._class_means import ClassMeans, tied_columns


def classes_apart(rng, n, distance, shift=0.0):
    """Rows of three classes in eight columns, moved and turned by people who are others."""
    means = distance * np.eye(3, 8) + shift * np.roll(np.eye(3, 8), 3, axis=1)
    labels = rng.randint(0, 3, n)
    return means[labels] + rng.randn(n, 8), labels


def moments_of(rows, labels, variance=0.0):
    exact = Moments.measure(rows, np.eye(3)[labels], np.zeros(8))
    pooled = (exact.frequencies @ exact.covariances)[np.newaxis]
    noise = np.full((3, 8), variance), np.full((1, 8), variance)
    return Moments(
        exact.class_counts, exact.effective_sizes, exact.means, pooled, np.zeros(8), *noise
    )


def slow_adaptation(X, start, uncertainty, variance, labels):
    K, n, d = 3, len(X), X.shape[1]
    means, frequencies, S = start.copy(), np.full(K, 1 / K), variance * np.eye(d)
    counts = np.where(labels >= 0, 10, 1)
    for _ in range(20):
        r = np.zeros((n, K))
        for i in range(n):
            for c in range(K):
                density = multivariate_normal(means[c], S).pdf(X[i]) * frequencies[c]
                r[i, c] = np.sqrt(density)
            r[i] = np.eye(K)[labels[i]] if labels[i] >= 0 else r[i] / r[i].sum()
        r *= counts[:, np.newaxis]
        for c in range(K):
            for j in range(d):
                rows = 1 / (1 / 500 + uncertainty[c, j] / S[j, j])
                means[c, j] = (rows * start[c, j] + r[:, c] @ X[:, j]) / (rows + r[:, c].sum())
        frequencies = 0.5 / K + 0.5 * r.sum(axis=0) / r.sum()
        S = sum((r[:, c] * (X - means[c]).T) @ (X - means[c]) for c in range(K)) / r.sum()
        S = S + 1e-6 * np.trace(S) / d * np.eye(d)
    return means, S, frequencies


@pytest.mark.parametrize("labelled", [False, True])
def test_it_is_tempered_expectation_maximisation(rng, labelled):
    rows, y = classes_apart(rng, 3000, 3.0)
    X, truth = classes_apart(rng, 80, 3.0, shift=1.0)
    moments = moments_of(rows, y, 0.01)
    labels = np.full(80, -1)
    labels[:6] = truth[:6] if labelled else -1
    model = ClassMeans.adapt(X, moments, labels)
    subspace = model.subspace
    seen = ClassModel.of_moments(moments, subspace.components, subspace.variances)
    Z, variance = subspace.project(X), subspace.variances.mean()
    means, S, frequencies = slow_adaptation(Z, seen.means, seen.uncertainty, variance, labels)
    assert_allclose(model.means, means, rtol=1e-6, atol=1e-8)
    assert_allclose(model.covariance, S, rtol=1e-6, atol=1e-8)
    assert_allclose(model.frequencies, frequencies, rtol=1e-6)


def test_means_follow_rows_of_classes_that_lie_apart():
    found = []
    for seed in range(3):
        rng = np.random.RandomState(seed)
        rows, y = classes_apart(rng, 3000, 6.0)
        X, truth = classes_apart(rng, 3000, 6.0, shift=2.0)
        moments = moments_of(rows, y, 2.0)
        moments = replace(moments, means=moments.means + np.sqrt(2.0) * rng.randn(3, 8))
        model = ClassMeans.adapt(X, moments)
        distances = (X - X.mean(axis=0))[:, np.newaxis] - (moments.means - moments.mean)
        nearest = (distances**2).sum(axis=2).argmin(axis=1)
        found.append([np.mean(model.scores(X).argmax(axis=1) == truth), np.mean(nearest == truth)])
    adapted, before = np.mean(found, axis=0)
    assert adapted > 0.999 > before + 0.002


def test_columns_of_few_values_are_left_out(rng):
    rows, y = classes_apart(rng, 3000, 5.0)
    X, truth = classes_apart(rng, 400, 5.0)
    X[:, 5:] = X[:, 5:] > 0
    assert_array_equal(tied_columns(X), np.arange(8) >= 5)
    model = ClassMeans.adapt(X, moments_of(rows, y))
    assert len(model.subspace.components) == 5
    assert np.mean(model.scores(X).argmax(axis=1) == truth) > 0.97
