"""Linear scores, of fewer columns, and from moments of noisy rows: slow formulas and limits."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skdp import DPStatisticsSource
from skdp.release import LinearScores, Moments, PrincipalModel, linear_discriminant
from skdp.release._linear_scores import regress, restrict_linear


def test_expected_auc_is_that_of_normal_scores(rng):
    y = np.arange(100_000) % 2
    for d in (0.0, 0.7, 2.5):
        linear = LinearScores(np.zeros((2, 1)), np.zeros(2), np.array([[0, d], [d, 0]]))
        measured = roc_auc_score(y, rng.randn(len(y)) + d * y)
        assert_allclose(linear.expected_auc, [[0.5, measured], [measured, 0.5]], atol=0.006)


EXACT = 1e12  # rows that leave nothing uncertain


def covariance_of(rng, p):
    root = rng.randn(p, p)
    return root @ root.T / p + 0.2 * np.eye(p)


def moments_of(means, covariance, frequencies, noise=0.0, n_rows=EXACT):
    K, p = means.shape
    return Moments(
        class_counts=n_rows * frequencies,
        effective_sizes=n_rows * frequencies,
        means=means,
        covariances=covariance[np.triu_indices(p)][np.newaxis].astype(np.float32),
        noise=np.zeros(p),
        mean_noise=np.zeros((K, p)),
        covariance_noise=np.full((1, p), noise),
    )


def discriminant(means, covariance, frequencies):
    """The log-posteriors of normal classes, and d' of each pair, by the book."""
    weights = np.linalg.solve(covariance, means.T).T
    intercepts = np.log(frequencies) - (weights * means).sum(axis=1) / 2
    apart = means[:, None] - means
    d = np.sqrt(
        np.einsum("abi,abi->ab", apart, np.linalg.solve(covariance, apart[..., None])[..., 0])
    )
    return LinearScores(weights - weights.mean(axis=0), intercepts - intercepts.mean(), d)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_scores_are_those_of_the_discriminant_of_what_remains(rng, n_classes):
    means, W = rng.randn(n_classes, 5), covariance_of(rng, 5)
    pi = np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    columns = np.array([3, 0, 4])
    linear = discriminant(means, W, pi)
    restricted = restrict_linear(linear, moments_of(means, W, pi), columns)
    alone = discriminant(means[:, columns], W[np.ix_(columns, columns)], pi)
    for name in ("coefficients", "intercepts", "d_primes"):
        assert_allclose(getattr(restricted, name), getattr(alone, name), rtol=1e-3, atol=1e-3)
    wrong = discriminant(means[:, columns], 1.1 * W[np.ix_(columns, columns)], pi)
    assert not np.allclose(restricted.coefficients, wrong.coefficients, rtol=0.02, atol=0.02)


def test_a_regression_without_noise_is_the_usual_one(rng):
    W = covariance_of(rng, 6)
    left, gone = np.array([0, 2, 3, 5]), np.array([1, 4])
    usual = np.linalg.solve(W[np.ix_(left, left)], W[np.ix_(left, gone)]).T
    assert_allclose(regress(W, left, gone, 0.0, EXACT), usual, rtol=1e-6)


def classes(rng, n, n_columns=6, n_classes=2):
    """Normal classes of one covariance, with the last column the same in both."""
    y = rng.choice(n_classes, n, p=[0.7, 0.3] if n_classes == 2 else [0.5, 0.3, 0.2])
    centers = np.random.RandomState(1).rand(n_classes, n_columns)
    centers[:, -1] = 0.5
    A = 0.3 * np.random.RandomState(2).randn(n_columns, n_columns) + np.eye(n_columns)
    return centers[y] + 0.4 * rng.randn(n, n_columns) @ A, y


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
        assert slope == pytest.approx(1, rel=0.02)
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
    slope = np.mean(slopes)
    if variance < 1:
        assert slope == pytest.approx(1, abs=0.08)
    else:  # where hardly anything is known
        assert 0.9 < slope < 1.8


def test_a_class_that_nobody_has_leaves_finite_scores():
    """Weights of randomized labels have either sign, and so have variances made of them."""
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"d_primes": np.array([[0, -1.0], [-1, 0]])},
            "linear.d_primes. of a release must not be negative",
        ),
        (
            {"d_primes": np.array([[0, 1.0], [2, 0]])},
            "linear.d_primes. of a release must be symmetric",
        ),
        ({"d_primes": np.eye(2)}, "with 0 for a class and itself"),
        (
            {"d_prime_sds": np.array([[0, -1.0], [-1, 0]])},
            "linear.d_prime_sds. of a release must not be negative",
        ),
        (
            {"d_primes": None},
            "linear.d_prime_sds. of a release must be left out where d_primes is",
        ),
    ],
)
def test_separations_that_are_none_are_refused(rng, changes, message):
    source = DPStatisticsSource(8.0, bounds=(0, 1), classes=[0, 1], random_state=rng)
    y = np.arange(400) % 2
    release = source.fit(rng.rand(400, 3) / 2 + y[:, np.newaxis] / 2, y).release_
    with pytest.raises(ValueError, match=message):
        replace(release, model=PrincipalModel(release.moments, replace(release.linear, **changes)))
