"""The correction by few labels: against another optimiser, and in its limits."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_softmax

from skdp.transfer._label_correction import (
    MAX_VARIANCE,
    OffsetLogisticRegression,
    coefficient_variance,
)


def test_it_is_the_most_likely_correction(rng):
    s, Z, labels = rng.randn(30, 3), rng.randn(30, 50), rng.randint(0, 3, 30)
    offsets, v = np.array([0.5, -0.5, 0.0]), 0.05
    found = OffsetLogisticRegression(v).fit(s, Z, labels, offsets)

    def loss(x):
        a, b, u = x[0], x[1:4], x[4:].reshape(50, 3)
        logs = log_softmax(a * s + offsets + b + Z @ u, axis=1)[np.arange(30), labels]
        prior = (a - 1) ** 2 / 0.01 + b @ b / 0.04 + (u**2).sum() / v
        return prior / 2 - logs.sum()

    x = minimize(loss, np.r_[1.0, np.zeros(153)], method="L-BFGS-B").x
    own = np.r_[found.slope, found.intercepts, found.coefficients.ravel()]
    assert_allclose(own, x, atol=2e-3)
    applied = found.apply(s, Z)
    assert_allclose(np.exp(applied).sum(axis=1), 1)


def test_labels_drawn_equally_do_not_move_rare_classes(rng):
    # One row in ten is of class 1, and as many labels of both classes are shown.
    s = np.tile(np.log([0.9, 0.1]), (40, 1))
    Z, labels = np.zeros((40, 1)), np.arange(40) % 2
    offsets = np.log([0.5, 0.5]) - np.log([0.9, 0.1])
    correction = OffsetLogisticRegression(MAX_VARIANCE)
    kept = correction.fit(s, Z, labels, offsets).apply(s[:1], Z[:1])
    moved = correction.fit(s, Z, labels, np.zeros(2)).apply(s[:1], Z[:1])
    assert_allclose(np.exp(kept[0, 1]), 0.1, atol=0.01)
    assert np.exp(moved[0, 1]) > 0.15


def test_columns_never_have_more_than_a_quarter_of_what_scores_have(rng):
    s = rng.randn(4000, 2)
    s -= s.mean(axis=1, keepdims=True)
    assert coefficient_variance(100 * s, 50) == MAX_VARIANCE
    assert_allclose(coefficient_variance(s, 50) * 50, 0.25 * 0.5, rtol=0.1)
    # Scores that say nothing leave labels an effect.
    assert coefficient_variance(0 * s, 50) == 1 / 1000
    assert_allclose(coefficient_variance(0 * s, 1000) * 1000, 0.1)


def test_nothing_is_corrected_by_none(rng):
    s, Z = log_softmax(rng.randn(5, 4), axis=1), rng.randn(5, 6)
    assert_allclose(OffsetLogisticRegression(0.1).apply(s, Z), s)
