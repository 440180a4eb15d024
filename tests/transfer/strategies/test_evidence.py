"""What speaks for a candidate, with labels and without."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from skdp.transfer.strategies._evidence import (
    agrees,
    certainty,
    entropy,
    held_out_probabilities,
    label_tilt,
    lie_apart,
    log_evidence,
    posterior_weights,
    prior_odds,
)


@pytest.fixture
def calibrated(rng):
    """Posteriors of a source, and classes drawn from them."""
    reference = softmax(2 * rng.randn(4000, 4), axis=1)
    drawn = (reference.cumsum(axis=1) > rng.rand(4000, 1)).argmax(axis=1)
    return reference, np.eye(4)[drawn]


def test_the_true_classes_agree_with_a_calibrated_source(calibrated):
    reference, truth = calibrated
    assert agrees(0.99 * truth + 0.0025, reference)


def test_other_clusters_do_not(rng, calibrated):
    reference, truth = calibrated
    assert not agrees(np.eye(4)[rng.randint(0, 4, 4000)], reference)
    # Two thirds of the classes mixed up are enough to be seen.
    mixed = truth.copy()
    mixed[:2700] = truth[rng.permutation(4000)[:2700]]
    assert not agrees(mixed, reference)
    # Two classes that changed their names are no classes of the source.
    assert not agrees(truth[:, [1, 0, 2, 3]], reference)


def test_classes_that_overlap_or_have_collapsed_do_not(calibrated):
    reference, truth = calibrated
    assert not agrees(reference, reference)
    assert not agrees(np.tile([1.0, 0, 0, 0], (4000, 1)), reference)
    assert not agrees(truth, np.full((4000, 4), 0.25))


def test_entropies_are_those_of_distributions():
    assert_allclose(entropy(np.array([[0.5, 0.5], [1.0, 0.0]])), [np.log(2), 0])


def test_evidence_is_a_power_of_the_likelihood_of_labels_a_tenth_of_which_are_outliers():
    logs = np.log([[0.8, 0.2], [0.3, 0.7]])
    labels, tilt = np.array([0, 0]), np.log([0.5, 1.0])
    own = 0.8 * 0.5 / (0.8 * 0.5 + 0.2), 0.3 * 0.5 / (0.3 * 0.5 + 0.7)
    expected = sum(np.log(0.9 * p + 0.05) for p in own) / 2
    probabilities = held_out_probabilities(logs, labels, tilt)
    assert_allclose(probabilities, own)
    assert_allclose(log_evidence(probabilities, 2), expected)
    assert log_evidence(np.zeros(2), 2) > -7


def test_candidates_of_little_weight_are_left_out():
    weights = posterior_weights([0.0, -1.0, -9.0])
    assert weights[2] == 0
    assert_allclose(weights[:2], softmax([0.0, -1.0]))


def test_the_tilt_is_the_ratio_of_frequencies():
    labels = np.repeat([0, 1], 999)
    tilt = label_tilt(labels, np.tile([0.9, 0.1], (5, 1)))
    assert_allclose(np.exp(tilt), [0.5 / 0.9, 0.5 / 0.1], rtol=1e-4)


def test_of_many_candidates_some_always_count():
    assert_allclose(posterior_weights(np.zeros(12)), np.full(12, 1 / 12))
    log_odds = np.r_[np.zeros(11), -1.0]
    assert_allclose(posterior_weights(log_odds), np.r_[np.full(11, 1 / 11), 0])


@pytest.mark.parametrize(
    ("precision", "n_labels", "expected"),
    [(5.0, 10.0, 0.0), (10.0, 10.0, 0.0), (20.0, 10.0, -3 * np.log(2)), (1e4, 10.0, -6.0)],
)
def test_prior_odds_favour_a_source_that_stands_for_more_rows(precision, n_labels, expected):
    assert_allclose(prior_odds(precision, n_labels), expected)


def test_certainty_is_the_share_of_the_entropy_that_is_gone():
    truth = np.repeat(np.eye(2), 50, axis=0)
    assert_allclose(certainty(truth), 1)
    assert_allclose(certainty(np.full((9, 3), 1 / 3)), 0, atol=1e-12)
    posteriors = 0.8 * truth + 0.1
    bits = -(0.9 * np.log2(0.9) + 0.1 * np.log2(0.1))
    assert_allclose(certainty(posteriors), 1 - bits)
    assert certainty(np.tile([1.0, 0.0], (5, 1))) == 0  # a single class is none that was found
    assert lie_apart(0.96 * truth + 0.02)
    assert not lie_apart(0.9 * truth + 0.05)
