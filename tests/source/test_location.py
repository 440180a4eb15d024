from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp.release import BasisFunctions
from skdp.source import MODELS
from skdp.source._integers import GRID
from skdp.source._principal_model import estimate_location, widest_grid
from skdp.source._private_rows import PrivateRows
from skdp.tabular import ClassOutcome


@pytest.fixture
def basis():
    return BasisFunctions.of_columns([0] * 4, -1.0, 3.0, orders=())


def private(X, groups=None):
    return PrivateRows.of(X, [np.zeros(len(X))], ClassOutcome([0.0]), groups)


def test_from_the_middle_of_the_bounds_no_row_is_too_far(basis, rng):
    grid = widest_grid(basis)
    X = rng.choice([-1.0, 3.0], size=(50, 4))
    found = grid.to_features(grid.quantise(X) * grid.step)
    assert_allclose(found, X, atol=grid.radius * 2**-14)


@pytest.mark.parametrize("persons", [False, True])
def test_without_noise_it_finds_the_mean_and_nearly_all_rows(basis, rng, make_queries, persons):
    X = np.clip(1.7 + 0.1 * rng.randn(3000, 4), -1, 3)
    groups = np.arange(3000) // 3 if persons else None
    queries = make_queries()
    grid = estimate_location(private(X, groups), widest_grid(basis), queries)
    assert_allclose(grid.to_features(np.zeros(4)), X.mean(axis=0), atol=1e-3)
    within = np.linalg.norm(X - X.mean(axis=0), axis=1) * basis.scale[0] <= grid.radius
    assert 0.95 <= within.mean() < 1
    shares = MODELS["mixtures"].shares(ClassOutcome(range(3)), SimpleNamespace(n_basis=4))
    assert all(exact.size == shares[name].numbers for name, exact in queries.exact.items())


def test_order_changes_no_bit(basis, rng, make_queries):
    X, order = rng.uniform(-1, 3, (500, 4)), rng.permutation(500)
    one, other = make_queries(), make_queries()
    estimate_location(private(X), widest_grid(basis), one)
    estimate_location(private(X[order]), widest_grid(basis), other)
    for name, exact in one.exact.items():
        assert_array_equal(other.exact[name], exact)


def test_noise_brings_no_mean_beyond_the_bounds_nor_a_radius_beyond_what_is_possible(
    basis, make_queries
):
    widest = widest_grid(basis)
    for seed in range(20):
        grid = estimate_location(private(np.ones((3, 4))), widest, make_queries(100.0, seed))
        assert np.linalg.norm(grid.center) <= widest.radius * (1 + 1e-9)
        assert 0 < grid.radius <= 2 * widest.radius * (1 + 1 / GRID)
