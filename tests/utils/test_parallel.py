"""Pools of tasks: results in order, one thread of BLAS, and seeds drawn beforehand."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info

from skdp.utils._parallel import draw_seeds, map_rows, run_tasks


def blas_threads(_=None):
    return max(pool["num_threads"] for pool in threadpool_info())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_run_tasks_keeps_the_order_and_one_thread_each(n_jobs):
    results = run_tasks(
        lambda i: (i, blas_threads()), ((i,) for i in range(20)), 20, n_jobs=n_jobs
    )
    assert results == [(i, 1) for i in range(20)]


def test_thread_pools_are_given_back():
    before = blas_threads()
    run_tasks(blas_threads, [(None,)] * 4, 4, n_jobs=2)
    map_rows(lambda Y: Y, np.zeros((1000, 2)), values_per_row=2, dtype=float, n_jobs=2)
    assert blas_threads() == before


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("n_rows", [1, 511, 512, 513, 2000])
def test_map_rows_is_the_function_applied_at_once(n_rows, n_jobs, rng):
    X = rng.rand(n_rows, 3)
    out = map_rows(
        lambda Y: np.c_[Y.sum(axis=1), Y[:, 0]], X, values_per_row=8, dtype=float, n_jobs=n_jobs
    )
    assert_array_equal(out, np.c_[X.sum(axis=1), X[:, 0]])


@pytest.mark.parametrize("values_per_row", [10_000, 1_000_000])
def test_map_rows_bounds_its_workspace(values_per_row):
    sizes = []

    def function(Y):
        sizes.append(len(Y))
        return Y[:, 0]

    map_rows(function, np.zeros((3000, 1)), values_per_row=values_per_row, dtype=float, n_jobs=2)
    assert max(sizes) == max(1, 16 * 2**20 // (8 * values_per_row))
    assert sum(sizes) == 3000


def test_seeds_are_those_of_scikit_learn():
    bound = np.iinfo(np.int32).max
    seeds = draw_seeds(np.random.RandomState(0), 50)
    assert_array_equal(seeds, np.random.RandomState(0).randint(bound, size=50))
    assert draw_seeds(np.random.RandomState(0)) == seeds[0]
    assert seeds.min() >= 0
