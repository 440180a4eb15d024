"""The correction by few labels: against another optimizer, and in its limits."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_softmax, softmax
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression

from skdp.transfer._label_correction import (
    MAX_VARIANCE,
    AveragedCorrection,
    LabeledRows,
    OffsetLogisticRegression,
    sampling_of,
    warn_of_frequencies,
)


@pytest.mark.parametrize("deviations", [(0.2, 0.1), (1.0, 0.3)])
def test_it_is_the_most_likely_correction(rng, deviations):
    s, Z, labels = rng.randn(30, 3), rng.randn(30, 50), rng.randint(0, 3, 30)
    offsets, v = np.array([0.5, -0.5, 0.0]), 0.05
    found = OffsetLogisticRegression(v, *deviations).fit(s, Z, labels, offsets)

    def loss(x):
        a, b, u = x[0], x[1:4], x[4:].reshape(50, 3)
        logs = log_softmax(a * s + offsets + b + Z @ u, axis=1)[np.arange(30), labels]
        prior = (a - 1) ** 2 / deviations[1] ** 2 + b @ b / deviations[0] ** 2 + (u**2).sum() / v
        return prior / 2 - logs.sum()

    x = minimize(loss, np.r_[1.0, np.zeros(153)], method="L-BFGS-B").x
    own = np.r_[found.slope, found.intercepts, found.coefficients.ravel()]
    assert_allclose(own, x, atol=2e-3)
    applied = found.apply(s, Z)
    assert_allclose(np.exp(applied).sum(axis=1), 1)


def test_scores_are_scaled_alone_where_nothing_else_may_vary(rng):
    s, Z = 3 * log_softmax(rng.randn(200, 4), axis=1), rng.randn(200, 5)
    labels, offsets = np.array([rng.choice(4, p=p) for p in softmax(s / 3, axis=1)]), np.zeros(4)
    found = OffsetLogisticRegression(0.0, 0.0, 1.0).fit(s, Z, labels, offsets)

    def slope(a):
        excess = softmax(a * s, axis=1) - np.eye(4)[labels]
        return (excess * s).sum() + a - 1

    assert_allclose(found.slope, brentq(slope, 0, 2), rtol=1e-3)
    assert_allclose(found.apply(s, Z), log_softmax(found.slope * s, axis=1))


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


def labeled(rng, n, n_columns=3, intercept=0.0):
    """Labels of two classes whose log-odds are s + intercept, and s as log-posteriors."""
    log_odds = 2 * rng.randn(n)
    s = log_softmax(np.column_stack([np.zeros(n), log_odds]), axis=1)
    labels = (rng.rand(n) < expit(log_odds + intercept)).astype(int)
    rows = LabeledRows(np.ones(n, dtype=bool), labels, np.arange(n) % 5, rng.randn(n, n_columns))
    return s, rows


@pytest.mark.parametrize("sampling", ["random", "stratified"])
def test_the_average_is_that_of_posteriors_by_evidence(rng, sampling):
    s, rows = labeled(rng, 60, intercept=-1.0)
    averaged = AveragedCorrection.of_source(s, 3, sampling)
    assert_allclose(averaged.apply(s, rows.Z), s)  # before labels, nothing is corrected
    fitted, held_out = averaged.cross_fit(s, rows, np.zeros(2))
    fits = [each.cross_fit(s, rows, np.zeros(2)) for each in averaged.corrections]
    at = np.arange(60), rows.labels
    evidence = [np.log(0.9 * np.exp(logs[at]) + 0.05).sum() for _, logs in fits]
    weights = np.exp(np.add(evidence, averaged.log_odds))
    weights = np.where(weights < 0.05 * weights.sum(), 0, weights)
    weights /= weights.sum()
    assert_allclose(fitted.weights, weights, atol=1e-6)
    expected = sum(w * np.exp(logs) for w, (_, logs) in zip(weights, fits, strict=True))
    assert_allclose(np.exp(held_out), expected, atol=1e-6)
    applied = sum(
        w * np.exp(each.apply(s, rows.Z)) for w, (each, _) in zip(weights, fits, strict=True)
    )
    assert_allclose(np.exp(fitted.apply(s, rows.Z)), applied, atol=1e-6)


def test_a_random_sample_shows_other_frequencies_and_few_labels_of_the_same_do_not(rng):
    for n, intercept in ((200, -2.0), (200, 0.0), (12, 0.0)):
        s, rows = labeled(rng, n, intercept=intercept)
        fitted, _ = AveragedCorrection.of_source(s, 3, "random").cross_fit(s, rows, np.zeros(2))
        first = np.array([[np.log(0.5), np.log(0.5)]])
        log_odds = np.diff(fitted.apply(first, np.zeros((1, 3))))[0, 0]
        assert abs(log_odds - intercept) < 0.5
        kept, _ = AveragedCorrection.of_source(s, 3, "stratified").cross_fit(s, rows, np.zeros(2))
        assert abs(np.diff(kept.apply(first, np.zeros((1, 3))))[0, 0]) < abs(log_odds) + 0.1


def test_labels_alone_become_a_logistic_regression(rng):
    _, rows = labeled(rng, 3000)
    labels = (rng.rand(3000) < expit(rows.Z @ [1.0, -2.0, 0.5] + 1)).astype(int)
    rows = LabeledRows(rows.is_labeled, labels, rows.folds, rows.Z)
    constant = np.tile(np.log([0.5, 0.5]), (3000, 1))
    alone = AveragedCorrection.of_labels_alone("random")
    fitted, _ = alone.cross_fit(constant, rows, np.zeros(2))
    model = LogisticRegression(C=np.inf).fit(rows.Z, labels)
    found = np.diff(fitted.apply(constant, rows.Z))[:, 0]
    assert_allclose(found, model.decision_function(rows.Z), atol=0.1)


def test_auto_takes_equal_counts_beside_unlabeled_rows_for_stratified():
    given = np.array([0, 0, 1, 1, -1])
    assert sampling_of(given, "auto", None) == "stratified"
    assert sampling_of(given, "random", None) == "random"
    assert sampling_of(given[:4], "auto", None) == "random"  # no row without a label remains
    assert sampling_of(given[1:], "auto", None) == "random"
    assert sampling_of(given[:4], "stratified", None) == "stratified"
    assert sampling_of(np.array([2, 1, -1]), "auto", None) == "stratified"  # 0 has no label
    assert sampling_of(np.array([-1, -1]), "auto", None) == "stratified"


def test_auto_takes_a_single_class_for_random_unless_that_surprises():
    def taken(n, frequency):
        labels = np.append(np.ones(n, int), -1)
        return sampling_of(labels, "auto", np.array([1 - frequency, frequency]))

    assert taken(10, 0.9) == taken(10, 0.5) == taken(1, 0.1) == "random"
    assert taken(30, 0.5) == taken(10, 0.1) == "stratified"
    # At log-odds 1 above those of one half, n labels of one class have probability .731ⁿ.
    assert taken(22, 0.5) == "random"
    assert taken(23, 0.5) == "stratified"
    with pytest.warns(UserWarning, match="If they were chosen class by class"):
        warn_of_frequencies(np.ones(10, int), np.array([0.3, 0.7]), "random")
    # A class that the source knows not to occur: expected without, and then no warning.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_frequencies(np.ones(10, int), np.array([0.0, 1.0]), "random")
        warn_of_frequencies(np.ones(2, int), np.array([0.3, 0.7]), "random")


def test_frequencies_that_chance_does_not_explain_are_named():
    labels = np.repeat([0, 1], [30, 10])
    with pytest.warns(UserWarning, match=r"\[0.75, 0.25\].*expects \[0.3, 0.7\].*'stratified'"):
        warn_of_frequencies(labels, np.array([0.3, 0.7]), "random")
    with pytest.warns(UserWarning, match="label_sampling='random'"):
        warn_of_frequencies(labels, np.array([0.3, 0.7]), "stratified")
    # The test is significant at .001: just so, and just not.
    level = chi2.isf(0.001, 1)
    near, far = (
        brentq(lambda p, by=by: ratio(labels, p) - level + by, 0.3, 0.74) for by in (0.1, -0.1)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_frequencies(labels, np.array([near, 1 - near]), "random")
    with pytest.warns(UserWarning, match="name the classes"):
        warn_of_frequencies(labels, np.array([far, 1 - far]), "random")


def ratio(labels, p):
    """Twice the log-likelihood ratio of labels against a frequency p of class 0."""
    n = np.bincount(labels)
    return 2 * (n * np.log(n / n.sum() / [p, 1 - p])).sum()
