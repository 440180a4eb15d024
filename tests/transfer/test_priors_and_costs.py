"""Offsets that reach class frequencies, against slow and closed forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import expit, log_softmax, softmax

from skdp.transfer._class_model import ClassModel
from skdp.transfer._classes import (
    log_posteriors_of,
    prior_offsets,
    with_prior,
)
from skdp.transfer._task import TransferResult


class Rows(ClassModel):
    """Log-posteriors that are the rows themselves."""

    def __init__(self):
        pass

    def log_posteriors(self, X):
        return X


def normals(rng, n, rare, distance=3.0):
    """Rows of two normal classes, and their log-likelihoods."""
    y = rng.rand(n) < rare
    x = rng.randn(n) + distance * y
    return y, np.column_stack([-(x**2) / 2, -((x - distance) ** 2) / 2])


@pytest.mark.parametrize("rare", [0.5, 0.05, 0.001])
def test_two_classes_move_by_the_root_of_the_mean(rng, rare):
    scores = 3 * rng.randn(400, 2)
    offsets = prior_offsets(scores, np.array([1 - rare, rare]))
    log_odds = scores[:, 1] - scores[:, 0]
    root = brentq(lambda b: expit(log_odds + b).mean() - rare, -50, 50, xtol=1e-12)
    assert_allclose(offsets[1] - offsets[0], root, atol=1e-4)
    assert abs(offsets.sum()) < 1e-12


@pytest.mark.parametrize("scale", [0.1, 10.0, 1000.0])
def test_any_frequencies_are_reached(rng, scale):
    scores = scale * rng.randn(300, 7)
    prior = np.array([0.9, 0.05, 0.02, 0.01, 0.01, 0.005, 0.005])
    moved = softmax(scores + prior_offsets(scores, prior), axis=1).mean(axis=0)
    assert_allclose(moved, prior, atol=1e-7)
    certain = np.log(np.maximum(np.eye(7)[rng.randint(0, 7, 300)], 1e-300))
    moved = softmax(certain + prior_offsets(certain, prior), axis=1).mean(axis=0)
    assert_allclose(moved, prior, atol=1e-6)


def test_prior_shift_is_undone(rng):
    # The true posteriors of 1 % are those of 50 % with the log-ratio of the frequencies added.
    y, logs = normals(rng, 200_000, 0.01)
    prior = np.array([1 - y.mean(), y.mean()])
    moved = np.diff(prior_offsets(logs, prior))
    assert_allclose(moved, np.log(prior[1] / prior[0]), atol=0.05)
    assert abs(moved - 1.1 * np.log(prior[1] / prior[0])) > 0.4


def result_of(logs, marked):
    distributions = softmax(logs, axis=1)
    distributions[marked >= 0] = np.eye(logs.shape[1])[marked[marked >= 0]]
    return TransferResult(distributions, {}, Rows())


@pytest.mark.parametrize("n_labels", [0, 30, 200])
def test_unlabeled_rows_follow_and_labeled_ones_stay(rng, make_task, n_labels):
    logs, prior = 2 * rng.randn(200, 3), np.array([0.7, 0.2, 0.1])
    marked = np.where(np.arange(200) < n_labels, rng.randint(0, 3, 200), -1)
    task = make_task(logs, marked, class_indices=[0, 1, 2])
    before = result_of(logs, marked)
    kept = before.distributions.copy()
    after = with_prior(before, task, prior)
    assert_array_equal(before.distributions, kept)
    assert_allclose(after.model.probabilities(logs).mean(axis=0), prior, atol=1e-6)
    assert_array_equal(after.distributions[:n_labels], kept[:n_labels])
    assert_allclose(after.distributions[n_labels:], after.model.probabilities(logs)[n_labels:])
    assert_array_equal(after.labels, after.distributions.argmax(axis=1))
    assert_allclose(log_posteriors_of(before, task), log_softmax(logs, axis=1))
