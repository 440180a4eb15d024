import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from skdp.release.statistics._descent import (
    N_STEPS,
    exact_gradient,
    integer_residuals,
    softmax_regression,
)
from skdp.release.statistics._exact import GRID, WEIGHT_GRID
from skdp.release.statistics._whitening import WhitenedRows


@pytest.fixture
def whitened(clusters):
    Q, y = clusters
    return WhitenedRows(Q.astype(np.int32), y, np.full(len(Q), WEIGHT_GRID), 2.5)


def select(whitened, here):
    return WhitenedRows(
        whitened.codes[here], whitened.class_indices[here], whitened.weights[here], 2.5
    )


def test_residuals_are_those_of_softmax(rng):
    scores, y = 5 * rng.randn(2000, 7), rng.randint(7, size=2000)
    residuals = integer_residuals(scores, y, np.full(2000, WEIGHT_GRID)) / WEIGHT_GRID
    assert_allclose(residuals, np.eye(7)[y] - softmax(scores, axis=1), atol=3e-6)


@pytest.mark.parametrize("weight", [WEIGHT_GRID, WEIGHT_GRID // 3, 1])
def test_residuals_never_exceed_their_bound(rng, weight):
    scores = rng.standard_cauchy((20_000, 5)) * 10.0 ** rng.randint(-8, 9, (20_000, 1))
    scores[:5] = 1e300 * np.eye(5)
    y = rng.randint(5, size=20_000)
    residuals = integer_residuals(scores, y, np.full(20_000, weight)).astype(np.int64)
    assert ((residuals**2).sum(axis=1) <= 2 * weight**2).all()
    assert (residuals**2).sum(axis=1).max() > 1.99 * weight**2 - 1


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
    softmax_regression(rows, 3, 400, noise)
    bound = noise.sensitivity["gradients"]
    norms = []
    for scale in (0, 1, 1e3):
        weights = scale * rng.randn(5, 3)
        norms += [np.linalg.norm(exact_gradient(select(rows, [i]), weights)) for i in range(400)]
    assert 0.95 * bound < max(norms) <= bound


def test_without_noise_it_is_plain_gradient_descent(whitened, make_queries):
    noise = make_queries()
    coefficients, intercepts = softmax_regression(whitened, 3, 900, noise)
    X = np.hstack([whitened.codes / GRID, np.full((900, 1), 0.25)])
    targets = np.eye(3)[whitened.class_indices]
    weights, velocity, path = np.zeros((7, 3)), 0.0, []
    for _ in range(N_STEPS):
        velocity = 0.9 * velocity + X.T @ (targets - softmax(X @ weights, axis=1)) / 900
        weights = weights + 0.25 * 2.5**2 * velocity
        path.append(weights)
    average = np.mean(path[-N_STEPS // 2 :], axis=0)
    assert_allclose(coefficients, average[:-1].T / 2.5, atol=2e-3)
    assert_allclose(intercepts, average[-1] / 4, atol=2e-3)
