"""Marginals of mixtures, against densities of the columns that remain."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
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
        counts,
        counts,
        np.array(own),
        np.array(within, dtype=np.float32),
        *np.zeros((1, 5)),
        *np.zeros((2, 2, 5)),
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
    moments = Moments(
        counts, counts, means, packed, np.zeros(6), np.zeros((2, 6)), np.zeros((1, 6))
    )
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
