import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp.release import BasisFunctions
from skdp.release._linear_discriminant import constant_form, variance_difference


def forms(basis, X):
    """Return the form of each row, in units of the constant."""
    form, constant = constant_form(basis)
    Z = basis.encode(X)
    return np.einsum("ia,ab,ib->i", Z, form, Z) / constant


def test_the_form_of_categories_is_constant(rng):
    category = np.eye(3)[rng.randint(3, size=40)]
    X = np.column_stack([category, rng.randint(2, size=40)])
    assert_allclose(forms(BasisFunctions.of_columns([3, 3, 3, 1]), X), 1)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-3.0, 40.0)])
def test_the_form_of_numbers_is_nearly_constant(rng, bounds):
    X = np.linspace(*bounds, 500)[:, None]
    found = forms(BasisFunctions.of_columns([0], *bounds), X)
    assert_allclose(found, 1, atol=0.08)
    assert found.std() < 0.02


def test_a_row_that_is_shortened_shows_it(rng):
    basis = BasisFunctions.of_columns([0, 0, 1, 2, 2])
    X = np.column_stack([rng.rand(100, 3), np.eye(2)[rng.randint(2, size=100)]])
    X[:, 2] = X[:, 2].round()
    form, constant = constant_form(basis)
    Z = 0.6 * basis.encode(X)
    assert_allclose(((Z @ form) * Z).sum(axis=1) / constant, 0.36, rtol=0.06)


def test_numbers_without_cosines_have_no_such_form():
    form, constant = constant_form(BasisFunctions.of_columns([0, 0], orders=()))
    assert constant == 0
    assert not form.any()


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


def test_numbers_without_cosines_have_equal_variances():
    basis = BasisFunctions.of_columns([0, 0], orders=())
    some = np.array([0.3, -0.2])
    assert variance_difference(basis, some, some, some, np.ones(2)) == 0
