import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from skdp.source._integers import GRID, WEIGHT_GRID
from skdp.source._logistic_model import (
    N_STEPS,
    exact_gradient,
    integer_residuals,
    softmax_regression,
)
from skdp.source._principal_model import WhitenedRows


@pytest.fixture
def whitened(clusters):
    Q, y = clusters
    return WhitenedRows(Q.astype(np.int32), y, np.full(len(Q), WEIGHT_GRID), 2.5)


def select(whitened, here):
    return WhitenedRows(
        whitened.codes[here], whitened.class_indices[here], whitened.weights[here], 2.5
    )


def clipped_residuals(scores, y):
    """Return what one_hot(y) - softmax(scores) is after rows longer than 1/2 were clipped."""
    residuals = np.eye(scores.shape[1])[y] - softmax(scores, axis=1)
    norms = np.linalg.norm(residuals, axis=1, keepdims=True)
    return residuals * np.minimum(1, 0.5 / np.maximum(norms, 1e-300))


def test_residuals_are_those_of_softmax(rng):
    scores, y = 5 * rng.randn(2000, 7), rng.randint(7, size=2000)
    residuals = integer_residuals(scores, y, np.full(2000, WEIGHT_GRID)) / WEIGHT_GRID
    assert_allclose(residuals, clipped_residuals(scores, y), atol=3e-6)
    short = np.linalg.norm(residuals, axis=1) < 0.499
    assert 0.05 < short.mean() < 0.95
    plain = np.eye(7)[y] - softmax(scores, axis=1)
    assert_allclose(residuals[short], plain[short], atol=3e-6)


@pytest.mark.parametrize("weight", [WEIGHT_GRID, WEIGHT_GRID // 3, 1])
def test_residuals_never_exceed_their_bound(rng, weight):
    scores = rng.standard_cauchy((20_000, 5)) * 10.0 ** rng.randint(-8, 9, (20_000, 1))
    scores[:5] = 1e300 * np.eye(5)
    y = rng.randint(5, size=20_000)
    residuals = integer_residuals(scores, y, np.full(20_000, weight)).astype(np.int64)
    assert (4 * (residuals**2).sum(axis=1) <= weight**2).all()
    assert 4 * (residuals**2).sum(axis=1).max() > 0.99 * weight**2 - 1


def test_the_gradient_is_the_same_in_any_order_and_the_sum_of_its_rows(rng, whitened):
    weights = rng.randn(7, 3) * 20
    whole = exact_gradient(whitened, weights)
    assert_array_equal(exact_gradient(select(whitened, rng.permutation(900)), weights), whole)
    rows = [exact_gradient(select(whitened, [i]), weights) for i in range(900)]
    assert_array_equal(sum(rows), whole)


def test_a_record_moves_the_gradient_by_its_sensitivity_at_most(rng, make_queries):
    Z = rng.standard_cauchy((400, 4))
    codes = np.trunc(Z / np.linalg.norm(Z, axis=1, keepdims=True) * GRID * (1 - 1e-12))
    rows = WhitenedRows(
        codes.astype(np.int32), rng.randint(3, size=400), np.full(400, WEIGHT_GRID), 1.0
    )
    noise = make_queries()
    softmax_regression(rows, (np.zeros((3, 4)), np.zeros(3)), 400, noise)
    bound = noise.sensitivity["gradients"]
    norms = []
    for scale in (0, 1, 1e3):
        weights = scale * rng.randn(5, 3)
        norms += [np.linalg.norm(exact_gradient(select(rows, [i]), weights)) for i in range(400)]
    assert 0.95 * bound < max(norms) <= bound


def test_without_noise_it_is_plain_gradient_descent(rng, whitened, make_queries):
    start = rng.randn(3, 6), rng.randn(3)
    coefficients, intercepts = softmax_regression(whitened, start, 900, make_queries())
    X = np.hstack([whitened.codes / GRID, np.full((900, 1), 0.25)])
    weights, velocity, path = np.vstack([2.5 * start[0].T, 4 * start[1]]), 0.0, []
    for _ in range(N_STEPS):
        residuals = clipped_residuals(X @ weights, whitened.class_indices)
        velocity = 0.9 * velocity + X.T @ residuals / 900
        weights = weights + 2.0 * 2.5**2 * velocity
        path.append(weights)
    average = np.mean(path[-N_STEPS // 2 :], axis=0)
    assert_allclose(coefficients, average[:-1].T / 2.5, atol=2e-3)
    assert_allclose(intercepts, average[-1] / 4, atol=2e-3)


@pytest.mark.parametrize("sigma", [0.1, 10.0])
def test_strong_noise_makes_steps_shorter(sigma, whitened, make_queries, monkeypatch):
    queries, answers = make_queries(sigma), []
    add = queries.add
    monkeypatch.setattr(queries, "add", lambda *a: answers.append(add(*a)) or answers[-1])
    coefficients, intercepts = softmax_regression(
        whitened, (np.zeros((3, 6)), np.zeros(3)), 900, queries
    )
    noise = sigma * 0.5 * np.sqrt(1 + 1 / 16) * 2.5 / 900
    rate = 2.0 if sigma == 0.1 else 2.0 * np.sqrt(0.001 / noise)
    assert rate <= 2
    weights, velocity, path = np.zeros((7, 3)), 0.0, []
    for answer in answers:
        velocity = 0.9 * velocity + answer / (GRID * WEIGHT_GRID * 900)
        weights = weights + rate * 2.5**2 * velocity
        path.append(weights)
    average = np.mean(path[-N_STEPS // 2 :], axis=0)
    assert_allclose(coefficients, average[:-1].T / 2.5, rtol=1e-6)
    assert_allclose(intercepts, average[-1] / 4, rtol=1e-6)
