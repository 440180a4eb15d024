from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp import GaussianDPNoise, OptimalDPNoise, RandomizedResponse
from skdp.release import Moments
from skdp.source._perturbation import perturb_labels


def unpack(packed, p):
    matrix = np.zeros((p, p))
    matrix[np.triu_indices(p)] = packed
    return np.where(matrix == 0, matrix.T, matrix)


def one_hot(labels):
    return np.eye(labels.max() + 1)[labels]


def test_without_noise_these_are_the_sample_moments(rng, population):
    rows, labels = population(rng)
    moments = Moments.measure(rows, one_hot(labels), np.zeros(5))
    assert_allclose(moments.class_counts, np.bincount(labels))
    assert_allclose(moments.effective_sizes, np.bincount(labels))
    for c in range(3):
        members = rows[labels == c]
        assert_allclose(moments.means[c], members.mean(axis=0))
        assert_allclose(unpack(moments.covariances[c], 5), np.cov(members.T), rtol=1e-6)
    assert_allclose(moments.frequencies, np.bincount(labels) / 400)
    assert_allclose(moments.mean, rows.mean(axis=0))


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise",
    [
        OptimalDPNoise(1.0, 0.1),
        GaussianDPNoise(4.0, privacy_unit="record"),
        OptimalDPNoise(1.0, bounds=([-9.0] * 5, [9.0, 1.0, 1.0, 9.0, 9.0])),
    ],
)
def test_corrected_moments_are_unbiased(rng, population, noise):
    rows, labels = population(rng)
    rows = np.clip(rows, -0.9, 0.9) if noise.bounds is not None else rows
    truth = Moments.measure(rows, one_hot(labels), np.zeros(5))
    found = []
    for _ in range(300):
        noisy = noise.fit_transform(rows)
        variance = np.broadcast_to(noise.variance_, 5)
        moments = Moments.measure(noisy, one_hot(labels), np.array(variance))
        total = moments.total_covariance()[np.triu_indices(5)]
        found.append(np.concatenate([moments.means.ravel(), moments.covariances.ravel(), total]))
    wanted = truth.total_covariance()[np.triu_indices(5)]
    wanted = np.concatenate([truth.means.ravel(), truth.covariances.ravel(), wanted])
    score = (np.mean(found, axis=0) - wanted) / (np.std(found, axis=0) / np.sqrt(300))
    assert np.abs(score).max() < 5.5  # 75 standard normals: beyond it once in 350,000 runs
    # The test sees a variance that is 10 % off.
    wrong = 0.1 * np.diag(variance)[np.triu_indices(5)]
    score = (np.mean(found, axis=0)[-15:] + wrong - wanted[-15:]) / (
        np.std(found, axis=0)[-15:] / np.sqrt(300)
    )
    assert np.abs(score).max() > 5.5


def test_noisy_labels_are_allowed_for(rng, population):
    rows, labels = population(rng, n=3000)
    truth = Moments.measure(rows, one_hot(labels), np.zeros(5))
    found, totals = [], []
    for _ in range(100):
        response = RandomizedResponse(1.5, classes=[0, 1, 2])
        noisy = perturb_labels(response, labels)
        assert (noisy.guarantee.epsilon, list(noisy.classes)) == (1.5, [0, 1, 2])
        weights = noisy.weights
        assert_allclose(weights.sum(axis=1), 1)
        found.append((weights.T @ rows).ravel())
        moments = Moments.measure(rows, weights, np.zeros(5))
        assert np.all(moments.effective_sizes < np.bincount(labels))
        assert np.abs(moments.means - truth.means).max() < 1.0
        # What does not depend on labels is not touched by their noise.
        assert_allclose(moments.mean, truth.mean)
        totals.append(moments.frequencies)
    error = np.mean(totals, axis=0) - truth.frequencies
    assert np.all(np.abs(error) < 5 * np.std(totals, axis=0) / 10)
    wanted = (one_hot(labels).T @ rows).ravel()
    score = (np.mean(found, axis=0) - wanted) / (np.std(found, axis=0) / 10)
    assert np.abs(score).max() < 5.5


def test_projection_is_that_of_the_rows(rng, population):
    rows, labels = population(rng)
    moments = Moments.measure(rows, one_hot(labels), np.arange(5.0))
    components = np.linalg.qr(rng.randn(5, 3))[0].T
    means, covariances, noise = moments.project(components)
    codes = (rows - rows.mean(axis=0)) @ components.T
    for c in range(3):
        members = codes[labels == c]
        corrected = np.cov(members.T) - components @ np.diag(np.arange(5.0)) @ components.T
        assert_allclose(means[c], members.mean(axis=0), atol=1e-12)
        assert_allclose(covariances[c], corrected, atol=1e-5)
    assert_allclose(noise, np.diag(components @ np.diag(np.arange(5.0)) @ components.T))


def noisy_statistics(rng, truth, noise, n):
    """Draws of moments with one covariance for all classes, with noise of their own."""
    D, (K, p) = np.sqrt(np.arange(1, 6)), truth.means.shape
    within = unpack(truth.frequencies @ truth.covariances, p)
    for _ in range(n):
        G = np.triu(rng.randn(p, p)) * np.sqrt((1 + np.eye(p)) / 2)
        G = noise * (G + np.triu(G, 1).T)
        yield Moments(
            truth.class_counts,
            np.full(K, 1e12),
            truth.means + noise * D * rng.randn(K, p),
            (within + np.outer(D, D) * G)[np.triu_indices(p)][np.newaxis],
            np.zeros(p),
            np.tile(noise**2 * D**2, (K, 1)),
            noise**2 * D[np.newaxis] ** 4,
        )


def test_noise_of_the_moments_themselves_is_known_in_every_direction(rng, population):
    rows, labels = population(rng)
    truth = Moments.measure(rows, one_hot(labels), np.zeros(5))
    Q = np.linalg.qr(rng.randn(5, 5))[0][:2]
    draws = list(noisy_statistics(rng, truth, 0.3, 4000))
    mean_noise, covariance_noise = draws[0].project_noise(Q)
    means = [draw.means @ Q.T for draw in draws]
    assert_allclose(np.var(means, axis=0), mean_noise, rtol=0.1)
    diagonals = [np.diag(draw.project(Q)[1][0]) for draw in draws]
    assert_allclose(np.var(diagonals, axis=0), covariance_noise[0], rtol=0.1)
    totals = np.mean([draw.total_covariance() for draw in draws], axis=0)
    exact = replace(truth, effective_sizes=np.full(3, 1e12))
    assert_allclose(totals, exact.total_covariance(), atol=0.06)
    # The test sees the means' own noise, which would spread them.
    assert 0.3**2 * 5 * 2 / 3 > 4 * 0.06


def test_eigenvalues_move_no_farther_than_noise_does(rng, population):
    rows, labels = population(rng, p=5)
    truth = Moments.measure(rows, one_hot(labels), np.zeros(5))
    large = Moments(
        truth.class_counts,
        np.full(3, 1e12),
        np.zeros((3, 60)),
        np.zeros((1, 1830)),
        np.zeros(60),
        np.zeros((3, 60)),
        np.full((1, 60), 4.0),
    )
    G = np.triu(rng.randn(60, 60)) * np.sqrt((1 + np.eye(60)) / 2)
    largest = np.linalg.eigvalsh(2 * (G + np.triu(G, 1).T))[-1]
    assert_allclose(largest, large.eigenvalue_noise, rtol=0.15)


def test_moments_of_some_columns_are_those_of_the_smaller_rows(population, rng):
    X, labels = population(rng)
    weights, noise, columns = np.eye(3)[labels], np.linspace(0.1, 0.5, 5), np.array([3, 0, 4])
    whole = Moments.measure(X, weights, noise)
    statistics = {"mean_noise": rng.rand(3, 5), "covariance_noise": rng.rand(3, 5)}
    part = replace(whole, **statistics).restrict(columns)
    alone = Moments.measure(X[:, columns], weights, noise[columns])
    for name in ("class_counts", "effective_sizes", "means", "covariances", "noise"):
        assert_allclose(getattr(part, name), getattr(alone, name), rtol=1e-6)
    for name, array in statistics.items():
        assert_allclose(getattr(part, name), array[:, columns])
    assert part.covariances.dtype == np.float32
