"""Weights of judges, and offsets towards class frequencies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import root
from scipy.special import softmax
from skdp.transfer._stacking import fit_weights, frequency_offsets, mean_margin
from sklearn.linear_model import LogisticRegression

from skdp.transfer import _stacking


def judged(rng, n, strengths, n_classes=4):
    labels = rng.randint(0, n_classes, n)
    truth = np.eye(n_classes)[labels]
    return np.array([s * truth + rng.randn(n, n_classes) for s in strengths]), labels


def test_margins_are_a_unit(rng):
    scores = rng.randn(50, 3)
    ordered = np.sort(scores, axis=1)
    assert_allclose(mean_margin(scores), np.mean(ordered[:, 2] - ordered[:, 1]))
    assert_allclose(mean_margin(7 * scores + 3), 7 * mean_margin(scores))
    assert mean_margin(np.zeros((5, 3))) == 1.0


def test_one_judge_gets_the_weight_of_logistic_regression(rng, monkeypatch):
    monkeypatch.setattr(_stacking, "_STRAY", 1e-300)
    [scores], labels = judged(rng, 300, [2.0], n_classes=2)
    [weight] = fit_weights(scores[np.newaxis], labels)
    difference = scores[:, 1:] - scores[:, :1]
    model = LogisticRegression(C=25.0, fit_intercept=False, tol=1e-10).fit(difference, labels)
    assert_allclose(weight, model.coef_[0, 0], rtol=1e-3)


@pytest.mark.parametrize(("n", "n_draws"), [(40, 3), (4, 30)])
def test_weights_average_over_sets_of_judges_who_are_heard_equally(rng, n, n_draws):
    slopes = np.linspace(0, 20, 20_001)
    for _ in range(n_draws):
        scores, labels = judged(rng, n, [1.0, 0.4])
        found, evidence = [], []
        for chosen in ([0], [1], [0, 1]):
            together = scores[chosen].mean(axis=0)
            totals = slopes[:, np.newaxis, np.newaxis] * together
            own = softmax(totals, axis=2)[:, np.arange(n), labels]
            own = np.log(0.9 * own + 0.1 / scores.shape[2]).sum(axis=1)
            posterior = own - slopes**2 / 50
            best = posterior.argmax()
            weights = np.zeros(2)
            weights[chosen] = slopes[best] / len(chosen)
            found.append(weights)
            evidence.append(posterior[best])
        expected = softmax(evidence) @ found
        expected[1] = max(expected[1], 0.1)
        assert_allclose(fit_weights(scores, labels), expected, rtol=1e-3, atol=1e-3)


def test_a_useless_judge_is_ignored_and_two_good_ones_are_both_heard(rng):
    useless, both = [], []
    for _ in range(30):
        scores, labels = judged(rng, 60, [0.0, 3.0])
        weights = fit_weights(scores, labels)
        useless.append(weights[0] / weights.sum())
        scores, labels = judged(rng, 200, [1.5, 1.5])
        weights = fit_weights(scores, labels)
        both.append(weights.min() / weights.max())
    assert np.mean(useless) < 0.03
    assert_allclose(fit_weights(np.zeros((2, 60, 4)), labels[:60]), [0, 0.1], atol=1e-3)
    assert np.mean(both) > 0.6


def test_a_single_confident_error_does_not_make_all_unsure(rng, monkeypatch):
    labels = rng.randint(0, 6, 30)
    good, useless = np.eye(6)[labels] + 0.1 * rng.randn(30, 6), rng.randn(30, 6)
    good[0] = 20 * np.eye(6)[(labels[0] + 1) % 6]
    scores = np.stack([each / mean_margin(each) for each in (useless, good)])
    weights = fit_weights(scores, labels)
    assert weights[0] < 0.1 * weights[1]
    monkeypatch.setattr(_stacking, "_STRAY", 1e-300)
    assert fit_weights(scores, labels).sum() < 0.25 * weights.sum()


def test_offsets_solve_their_equation(rng):
    """The gradient by a general solver, and by hand the fraction that is removed."""
    scores, expected = 2 * rng.randn(500, 3) + [0.7, 0.1, 0.0], np.array([0.2, 0.45, 0.35])

    def excess(b):
        odds = np.exp(scores + b)
        return np.mean(odds.T / odds.sum(axis=1), axis=1) - expected

    b = root(lambda b: excess(b) + 0.3 / 3 * b, np.zeros(3), tol=1e-12).x
    deviations = np.abs([excess(np.zeros(3)), excess(b)]).sum(axis=1)
    b *= 1 - deviations[1] / deviations[0]
    assert np.abs(b).max() > 0.1
    assert_allclose(frequency_offsets(scores, expected), b, atol=1e-4)


def test_offsets_help_rows_that_err_on_the_same_side(rng):
    frequencies = np.array([0.2, 0.3, 0.5])
    labels = rng.choice(3, 5000, p=frequencies)
    scores = 3 * np.eye(3)[labels] + rng.randn(5000, 3) + [0.0, 0.8, 0.0]
    offsets = frequency_offsets(scores, frequencies)
    assert_allclose(offsets.sum(), 0, atol=1e-12)
    assert offsets[1] < -0.1
    before, after = (softmax(each, axis=1).mean(axis=0) for each in (scores, scores + offsets))
    assert np.abs(after - frequencies).sum() < 0.8 * np.abs(before - frequencies).sum()
    better = np.mean((scores + offsets).argmax(axis=1) == labels)
    assert better > np.mean(scores.argmax(axis=1) == labels) + 0.01


@pytest.mark.parametrize("frequencies", [[0.5, 0.3, 0.2], [0.01, 0.39, 0.6], [1e-9, 0.5, 0.5]])
def test_offsets_stay_away_where_frequencies_are_others(rng, frequencies):
    labels = rng.choice(3, 5000, p=[0.2, 0.3, 0.5])
    scores = 12 * np.eye(3)[labels] + rng.randn(5000, 3)
    offsets = frequency_offsets(scores, np.array(frequencies))
    assert np.abs(offsets).max() < 0.05
    assert np.mean((scores + offsets).argmax(axis=1) != scores.argmax(axis=1)) < 0.001


@pytest.mark.parametrize("n_classes", [3, 10, 31])
@pytest.mark.parametrize("balanced", ["source", "target"])
def test_offsets_cost_little_where_half_of_one_side_is_one_class(rng, n_classes, balanced):
    even, half = np.full(n_classes, 1 / n_classes), np.full(n_classes, 0.5 / (n_classes - 1))
    half[0] = 0.5
    target, source = (half, even) if balanced == "source" else (even, half)
    labels = rng.choice(n_classes, 4000, p=target)
    scores = 4 * (4 * np.eye(n_classes)[labels] + rng.randn(4000, n_classes))  # log-posteriors
    offsets = frequency_offsets(scores, source)
    lost = np.mean(scores.argmax(axis=1) == labels)
    lost -= np.mean((scores + offsets).argmax(axis=1) == labels)
    assert lost < 0.01
    assert np.abs(offsets).max() < 1


def test_offsets_ignore_what_chance_does_to_frequencies(rng):
    """Judges that are sure, and a class that is rarer in 2,000 rows than in the source."""
    labels = rng.choice(3, 2000, p=[0.32, 0.33, 0.35])
    scores = 6 * np.eye(3)[labels] + 2 * rng.randn(2000, 3)
    assert np.abs(frequency_offsets(scores, np.full(3, 1 / 3))).max() < 0.1
    assert_array_equal(frequency_offsets(np.zeros((10, 4)), np.full(4, 1 / 4)), 0)
