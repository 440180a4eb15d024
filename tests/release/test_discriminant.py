"""The discriminant of noisy rows: exact without noise, calibrated with it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from skdp.release import Moments, linear_discriminant
from skdp.release._linear_scores import _SLOPE


def classes(rng, n, n_columns=6, n_classes=2):
    """Normal classes of one covariance, with the last column the same in both."""
    y = rng.choice(n_classes, n, p=[0.7, 0.3] if n_classes == 2 else [0.5, 0.3, 0.2])
    centres = np.random.RandomState(1).rand(n_classes, n_columns)
    centres[:, -1] = 0.5
    A = 0.3 * np.random.RandomState(2).randn(n_columns, n_columns) + np.eye(n_columns)
    return centres[y] + 0.4 * rng.randn(n, n_columns) @ A, y


def noisy_moments(rng, X, y, variance):
    noise = np.full(X.shape[1], variance)
    rows = X + np.sqrt(noise) * rng.randn(*X.shape)
    return Moments.measure(rows, np.eye(y.max() + 1)[y], noise)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_noise_its_direction_is_that_of_the_linear_discriminant(rng, n_classes):
    X, y = classes(rng, 40_000, n_classes=n_classes)
    linear = linear_discriminant(noisy_moments(rng, X, y, 0.0))
    exact = LinearDiscriminantAnalysis().fit(X, y)
    found = linear.scores(X)
    expected = exact.decision_function(X)
    if n_classes == 2:
        found, expected = found[:, 1] - found[:, 0], expected[:, None]
        slope, offset = np.polyfit(expected[:, 0], found, 1)
        assert slope == pytest.approx(_SLOPE, rel=0.01)
        assert np.std(found - slope * expected[:, 0] - offset) < 0.03 * np.std(found)
    else:
        agreed = found.argmax(axis=1) == expected.argmax(axis=1)
        assert agreed.mean() > 0.98


@pytest.mark.parametrize("variance", [0.0, 0.1, 4.0])
def test_log_odds_are_calibrated_and_never_too_sure(rng, variance):
    slopes = []
    for _ in range(5):
        X, y = classes(rng, 6000)
        linear = linear_discriminant(noisy_moments(rng, X, y, variance))
        X, y = classes(rng, 6000)
        scores = linear.scores(X)
        odds = (scores[:, 1] - scores[:, 0])[:, None]
        slopes.append(LogisticRegression(C=np.inf).fit(odds, y).coef_[0, 0])
    # Of normal classes, for which it is meant to be too flat by 1 / .85.
    slope = np.mean(slopes) * _SLOPE
    if variance < 1:
        assert slope == pytest.approx(1, abs=0.08)
    else:  # where hardly anything is known
        assert 1 < slope < 1.8


def test_noise_makes_no_class_of_a_column_without_any(rng):
    X, y = classes(rng, 4000)
    X[:, -1] = 0.5  # constant but for the noise
    moments = noisy_moments(rng, X, y, 4.0)
    linear = linear_discriminant(moments)
    w = linear.coefficients[1] - linear.coefficients[0]
    naive = np.linalg.solve(moments.within_covariance(), moments.means[1] - moments.means[0])
    assert abs(w[-1]) < 0.5 * abs(w[:-1]).max()
    assert np.isfinite(linear.scores(X)).all()
    assert abs(naive[-1]) > abs(w[-1])


def test_one_column_and_no_difference_are_fine(rng):
    y = np.arange(200) % 2
    moments = noisy_moments(rng, rng.randn(200, 1), y, 1.0)
    assert np.isfinite(linear_discriminant(moments).scores(np.zeros((3, 1)))).all()
    alone = Moments.measure(np.zeros((10, 2)), np.eye(2)[np.arange(10) % 2], np.zeros(2))
    assert_allclose(linear_discriminant(alone).scores(np.ones((2, 2)))[:, 0], np.log(1), atol=1e-9)


def test_a_class_that_nobody_has_leaves_finite_scores():
    """Weights of randomised labels have either sign, and so have variances made of them."""
    keep = np.e / (np.e + 2)
    inverse = np.linalg.inv(np.full((3, 3), (1 - keep) / 2) + (1.5 * keep - 0.5) * np.eye(3))
    for seed in range(100):
        rng = np.random.RandomState(seed)
        X, y = rng.rand(400, 6), rng.randint(2, size=400)
        told = np.where(rng.rand(400) < keep, y, (y + rng.randint(1, 3, 400)) % 3)
        noise = np.full(6, 0.03)
        rows = X + np.sqrt(noise) * rng.randn(*X.shape)
        linear = linear_discriminant(Moments.measure(rows, inverse[told], noise))
        assert np.isfinite(linear.scores(X)).all()


def test_a_class_beside_which_others_vanish_leaves_finite_scores(rng):
    X, y = classes(rng, 200)
    moments = noisy_moments(rng, X, y, 1.0)
    vast = replace(moments, class_counts=np.array([1e30, 1.0]))
    assert np.isfinite(linear_discriminant(vast).scores(X)).all()
