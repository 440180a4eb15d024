import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp import GaussianDPNoise, OptimalDPNoise, RandomizedResponse
from skdp.release._perturbation import perturb_labels
from skdp.release.estimation import Moments


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


def test_selected_classes_come_in_the_order_asked_for(rng, population):
    rows, labels = population(rng)
    chosen = Moments.measure(rows, one_hot(labels), np.ones(5)).select([2, 0])
    relabelled = np.select([labels == 2, labels == 0], [0, 1], -1)
    kept = relabelled >= 0
    expected = Moments.measure(rows[kept], one_hot(relabelled[kept]), np.ones(5))
    for name, array in vars(expected).items():
        assert_allclose(getattr(chosen, name), array)
