import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp.source._integers import (
    GRID,
    WEIGHT_GRID,
    IntegerMap,
    integer_weights,
    rescaled,
    squared_norms,
    weighted,
    weighted_roots,
)


@pytest.fixture
def rows(rng):
    return np.trunc(rescaled(np.trunc(rng.standard_cauchy((500, 40)).clip(-1, 1) * 2e6), 1e6))


def test_a_map_gives_each_row_the_same_bits_whatever_stands_beside_it(rng, rows):
    project = IntegerMap.nearest(rng.randn(40, 7) * 10.0 ** rng.randint(-3, 4, 7), rng.randn(7))
    together = project(rows)
    order = rng.permutation(500)
    assert_array_equal(project(rows[order]), together[order])
    assert_array_equal(np.concatenate([project(row[np.newaxis]) for row in rows]), together)
    assert_array_equal(project(np.asfortranarray(rows)), together)


def test_a_map_is_exact_integer_arithmetic(rng, rows):
    project = IntegerMap.nearest(rng.randn(40, 3), 1e5 * rng.randn(3))
    matrix = [[int(v) for v in row] for row in project.matrix.T]
    for row, result in zip(rows[:20].astype(int).tolist(), project.scaled(rows[:20]), strict=True):
        for column, offset, value in zip(matrix, project.offset, result, strict=True):
            exact = sum(a * b for a, b in zip(row, column, strict=True)) + int(offset)
            assert exact == value
            assert abs(exact) < 2**53


def test_a_map_is_near_the_real_one(rng, rows):
    matrix, offset = rng.randn(40, 3), 1e5 * rng.randn(3)
    assert_allclose(IntegerMap.nearest(matrix, offset)(rows), rows @ matrix + offset, atol=1.01)


def test_clipping_never_lifts_a_norm_above_the_bound(rng):
    rows = np.trunc(rng.standard_cauchy((5000, 30)) * 1e4).clip(-(2**21), 2**21)
    for radius in (1.0, 1e3, 54321.9):
        codes = rescaled(rows, radius).astype(np.int64)
        assert (codes**2).sum(axis=1).max() <= GRID**2
        norms = np.maximum(np.linalg.norm(rows, axis=1), radius)
        assert_allclose(codes, rows / norms[:, np.newaxis] * GRID, atol=1.0)
    assert_array_equal(squared_norms(rows), [sum(int(v) ** 2 for v in row) for row in rows])


@pytest.mark.parametrize("k", [1, 2, 3, 7, 49, 1000, 12345])
def test_the_rows_of_a_person_count_as_one(rng, k):
    weights = integer_weights(np.full(k, k), k)
    assert weights.sum() <= WEIGHT_GRID
    assert weights.sum() > WEIGHT_GRID - k
    rows = rescaled(np.tile(np.trunc(1e4 * rng.randn(1, 5)), (k, 1)), 1.0).astype(np.float64)
    total = weighted(rows, weights).sum(axis=0)
    assert (total**2).sum() <= GRID**2
    roots = weighted_roots(rows, weights)
    assert np.linalg.norm(roots.T @ roots) <= GRID**2
    assert_allclose(roots.T @ roots, rows[:1].T @ rows[:1], atol=3 * GRID * np.sqrt(k) + k)


def test_rows_without_weights_stay_as_they_are(rows):
    weights = integer_weights(None, 500)
    assert_array_equal(weighted(rows, weights), rows)
    assert_array_equal(weighted_roots(rows, weights), rows)


def test_a_row_of_its_own_is_weighed_alike_beside_any_other(rng):
    rows = rescaled(np.trunc(1e4 * rng.randn(5, 4)), 1.0).astype(np.float64)
    alone, beside = np.full(5, WEIGHT_GRID), np.array([WEIGHT_GRID] * 4 + [WEIGHT_GRID // 2])
    for weigh in (weighted, weighted_roots):
        assert_array_equal(weigh(rows, alone), rows)
        assert_array_equal(weigh(rows, beside)[:4], rows[:4])
