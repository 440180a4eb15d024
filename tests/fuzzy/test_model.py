"""The deep fuzzy model against the report's formulas solved directly."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import DeepFuzzyAutoencoder, DeepFuzzyRegressor
from skdp.fuzzy._model import normalized_memberships
from skdp.utils._kernel_regression import inverse_squared_range

N_ITER = 30
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# As the report has it.
PaperRegressor = partial(DeepFuzzyRegressor, length_scale=1.0, standardize=False)
exactly = {"tol": 0.0, "max_iter": N_ITER}


def slow_memberships(x, a, w):
    """(2.110), with the exponentials as printed: only for inputs near the centers."""
    mu = np.array([[np.exp(-0.5 * np.sum(w * (xi - am) ** 2)) for am in a] for xi in x])
    return mu / mu.sum(axis=1, keepdims=True)


def slow_layer(K, Y):
    """(2.150)-(2.154) with inverses, one output at a time."""
    N, p = Y.shape
    M = K.shape[1]
    beta = 1.0
    for _ in range(N_ITER):
        Lambda = 1e-6 * np.eye(M) + beta * K.T @ K
        m = np.column_stack([np.linalg.solve(Lambda, beta * K.T @ Y[:, j]) for j in range(p)])
        a_hat = 1e-6 + 0.5 * p * N
        b_hat = 1e-6 + 0.5 * sum(
            np.sum((Y[:, j] - K @ m[:, j]) ** 2) + np.trace(np.linalg.inv(Lambda) @ K.T @ K)
            for j in range(p)
        )
        beta = a_hat / b_hat
    Lambda = 1e-6 * np.eye(M) + beta * K.T @ K
    return np.linalg.solve(Lambda, beta * K.T @ Y), beta, np.linalg.inv(Lambda)


def test_one_layer_equals_direct_solves(problem):
    x, Y, a = problem
    model = PaperRegressor(centers=a, max_layers=1, **exactly).fit(x, Y)
    K = slow_memberships(x, a, inverse_squared_range(x))
    alpha, beta, covariance = slow_layer(K, Y)
    mean, std = model.predict(x, return_std=True)
    variance = [k @ covariance @ k + 1 / beta for k in K]
    assert_array_equal(model.centers_, a)
    assert_allclose(model.precisions_, [beta], rtol=1e-6)
    assert_allclose(mean, K @ alpha, rtol=1e-6)
    assert_allclose(std, np.sqrt(variance)[:, None] * np.ones(3), rtol=1e-6)


def test_autoencoder_layers_share_centers_and_read_projected_outputs(problem):
    _, Y, a = problem
    moment = Y.T @ Y / len(Y)
    V = np.linalg.eigh(moment)[1][:, ::-1][:, :2]
    model = DeepFuzzyAutoencoder(2, centers=a, max_layers=6, **exactly).fit(Y)
    V = V * np.sign(np.sum(V * model.components_.T, axis=0))
    assert_allclose(model.components_, V.T, atol=1e-9)
    x = Y @ V
    w = inverse_squared_range(x)
    betas, output = [], None
    for _ in range(6):
        K = slow_memberships(x, a, w)
        alpha, beta, _ = slow_layer(K, Y)
        if betas and beta <= betas[-1]:
            break
        betas.append(beta)
        output = K @ alpha
        x = output @ V
    assert_allclose(model.precisions_, betas, rtol=1e-6)
    assert_allclose(model.reconstruct(Y), output, rtol=1e-6)
    assert (np.diff(model.precisions_) > 0).all()


def test_layers_are_added_while_the_precision_grows(problem):
    x, Y, _ = problem
    counts = []
    for most in (1, 2, 10):
        model = PaperRegressor(n_inducing=5, max_layers=most, random_state=0).fit(x, Y)
        assert (np.diff(model.precisions_) > 0).all()
        assert model.n_layers_ == len(model.precisions_) <= most
        counts.append(model.n_layers_)
    assert counts[0] == 1 < counts[2]


def test_memberships_far_away_do_not_underflow():
    centers = np.array([[0.0, 0.0], [1.0, 0.0]])
    far = np.array([[1e6, 0.0], [-1e6, 0.0], [0.5, 1e6]])
    K = normalized_memberships(far, centers, np.ones(2))
    assert_allclose(K, [[0, 1], [1, 0], [0.5, 0.5]], atol=1e-9)


def test_other_membership_functions(problem):
    x, Y, a = problem
    gaussian = PaperRegressor(centers=a, max_layers=1).fit(x, Y)
    same = PaperRegressor(
        centers=a, max_layers=1, membership_function=lambda squared: -0.5 * squared
    ).fit(x, Y)
    cauchy = PaperRegressor(
        centers=a, max_layers=1, membership_function=lambda squared: -np.log1p(squared)
    ).fit(x, Y)
    assert_allclose(same.predict(x), gaussian.predict(x), rtol=1e-9)
    assert np.abs(cauchy.predict(x) - gaussian.predict(x)).max() > 1e-3
    w = inverse_squared_range(x)
    mu = 1 / (1 + (w * (x[:, None] - a[None]) ** 2).sum(axis=2))
    K = mu / mu.sum(axis=1, keepdims=True)
    fitted = K @ np.linalg.lstsq(K, Y, rcond=None)[0]  # the prior hardly shrinks
    assert_allclose(cauchy.predict(x), fitted, atol=1e-3)
