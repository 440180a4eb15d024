import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import gamma, norm
from sklearn.linear_model import LogisticRegression

from skdp import DPStatisticsSource
from skdp.release._linear_discriminant import calibrated_log_odds

pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")


@pytest.mark.parametrize("frequency", [0.03, 0.5, 0.8])
@pytest.mark.parametrize("separation", [0.0, 0.4, 2.5])
@pytest.mark.parametrize("variance", [0.2, 1.0, 7.0])
def test_log_odds_of_normal_classes_of_equal_variance_are_exact(frequency, separation, variance):
    slope, intercept = calibrated_log_odds(separation, variance, 0.0, frequency)
    means = np.array([-frequency, 1 - frequency]) * separation
    at = np.linspace(-3, 3, 7)[:, None]
    log_odds = np.diff(norm(means, np.sqrt(variance)).logpdf(at))[:, 0] + logit(frequency)
    assert_allclose(slope * at[:, 0] + intercept, log_odds, atol=1e-3)


def test_slope_of_gamma_classes_is_that_of_their_log_odds():
    # Of one shape k the log-odds are linear: the difference of the rates.
    shape, scales, frequency = 30.0, np.array([1.0, 1.15]), 0.2
    means, variances = shape * scales, shape * scales**2
    slope, intercept = calibrated_log_odds(
        means[1] - means[0],
        np.array([1 - frequency, frequency]) @ variances,
        variances[1] - variances[0],
        frequency,
    )
    assert slope == pytest.approx(1 / scales[0] - 1 / scales[1], rel=0.02)
    mean = np.array([1 - frequency, frequency]) @ means
    true = [
        quad(
            lambda x, s=s: gamma.pdf(x, shape, scale=s) * expit(slope * (x - mean) + intercept),
            0,
            120,
        )[0]
        for s in scales
    ]
    assert np.array([1 - frequency, frequency]) @ true == pytest.approx(frequency, rel=0.01)


@pytest.mark.parametrize("unequal", [-5.0, 5.0])
def test_no_class_has_a_negative_variance(unequal):
    slope, intercept = calibrated_log_odds(1.0, 1.0, unequal, 0.3)
    assert 0 < slope < 2
    assert np.isfinite(intercept)


def binary(rng, n):
    """Return rows whose log-odds are linear, of a rarer class, and these."""
    X = (rng.rand(n, 12) < 0.3).astype(float)
    log_odds = X @ [1.5, -1, 1, 0.8, 0.5, -0.5, 0.3, 0.2, 0, 0, 0, 0] - 2.5
    return X, (rng.rand(n) < expit(log_odds)).astype(int), log_odds


def normal(rng, n):
    """Return rows of normal classes, which share a covariance, and their log-odds."""
    y = (rng.rand(n) < 0.3).astype(int)
    shift, root = np.array([0.08, 0.04, 0.06, 0, 0, 0.03]), 0.1 * np.eye(6)
    root[1, 0] = 0.05
    X = 0.45 + rng.randn(n, 6) @ root.T + np.outer(y, shift)
    w = np.linalg.solve(root @ root.T, shift)
    return X, y, (X - 0.45 - shift / 2) @ w + logit(0.3)


@pytest.mark.parametrize("radius", [None, 10.0])
@pytest.mark.parametrize("toy", [binary, normal])
def test_probabilities_are_calibrated_where_log_odds_are_known(rng, toy, radius):
    X, y, _ = toy(rng, 40_000)
    source = DPStatisticsSource(
        np.inf, classes=[0, 1], model="linear", bounds=(0, 1), radius=radius, random_state=rng
    )
    release = source.fit(X, y).release_
    X, y, log_odds = toy(rng, 40_000)
    scores = np.diff(release.scores(X))[:, 0]
    assert_allclose(expit(scores).mean(), y.mean(), atol=0.006)
    assert np.corrcoef(scores, log_odds)[0, 1] > 0.97
    assert slope_of(scores, y) == pytest.approx(1, abs=0.05)
    for wrong in (0.9, 1.1):
        assert abs(slope_of(wrong * scores, y) - 1) > 0.05


def slope_of(scores, y):
    """Return the calibration slope: that of a logistic regression of labels on log-odds."""
    model = LogisticRegression(C=np.inf).fit(scores[:, None], y)
    return model.coef_[0, 0]
