"""How much rows were shortened by clipping, and how columns are distributed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp.release import BasisFunctions, NoisyStatistics
from skdp.release._clipping import clipping_effect, constant_form

# Added to each noisy count.
HALF = 0.5


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
    return np.mean(factors**2), clipping_effect(statistics, basis)


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
