"""What a release of statistics says by itself."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from skdp import DPSource, OptimalDPNoise
from skdp.release import ClassModel, Moments
from skdp.transfer._density_candidates import adapted_means, leading_directions
from skdp.transfer._scorers import Scorer, discriminant, source_scorer

SETTINGS = {"n_components": 2, "n_layers": 1, "n_inducing": 20, "random_state": 0}


@pytest.mark.parametrize("parts", ["noise_aware", "papers", "all"])
@pytest.mark.parametrize("kept", [[0, 1, 2, 3], [0, 2]])
def test_source_and_target_meet_at_the_mean_of_the_classes_that_both_have(
    rng, make_task, parts, kept
):
    # Far from zero, and with classes that only the source has.
    means = 30 + rng.randn(4, 6)
    labels, y = rng.randint(0, 4, 2000), rng.choice(kept, 300)
    rows = means[labels] + 0.2 * rng.randn(2000, 6)
    X = means[y] + 0.2 * rng.randn(300, 6)
    noise = OptimalDPNoise(50.0, random_state=np.random.RandomState(0))
    settings = {**SETTINGS, "n_inducing": 50}
    release = DPSource(noise=noise, parts=parts, **settings).fit(rows, labels).release_
    [pair] = make_task(X, y, release, kept).pairs
    if parts != "papers" or len(kept) == 4:  # without moments only the mean of all is known
        guesses = np.array(kept)[source_scorer(pair).scores(X).argmax(axis=1)]
        assert np.mean(guesses == y) > 0.95


def discriminant_of(moments):
    project, normals = discriminant(moments)
    return Scorer(partial(normals.log_posteriors, frequencies=moments.frequencies), (project,))


def rows_of_two(rng, n, p=6):
    labels = (rng.rand(n) < 0.3).astype(int)
    return labels[:, np.newaxis] * np.linspace(0, 1, p) + rng.randn(n, p), labels


def test_without_noise_it_is_the_quadratic_discriminant(rng):
    rows, labels = rows_of_two(rng, 40_000)
    moments = Moments.measure(rows, np.eye(2)[labels], np.zeros(6))
    expected = QuadraticDiscriminantAnalysis().fit(rows, labels).predict_proba(rows[:500])
    assert_allclose(
        np.exp(discriminant_of(moments).log_posteriors(rows[:500])),
        expected,
        atol=0.04,
    )


def test_noise_makes_it_unsure_but_not_wrong(rng):
    rows, labels = rows_of_two(rng, 4000, p=20)
    exact = Moments.measure(rows, np.eye(2)[labels], np.zeros(20))
    pooled = (exact.frequencies @ exact.covariances)[np.newaxis]
    losses = []
    for _ in range(20):
        means = exact.means + np.sqrt(0.3) * rng.randn(2, 20)
        found = [exact.class_counts, exact.effective_sizes, means, pooled, np.zeros(20)]
        for noise in (0.3, 0.0):
            moments = Moments(*found, np.full((2, 20), noise), np.full((1, 20), 0.01))
            logs = discriminant_of(moments).log_posteriors(rows)
            losses.append(-logs[np.arange(4000), labels].mean())
    aware, blind = np.mean(np.reshape(losses, (20, 2)), axis=0)
    # Frequencies alone have 0.61.
    assert aware < 0.61 < blind


def classes_apart(rng, n, distance, shift=0.0):
    """Rows of three classes in eight columns, moved and turned by people who are others."""
    means = distance * np.eye(3, 8) + shift * np.roll(np.eye(3, 8), 3, axis=1)
    labels = rng.randint(0, 3, n)
    return means[labels] + rng.randn(n, 8), labels


def moments_of(rows, labels, variance=0.0):
    exact = Moments.measure(rows, np.eye(3)[labels], np.zeros(8))
    pooled = (exact.frequencies @ exact.covariances)[np.newaxis]
    noise = np.full((3, 8), variance), np.full((1, 8), variance)
    return Moments(
        exact.class_counts, exact.effective_sizes, exact.means, pooled, np.zeros(8), *noise
    )


def slow_adaptation(X, start, uncertainty, variance, labels):
    K, n, d = 3, len(X), X.shape[1]
    means, frequencies, S = start.copy(), np.full(K, 1 / K), variance * np.eye(d)
    counts = np.where(labels >= 0, 10, 1)
    for _ in range(20):
        r = np.zeros((n, K))
        for i in range(n):
            for c in range(K):
                density = multivariate_normal(means[c], S).pdf(X[i]) * frequencies[c]
                r[i, c] = np.sqrt(density)
            r[i] = np.eye(K)[labels[i]] if labels[i] >= 0 else r[i] / r[i].sum()
        r *= counts[:, np.newaxis]
        for c in range(K):
            for j in range(d):
                rows = 1 / (1 / 500 + uncertainty[c, j] / S[j, j])
                means[c, j] = (rows * start[c, j] + r[:, c] @ X[:, j]) / (rows + r[:, c].sum())
        frequencies = 0.5 / K + 0.5 * r.sum(axis=0) / r.sum()
        S = sum((r[:, c] * (X - means[c]).T) @ (X - means[c]) for c in range(K)) / r.sum()
        S = S + 1e-6 * np.trace(S) / d * np.eye(d)
    return means, S, frequencies


@pytest.mark.slow
@pytest.mark.parametrize("guessed", [False, True])
@pytest.mark.parametrize("labeled", [False, True])
def test_it_is_tempered_expectation_maximization(rng, labeled, guessed):
    rows, y = classes_apart(rng, 3000, 3.0)
    X, truth = classes_apart(rng, 80, 3.0, shift=1.0)
    moments = moments_of(rows, y, 0.01)
    labels = np.full(80, -1)
    labels[:6] = truth[:6] if labeled else -1
    subspace = leading_directions(X)
    Z, variance = subspace.project(X), subspace.variances.mean()
    if guessed:
        posteriors = softmax(rng.randn(80, 3), axis=1)
        means = np.array([np.average(Z, axis=0, weights=posteriors[:, c]) for c in range(3)])
        start = means, np.zeros_like(means)
    else:
        seen = ClassModel.of_moments(moments, subspace.components, subspace.variances)
        start = seen.means, seen.uncertainty
    found = adapted_means(Z, variance, start, labels)
    means, S, frequencies = slow_adaptation(Z, *start, variance, labels)
    for array, expected in zip(found, (means, S, frequencies), strict=True):
        assert_allclose(array, expected, rtol=1e-6, atol=1e-8)
