"""Noise-aware transfer: what its steps add up to."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from skdp import (
    DPSource,
    DPTransferClassifier,
    OptimalDPNoise,
    SelfTrainingSchedule,
)
from skdp.transfer._noise_aware import NOISE_AWARE

SHORT = SelfTrainingSchedule(n_components=(4, 6), n_layers=1)
pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]


def test_a_good_source_helps_and_a_hopeless_one_is_ignored(release, domains, same):
    X, _, marked, X_test, y_test = same
    settings = {"self_training": SHORT, "random_state": 0}
    good = DPTransferClassifier(release, **settings).fit(X, marked)
    alone = DPTransferClassifier(unlabeled=-1, **settings).fit(X, marked)
    assert good.source_weight_ > 0.2
    assert good.score(X_test, y_test) > alone.score(X_test, y_test)
    noise = OptimalDPNoise(1e-3, random_state=np.random.RandomState(0))
    source = DPSource(noise=noise, n_layers=1, random_state=0)
    source.fit(domains.source, domains.source_target)
    hopeless = DPTransferClassifier(source, **settings).fit(X, marked)
    assert hopeless.source_weight_ < 0.2
    assert hopeless.score(X_test, y_test) > alone.score(X_test, y_test) - 0.03
    assert alone.source_weight_ == 0


def test_units_of_the_target_do_not_matter(same):
    X, _, marked, X_test, _ = same
    models = [
        DPTransferClassifier(unlabeled=-1, self_training=SHORT, random_state=0).fit(
            scale * X + shift, marked
        )
        for scale, shift in ((1.0, 0.0), (256.0, 1024.0))
    ]
    assert_array_equal(models[0].transduction_, models[1].transduction_)
    assert_array_equal(models[0].predict(X_test), models[1].predict(256 * X_test + 1024))


def test_scores_are_log_posteriors_and_add_up(denoised_release, same):
    X, _, marked, X_test, _ = same
    settings = {"self_training": SHORT, "random_state": 0}
    model = DPTransferClassifier(denoised_release, **settings).fit(X, marked)
    parts = model.source_scores(X_test) + model.target_scores(X_test)
    constant = model.decision_function(X_test) - parts
    assert_allclose(constant, np.broadcast_to(constant[0], constant.shape), atol=1e-9)
    probabilities = model.predict_proba(X_test)
    assert_allclose(probabilities, softmax(model.decision_function(X_test), axis=1))
    assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X_test))
    assert not hasattr(DPTransferClassifier(strategy="alignment"), "predict_proba")


@pytest.fixture
def prepared(make_task, make_training):
    """Make a task, and short self-training for it."""

    def prepare(X, labels):
        task = make_task(X, labels)
        return task, make_training(task, n_components=(1, 2))

    return prepare


def clusters(rng, distance, n_labeled=10):
    """Rows of two classes, and their class indices, of which some are known."""
    true = np.arange(120) % 2
    labels = np.where(np.arange(120) < n_labeled, true, -1)
    return rng.randn(120, 4) + distance * true[:, np.newaxis], true, labels


def names(result):
    return [part.name for part in result.model.contributions]


def test_it_is_a_candidate_where_classes_lie_apart(rng, prepared):
    X, true, labels = clusters(rng, 4.0)
    result = NOISE_AWARE.learn(*prepared(X, labels))
    assert names(result) == ["self-training", "target alone"]
    assert result.model.contributions[0].weight > 0.5
    assert np.mean(result.labels == true) > 0.95


def test_it_is_no_candidate_where_classes_overlap(rng, prepared):
    X, _, labels = clusters(rng, 0.3, n_labeled=80)
    result = NOISE_AWARE.learn(*prepared(X, labels))
    assert "self-training" not in names(result)
    assert result.history == {}


def test_rows_that_are_records_are_not_trained_by_each_other(rng, prepared):
    X, _, labels = clusters(rng, 4.0)
    records = np.column_stack([X, rng.rand(120) < 0.3])
    result = NOISE_AWARE.learn(*prepared(records, labels))
    assert result.history == {}
    assert set(names(result)) == {"target alone"}


def records(rng, n, weights):
    """Records of three numbers and three indicators, with classes that overlap."""
    X = np.column_stack([rng.rand(n, 3), rng.rand(n, 3) < 0.3]).astype(float)
    logit = (X - X.mean(axis=0)) @ weights
    return X, (rng.rand(n) < 1 / (1 + np.exp(-logit))).astype(int)


def few_labels(y, n):
    marked = np.full(len(y), -1)
    for c in np.unique(y):
        marked[np.flatnonzero(y == c)[:n]] = c
    return marked


def test_the_target_alone_is_a_regularized_logistic_regression_on_records(rng):
    X, y = records(rng, 400, np.array([4.0, -3.0, 0.0, 1.5, 0.0, -1.5]))
    marked = few_labels(y, 20)
    model = DPTransferClassifier(unlabeled=-1, random_state=0).fit(X, marked)
    assert model.report()["name"].tolist() == ["target alone"]
    assert model.source_weight_ == 0
    known = marked >= 0
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    # Of each strength, the standard deviation of the sum of six columns.
    strengths = (1.0, 2.0, 4.0, 8.0)
    for each, strength in zip(model.model_.candidates, strengths, strict=True):
        alone = LogisticRegression(C=strength**2 / 6).fit(Z[known], y[known])
        expected = Z @ alone.coef_[0]
        # Two classes differ by √2 times the coefficients of their contrast.
        odds = np.sqrt(2) * Z @ each.posterior.coefficients[2:]
        assert np.corrcoef(odds, expected)[0, 1] > 0.999
        assert np.std(odds) == pytest.approx(np.std(expected), rel=0.05)


@pytest.mark.parametrize("table", [True, False])
def test_one_labeled_class_is_enough(rng, table):
    weights = np.array([4.0, -3.0, 0.0, 1.5, 0.0, -1.5])
    rows, labels = records(rng, 3000, weights)
    release = DPSource(8.0, bounds=(0, 1), n_components=2, n_layers=1, random_state=0)
    release = release.fit(rows, labels).release_
    X, y = records(rng, 300, weights)
    if not table:
        X, rows = X[:, :3], rows[:, :3]
        release = DPSource(8.0, bounds=(0, 1), n_components=2, n_layers=1, random_state=0)
        release = release.fit(rows, labels).release_
    marked = np.where((np.arange(300) < 40) & (y == 1), 1, -1)
    model = DPTransferClassifier(release, random_state=0).fit(X, marked)
    assert_array_equal(model.classes_, [0, 1])
    without = DPTransferClassifier(release, random_state=0).fit(X)
    assert model.score(X, y) > without.score(X, y) - 0.03
