"""Linear scores from noisy sums, their calibration, and what they tell apart."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skdp import DPStatisticsSource
from skdp.release import BasisFunctions, NoisyStatistics, linear_scores
from skdp.release._linear_discriminant import calibrated_intercept, occurrence
from skdp.source._linear_model import LinearModel


def statistics_of(z, y, n_classes=2, pi=None, noise=0.0, rng=None):
    """Return sums over rows, with noise of one size in all of them."""
    pi = np.full(n_classes, 1 / n_classes) if pi is None else pi
    E, t = np.eye(n_classes)[y], z.shape[1]
    upper = np.triu(rng.randn(t, t) / np.sqrt(2), 1) if noise else np.zeros((t, t))
    symmetric = upper + upper.T + (np.diag(rng.randn(t)) if noise else 0)

    def noisy(exact):
        return exact + noise * rng.randn(*exact.shape) if noise else exact.astype(float)

    return NoisyStatistics(
        noisy(E.sum(axis=0)),
        noisy(z.sum(axis=0)),
        noisy((E - pi).T @ z),
        pi,
        z.T @ z + noise * symmetric,
        3.0,
        noise,
        noise,
        noise,
        noise,
    )


def population(n, pi, means, variances):
    """Return the sums of a population of normal classes, and the log-posteriors of rows."""
    mean = pi @ means
    second = np.diag(variances) + means.T @ np.diag(pi) @ means
    sums = pi[:, None] * means
    statistics = NoisyStatistics(
        n * pi, n * mean, n * (sums - np.outer(pi, mean)), pi, n * second, 300.0, 0, 0, 0, 0
    )

    def log_posterior(Z):
        density = norm(means, np.sqrt(variances)).logpdf(Z[:, None]).sum(axis=2)
        return density + np.log(pi)

    return statistics, log_posterior


def two_classes(rng, n, shift=0.15, n_columns=4):
    y = (rng.rand(n) < 0.3).astype(int)
    X = 0.4 + 0.15 * rng.randn(n, n_columns)
    X[:, :2] += shift * y[:, None]
    return np.clip(X, 0, 1), y


@pytest.mark.parametrize("pi", [[0.5, 0.5], [0.9, 0.1]])
def test_scores_of_uncorrelated_normal_classes_are_log_posteriors(rng, pi):
    # Linear terms alone, of which normal distributions are possible.
    pi, basis = np.array(pi), BasisFunctions.of_columns([0, 0, 0], orders=())
    means, variances = 0.3 * rng.randn(len(pi), 3), np.array([0.05, 0.1, 0.2])
    statistics, log_posterior = population(1e9, pi, means, variances)
    linear = linear_scores(statistics, basis)
    X = rng.rand(50, 3)
    scores, expected = linear.scores(X), log_posterior(basis.encode(X))
    assert_allclose(np.ptp(scores - expected, axis=1), 0, atol=1e-3)
    distances = [[np.sqrt(((a - b) ** 2 / variances).sum()) for a in means] for b in means]
    assert_allclose(linear.d_primes, distances, rtol=1e-3, atol=1e-6)


def test_what_is_promised_is_reached(rng):
    X, y = two_classes(rng, 2000)
    fresh, truth = two_classes(rng, 5000)
    basis = BasisFunctions.of_columns([0] * 4)
    promised, reached = [], []
    for noise in (0.0, 30.0, 100.0, 3000.0):
        draws = [
            linear_scores(statistics_of(basis.encode(X), y, noise=noise, rng=rng), basis)
            for _ in range(20)
        ]
        promised.append(np.mean([d.expected_auc[0, 1] for d in draws]))
        areas = [roc_auc_score(truth, np.diff(d.scores(fresh))[:, 0]) for d in draws]
        reached.append(np.mean(areas))
    assert_allclose(promised[:2], reached[:2], atol=0.03)
    assert reached[0] > reached[1] > reached[2] > 0.7
    assert reached[1] > promised[2]
    assert promised[3] < 0.6


@pytest.mark.parametrize("noise", [0.0, 1.0, 40.0, 1e4])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("sizes", [[0], [1], [3, 3, 3, 0, 1]])
@pytest.mark.parametrize("case", ["ten", "none", "constant", "absent", "one_class"])
def test_whatever_the_rows_and_the_noise_scores_are_finite(rng, noise, n_classes, sizes, case):
    n = {"ten": 10, "none": 0}.get(case, 200)
    X, y = rng.rand(n, len(sizes)), rng.randint(n_classes, size=n)
    if case == "constant":
        X[:] = 0.25
    if case == "absent":
        y[y == 1] = 0
    if case == "one_class":
        y[:] = 1
    basis = BasisFunctions.of_columns(sizes)
    with np.errstate(all="raise", under="ignore"):
        statistics = statistics_of(basis.encode(X), y, n_classes, noise=noise, rng=rng)
        linear = linear_scores(statistics, basis)
        scores = linear.scores(rng.rand(7, len(sizes)))
    assert scores.shape == (7, n_classes)
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() < 1e3
    assert ((linear.expected_auc >= 0.5) & (linear.expected_auc <= 1)).all()


@pytest.mark.parametrize("noise", [10.0, 30.0])
def test_a_negative_count_is_a_rare_class(rng, noise):
    X, y = rng.rand(300, 4), np.arange(300) < 3
    basis = BasisFunctions.of_columns([0] * 4)
    statistics = statistics_of(basis.encode(X), y.astype(int), noise=noise, rng=rng)
    statistics = replace(statistics, counts=np.array([290.0, -3 * noise]))
    scores = np.diff(linear_scores(statistics, basis).scores(X))[:, 0]
    assert np.abs(scores).max() < 10
    assert (scores < 0).mean() > 0.9


def alike(rng, n, fraction, radius=1.0):
    """Rows whose classes do not differ, far from zero and clipped to a ball."""
    basis = BasisFunctions.of_columns([0] * 4)
    z = basis.encode(0.2 + 0.2 * rng.rand(n, 4))
    z *= np.minimum(1, radius / np.linalg.norm(z, axis=1, keepdims=True))
    return z, (np.arange(n) < fraction * n).astype(int), basis


@pytest.mark.parametrize("noise", [1.0, 5.0, 10.0, 100.0])
def test_nothing_is_promised_where_classes_are_alike(rng, noise):
    # Wrong frequencies take the mean of all rows for a difference of the classes.
    z, y, basis = alike(rng, 300, 0.1)
    areas, least, doubts = [], [], []
    for _ in range(40):
        statistics = statistics_of(z, y, noise=noise, rng=rng)
        counts = np.bincount(y) + 4 * noise * rng.randn(2)
        statistics = replace(statistics, radius=1.0, counts=counts, count_sd=4 * noise)
        linear = linear_scores(statistics, basis)
        areas.append(linear.expected_auc[0, 1])
        least.append(linear.auc_interval[0][0, 1])
        doubts.append(linear.doubt() is not None)
    assert np.median(areas) < 0.62
    assert np.mean(np.array(areas) < 0.7) >= 0.9
    assert np.mean(np.array(least) == 0.5) >= 0.75
    assert np.mean(doubts) >= 0.75


pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")


@pytest.mark.parametrize("frequency", [0.03, 0.5, 0.8])
@pytest.mark.parametrize("separation", [0.0, 0.4, 2.5])
@pytest.mark.parametrize("variance", [0.2, 1.0, 7.0])
def test_log_odds_of_normal_classes_of_equal_variance_are_exact(frequency, separation, variance):
    slope = separation / variance
    intercept = calibrated_intercept(slope * separation, slope**2 * variance, frequency)
    means = np.array([-frequency, 1 - frequency]) * separation
    at = np.linspace(-3, 3, 7)[:, None]
    log_odds = np.diff(norm(means, np.sqrt(variance)).logpdf(at))[:, 0] + logit(frequency)
    assert_allclose(slope * at[:, 0] + intercept, log_odds, atol=1e-3)


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


@pytest.mark.parametrize("radius", [0.8, 10.0])
@pytest.mark.parametrize("toy", [binary, normal])
def test_probabilities_are_calibrated_where_log_odds_are_known(rng, toy, radius, monkeypatch):
    monkeypatch.setattr(LinearModel, "_RADIUS", radius)
    X, y, _ = toy(rng, 40_000)
    source = DPStatisticsSource(
        np.inf, classes=[0, 1], model="linear", bounds=(0, 1), random_state=rng
    )
    release = source.fit(X, y).release_
    X, y, log_odds = toy(rng, 40_000)
    scores = np.diff(release.scores(X))[:, 0]
    assert_allclose(expit(scores).mean(), y.mean(), atol=0.006)
    assert np.corrcoef(scores, log_odds)[0, 1] > 0.97
    # Classes of unequal variances have other slopes than a linear discriminant.
    assert slope_of(scores, y) == pytest.approx(1, abs=0.11)
    for wrong in (0.8, 1.25):
        assert abs(slope_of(wrong * scores, y) - 1) > 0.1


def slope_of(scores, y):
    """Return the calibration slope: that of a logistic regression of labels on log-odds."""
    model = LogisticRegression(C=np.inf).fit(scores[:, None], y)
    return model.coef_[0, 0]


@pytest.mark.parametrize("sd", [1.0, 10.0, 300.0])
def test_occurrence_is_bayes_rule(sd):
    counts = np.array([-25.0, 0.0, 12.0, 35.0, 200.0])
    n = counts.clip(0).sum()
    expected = []
    for count in counts:
        near, end = max(count, 0), min(n, max(count, 0) + 10 * sd)
        exact = {"points": [near], "epsabs": 0.0, "epsrel": 1e-9}
        present = quad(lambda u, c=count: norm.pdf(c, u, sd) / n, 0, end, **exact)[0]
        expected.append(present / (present + norm.pdf(count, 0, sd)))
    if n < sd:  # then the range is that of the noise
        assert_allclose(occurrence(counts, sd), expected, atol=0.12)
    else:
        assert_allclose(occurrence(counts, sd), expected, rtol=1e-6)


def test_occurrence_without_noise_and_far_beyond_it():
    assert occurrence([0.0, 1.0, 5.0], 0.0).tolist() == [0, 1, 1]
    with np.errstate(all="raise", under="ignore"):
        far = occurrence([-1e12, 0.0, 1e12], 1.0)
        assert_allclose(far, [0, 0, 1], atol=1e-5)
        assert np.isfinite(occurrence([-1.0, -2.0], 1e9)).all()
        assert np.isfinite(occurrence([0.0, 0.0], 1e-300)).all()


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_a_class_without_rows_is_not_told_apart(rng, epsilon):
    y = rng.randint(2, size=2000)
    X = np.clip(rng.normal(0.4 + 0.2 * y[:, None], 0.15, (2000, 4)), 0, 1)
    for seed in range(3):
        noise = np.random.RandomState(seed)
        source = DPStatisticsSource(epsilon, classes=[0, 1, 2], random_state=noise)
        areas = source.fit(X, y).release_.linear.expected_auc
        assert areas[0, 1] > 0.95
        assert max(areas[0, 2], areas[1, 2]) < 0.55
