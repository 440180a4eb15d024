"""The descent of a softmax regression in principal directions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from skdp.source._gradient_model import EncodedRows, descend, exact_gradient
from skdp.source._integers import GRID, WEIGHT_GRID
from skdp.source._logistic_model import LogisticModel, grid_of
from skdp.source._principal_model import WhitenedRows
from skdp.source._problems import SeveralClasses

RADIUS = 2.5
CONSTANT = 0.4
# Norm of the gradient of a row: half of that of a usual row with its constant.
CLIP = 0.5 * np.hypot(0.8 / np.sqrt(3) * RADIUS, CONSTANT)


@pytest.fixture
def whitened(clusters):
    Q, y = clusters
    return WhitenedRows(Q.astype(np.int32), y, np.full(len(Q), WEIGHT_GRID), RADIUS)


def select(whitened, rows):
    return WhitenedRows(
        whitened.codes[rows], whitened.class_indices[rows], whitened.weights[rows], RADIUS
    )


def gradient_of(whitened, weights, n_classes=3):
    grid = grid_of(whitened)
    problem = SeveralClasses(np.full(n_classes, 300.0))
    return exact_gradient(EncodedRows(whitened, grid), problem.residuals, weights, grid.clip)


def clipped_gradient(X, y, weights):
    """Return the sum of the gradients of rows, each clipped, by formulas of its own."""
    residuals = softmax(X @ weights, axis=1) - np.eye(weights.shape[1])[y]
    norms = np.linalg.norm(residuals, axis=1) * np.linalg.norm(X, axis=1)
    residuals *= np.minimum(1, CLIP / np.maximum(norms, 1e-300))[:, np.newaxis]
    return X.T @ residuals


def with_constant(whitened):
    constant = np.full((len(whitened.codes), 1), CONSTANT)
    return np.hstack([whitened.codes * (RADIUS / GRID), constant])


def test_the_gradient_is_that_of_clipped_rows(rng, whitened):
    weights, grid = rng.randn(7, 3), grid_of(whitened)
    found = gradient_of(whitened, weights) * (CLIP / grid.sensitivity)
    expected = clipped_gradient(with_constant(whitened), whitened.class_indices, weights)
    assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_the_gradient_is_the_same_in_any_order_and_the_sum_of_its_rows(rng, whitened):
    weights = rng.randn(7, 3)
    whole = gradient_of(whitened, weights)
    assert_array_equal(gradient_of(select(whitened, rng.permutation(900)), weights), whole)
    rows = [gradient_of(select(whitened, [i]), weights) for i in range(900)]
    assert_array_equal(sum(rows), whole)


@pytest.mark.parametrize("weight", [WEIGHT_GRID, WEIGHT_GRID // 3, 1])
def test_a_record_moves_the_gradient_by_its_sensitivity_at_most(rng, weight):
    Z = rng.standard_cauchy((400, 4))
    codes = np.trunc(Z / np.linalg.norm(Z, axis=1, keepdims=True) * GRID * (1 - 1e-12))
    rows = WhitenedRows(
        codes.astype(np.int32), rng.randint(3, size=400), np.full(400, weight), RADIUS
    )
    bound = grid_of(rows).sensitivity * weight / WEIGHT_GRID
    norms = []
    for scale in (0, 1, 1e3, 1e6):
        weights = scale * rng.randn(5, 3)
        norms += [np.linalg.norm(gradient_of(select(rows, [i]), weights)) for i in range(400)]
    assert max(norms) <= bound
    assert max(norms) > 0.95 * bound - grid_of(rows).constant * 2


def test_the_share_covers_the_sensitivity_of_any_radius():
    share = LogisticModel()._shares_in_directions(3, 6)["gradients"]
    rows = WhitenedRows(np.zeros((1, 6), np.int32), np.zeros(1, int), np.ones(1, int), 0.25)
    assert grid_of(rows).sensitivity <= share.sensitivity


def test_without_noise_it_is_plain_gradient_descent(rng, whitened, make_queries, monkeypatch):
    problem, queries = SeveralClasses(np.full(3, 300.0)), make_queries()
    monkeypatch.setattr(queries, "distance", np.inf, raising=False)
    monkeypatch.setattr(queries, "divide", lambda *asked: None, raising=False)
    problem.first, problem.start = rng.randn(3, 6) / 4, rng.randn(3) / 4
    grid = grid_of(whitened)
    found, _ = descend(EncodedRows(whitened, grid), problem, queries, np.arange(6))
    X = with_constant(whitened)
    weights, velocity, path = np.vstack([problem.first.T, problem.start / CONSTANT]), 0.0, []
    for _ in range(100):
        gradient = clipped_gradient(X, whitened.class_indices, weights)
        velocity = 0.8 * velocity - 2 * problem.step_length * gradient / 900
        weights = weights + velocity
        path.append(weights)
    assert_allclose(found, np.mean(path[50:], axis=0), atol=2e-3)
