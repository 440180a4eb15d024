"""Releases of statistics, and targets without labels: what is used, and what is not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax

from skdp import DPStatisticsSource, DPTransferClassifier
from skdp.datasets import hide_labels
from skdp.transfer._candidates import Candidate, log_linear_pool
from skdp.transfer._label_correction import LabeledRows, OffsetLogisticRegression, Standardizer
from skdp.transfer._scorers import Scorer

pytestmark = [
    pytest.mark.usefixtures("few_rounds"),
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
]


ALONE = {"target alone"}


def people(rng, n, distance, shift=0.0, n_columns=30):
    """Rows in [0, 1] of four classes; the people of the target differ by the shift."""
    means = distance * np.eye(4, n_columns) + shift * np.roll(np.eye(4, n_columns), 1, axis=0)
    labels = rng.randint(0, 4, n)
    rows = means[labels] + rng.randn(n, n_columns)
    return np.clip(0.5 + rows / 20, 0, 1), labels


def release_of(rng, distance, epsilon=4.0, n=6000):
    rows, labels = people(rng, n, distance)
    return DPStatisticsSource(epsilon, classes=range(4), random_state=0).fit(rows, labels).release_


def names(model):
    return [each.name for each in model.model_.candidates]


def test_class_means_adapt_where_classes_lie_apart(rng):
    release = release_of(rng, 6.0, epsilon=0.25, n=3000)
    X, y = people(rng, 3000, 6.0, shift=1.5)
    model = DPTransferClassifier(release, random_state=0).fit(X)
    assert "adapted class means" in names(model)
    assert model.score(X, y) > release.score(X, y) + 0.003
    assert_array_equal(model.classes_, release.classes)
    assert_array_equal(model.transduction_, model.predict(X))
    assert model.source_weight_ == pytest.approx(1)
    assert model.n_iter_ == 0
    assert model.history_ == {}
    assert model.target_classifier_ is None
    marked = np.full(3000, -1)
    again = DPTransferClassifier(release, random_state=0).fit(X, marked)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_nothing_adapts_where_classes_overlap(rng):
    release = release_of(rng, 1.0)
    X, _ = people(rng, 3000, 1.0)
    model = DPTransferClassifier(release, random_state=0).fit(X)
    assert names(model) == ["source"]
    assert_allclose(model.predict_proba(X), softmax(release.scores(X), axis=1))


@pytest.mark.parametrize("distance", [1.0, 2.0, 6.0])
def test_few_labels_do_no_harm(rng, distance):
    release = release_of(rng, distance)
    X, y = people(rng, 1000, distance)
    X_test, y_test = people(rng, 4000, distance)
    marked = hide_labels(y, 3, random_state=0)
    model = DPTransferClassifier(release, random_state=0).fit(X, marked)
    assert model.score(X_test, y_test) > release.score(X_test, y_test) - 0.01
    assert_array_equal(model.transduction_[marked >= 0], y[marked >= 0])
    assert_array_equal(model.label_distributions_[marked >= 0], np.eye(4)[y[marked >= 0]])


def test_labels_overrule_a_source_that_is_wrong(rng):
    rows, labels = people(rng, 6000, 6.0)
    wrong = DPStatisticsSource(4.0, classes=range(4), random_state=0)
    release = wrong.fit(rows, (labels + 1) % 4).release_
    X, y = people(rng, 400, 6.0)
    model = DPTransferClassifier(release, random_state=0).fit(
        X, hide_labels(y, 15, random_state=0)
    )
    assert model.source_weight_ < 0.5
    assert "self-training" in names(model) or set(names(model)) <= ALONE
    assert model.score(X, y) > 0.9 > 0.1 > release.score(X, y)


def linear(W):
    return Scorer(lambda X: X @ W)


def test_a_log_linear_pool_averages_log_posteriors(rng):
    X, W = rng.randn(9, 3), rng.randn(2, 3, 4)
    pool = log_linear_pool([linear(W[0] + 5), linear(W[1])], np.array([0.25, 0.75]), X)
    expected = 0.25 * log_softmax(X @ W[0], axis=1) + 0.75 * log_softmax(X @ W[1], axis=1)
    assert_allclose(pool, expected)


def test_rows_are_scored_by_corrections_that_have_not_seen_them(rng):
    X, W = rng.randn(40, 3), rng.randn(3, 2)
    known, labels, folds = np.arange(40) < 12, rng.randint(0, 2, 12), np.arange(12) % 3
    standardizer, offsets = Standardizer(X), np.array([0.3, -0.3])
    correction = OffsetLogisticRegression(0.1)
    candidate = Candidate("linear", linear(W), 0.0, 1.0, standardizer, correction)
    Z, base = standardizer.transform(X), log_softmax(X @ W, axis=1)
    assert_allclose(candidate.log_posteriors(X), base)
    found = candidate.learn(base[known], LabeledRows(known, labels, folds, Z[known]), offsets)
    for k in range(3):
        train, here = np.flatnonzero(folds != k), np.flatnonzero(folds == k)
        fewer = correction.fit(base[train], Z[train], labels[train], offsets)
        assert_allclose(found[here], fewer.apply(base[here], Z[here]))
    everyone = correction.fit(base[:12], Z[:12], labels, offsets)
    assert_allclose(candidate.log_posteriors(X), everyone.apply(base, Z))
