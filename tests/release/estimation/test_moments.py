"""Moments and their shrinkage: unbiased, and never worse than both ends."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.covariance import empirical_covariance

from skdp import DPSource, GaussianDPNoise, OptimalDPNoise, RandomizedResponse
from skdp.transfer._mixtures import Mixtures
from skdp.transfer._moments import Moments
from skdp.transfer._perturb import perturb_labels
from skdp.transfer._shrinkage import ClassModel, flat_prior, power_prior
from skdp.transfer._subspace import Subspace


def unpack(packed, p):
    matrix = np.zeros((p, p))
    matrix[np.triu_indices(p)] = packed
    return np.where(matrix == 0, matrix.T, matrix)


def one_hot(labels):
    return np.eye(labels.max() + 1)[labels]


def population(rng, n=400, p=5):
    labels = rng.randint(0, 3, n)
    mixing = rng.randn(3, p, p)
    means = rng.randn(3, p)
    rows = means[labels] + np.einsum("nij,nj->ni", mixing[labels], rng.randn(n, p))
    return rows, labels


def test_without_noise_these_are_the_sample_moments(rng):
    rows, labels = population(rng)
    moments = Moments.measure(rows, one_hot(labels), np.zeros(5))
    assert_allclose(moments.counts, np.bincount(labels))
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
def test_corrected_moments_are_unbiased(rng, noise):
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


def test_noisy_labels_are_allowed_for(rng):
    rows, labels = population(rng, n=3000)
    truth = Moments.measure(rows, one_hot(labels), np.zeros(5))
    found, totals = [], []
    for _ in range(100):
        response = RandomizedResponse(1.5, classes=[0, 1, 2])
        classes, _, weights, guarantee = perturb_labels(response, labels)
        assert (guarantee.epsilon, list(classes)) == (1.5, [0, 1, 2])
        assert_allclose(weights.sum(axis=1), 1)
        found.append((weights.T @ rows).ravel())
        moments = Moments.measure(rows, weights, np.zeros(5))
        assert np.all(moments.counts < np.bincount(labels))  # worth fewer than true labels
        assert np.abs(moments.means - truth.means).max() < 1.0
        # What does not depend on labels is not touched by their noise.
        assert_allclose(moments.mean, truth.mean)
        totals.append(moments.frequencies)
    error = np.mean(totals, axis=0) - truth.frequencies
    assert np.all(np.abs(error) < 5 * np.std(totals, axis=0) / 10)
    wanted = (one_hot(labels).T @ rows).ravel()
    score = (np.mean(found, axis=0) - wanted) / (np.std(found, axis=0) / 10)
    assert np.abs(score).max() < 5.5


def test_projection_is_that_of_the_rows(rng):
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


def test_priors_are_found_where_noise_hides_every_single_value(rng):
    shape = np.exp(rng.uniform(-3, 0, 20_000))
    noise = np.full(20_000, 2.0)
    values = rng.randn(20_000) * np.sqrt(0.5 * shape**1.5 + noise)
    assert_allclose(power_prior(values, noise, shape), 0.5 * shape**1.5, rtol=0.6)
    values = rng.randn(20_000) * np.sqrt(0.5 + noise)
    assert_allclose(flat_prior(values, noise), 0.5, rtol=0.25)
    assert flat_prior(rng.randn(20_000) * np.sqrt(0.9 * noise), noise) < 1e-4


def shrunk_and_ends(rng, variance, n=60, p=8, K=6):
    """Mean squared errors of means and covariances: shrunk, as measured, not measured."""
    t = np.exp(-0.5 * np.arange(p))
    labels = np.repeat(np.arange(K), n)
    means = rng.randn(K, p) * np.sqrt(0.4 * t)
    means -= means.mean(axis=0)
    scales = np.sqrt(0.6 * t) * np.exp(0.3 * rng.randn(K, p))
    rows = means[labels] + scales[labels] * rng.randn(K * n, p)
    noisy = rows + np.sqrt(variance) * rng.randn(*rows.shape)
    moments = Moments.measure(noisy, one_hot(labels), np.full(p, variance))
    measured = moments.project(np.eye(p))
    model = ClassModel.shrink(*measured, moments.counts, rows.var(axis=0))
    truth = np.array([np.diag(s**2) for s in scales])
    common = np.diag(rows.var(axis=0)) - empirical_covariance(means, assume_centered=True)
    # In units of the total variances, in which the priors are stated.
    s = np.sqrt(rows.var(axis=0))
    unit = np.outer(s, s)
    return [
        [np.mean(((means - m) / s) ** 2) for m in (model.means, measured[0], 0)],
        [np.mean(((truth - S) / unit) ** 2) for S in (model.covariances, measured[1], common)],
    ]


@pytest.mark.parametrize("variance", [0.0, 0.1, 1.0, 10.0, 100.0])
def test_shrinkage_is_never_worse_than_its_ends_on_average(rng, variance):
    errors = np.mean([shrunk_and_ends(rng, variance) for _ in range(60)], axis=0)
    (means, covariances) = errors
    assert means[0] <= 1.03 * min(means[1:])
    assert covariances[0] <= 1.1 * min(covariances[1:])


def test_without_noise_many_rows_are_not_shrunk(rng):
    rows, labels = population(rng, n=300_000)
    moments = Moments.measure(rows, one_hot(labels), np.zeros(5))
    subspace = Subspace.of_rows(rows, 5)
    means, covariances, noise = moments.project(subspace.components)
    model = ClassModel.shrink(means, covariances, noise, moments.counts, subspace.variances)
    assert_allclose(model.means, means, atol=1e-2)
    # Log-densities are those of scipy for the measured moments.
    from scipy.stats import multivariate_normal

    Z = subspace.project(rows[:50])
    for c in range(3):
        if (
            np.linalg.eigvalsh(np.linalg.solve(np.diag(subspace.variances), covariances[c]))[0]
            > 0.3
        ):
            exact = multivariate_normal(means[c], covariances[c]).logpdf(Z)
            ours = model.predictive().log_likelihood(Z, np.zeros(Z.shape[1]))[:, c]
            assert_allclose(ours - ours[0], exact - exact[0], rtol=0.05, atol=0.05)


def test_denoising_is_the_best_linear_guess(rng):
    S = np.array([np.diag([4.0, 1.0, 0.25])])
    model = Mixtures.single(np.zeros((1, 3)), S)
    rows = rng.randn(200_000, 3) * [2.0, 1.0, 0.5]
    noisy = rows + rng.randn(200_000, 3)
    denoised = model.denoise(noisy, np.zeros(200_000, int), np.ones(3))
    assert_allclose(((denoised - rows) ** 2).mean(axis=0), [4 / 5, 1 / 2, 0.25 / 1.25], rtol=0.02)
    assert_allclose(model.denoise(noisy, np.zeros(200_000, int), np.zeros(3)), noisy)


def test_directions_of_noisy_rows_are_those_behind_the_noise(rng):
    basis = np.linalg.qr(rng.randn(6, 6))[0]
    rows = (rng.randn(60_000, 6) * [5, 3, 1, 0.5, 0.1, 0.1]) @ basis.T
    variances = np.array([30.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    noisy = rows + rng.randn(60_000, 6) * np.sqrt(variances)
    moments = Moments.measure(noisy, one_hot(np.arange(60_000) % 2), variances)
    subspace = Subspace.of_moments(moments, 2)
    assert_allclose(np.abs(subspace.components @ basis[:, :2]), np.eye(2), atol=0.05)
    assert_allclose(subspace.variances, [25, 9], rtol=0.05)
    naive = np.linalg.eigh(np.cov(noisy.T))[1][:, -1]
    assert np.abs(naive @ basis[:, 0]) < 0.95


def test_nothing_reads_clean_rows(rng, monkeypatch):
    rows, labels = population(rng)
    seen = []
    measure = Moments.measure.__func__
    monkeypatch.setattr(
        Moments,
        "measure",
        classmethod(lambda cls, noisy, *rest: seen.append(noisy) or measure(cls, noisy, *rest)),
    )
    source = DPSource(1.0, n_components=1, n_layers=1, random_state=0).fit(rows, labels)
    noisy = seen[0]  # the other holds projections of its rows
    assert not np.any(noisy == rows)
    assert np.std(noisy - rows) > 1
    assert_allclose(source.moments_.means[0], noisy[labels == 0].mean(axis=0))
