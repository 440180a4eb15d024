"""Principal directions, distances, and positions as slices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from skdp.utils import _linalg
from skdp.utils._linalg import (
    as_slice,
    positive_definite_floor,
    principal_directions,
    row_blocks,
)


@pytest.mark.parametrize("shape", [(50, 8), (8, 50)])
def test_principal_directions_are_those_of_pca(shape, rng):
    Y = rng.randn(*shape) @ np.diag(np.linspace(3, 1, shape[1])) + 7
    P = principal_directions(Y, 5)
    expected = PCA(5, svd_solver="full").fit(Y).components_
    assert_allclose(np.abs(np.sum(P * expected, axis=1)), 1, rtol=1e-9)
    assert_allclose(P @ P.T, np.eye(5), atol=1e-9)


@pytest.mark.parametrize(("n_rows", "rank"), [(1, 1), (2, 1), (4, 3)])
def test_directions_never_exceed_the_rank_of_the_centered_rows(n_rows, rank, rng):
    assert len(principal_directions(rng.randn(n_rows, 10), 20)) == rank


@pytest.mark.parametrize("shape", [(50, 8), (8, 50)])
def test_uncentered_directions_are_those_of_the_second_moment(shape, rng):
    Y = rng.randn(*shape) + 3
    P = principal_directions(Y, 4, center=False)
    _, _, expected = np.linalg.svd(Y, full_matrices=False)
    assert_allclose(np.abs(np.sum(P * expected[:4], axis=1)), 1, rtol=1e-9)


def test_the_largest_entry_of_a_direction_is_positive(rng):
    P = principal_directions(rng.randn(40, 6), 6)
    assert (P[np.arange(6), np.abs(P).argmax(axis=1)] > 0).all()


@pytest.mark.parametrize("positions", [[], [0], [3], [0, 1, 2], [4, 5]])
def test_positions_that_follow_each_other_are_a_slice(positions):
    index = as_slice(np.array(positions, dtype=int))
    assert isinstance(index, slice)
    assert np.arange(10)[index].tolist() == positions


@pytest.mark.parametrize("positions", [[1, 3], [2, 1], [1, 1], [2, 0, 1], [0, 2, 2]])
def test_others_stay_as_they_are(positions):
    positions = np.array(positions)
    assert as_slice(positions) is positions


def test_eigenvalues_are_raised_to_a_floor_and_directions_stay(rng):
    vectors = np.linalg.qr(rng.randn(4, 4))[0]
    values = np.array([-2.0, 0.01, 1.0, 10.0])
    matrix = (vectors * values) @ vectors.T
    for settings, expected in (
        ({}, [0.0, 0.01, 1.0, 10.0]),
        ({"least": 0.5}, [0.5, 0.5, 1.0, 10.0]),
        ({"relative": 0.2}, [2.0, 2.0, 2.0, 10.0]),
        ({"least": 3.0, "relative": 0.2}, [3.0, 3.0, 3.0, 10.0]),
    ):
        found = positive_definite_floor(matrix, **settings)
        assert_allclose(found, (vectors * expected) @ vectors.T, atol=1e-12)


@pytest.mark.parametrize("n_rows", [0, 1, 512, 513, 2000])
def test_blocks_cover_each_row_once(n_rows):
    blocks = list(row_blocks(n_rows))
    assert [i for rows in blocks for i in range(n_rows)[rows]] == list(range(n_rows))
    assert all(0 < rows.stop - rows.start <= 512 for rows in blocks)


@pytest.mark.parametrize("center", [True, False])
def test_directions_of_many_rows_are_those_of_one_block(rng, monkeypatch, center):
    X = (rng.rand(500, 6) @ rng.rand(6, 6)).astype(np.float32)
    whole = principal_directions(X, 4, center=center)
    monkeypatch.setattr(_linalg, "_ROWS_AT_ONCE", 7)
    assert_allclose(principal_directions(X, 4, center=center), whole, rtol=1e-9)


def test_directions_of_few_rows_have_length_one():
    # The smallest variance of n centered rows is zero but for rounding, and so was its direction.
    for seed in range(300):
        rng = np.random.RandomState(seed)
        rows = rng.rand(rng.randint(2, 6), 12) * 10 ** rng.uniform(-6, 6)
        directions = principal_directions(rows, 12)
        assert 1 <= len(directions) < len(rows)
        assert_allclose(np.linalg.norm(directions, axis=1), 1, atol=1e-9)
