from dataclasses import fields

import numpy as np
import pytest

from skdp.release import BasisFunctions
from skdp.source import RowGrid

GRID = 2**16


def grid(n_columns=5, radius=1.0, orders=(2, 3), center=0.0):
    basis = BasisFunctions.of_columns(np.zeros(n_columns, dtype=int), -1e6, 1e6, orders=orders)
    return RowGrid(basis, np.full(len(basis.column), center), radius)


def awkward(rng, n, p):
    """Rows whose magnitudes span twelve orders, at the bounds, beyond and far within."""
    return rng.choice([-1.0, 1.0], (n, p)) * 10.0 ** rng.uniform(-5, 7, (n, p))


@pytest.mark.parametrize("radius", [0.03, 1.0, 3.0, 40.0])
def test_no_row_has_a_norm_above_the_radius(radius, rng):
    Q = grid(radius=radius).quantise(awkward(rng, 20_000, 5))
    assert (np.trunc(Q) == Q).all()
    squares = (Q.astype(np.int64) ** 2).sum(axis=1)
    assert squares.max() <= GRID**2
    if radius < 1:
        assert squares.max() > 0.999 * GRID**2  # rows that are clipped keep the norm R


def test_rows_within_the_radius_are_truncated_towards_zero(rng):
    rows = RowGrid(BasisFunctions.of_columns([0, 0, 0], -1.0, 1.0, orders=()), np.zeros(3), 2.0)
    X = rng.uniform(-1, 1, (1000, 3))
    exact = X / 2.0 * GRID  # z = x here: 2 (x − 0)/2
    Q = rows.quantise(X)
    assert (np.abs(Q) <= np.abs(exact)).all()
    assert np.abs(Q - exact).max() < 1.1


def test_what_a_row_becomes_depends_on_no_other_row(rng):
    X = awkward(rng, 999, 5)
    rows = grid(radius=0.7, center=0.1)
    together = rows.quantise(X)
    alone = np.vstack([rows.quantise(X[i : i + 1]) for i in range(len(X))])
    order = rng.permutation(len(X))
    assert (alone == together).all()
    assert (rows.quantise(X[order]) == together[order]).all()
    assert (rows.quantise(np.asfortranarray(X)) == together).all()


@pytest.mark.parametrize("n_columns", [1, 600, 3000])
def test_norms_are_summed_exactly_however_many_columns_there_are(n_columns, rng):
    rows = grid(n_columns=n_columns, radius=0.1 * np.sqrt(n_columns))
    X = rng.uniform(-1e6, 1e6, (40, n_columns))
    Q = rows.quantise(X)
    norms = [np.sqrt(sum(q * q for q in row)) for row in Q.astype(int).tolist()]
    assert max(norms) <= GRID
    assert min(norms) > GRID - np.sqrt(rows.n_basis) - 1  # all are clipped, and then rounded
    order = rng.permutation(40)
    assert (rows.quantise(X[order]) == Q[order]).all()
    wide = np.repeat(X, 2, axis=0)[::2]
    assert (rows.quantise(np.asfortranarray(X)) == rows.quantise(wide)).all()


def test_terms_in_any_order_are_those_of_their_columns(rng):
    ordered = BasisFunctions.of_columns([0, 1, 3, 3, 3, 0], -1e6, 1e6)
    order = rng.permutation(len(ordered.column))
    mixed = BasisFunctions(*(getattr(ordered, f.name)[order] for f in fields(BasisFunctions)))
    X = awkward(rng, 50, 6)
    a, b = RowGrid(ordered, np.zeros(10), 2.0), RowGrid(mixed, np.zeros(10), 2.0)
    assert (a.quantise(X)[:, order] == b.quantise(X)).all()
    assert (a.quantise(X.astype(np.float32)) == a.quantise(X.astype(np.float32) * 1.0)).all()


def test_another_center_and_radius():
    rows = grid()
    moved = rows.at(np.ones(15), 2)
    assert moved.radius == 2.0
    assert moved.step == 2.0 / GRID
    assert rows.is_same(grid())
    assert not rows.is_same(moved)
    assert not rows.is_same(grid(n_columns=4))
