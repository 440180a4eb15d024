from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp.release import Mixtures, Subspace
from skdp.source import MODELS
from skdp.source._integers import GRID, WEIGHT_GRID
from skdp.source._mixtures_model import (
    assignments,
    lloyd_mixtures,
    noisy_statistics,
    relative_noise,
    shrunk,
)
from skdp.source._principal_model import WhitenedRows
from skdp.tabular import ClassOutcome


@pytest.fixture
def subspace(rng):
    components = np.linalg.qr(rng.randn(6, 6))[0][:4]
    return Subspace(0.1 * rng.randn(6), components, np.array([0.9, 0.5, 0.3, 0.2]))


@pytest.fixture
def fit(subspace, grid, make_rows):
    def learn(Q, y, queries, n_rows=37, sizes=None):
        rows = make_rows(Q, y, sizes, n_rows)
        whitened = WhitenedRows.of(rows, grid, subspace, 0.9, queries)
        return whitened, lloyd_mixtures(whitened, subspace, 3, queries)

    return learn


def test_order_and_chunks_change_no_bit(rng, clusters, fit, make_queries):
    Q, y = clusters
    one, other = make_queries(), make_queries()
    fit(Q, y, one)
    order = rng.permutation(len(Q))
    fit(Q[order], y[order], other, n_rows=900)
    assert set(one.exact) == set(other.exact)
    for name in one.exact:
        assert_array_equal(one.exact[name], other.exact[name])
    shares = MODELS["mixtures"].shares(ClassOutcome(range(3)), SimpleNamespace(n_basis=4))
    assert all(exact.size <= shares[name].numbers for name, exact in one.exact.items())


def test_whitened_rows_are_clipped_coordinates(clusters, subspace, grid, make_rows, make_queries):
    Q, y = clusters
    whitened = WhitenedRows.of(make_rows(Q, y), grid, subspace, 0.9, make_queries())
    Z = subspace.project(Q * 3.0 / GRID) / np.sqrt(subspace.variances)
    norms = np.linalg.norm(Z, axis=1)
    assert 0.9 <= np.mean(norms <= whitened.radius) < 1
    expected = Z / np.maximum(norms, whitened.radius)[:, np.newaxis]
    assert_allclose(whitened.codes / GRID, expected, atol=3 / GRID)


@pytest.mark.parametrize("weights", [None, "persons"])
def test_a_record_moves_sums_by_their_sensitivity_at_most(rng, make_queries, weights):
    n, d = 40, 5
    Z = rng.standard_cauchy((n, d))
    codes = np.trunc(Z / np.linalg.norm(Z, axis=1, keepdims=True) * GRID * (1 - 1e-12))
    person = np.arange(n) if weights is None else np.sort(rng.randint(8, size=n))
    units = np.trunc(WEIGHT_GRID / np.bincount(person)[person]).astype(np.int64)
    groups, norms = rng.randint(4, size=n), np.where(np.eye(d)[np.triu_indices(d)], 1, np.sqrt(2))

    def sums(kept):
        noise = make_queries()
        whitened = WhitenedRows(codes[kept].astype(np.int32), groups[kept], units[kept], 1.0)
        noisy_statistics(whitened, groups[kept], 4, noise, "g")
        return noise

    whole = sums(np.full(n, True))
    for k in np.unique(person):
        rest = sums(person != k)
        for name, exact in whole.exact.items():
            moved = (exact - rest.exact[name]) * (norms if name == "g second moments" else 1)
            assert 0 < np.linalg.norm(moved) <= whole.sensitivity[name]


def test_rows_are_assigned_to_the_most_likely_component_alone(clusters, fit, rng, make_queries):
    whitened, _ = fit(*clusters, make_queries())
    A = rng.randn(6, 4, 4)
    mixtures = Mixtures(
        np.repeat(np.arange(3), 2), rng.uniform(0.3, 0.7, 6), 0.3 * rng.randn(6, 4),
        0.02 * (A @ A.transpose(0, 2, 1) + np.eye(4)),
    )  # fmt: skip
    assigned = assignments(whitened, mixtures)
    logs = np.log(mixtures.responsibilities(whitened.codes / GRID, np.zeros(4)) + 1e-300)
    logs[whitened.class_indices[:, np.newaxis] != mixtures.class_indices] = -np.inf
    assert np.mean(assigned == logs.argmax(axis=1)) > 0.998
    assert len(np.unique(assigned)) == 6
    for i in range(50):
        row = slice(i, i + 1)
        alone = WhitenedRows(
            whitened.codes[row], whitened.class_indices[row], whitened.weights[row], 1.0
        )
        assert assignments(alone, mixtures) == assigned[i]


def test_without_noise_components_have_their_own_moments(clusters, fit, subspace, make_queries):
    Q, y = clusters
    noise = make_queries()
    whitened, mixtures = fit(Q, y, noise)
    assert_array_equal(np.bincount(mixtures.class_indices), [6, 6, 6])
    counts = noise.exact["component counts"] / WEIGHT_GRID
    assert counts.sum() == 900
    T = whitened.codes.astype(np.int64)
    packed = noise.exact["component second moments"].sum(axis=0)
    assert_array_equal(packed, (T.T @ T)[np.triu_indices(4)])
    counts = np.maximum(counts, 1)  # of an empty component
    assert_allclose(mixtures.weights, counts / np.repeat(counts.reshape(3, 6).sum(axis=1), 6))
    means = noise.exact["component sums"] / GRID / counts[:, np.newaxis]
    units = subspace.scale * np.sqrt(subspace.variances) * whitened.radius
    assert_allclose(mixtures.means, means * units)
    Z = subspace.encode(Q * 3.0 / GRID)
    found = mixtures.log_likelihood(Z, np.zeros(4)) + np.log(np.bincount(y))
    own = np.array([Z[y == c].mean(axis=0) for c in range(3)])
    nearest = ((Z[:, np.newaxis] - own) ** 2).sum(axis=2).argmin(axis=1)
    assert np.mean(found.argmax(axis=1) == y) > np.mean(nearest == y) + 0.03


def test_a_class_is_one_normal_distribution_where_noise_is_strong(clusters, fit, make_queries):
    mixtures = fit(*clusters, make_queries(1.0))[1]
    assert_array_equal(mixtures.class_indices, [0, 1, 2])
    assert np.linalg.eigvalsh(mixtures.covariances).min() > 0


def test_noise_is_drawn_to_what_it_covers(rng):
    A = rng.randn(8, 8)
    base, s, squares, distances = A @ A.T + np.eye(8), 0.1, [], []
    values, vectors = np.linalg.eigh(base)
    inverse = (vectors / np.sqrt(values)) @ vectors.T
    for _ in range(2000):
        E = rng.randn(8, 8) * s / np.sqrt(2)
        E = np.triu(E, 1) + np.triu(E, 1).T + np.diag(s * rng.randn(8))
        squares.append(((inverse @ E @ inverse) ** 2).sum())
        distances.append(np.linalg.norm(shrunk(base + E, base, s) - base) / np.linalg.norm(E))
    assert_allclose(np.mean(squares), relative_noise(base, s), rtol=0.05)
    assert np.mean(distances) < 0.4
    assert_allclose(shrunk(1.5 * base, base, 0.0), 1.5 * base)
