import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from skdp.transfer.strategies import _model_averaging
from skdp.transfer.strategies._model_averaging import fit_weights, mean_margin


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


def test_one_scorer_gets_the_weight_of_logistic_regression(rng, monkeypatch):
    monkeypatch.setattr(_model_averaging, "_OUTLIERS", 1e-300)
    [scores], labels = scored(rng, 300, [2.0], n_classes=2)
    [weight] = fit_weights(scores[np.newaxis], labels)
    difference = scores[:, 1:] - scores[:, :1]
    model = LogisticRegression(C=25.0, fit_intercept=False, tol=1e-10).fit(difference, labels)
    assert_allclose(weight, model.coef_[0, 0], rtol=1e-3)


@pytest.mark.parametrize(("n", "n_draws"), [(40, 3), (4, 30)])
def test_weights_average_over_sets_of_scorers_that_count_equally(rng, n, n_draws):
    slopes = np.linspace(0, 20, 20_001)
    for _ in range(n_draws):
        scores, labels = scored(rng, n, [1.0, 0.4])
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


def test_a_useless_scorer_is_excluded_and_two_good_ones_are_included(rng):
    useless, both = [], []
    for _ in range(30):
        scores, labels = scored(rng, 60, [0.0, 3.0])
        weights = fit_weights(scores, labels)
        useless.append(weights[0] / weights.sum())
        scores, labels = scored(rng, 200, [1.5, 1.5])
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
    monkeypatch.setattr(_model_averaging, "_OUTLIERS", 1e-300)
    assert fit_weights(scores, labels).sum() < 0.25 * weights.sum()
