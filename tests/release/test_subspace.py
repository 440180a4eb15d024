"""Principal directions of rows behind noise, and the alignment of classes in them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp.release import Alignment, Moments, Subspace, class_medians


def test_a_subspace_is_that_of_pca(rng):
    X = rng.randn(100, 5) @ rng.randn(5, 5) + 3
    subspace = Subspace.of_rows(X, 3)
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    assert_allclose(subspace.variances, values[::-1][:3])
    assert_allclose(np.abs(subspace.components @ vectors[:, ::-1][:, :3]), np.eye(3), atol=1e-8)
    assert_allclose(subspace.encode(X).var(axis=0).mean(), 1)
    assert_allclose(subspace.encode(X).mean(axis=0), 0, atol=1e-12)


def test_directions_of_noisy_rows_are_those_behind_the_noise(rng):
    basis = np.linalg.qr(rng.randn(6, 6))[0]
    rows = (rng.randn(60_000, 6) * [5, 3, 1, 0.5, 0.1, 0.1]) @ basis.T
    variances = np.array([30.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    noisy = rows + rng.randn(60_000, 6) * np.sqrt(variances)
    moments = Moments.measure(noisy, np.eye(2)[np.arange(60_000) % 2], variances)
    subspace = Subspace.of_moments(moments, 2)
    assert_allclose(np.abs(subspace.components @ basis[:, :2]), np.eye(2), atol=0.05)
    assert_allclose(subspace.variances, [25, 9], rtol=0.05)
    naive = np.linalg.eigh(np.cov(noisy.T))[1][:, -1]
    assert np.abs(naive @ basis[:, 0]) < 0.95


def test_medians_are_those_of_each_class(rng):
    codes, labels = rng.randn(31, 2), rng.randint(-1, 3, 31)
    expected = [[np.median(column[labels == c]) for column in codes.T] for c in range(3)]
    assert_allclose(class_medians(codes, labels, 3), expected)


@pytest.mark.parametrize("p", [1, 6, 7])
def test_half_of_the_directions_are_kept(rng, p):
    rows, labels = rng.randn(80, p) * np.arange(1, p + 1), np.arange(80) % 3
    alignment = Alignment.measure(rows, labels, 3)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(rows.T)))
    leading = vectors[:, np.argsort(-values)[: (p + 1) // 2]].T
    assert_allclose(np.abs(alignment.components @ leading.T), np.eye(len(leading)), atol=1e-10)
    medians = class_medians(rows @ alignment.components.T, labels, 3)
    assert_allclose(alignment.class_medians, medians)
    assert_allclose(alignment.mean, rows.mean(axis=0))
