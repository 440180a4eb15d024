import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.covariance import empirical_covariance

from skdp.release import ClassModel, Moments, Subspace
from skdp.release._mixtures import flat_prior, power_prior


def one_hot(labels):
    return np.eye(labels.max() + 1)[labels]


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
    model = ClassModel.shrink(*measured, moments.effective_sizes, rows.var(axis=0))
    truth = np.array([np.diag(s**2) for s in scales])
    common = np.diag(rows.var(axis=0)) - empirical_covariance(means, assume_centered=True)
    # In units of the total variances, in which the priors are stated.
    s = np.sqrt(rows.var(axis=0))
    unit = np.outer(s, s)
    return [
        [np.mean(((means - m) / s) ** 2) for m in (model.means, measured[0], 0)],
        [np.mean(((truth - S) / unit) ** 2) for S in (model.covariances, measured[1], common)],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("variance", [0.0, 0.1, 1.0, 10.0, 100.0])
def test_shrinkage_is_never_worse_than_its_ends_on_average(rng, variance):
    errors = np.mean([shrunk_and_ends(rng, variance) for _ in range(60)], axis=0)
    (means, covariances) = errors
    assert means[0] <= 1.03 * min(means[1:])
    assert covariances[0] <= 1.1 * min(covariances[1:])


def test_without_noise_many_rows_are_not_shrunk(rng, population):
    rows, labels = population(rng, n=300_000)
    moments = Moments.measure(rows, one_hot(labels), np.zeros(5))
    subspace = Subspace.of_rows(rows, 5)
    means, covariances, noise = moments.project(subspace.components)
    model = ClassModel.shrink(
        means, covariances, noise, moments.effective_sizes, subspace.variances
    )
    assert_allclose(model.means, means, atol=1e-2)
    # Log-densities are those of scipy for the measured moments.
    Z = subspace.project(rows[:50])
    for c in range(3):
        if (
            np.linalg.eigvalsh(np.linalg.solve(np.diag(subspace.variances), covariances[c]))[0]
            > 0.3
        ):
            exact = multivariate_normal(means[c], covariances[c]).logpdf(Z)
            ours = model.predictive().log_likelihood(Z, np.zeros(Z.shape[1]))[:, c]
            assert_allclose(ours - ours[0], exact - exact[0], rtol=0.05, atol=0.05)


def test_noise_of_the_moments_themselves_is_shrunk_as_that_of_rows(rng):
    K, p, total = 40, 12, np.exp(-0.3 * np.arange(12))
    means = rng.randn(K, p) * np.sqrt(0.3 * total)
    within = np.diag(0.7 * total)[np.newaxis]
    sizes, v = np.full(K, 1e9), 0.5 * total
    noisy = means + rng.randn(K, p) * np.sqrt(v)
    noise = np.zeros(p), np.tile(v, (K, 1)), np.zeros((1, p))
    model = ClassModel.shrink(noisy, within, noise[0], sizes, total, *noise[1:])
    assert model.covariances.shape == (K, p, p)
    assert ((model.means - means) ** 2).sum() < 0.8 * ((noisy - means) ** 2).sum()
    blind = ClassModel.shrink(noisy, within, noise[0], sizes, total)
    assert_allclose(blind.means, noisy, rtol=1e-3, atol=1e-3)
    # A covariance of which nothing but noise is known is that of all rows less that of means.
    drowned = within + 30 * np.diag(rng.randn(p))
    noise = np.zeros(p), np.zeros((K, p)), np.full((1, p), 900.0)
    model = ClassModel.shrink(means, drowned, noise[0], sizes, total, *noise[1:])
    assert_allclose(model.covariances[0], within[0], atol=0.2)
