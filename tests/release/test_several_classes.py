"""Scores of more than two classes: calibrated on rows that are simulated from noisy sums."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from scipy.stats import beta, norm

from skdp.release import BasisFunctions, NoisyStatistics, linear_scores
from skdp.release._basis import column_density
from skdp.release._linear_discriminant import Population
from skdp.release._several_classes import (
    _LEAST_RATIO,
    _OUTLIERS,
    RowSimulator,
    _posterior_of_classes,
    _rescaling,
    _Simulation,
    _softmax_map,
)

PI = np.array([0.2, 0.5, 0.3])


def normal_classes(rng, n, noise=0.0, spread=0.12, n_columns=6):
    """Return noisy sums of normal classes, and a function that draws more of their rows."""
    means, variances = spread * rng.randn(3, n_columns), rng.uniform(0.02, 0.06, n_columns)
    basis = BasisFunctions.of_columns([0] * n_columns, orders=())

    def draw(size):
        y = rng.choice(3, size, p=PI)
        return means[y] + np.sqrt(variances) * rng.randn(size, n_columns), y

    z, y = draw(n)
    E, t = np.eye(3)[y], n_columns
    upper = np.triu(rng.randn(t, t) / np.sqrt(2), 1)

    def noisy(exact):
        return exact + noise * rng.randn(*exact.shape)

    second = z.T @ z + noise * (upper + upper.T + np.diag(rng.randn(t)))
    sums = noisy(E.sum(axis=0)), noisy(z.sum(axis=0)), noisy((E - PI).T @ z)
    statistics = NoisyStatistics(*sums, PI, second, 9.0, noise, noise, noise, noise)

    def log_posterior(Z):
        density = norm(means, np.sqrt(variances)).logpdf(Z[:, None]).sum(axis=2)
        return density + np.log(PI)

    return statistics, basis, draw, log_posterior


def log_loss(scores, y):
    return -log_softmax(scores, axis=1)[np.arange(len(y)), y].mean()


def best_slope(scores, y):
    """Return what scores are best multiplied by."""
    found = minimize_scalar(lambda a: log_loss(a * scores, y), bounds=(0.05, 10), method="bounded")
    return found.x


@pytest.mark.parametrize("spread", [0.06, 0.15, 0.3])
def test_without_noise_normal_classes_have_their_log_posteriors(rng, spread):
    statistics, basis, draw, log_posterior = normal_classes(rng, 100_000, spread=spread)
    linear = linear_scores(statistics, basis)
    Z, y = draw(20_000)
    scores = Z @ linear.coefficients.T + linear.intercepts
    assert log_loss(scores, y) < log_loss(log_posterior(Z), y) + 0.005
    assert best_slope(scores, y) == pytest.approx(1, abs=0.15)
    assert_allclose(softmax(scores, axis=1).mean(axis=0), PI, atol=0.02)


@pytest.mark.parametrize("noise", [20.0, 60.0])
def test_probabilities_allow_for_noise(rng, noise):
    claimed, right, slopes = [], [], []
    for _ in range(8):
        statistics, basis, draw, _ = normal_classes(rng, 2000, noise)
        linear = linear_scores(statistics, basis)
        Z, y = draw(5000)
        scores = Z @ linear.coefficients.T + linear.intercepts
        claimed.append(softmax(scores, axis=1).max(axis=1).mean())
        right.append((scores.argmax(axis=1) == y).mean())
        slopes.append(best_slope(scores, y))
    assert np.mean(claimed) == pytest.approx(np.mean(right), abs=0.04)
    assert np.median(slopes) == pytest.approx(1, abs=0.25)


def test_the_softmax_map_undoes_a_wrong_temperature_and_intercept(rng):
    # Scores of classes of one covariance, e_c·d against each other, are known.
    y = np.repeat(np.arange(3), 4000)
    s = 1.5 * np.eye(3)[y] + rng.randn(len(y), 3)
    exact = 1.5 * s + np.log(PI)
    wrong = 3 * exact + np.array([1.0, -2.0, 1.0])
    parts = [wrong[y == c] for c in range(3)]
    matrix, shift = _softmax_map(parts, PI)
    found = softmax(wrong @ matrix.T + shift, axis=1)
    errors = [np.abs(found - softmax(a * exact, axis=1)).mean() for a in (0.9, 1.0, 1.1)]
    assert errors[1] < 0.01 < min(errors[0], errors[2])


def test_far_classes_keep_a_share_of_outliers():
    parts = [np.full((50, 3), 100.0) * np.eye(3)[c] for c in range(3)]
    matrix, shift = _softmax_map(parts, np.full(3, 1 / 3))
    found = softmax(100 * matrix.T + shift, axis=1)
    assert_allclose(found, (1 - _OUTLIERS) * np.eye(3) + _OUTLIERS / 3, atol=2e-3)


def of_means(rng, counts, means, noise):
    """Return the sums of rows of classes with these means, and their basis."""
    counts, (K, t) = np.asarray(counts), means.shape
    n, pi = counts.sum(), np.maximum(counts, 1) / np.maximum(counts, 1).sum()
    y = np.repeat(np.arange(K), counts)
    z = means[y] + np.sqrt(0.05) * rng.randn(n, t)
    upper = np.triu(rng.randn(t, t) / np.sqrt(2), 1)
    second = z.T @ z + noise * (upper + upper.T + np.diag(rng.randn(t)))
    exact = counts, z.sum(axis=0), (np.eye(K)[y] - pi).T @ z
    sums = [array + noise * rng.randn(*array.shape) for array in exact]
    statistics = NoisyStatistics(*sums, pi, second, 9.0, noise, noise, noise, noise)
    return statistics, BasisFunctions.of_columns([0] * t, orders=()), z, y


def probabilities(linear, Z, some=slice(None)):
    scores = Z @ linear.coefficients[some].T + linear.intercepts[some]
    return softmax(scores, axis=1)


def test_rare_classes_do_not_erase_the_others(rng):
    # With one prior of all class means, from their noisy lengths, the probabilities of one draw
    # were the frequencies.
    counts, spreads, gains = [900, 700, 382, 8, 4, 4, 2], [], []
    pi = np.array(counts) / 2000
    for _ in range(6):
        statistics, basis, Z, y = of_means(rng, counts, 0.08 * rng.randn(7, 12), 25.0)
        p = probabilities(linear_scores(statistics, basis), Z)
        spreads.append(np.ptp(p[:, 0]))
        gains.append(np.log(p[np.arange(2000), y]).mean() - pi @ np.log(pi))
    assert min(spreads) > 0.8
    assert min(gains) > 0.1


@pytest.mark.parametrize("noise", [0.01, 1.0, 12.0])
def test_a_class_without_rows_hardly_changes_the_others(rng, noise):
    means = np.vstack([0.15 * rng.randn(3, 12), np.zeros(12)])
    of_all, basis, Z, _ = of_means(rng, [900, 700, 400, 0], means, noise)
    left, pi = slice(3), of_all.frequencies[:, :3]
    fewer = {"counts": of_all.counts[:, left], "contrast": of_all.contrast[left]}
    without = replace(of_all, **fewer, frequencies=pi / pi.sum())
    expected = probabilities(linear_scores(without, basis), Z)
    assert np.ptp(expected[:, 0]) > 0.9
    found = probabilities(linear_scores(of_all, basis), Z, left)
    assert np.abs(found - expected).mean() < 0.015


def test_many_classes_whose_counts_are_noise(rng):
    counts, means = [900, 700, 400, *[0] * 20], 0.15 * rng.randn(23, 12)
    for _ in range(3):
        statistics, basis, Z, y = of_means(rng, counts, means, 12.0)
        p = probabilities(linear_scores(statistics, basis), Z)
        assert np.ptp(p[:, 0]) > 0.9
        assert p[:, 3:].sum(axis=1).mean() < 0.2
        assert (p.argmax(axis=1) == y).mean() > 0.7


def test_without_noise_weights_are_those_of_the_discriminant(rng):
    means, counts = 0.3 * rng.randn(5, 4), [80_000, 60_000, 40_000, 20_000, 9_000]
    statistics, basis, *_ = of_means(rng, counts, means, 0.0)
    population = Population.of(statistics, basis.variances)
    W, none = 0.05 * np.eye(4), np.zeros((4, 4))
    population = replace(population, within=W, within_errors=none)
    weights, offsets, uncertainty = _posterior_of_classes(population)
    assert_allclose(offsets, means - population.frequencies @ means, atol=0.01)
    assert_allclose(weights - weights[0], (means - means[0]) / 0.05, atol=0.2)
    assert np.abs(uncertainty).max() < 1e-3


def test_rescaling_gives_another_covariance_but_for_its_floor(rng):
    A, B = rng.randn(2, 40, 4)
    rows = A @ (np.eye(4) - 0.25)  # of sum zero
    B = B @ (np.eye(4) - 0.25)
    simulated, wanted = rows.T @ rows, 10 * B.T @ B
    scaled = rows @ _rescaling(simulated, wanted)
    assert_allclose(scaled.T @ scaled, wanted)
    scaled = rows @ _rescaling(simulated, 0 * wanted)
    assert_allclose(scaled.T @ scaled, _LEAST_RATIO * simulated)


def test_simulated_columns_have_the_means_of_the_class_and_their_correlation(rng):
    basis = BasisFunctions.of_columns([0, 1, 0, 1], orders=(2,))
    X = np.clip(rng.multivariate_normal([0.5, 0, 0.4, 0], _COVARIANCE, 50_000), -3, 3)
    X[:, [1, 3]] = X[:, [1, 3]] > [0.1, 0.3]
    Z = basis.encode(np.clip(X, 0, 1))
    drawn = RowSimulator(basis, np.cov(Z.T)).draw(Z.mean(axis=0), 50_000, rng)
    assert_allclose(drawn.mean(axis=0), Z.mean(axis=0), atol=0.01)
    assert_allclose(drawn.std(axis=0), Z.std(axis=0), rtol=0.1)
    found, expected = np.corrcoef(drawn.T), np.corrcoef(Z.T)
    assert found[0, 2] == pytest.approx(expected[0, 2], abs=0.05)
    # Of two values, correlation is attenuated.
    assert 0.4 < found[1, 3] / expected[1, 3] < 1


_COVARIANCE = np.array([[0.02, 0, 0.01, 0], [0, 1, 0, 0.7], [0.01, 0, 0.02, 0], [0, 0.7, 0, 1.0]])


def test_column_density_is_a_beta_distribution():
    values = 2 * (np.arange(256) + 0.5) / 256 - 1
    density = column_density(values, 0.2, 0.1)
    assert density.sum() == pytest.approx(1)
    assert density @ values == pytest.approx(0.2, abs=1e-3)
    assert density @ values**2 - 0.2**2 == pytest.approx(0.1, rel=0.02)
    size = 0.6 * 0.4 / 0.025 - 1
    exact = beta.pdf((values + 1) / 2, 0.6 * size, 0.4 * size)
    assert_allclose(density, exact / exact.sum(), atol=1e-4)
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(column_density(values, 5.0, -1.0)).all()


def test_separations_are_those_of_every_pair(rng):
    K = 4
    squares = rng.randn(2, K, K, K)
    uncertainty, within = squares @ squares.transpose(0, 1, 3, 2)
    centers, matrix = rng.randn(K, K), rng.randn(K, K)
    found = _Simulation([], centers, uncertainty, within).separations(matrix)
    for a in range(K):
        for b in range(K):
            w = matrix[a] - matrix[b]
            spread, width = uncertainty[a] + uncertainty[b], (within[a] + within[b]) / 2
            expected = w @ (centers[a] - centers[b]), np.sqrt(w @ spread @ w), w @ width @ w
            assert_allclose([each[a, b] for each in found], expected, atol=1e-12)
