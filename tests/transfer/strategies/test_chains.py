"""Self-training by itself, beside other candidates, or not at all."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skdp import DPSource, DPTransferClassifier
from skdp.transfer.self_training import make_schedule
from skdp.transfer.strategies._candidates import Corrected
from skdp.transfer.strategies._chains import Chain, held_out_log_posteriors, learn_by_chains
from skdp.transfer.strategies._weighed import WeighedModel

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]


@pytest.fixture
def chain():
    schedule = make_schedule(DPTransferClassifier(n_components=(1, 2)), 60)
    return Chain(schedule, tol=1e-3, verbose=0)


def clusters(rng, distance, n_labelled=10):
    """Rows of two classes, and their class indices, of which some are known."""
    true = np.arange(120) % 2
    labels = np.where(np.arange(120) < n_labelled, true, -1)
    return rng.randn(120, 4) + distance * true[:, np.newaxis], true, labels


def names(result):
    return [part.name for part in result.model.contributions]


def test_it_stands_by_itself_where_classes_lie_apart(rng, make_task, chain):
    X, true, labels = clusters(rng, 4.0)
    result = learn_by_chains(make_task(X, labels), chain)
    assert chain.apart
    assert names(result) == ["target's fuzzy sets and mixtures"]
    assert np.mean(result.labels == true) > 0.95


def test_it_is_no_candidate_where_classes_overlap(rng, make_task, chain):
    X, _, labels = clusters(rng, 0.3, n_labelled=80)
    result = learn_by_chains(make_task(X, labels), chain)
    assert "self-training" not in names(result)
    assert result.history == {}


def test_rows_that_are_records_are_not_trained_by_each_other(rng, make_task, chain):
    X, _, labels = clusters(rng, 4.0)
    records = np.column_stack([X, rng.rand(120) < 0.3])
    result = learn_by_chains(make_task(records, labels), chain)
    assert result.history == {}
    assert set(names(result)) == {"target alone", "target alone, weak prior"}


def test_held_out_labels_have_no_say(rng, make_task, chain):
    # Labels that nothing but themselves could tell.
    X, true, _ = clusters(rng, 0.0)
    labels = np.where(np.arange(120) < 60, true, -1)
    logs = held_out_log_posteriors(make_task(X, labels), chain)
    assert logs.shape == (60, 2)
    assert 0.3 < np.mean(logs.argmax(axis=1) == true[:60]) < 0.7
    X, true, _ = clusters(rng, 4.0)
    logs = held_out_log_posteriors(make_task(X, labels), chain)
    assert np.mean(logs.argmax(axis=1) == true[:60]) > 0.9


def test_a_single_label_cannot_be_held_out(rng, make_task, chain):
    X, _, labels = clusters(rng, 1.0, n_labelled=3)
    assert held_out_log_posteriors(make_task(X, labels), chain) is None


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


def test_records_do_no_harm(rng):
    weights = np.array([4.0, -3.0, 0.0, 1.5, 0.0, -1.5])
    gains = {"source": [], "target": []}
    for _ in range(3):
        rows, labels = records(rng, 3000, weights)
        source = DPSource(4.0, bounds=(0, 1), n_components=2, n_layers=1, random_state=0)
        release = source.fit(rows, labels).release_
        X, y = records(rng, 300, weights)
        X_test, y_test = records(rng, 3000, weights)
        marked = few_labels(y, 10)
        known = marked >= 0
        model = DPTransferClassifier(release, random_state=0).fit(X, marked)
        assert isinstance(model.model_, WeighedModel)
        without = DPTransferClassifier(release, random_state=0).fit(X)
        alone = LogisticRegression().fit(X[known], y[known])
        found, of_source, of_target = (
            roc_auc_score(y_test, each.predict_proba(X_test)[:, 1])
            for each in (model, without, alone)
        )
        gains["source"].append(found - of_source)
        gains["target"].append(found - of_target)
    assert np.mean(gains["source"]) > -0.003
    assert np.mean(gains["target"]) > 0.03
    # Probabilities are those of a calibrated model: far from the errors' own scale.
    assert np.mean(model.predict_proba(X_test).max(axis=1)) == pytest.approx(
        model.score(X_test, y_test), abs=0.06
    )


def test_the_target_alone_is_a_regularised_logistic_regression_on_records(rng):
    X, y = records(rng, 400, np.array([4.0, -3.0, 0.0, 1.5, 0.0, -1.5]))
    marked = few_labels(y, 20)
    model = DPTransferClassifier(unlabeled=-1, random_state=0).fit(X, marked)
    assert {type(each) for each in model.model_.candidates} == {Corrected}
    assert model.source_weight_ == 0
    known = marked >= 0
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    candidate = model.model_.candidates[0]
    odds = np.diff(candidate.log_posteriors(X), axis=1)[:, 0]
    # Coefficients have prior variance v for each of two classes.
    expected = LogisticRegression(C=2 * 0.02).fit(Z[known], y[known]).decision_function(Z)
    assert np.corrcoef(odds, expected)[0, 1] > 0.999
    assert np.std(odds) == pytest.approx(np.std(expected), rel=0.05)


@pytest.mark.parametrize("table", [True, False])
def test_one_labelled_class_is_enough(rng, table):
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
