"""Marginals of mixtures, against densities of the columns that remain."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from skdp.release import Mixtures, Moments, Subspace

CLASSES = np.array([0, 0, 1])
WEIGHTS = np.array([0.3, 0.7, 1.0])


def covariances_of(rng, n, p):
    roots = rng.randn(n, p, p)
    return roots @ roots.swapaxes(1, 2) / p + 0.1 * np.eye(p)


@pytest.fixture
def known(rng):
    """Means and covariances of three components of five columns, and moments of the classes."""
    means, covariances = 2 * rng.randn(3, 5), covariances_of(rng, 3, 5)
    upper = np.triu_indices(5)
    own, within = [], []
    for c in range(2):
        here = c == CLASSES
        mean = WEIGHTS[here] @ means[here]
        apart = means[here] - mean
        spread = np.tensordot(WEIGHTS[here], covariances[here], 1)
        own.append(mean)
        within.append((spread + (apart.T * WEIGHTS[here]) @ apart)[upper])
    counts = np.array([1e9, 1e9])
    moments = Moments(
        counts, counts, np.array(own), np.array(within, dtype=np.float32), np.zeros(5)
    )
    return means, covariances, moments


def in_subspace(means, covariances, subspace):
    V, scale = subspace.components, subspace.scale
    codes = scale * V @ covariances @ V.T * scale
    return Mixtures(CLASSES, WEIGHTS, subspace.encode(means), (codes + codes.swapaxes(1, 2)) / 2)


def restrict(subspace, mixtures, moments, columns):
    """Restrict both as parts of a release of these moments."""
    return subspace.restrict(columns, moments), mixtures.restrict(columns, subspace, moments)


def test_the_density_is_the_marginal_one(known, rng):
    means, covariances, moments = known
    subspace = Subspace.of_moments(moments, 5)
    mixtures = in_subspace(means, covariances, subspace)
    columns, X = np.array([4, 0, 2]), 2 * rng.randn(40, 5)
    new, marginal = restrict(subspace, mixtures, moments, columns)
    found = marginal.log_likelihood(new.encode(X[:, columns]), np.zeros(3))

    def density(factor):
        logs = np.stack(
            [
                multivariate_normal(m[columns], factor * S[np.ix_(columns, columns)]).logpdf(
                    X[:, columns]
                )
                for m, S in zip(means, covariances, strict=True)
            ],
            axis=1,
        ) + np.log(WEIGHTS)
        return np.stack([logsumexp(logs[:, c == CLASSES], axis=1) for c in range(2)], axis=1)

    shift = found - density(1.0)
    assert_allclose(shift, shift[0, 0], atol=1e-3)
    wrong = found - density(1.1)
    assert np.ptp(wrong) > 0.1


def test_what_a_subspace_leaves_out_comes_from_the_moments(rng):
    """With normal classes whose difference is principal, the marginal is known in any subspace."""
    axes = np.linalg.qr(rng.randn(6, 6))[0]
    W = (axes * [4.0, 3.0, 2.0, 1.0, 0.5, 0.3]) @ axes.T
    means = np.array([-2.0, 2.0])[:, None] * axes[:, 0]
    counts = np.array([1e9, 1e9])
    packed = W[np.triu_indices(6)].astype(np.float32)[np.newaxis]
    moments = Moments(counts, counts, means, packed, np.zeros(6))
    subspace = Subspace.of_moments(moments, 3)
    V = subspace.components
    inside = np.array([subspace.scale**2 * V @ W @ V.T] * 2)
    mixtures = Mixtures.single(subspace.encode(means), (inside + inside.swapaxes(1, 2)) / 2)
    columns = np.array([5, 1, 3, 0])
    new, marginal = restrict(subspace, mixtures, moments, columns)
    Q, scale = new.components, new.scale
    assert Q.shape == (3, 4)
    assert_allclose(marginal.means / scale, (means[:, columns] - new.mean) @ Q.T, atol=1e-4)
    expected = Q @ W[np.ix_(columns, columns)] @ Q.T
    assert_allclose(marginal.covariances / scale**2, [expected] * 2, atol=1e-4)


def test_a_column_without_variance_leaves_the_components_positive_definite(known):
    means, covariances, moments = known
    flat = np.diag([1.0, 1.0, 1.0, 1.0, 0.0])
    moments = replace(
        moments,
        means=moments.means @ flat,
        covariances=np.array(
            [(flat @ moments.covariance(c) @ flat)[np.triu_indices(5)] for c in range(2)],
            dtype=np.float32,
        ),
    )
    subspace = Subspace.of_moments(moments, 5)
    mixtures = in_subspace(means @ flat, flat @ covariances @ flat, subspace)
    new, marginal = restrict(subspace, mixtures, moments, np.array([4, 1]))
    assert len(new.components) == 2
    assert np.linalg.eigvalsh(marginal.covariances).min() > 0


def test_another_order_of_all_columns_moves_directions_alone(known, rng):
    means, covariances, moments = known
    subspace = Subspace.of_moments(moments, 4)
    mixtures = in_subspace(means, covariances, subspace)
    order, X = np.array([1, 0, 4, 3, 2]), rng.randn(10, 5)
    new, same = restrict(subspace, mixtures, moments, order)
    assert same is mixtures
    assert_allclose(new.encode(X[:, order]), subspace.encode(X))
    assert_array_equal(new.variances, subspace.variances)


def test_twice_is_once_where_the_subspace_leaves_nothing_out(known, rng):
    means, covariances, moments = known
    subspace = Subspace.of_moments(moments, 5)
    mixtures = in_subspace(means, covariances, subspace)
    first, second = np.array([4, 0, 2, 1]), np.array([2, 0])
    half = restrict(subspace, mixtures, moments, first)
    twice = restrict(*half, moments.restrict(first), second)
    once = restrict(subspace, mixtures, moments, first[second])
    X = rng.randn(20, 2)
    scores = [m.log_posteriors(s.encode(X), np.full(2, 0.5)) for s, m in (twice, once)]
    shifts = scores[0] - scores[1]
    assert_allclose(shifts, shifts[0, 0], atol=1e-3)


def test_the_subspace_is_that_of_the_columns(known):
    _, _, moments = known
    new = Subspace.of_moments(moments, 2).restrict(np.array([3, 1]), moments)
    assert_allclose(new.mean, moments.mean[[3, 1]])


def test_normal_distributions_are_those_of_the_moments(rng):
    y, mixing = np.arange(60_000) % 3, np.eye(4) + 0.2 * rng.randn(3, 4, 4)
    X = 0.7 * rng.randn(3, 4)[y] + np.einsum("nij,nj->ni", mixing[y], rng.randn(60_000, 4))
    moments = Moments.measure(X, np.eye(3)[y], np.zeros(4))
    subspace = Subspace.of_columns(moments, np.arange(4), 4)
    normals = Mixtures.of_moments(moments, subspace)
    back = normals.means / subspace.scale @ subspace.components + subspace.mean
    assert_allclose(back, moments.means, atol=0.05)
    V = subspace.components / subspace.scale
    for c in range(3):
        assert_allclose(V.T @ normals.covariances[c] @ V, moments.covariance(c), atol=0.1)


def test_mixtures_of_noisy_rows_give_way_to_normal_distributions(known):
    means, covariances, moments = known
    moments = replace(moments, noise=np.full(5, 0.5))
    subspace = Subspace.of_moments(moments, 5)
    mixtures = in_subspace(means, covariances, subspace)
    columns = np.array([1, 3])
    new, found = restrict(subspace, mixtures, moments, columns)
    other = Subspace.of_columns(moments, columns, 2)
    expected = Mixtures.of_moments(moments.restrict(columns), other)
    assert_array_equal(found.means, expected.means)
    assert_array_equal(new.components, other.components)
    assert len(found.weights) == 2
