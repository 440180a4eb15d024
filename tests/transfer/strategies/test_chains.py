"""Self-training by itself, beside other candidates, or not at all."""

import numpy as np
import pytest

from skdp import DPTransferClassifier
from skdp.transfer.self_training import make_schedule
from skdp.transfer.strategies._chains import Chain, held_out_log_posteriors, learn_by_chains


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
    assert names(result) == ["target alone"] * 2


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
