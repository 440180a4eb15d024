import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, norm

from skdp.release import Mixtures, _mixtures


@pytest.fixture
def planted(rng):
    """Two classes in two directions; the first has two components."""
    components = rng.choice(3, 6000, p=[0.3, 0.2, 0.5])
    means = np.array([[-1.5, 0.0], [1.5, 0.5], [0.0, -1.0]])
    spread = np.array([[0.5, 0.7], [0.6, 0.5], [0.8, 0.6]])
    rows = means[components] + spread[components] * rng.randn(6000, 2)
    return rows, np.where(components == 2, 1, 0), means, spread


def shrunk(covariances, counts, prior_size):
    """Of classes with one component each: drawn to the common one, and then to itself."""
    common = np.average(covariances, axis=0, weights=counts)
    return [
        (n * S + prior_size * (n * S + prior_size * common) / (n + prior_size)) / (n + prior_size)
        for n, S in zip(counts, covariances, strict=True)
    ]


def test_likelihood_is_that_of_scipy(rng):
    roots = rng.randn(3, 2, 2)
    mixtures = Mixtures(
        np.array([0, 0, 1]),
        np.array([0.3, 0.7, 1.0]),
        rng.randn(3, 2),
        roots @ roots.transpose(0, 2, 1) + np.eye(2),
    )
    Z, noise = rng.randn(20, 2), np.array([0.5, 2.0])
    logs = [
        np.log(w) + multivariate_normal(m, S + np.diag(noise)).logpdf(Z)
        for w, m, S in zip(mixtures.weights, mixtures.means, mixtures.covariances, strict=True)
    ]
    expected = np.stack([np.logaddexp(logs[0], logs[1]), logs[2]], axis=1)
    assert_allclose(mixtures.log_likelihood(Z, noise) - np.log(2 * np.pi), expected)


def test_one_component_without_noise_is_the_sample_with_its_covariance_shrunk(rng):
    Z, labels = rng.randn(40, 12), np.arange(40) % 2
    Z[labels == 1] *= 2
    mixtures = Mixtures.fit(Z, labels, np.zeros(12), rng)
    assert_array_equal(mixtures.class_indices, [0, 1])
    members = [Z[labels == c] for c in range(2)]
    assert_allclose(mixtures.means, [rows.mean(axis=0) for rows in members])
    covariances = [np.cov(rows.T, bias=True) for rows in members]
    for S, expected in zip(mixtures.covariances, shrunk(covariances, [20, 20], 6), strict=True):
        values, vectors = np.linalg.eigh(expected)
        assert_allclose(S, (vectors * np.maximum(values, 0.1)) @ vectors.T)


def test_components_are_found_behind_the_noise(rng, planted):
    rows, labels, means, spread = planted
    noise = np.array([1.0, 0.5])
    noisy = rows + rng.randn(*rows.shape) * np.sqrt(noise)
    mixtures = Mixtures.fit(noisy, labels, noise, rng)
    likelihood = mixtures.log_likelihood(noisy, noise)[np.arange(6000), labels].mean()
    truth = Mixtures(
        np.array([0, 0, 1]),
        np.array([0.6, 0.4, 1.0]),
        means,
        np.array([np.diag(s**2) for s in spread]),
    )
    best = truth.log_likelihood(noisy, noise)[np.arange(6000), labels].mean()
    # Ten components fit a little better than the truth, on the rows they were fitted to.
    assert -0.005 < likelihood - best < 0.02
    # Rows that nobody has seen without noise:
    clean = rows + 0.0
    known = mixtures.log_likelihood(clean, np.zeros(2)).argmax(axis=1) == labels
    best = truth.log_likelihood(clean, np.zeros(2)).argmax(axis=1) == labels
    assert known.mean() > best.mean() - 0.015
    # Whoever takes the noise for rows does worse.
    naive = Mixtures.fit(noisy, labels, np.zeros(2), rng)
    missed = naive.log_likelihood(clean, np.zeros(2))[np.arange(6000), labels].mean()
    assert (
        missed < mixtures.log_likelihood(clean, np.zeros(2))[np.arange(6000), labels].mean() - 0.2
    )


def test_a_step_is_that_of_extreme_deconvolution(rng, planted, monkeypatch):
    monkeypatch.setattr(_mixtures, "_NOISY_STEPS", 1)
    monkeypatch.setattr(_mixtures, "_MAX_COMPONENTS", 2)
    Z, labels = planted[0][:60], np.zeros(60, dtype=int)
    noise = np.array([0.4, 2.0])
    V = np.diag(noise)
    w, m, S = _mixtures._start(Z, noise, np.random.RandomState(0))
    assert_allclose(S[0], S[1])
    densities = np.stack([multivariate_normal(m[k], S[k] + V).pdf(Z) for k in range(2)])
    responsibilities = w[:, np.newaxis] * densities
    responsibilities /= responsibilities.sum(axis=0)
    counts, means, covariances = responsibilities.sum(axis=1), [], []
    for k in range(2):
        gain = S[k] @ np.linalg.inv(S[k] + V)
        expected = np.array([m[k] + gain @ (z - m[k]) for z in Z])
        mean = responsibilities[k] @ expected / counts[k]
        outer = np.array([np.outer(b - mean, b - mean) + S[k] - gain @ S[k] for b in expected])
        means.append(mean)
        covariances.append(np.tensordot(responsibilities[k], outer, 1) / counts[k])
    mixtures = Mixtures.fit(Z, labels, noise, np.random.RandomState(0))
    assert_allclose(mixtures.weights, counts / 60)
    assert_allclose(mixtures.means, means)
    # The one class is its own average; it counts as d/2 = 1 row.
    own = np.average(covariances, axis=0, weights=counts)
    for k in range(2):
        component = (counts[k] * covariances[k] + own) / (counts[k] + 1)
        root = np.diag(np.maximum(0.1, noise * np.sqrt(2 / counts[k])) ** 0.5)
        values, vectors = np.linalg.eigh(np.linalg.inv(root) @ component @ np.linalg.inv(root))
        floored = root @ (vectors * np.maximum(values, 1)) @ vectors.T @ root
        assert values[0] < 1 or k == 1
        assert_allclose(mixtures.covariances[k], floored)


def test_denoised_is_the_posterior_mean(rng):
    mixtures = Mixtures(
        np.array([0, 0, 1]),
        np.array([0.3, 0.7, 1.0]),
        np.array([[-2.0], [1.0], [0.0]]),
        np.array([[[0.2]], [[0.5]], [[1.0]]]),
    )
    x = np.linspace(-8, 8, 4001)
    prior = 0.3 * norm(-2, np.sqrt(0.2)).pdf(x) + 0.7 * norm(1, np.sqrt(0.5)).pdf(x)
    z, noise = np.array([-2.5, -0.5, 0.3, 2.0]), 0.8
    posterior = prior * norm(z[:, np.newaxis], np.sqrt(noise)).pdf(x)
    expected = posterior @ x / posterior.sum(axis=1)
    found = mixtures.denoise(z[:, np.newaxis], np.zeros(4, int), np.array([noise]))
    assert_allclose(found[:, 0], expected, rtol=1e-6)
    found = mixtures.denoise(z[:, np.newaxis], np.ones(4, int), np.array([noise]))
    assert_allclose(found[:, 0], z / 1.8)


def test_adapting_is_what_a_plain_loop_makes_of_it(rng, monkeypatch):
    monkeypatch.setattr(_mixtures, "_ADAPTING_STEPS", 2)
    roots = rng.randn(3, 2, 2)
    S0 = roots @ roots.transpose(0, 2, 1) + np.eye(2)
    m0, w0 = 2 * rng.randn(3, 2), np.array([0.3, 0.7, 1.0])
    counts, V, Z = np.array([30.0, 80.0]), np.diag([0.5, 3.0]), 2 * rng.randn(40, 2)
    adapted = Mixtures(np.array([0, 0, 1]), w0, m0, S0).adapt(Z, counts, np.diag(V))
    behind = np.array([9.0, 21.0, 80.0])
    w, m, S = behind / behind.sum(), m0, S0
    for _ in range(2):
        p = np.stack([w[k] * multivariate_normal(m[k], S[k]).pdf(Z) for k in range(3)], axis=1)
        p /= p.sum(axis=1, keepdims=True)
        means, covariances, sizes = [], [], []
        for k in range(3):
            n = p[:, k].sum()
            A, B = behind[k] * np.linalg.inv(S0[k] + V), n * np.linalg.inv(S[k])
            mean = np.linalg.inv(A + B) @ (A @ m0[k] + B @ (p[:, k] @ Z / n))
            G = np.linalg.inv(S0[k] + V) @ S0[k]
            n_behind = behind[k] * np.trace(G @ G) / 2
            scatter = sum(p[i, k] * np.outer(z - mean, z - mean) for i, z in enumerate(Z))
            means.append(mean)
            covariances.append((n_behind * S0[k] + scatter) / (n_behind + n))
            sizes.append(behind[k] * np.trace(G) / 2 + n)
        w, m, S = np.array(sizes) / np.sum(sizes), means, covariances
    assert_allclose(adapted.means, m)
    assert_allclose(adapted.covariances, S)
    assert_allclose(adapted.weights, [w[0] / (w[0] + w[1]), w[1] / (w[0] + w[1]), 1])


def test_a_class_with_a_single_row_is_no_obstacle(rng):
    Z, labels = rng.randn(9, 3), np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    mixtures = Mixtures.fit(Z, labels, np.zeros(3), rng)
    assert np.isfinite(mixtures.log_likelihood(Z, np.zeros(3))).all()
    assert_allclose(mixtures.means[2], Z[8])
    alone = Mixtures.fit(Z[[0, 4]], labels[[0, 4]], np.zeros(3), rng)
    assert_allclose(alone.covariances, np.repeat(0.1 * np.eye(3)[np.newaxis], 2, axis=0))
