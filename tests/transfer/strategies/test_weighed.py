"""Releases of statistics, and targets without labels: what is used, and what is not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from skdp import DPStatisticsSource, DPTransferClassifier
from skdp.datasets import hide_labels
from skdp.transfer.strategies._candidates import Adapted, Corrected, SelfTrained

pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")


def people(rng, n, distance, shift=0.0, n_columns=30):
    """Rows in [0, 1] of four classes; the people of the target differ by the shift."""
    means = distance * np.eye(4, n_columns) + shift * np.roll(np.eye(4, n_columns), 1, axis=0)
    labels = rng.randint(0, 4, n)
    rows = means[labels] + rng.randn(n, n_columns)
    return np.clip(0.5 + rows / 20, 0, 1), labels


def release_of(rng, distance, epsilon=4.0, n=6000):
    rows, labels = people(rng, n, distance)
    return DPStatisticsSource(epsilon, classes=range(4), random_state=0).fit(rows, labels).release_


def kinds(model):
    return [type(each) for each in model.model_.candidates]


def test_class_means_adapt_where_classes_lie_apart(rng):
    release = release_of(rng, 6.0, epsilon=0.4, n=3000)
    X, y = people(rng, 3000, 6.0, shift=1.5)
    model = DPTransferClassifier(release, random_state=0).fit(X)
    assert Adapted in kinds(model)
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
    assert kinds(model) == [Corrected]
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
    assert SelfTrained in kinds(model) or kinds(model) == [Corrected]
    assert model.score(X, y) > 0.9 > 0.1 > release.score(X, y)


def test_parts_add_up(rng):
    release = release_of(rng, 2.0)
    X, y = people(rng, 400, 2.0)
    X = X.astype(np.float32)
    model = DPTransferClassifier(release, random_state=0).fit(
        X, hide_labels(y, 10, random_state=0)
    )
    scores = model.decision_function(X)
    assert scores.dtype == np.float32
    assert_allclose(model.source_scores(X) + model.target_scores(X), scores, atol=1e-5)
    assert_allclose(softmax(scores, axis=1), model.predict_proba(X), atol=1e-5)


def test_classes_that_only_the_source_knows_stay_possible(rng):
    release = release_of(rng, 2.0)
    X, y = people(rng, 400, 2.0)
    few = hide_labels(y, 10, random_state=0)
    for known in ([0, 1], [2]):
        model = DPTransferClassifier(release, random_state=0).fit(
            X, np.where(np.isin(few, known), few, -1)
        )
        assert_array_equal(model.classes_, release.classes)
        assert model.score(X, y) > release.score(X, y) - 0.03


def test_a_release_of_rows_serves_without_labels_too(release, same):
    X, y = same[0][:200], same[1][:200]
    model = DPTransferClassifier(release, random_state=0).fit(X)
    assert_array_equal(model.classes_, release.classes)
    assert model.score(X, y) > 0.8
