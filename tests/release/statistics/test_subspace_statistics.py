import numpy as np
from numpy.testing import assert_allclose

from skdp.release.statistics._subspace_statistics import principal_subspace


def test_without_noise_it_is_that_of_pca(rng):
    X = rng.randn(300, 6) @ rng.randn(6, 6) + 2
    centre = np.full(6, 1.5)
    Z = X - centre
    subspace = principal_subspace(300, Z.sum(axis=0), Z.T @ Z, 0.0, 4, centre)
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    assert_allclose(subspace.mean, X.mean(axis=0))
    assert_allclose(subspace.variances, values[::-1][:4])
    assert_allclose(np.abs(subspace.components @ vectors[:, ::-1][:, :4]), np.eye(4), atol=1e-8)


def test_variances_are_no_smaller_than_noise_can_make_them(rng):
    p, s, n = 60, 5.0, 1000
    E = rng.randn(p, p) * s / np.sqrt(2)
    E = np.triu(E, 1) + np.triu(E, 1).T + np.diag(s * rng.randn(p))
    edge = s / n * np.sqrt(2 * p)
    assert_allclose(np.linalg.eigvalsh(E / n)[-1], edge, rtol=0.1)
    subspace = principal_subspace(n, np.zeros(p), E, s, p, np.zeros(p))
    assert_allclose(subspace.variances[-1], 0.3 * edge)
