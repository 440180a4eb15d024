import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp.source._integers import WEIGHT_GRID
from skdp.source._principal_model import geometric_edges, noisy_radius, norm_histogram


@pytest.mark.parametrize("quantile", [0.5, 0.9, 1.0])
def test_the_radius_is_the_next_edge_above_the_quantile(rng, make_queries, quantile):
    norms2 = np.floor((1000 * rng.gamma(9, size=2001)) ** 2)
    edges = geometric_edges(1000, 100_000)
    histogram = norm_histogram(norms2, np.full(2001, WEIGHT_GRID), edges)
    radius = noisy_radius(histogram, edges, quantile, make_queries(), "norms")
    exact = np.sqrt(np.quantile(norms2, quantile, method="inverted_cdf"))
    assert exact <= radius < exact * 2**0.26


def test_a_record_moves_one_bin_by_one(rng, make_queries):
    norms2 = np.floor(10.0 ** rng.uniform(0, 12, 500))
    edges = geometric_edges(2**10, 2**18)
    weights = np.full(500, WEIGHT_GRID)
    whole = norm_histogram(norms2, weights, edges)
    order = rng.permutation(500)
    assert_array_equal(norm_histogram(norms2[order], weights, edges), whole)
    for i in range(20):
        rest = norm_histogram(np.delete(norms2, i), weights[1:], edges)
        assert np.abs(whole - rest).sum() == WEIGHT_GRID
    noise = make_queries()
    noisy_radius(whole, edges, 0.9, noise, "norms")
    assert noise.sensitivity == {"norms": WEIGHT_GRID}


def test_without_rows_there_is_a_radius_still(make_queries):
    edges = geometric_edges(10, 100)
    histogram = norm_histogram(np.zeros(0), np.zeros(0, dtype=np.int64), edges)
    for seed in range(5):
        assert 10 <= noisy_radius(histogram, edges, 0.9, make_queries(3.0, seed), "norms") <= 101
