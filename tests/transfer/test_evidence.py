"""What speaks for a candidate, with labels and without."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from skdp.transfer._noise_aware import _SEPARATED, mean_margin, scorer_weights
from skdp.transfer._scorers import (
    agrees_with_source,
    certainty,
    contradicts,
    errs_as_claimed,
)


@pytest.fixture
def calibrated(rng):
    """Posteriors of a source, and classes drawn from them."""
    reference = softmax(2 * rng.randn(4000, 4), axis=1)
    drawn = (reference.cumsum(axis=1) > rng.rand(4000, 1)).argmax(axis=1)
    return reference, np.eye(4)[drawn]


def test_the_true_classes_agree_with_a_calibrated_source(calibrated):
    reference, truth = calibrated
    assert agrees_with_source(0.99 * truth + 0.0025, reference)


def test_other_clusters_do_not(rng, calibrated):
    reference, truth = calibrated
    assert not agrees_with_source(np.eye(4)[rng.randint(0, 4, 4000)], reference)
    # Two thirds of the classes mixed up are enough to be seen.
    mixed = truth.copy()
    mixed[:2700] = truth[rng.permutation(4000)[:2700]]
    assert not agrees_with_source(mixed, reference)
    # Two classes that changed their names are no classes of the source.
    assert not agrees_with_source(truth[:, [1, 0, 2, 3]], reference)


def test_a_source_that_errs_more_often_than_it_claims_does_not_confirm(rng, calibrated):
    reference, truth = calibrated
    assert errs_as_claimed(truth, reference)
    # The source claims to be wrong of a quarter of the rows.
    wrong = 1 - reference.max(axis=1).mean()
    others, n = truth.copy(), int(4000 * wrong)
    agreed = np.flatnonzero(truth.argmax(axis=1) == reference.argmax(axis=1))
    for share, confirmed in ((0.1, True), (0.5, False)):
        moved = agreed[: int(share * n)]
        others[moved] = np.roll(truth[moved], 1, axis=1)
        assert errs_as_claimed(others, reference) == confirmed
    sure = softmax(5 * np.log(reference), axis=1)  # the same guesses, with too large a claim
    assert not errs_as_claimed(truth, sure)


def test_certainty_is_the_share_of_the_entropy_that_is_gone():
    truth = np.repeat(np.eye(2), 50, axis=0)
    assert_allclose(certainty(truth), 1)
    assert_allclose(certainty(np.full((9, 3), 1 / 3)), 0, atol=1e-12)
    posteriors = 0.8 * truth + 0.1
    bits = -(0.9 * np.log2(0.9) + 0.1 * np.log2(0.1))
    assert_allclose(certainty(posteriors), 1 - bits)
    assert certainty(np.tile([1.0, 0.0], (5, 1))) == 0  # a single class is none that was found
    assert certainty(0.96 * truth + 0.02) > _SEPARATED > certainty(0.9 * truth + 0.05)


def scored(rng, n, strengths, n_classes=4):
    labels = rng.randint(0, n_classes, n)
    truth = np.eye(n_classes)[labels]
    return np.array([s * truth + rng.randn(n, n_classes) for s in strengths]), labels


def test_margins_are_a_unit(rng):
    scores = rng.randn(50, 3)
    ordered = np.sort(scores, axis=1)
    assert_allclose(mean_margin(scores), np.mean(ordered[:, 2] - ordered[:, 1]))
    assert_allclose(mean_margin(7 * scores + 3), 7 * mean_margin(scores))
    assert mean_margin(np.zeros((5, 3))) == 1.0


def test_one_scorer_gets_the_weight_of_logistic_regression(rng):
    [scores], labels = scored(rng, 300, [2.0], n_classes=2)
    [weight] = scorer_weights(scores[np.newaxis], labels)
    difference = scores[:, 1:] - scores[:, :1]
    model = LogisticRegression(C=25.0, fit_intercept=False, tol=1e-10).fit(difference, labels)
    assert_allclose(weight, model.coef_[0, 0], rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "n_draws"), [(40, 3), (4, 30)])
def test_weights_average_over_sets_of_scorers_that_count_equally(rng, n, n_draws):
    slopes = np.linspace(-10, 20, 30_001)
    for _ in range(n_draws):
        scores, labels = scored(rng, n, [1.0, 0.4])
        found, evidence = [], []
        for chosen in ([0], [1], [0, 1]):
            together = scores[chosen].mean(axis=0)
            totals = slopes[:, np.newaxis, np.newaxis] * together
            own = softmax(totals, axis=2)[:, np.arange(n), labels]
            posterior = np.log(own).sum(axis=1) - slopes**2 / 50
            best = posterior.argmax()
            weights = np.zeros(2)
            weights[chosen] = max(slopes[best], 0.0) / len(chosen)
            found.append(weights)
            curvature = -(np.diff(posterior, 2)[best - 1]) / 0.001**2
            evidence.append(posterior[best] - np.log(25 * curvature) / 2)
        expected = softmax(evidence) @ found
        assert_allclose(scorer_weights(scores, labels), expected, rtol=2e-3, atol=2e-3)


def test_a_useless_scorer_is_excluded_and_two_good_ones_are_included(rng):
    useless, both = [], []
    for _ in range(30):
        scores, labels = scored(rng, 60, [0.0, 3.0])
        weights = scorer_weights(scores, labels)
        useless.append(weights[0] / weights.sum())
        scores, labels = scored(rng, 200, [1.5, 1.5])
        weights = scorer_weights(scores, labels)
        both.append(weights.min() / weights.max())
    assert np.mean(useless) < 0.03
    assert_allclose(scorer_weights(np.zeros((2, 60, 4)), labels[:60]), [0, 0], atol=1e-3)
    assert np.mean(both) > 0.6


def test_labels_contradict_scores_where_these_point_the_other_way(rng):
    labels, noise = rng.randint(0, 3, 200), rng.randn(200, 3)
    scores = np.eye(3)[labels] + 2 * noise
    assert not contradicts(labels, scores)
    assert contradicts(labels, -scores)
    assert not contradicts(labels[:1], -scores[:1])
    # Unrelated scores are contradicted by chance alone, whatever the frequencies they expect.
    scores = np.add(noise, [3, 0, 0])
    many = [contradicts(rng.permutation(labels), scores) for _ in range(5000)]
    assert 0.003 < np.mean(many) < 0.01
