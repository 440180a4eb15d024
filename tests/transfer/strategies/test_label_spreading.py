import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import kneighbors_graph

from skdp.transfer.strategies._label_spreading import neighbour_graph, spread


def test_graph_is_that_of_the_nearest_neighbours(rng):
    Z = rng.randn(60, 3)
    graph = neighbour_graph(Z, None).toarray()
    distances = kneighbors_graph(Z, 10, mode="distance").toarray()
    assert_array_equal(graph > 0, distances > 0)
    weights = np.where(distances > 0, np.exp(-2 * (distances / distances.max(1)[:, None]) ** 2), 0)
    assert_allclose(graph, weights / weights.sum(axis=1, keepdims=True))
    assert_allclose(neighbour_graph(Z[:4], None).sum(axis=1), 1)
    assert_allclose(neighbour_graph(np.zeros((5, 2)), None).sum(axis=1), 1)  # all the same row


def test_spreading_solves_its_equation(rng):
    Z = rng.randn(80, 2)
    graph, posteriors = neighbour_graph(Z, None), rng.dirichlet(np.ones(3), 80)
    known = np.zeros(80, dtype=bool)
    exact = np.linalg.solve(np.eye(80) - 0.8 * graph.toarray(), 0.2 * posteriors)
    assert_allclose(spread(graph, posteriors, known), exact, atol=0.8**30)
    known[:5] = True
    assert_array_equal(spread(graph, posteriors, known)[:5], posteriors[:5])
