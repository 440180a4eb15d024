"""What candidates are made of."""

from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax

from skdp.transfer.strategies._candidates import (
    Columns,
    Constant,
    Corrected,
    Pooled,
    log_posteriors,
)
from skdp.transfer.strategies._tight_prior import Correction


def linear(W):
    return SimpleNamespace(scores=lambda X: X @ W)


def test_columns_are_standardised_and_constant_ones_left_out(rng):
    X = rng.randn(50, 4).astype(np.float32) * 3 + 7
    X[:, 2] = np.float32(0.1)
    Z = Columns(X).standardise(X)
    assert_allclose(Z[:, [0, 1, 3]].std(axis=0), 1, rtol=1e-5)
    assert_array_equal(Z[:, 2], 0)


def test_pooled_scorers_average_log_posteriors(rng):
    X, W = rng.randn(9, 3), rng.randn(2, 3, 4)
    pooled = Pooled([linear(W[0] + 5), linear(W[1])], np.array([0.25, 0.75]))
    expected = 0.25 * log_softmax(X @ W[0], axis=1) + 0.75 * log_softmax(X @ W[1], axis=1)
    assert_allclose(log_posteriors(pooled, X), log_softmax(expected, axis=1))


def test_a_constant_says_the_same_of_every_row():
    logs = np.log([0.2, 0.8])
    assert_allclose(log_posteriors(Constant(logs), np.zeros((3, 5))), np.tile(logs, (3, 1)))


def test_rows_are_scored_by_corrections_that_have_not_seen_them(rng):
    X, W = rng.randn(40, 3), rng.randn(3, 2)
    known, labels, folds = np.arange(40) < 12, rng.randint(0, 2, 12), np.arange(12) % 3
    columns, tilt = Columns(X), np.array([0.3, -0.3])
    candidate = Corrected(linear(W), X, columns, lambda scores, n_columns: 0.1)
    Z = columns.standardise(X)
    assert_allclose(candidate.log_posteriors(X), log_softmax(X @ W, axis=1))
    found = candidate.learn(Z[known], known, labels, folds, tilt)
    base = log_softmax(X @ W, axis=1)
    for k in range(3):
        train, here = np.flatnonzero(folds != k), np.flatnonzero(folds == k)
        fewer = Correction.fit(base[train], Z[train], labels[train], tilt, 0.1)
        assert_allclose(found[here], fewer.apply(base[here], Z[here]))
    everyone = Correction.fit(base[:12], Z[:12], labels, tilt, 0.1)
    assert_allclose(candidate.log_posteriors(X), everyone.apply(base, Z))
