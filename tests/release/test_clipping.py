"""How much rows were shortened by clipping, and how columns are distributed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import gamma

from skdp.release import BasisFunctions, NoisyStatistics
from skdp.release._clipping import clipping_effect, constant_form, guessed_shrinkage
from skdp.release._linear_discriminant import variance_difference

# Added to each noisy count.
HALF = 0.5


@pytest.mark.parametrize("mean", [0.2, 0.7, 1.0])
def test_the_share_of_clipped_rows_is_recovered(mean):
    squares = gamma.rvs(10.0, scale=mean / 10.0, size=400_000, random_state=0)
    found, beyond = guessed_shrinkage(np.minimum(squares, 1.0).mean(), 0.0, 1.0, 2.0)
    assert found == pytest.approx(np.minimum(1, 1 / squares).mean(), abs=0.08)
    assert beyond == pytest.approx(np.mean(squares > 1), abs=0.15)


def shrinkage_of(Z, basis, radius, noise=0.0, rng=None):
    """Return the mean of c² by the rows, and what is found from clipped ones."""
    factors = np.minimum(1, radius / np.linalg.norm(Z, axis=1))
    clipped = Z * factors[:, None]
    second, none = clipped.T @ clipped, np.zeros(Z.shape[1])
    if noise:
        upper = np.triu(rng.randn(*second.shape) / np.sqrt(2), 1)
        second = second + noise * (upper + upper.T + np.diag(rng.randn(len(second))))
    statistics = NoisyStatistics(
        np.array([len(Z) - HALF]), none, none, np.ones(1), second, radius, 0.0, 0.0, 0.0, noise
    )
    return np.mean(factors**2), clipping_effect(statistics, basis)[0]


@pytest.mark.parametrize("radius", [0.5, 1.0, 1.6, 4.0])
@pytest.mark.parametrize("spread", [0.02, 0.15, 0.5])
def test_shrinkage_is_measured_whatever_the_guess(rng, radius, spread):
    basis = BasisFunctions.of_columns([0, 0, 1, 3, 3, 3])
    numbers = np.clip(0.1 + spread * np.abs(rng.randn(500, 2)), 0, 1)
    category = np.eye(3)[rng.randint(3, size=500)]
    Z = basis.encode(np.column_stack([numbers, rng.randint(2, size=500), category]))
    true, found = shrinkage_of(Z, basis, radius)
    assert found == pytest.approx(true, rel=0.06)


def test_shrinkage_is_the_guess_where_noise_hides_it(rng):
    basis = BasisFunctions.of_columns([1] * 6)
    Z = basis.encode(rng.randint(2, size=(100, 6)))
    for noise, tolerance in ((0.0, 1e-9), (5.0, 0.15), (1e9, 1.0)):
        true, found = shrinkage_of(Z, basis, 0.9, noise, rng)
        assert true == pytest.approx(0.81 / 1.5)
        assert found == pytest.approx(true, rel=tolerance)
        assert 0 < found <= 1


@pytest.mark.parametrize("n_columns", [1, 2, 3, 12])
def test_slopes_of_clipped_rows_are_corrected_by_how_their_lengths_vary(n_columns, rng):
    # Least squares on clipped rows give a function its slope times E[c f²] / E[c² f²].
    basis = BasisFunctions.of_columns([0] * n_columns)
    Z = basis.encode(rng.rand(200_000, n_columns))
    radius = 0.8 * np.sqrt(basis.variances.sum())
    factors = np.minimum(1, radius / np.linalg.norm(Z, axis=1))
    squares = Z[:, np.flatnonzero(basis.order == 1)[0]] ** 2
    true = np.mean(factors * squares) / np.mean(factors**2 * squares)
    clipped = Z * factors[:, None]
    second, none = clipped.T @ clipped, np.zeros(Z.shape[1])
    counts = np.array([len(Z) - HALF])
    statistics = NoisyStatistics(
        counts, none, none, np.ones(1), second, radius, 0.0, 0.0, 0.0, 0.0
    )
    widening = clipping_effect(statistics, basis)[1]
    assert widening == pytest.approx(true * np.sqrt(np.mean(factors**2)), abs=0.01)


def forms(basis, X):
    """Return the form of each row, in units of the constant."""
    form, constant = constant_form(basis, basis.numeric_tables())
    Z = basis.encode(X)
    return np.einsum("ia,ab,ib->i", Z, form, Z) / constant


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-3.0, 40.0)])
def test_the_form_of_numbers_is_nearly_constant(rng, bounds):
    X = np.linspace(*bounds, 500)[:, None]
    found = forms(BasisFunctions.of_columns([0], *bounds), X)
    assert_allclose(found, 1, atol=0.08)
    assert found.std() < 0.02


def difference_of(basis, X, y, weights):
    """Return what is said of the variances of two classes, and what they are."""
    Z = basis.encode(X)
    means = np.array([Z[y == c].mean(axis=0) for c in (0, 1)])
    found = variance_difference(
        basis, weights, means.mean(axis=0), means[1] - means[0], Z.var(axis=0)
    )
    spreads = [np.var(Z[y == c] @ weights) for c in (0, 1)]
    return found, spreads[1] - spreads[0], np.mean(spreads)


def test_variances_of_independent_columns_of_two_values_are_exact(rng):
    y = rng.randint(2, size=200_000)
    X = (rng.rand(200_000, 3) < np.where(y[:, None] == 1, [0.5, 0.1, 0.7], [0.2, 0.3, 0.7])) * 1.0
    found, true, size = difference_of(
        BasisFunctions.of_columns([1] * 3), X, y, np.array([1.0, -2.0, 0.5])
    )
    assert true > 0.1 * size or true < -0.1 * size
    assert found == pytest.approx(true, abs=0.01 * size)


@pytest.mark.parametrize("weights", [[1.0, 0.0, 0.0], [1.0, 0.5, 0.3], [0.5, 1.0, -0.3]])
@pytest.mark.parametrize(
    "columns",
    [
        lambda rng, y: 0.4 + 0.2 * y + 0.1 * rng.randn(len(y)),
        lambda rng, y: 0.5 + 0.02 * y + 0.05 * rng.randn(len(y)),
        lambda rng, y: (0.1 + 0.08 * y) * rng.exponential(size=len(y)),
        lambda rng, y: rng.beta(2 + y, 4),
    ],
    ids=["normal", "narrow", "exponential", "beta"],
)
def test_variances_of_numbers_follow_from_means_of_their_terms(rng, columns, weights):
    y = rng.randint(2, size=100_000)
    X = np.clip(columns(rng, y), 0, 1)[:, None]
    found, true, size = difference_of(BasisFunctions.of_columns([0]), X, y, np.array(weights))
    assert found == pytest.approx(true, abs=0.2 * size)
