import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp.release import BasisFunctions


def test_terms_are_those_of_the_formula(rng):
    sizes = [0, 1, 3, 3, 3, 0]
    category = rng.randint(3, size=50)
    X = np.column_stack(
        [rng.rand(50), rng.randint(2, size=50), np.eye(3)[category], rng.rand(50)]
    ).astype(float)
    steps = np.rint(X * 2**16) / 2**16
    expected = np.column_stack(
        [
            2 * (X[:, 0] - 0.5),
            np.where(X[:, 1] == 1, 0.5, -0.5),
            *(0.7 * ((category == c) - 1 / 3) for c in range(3)),
            2 * (X[:, 5] - 0.5),
            *(-np.cos(j * np.pi * steps[:, c]) / np.sqrt(j) for j in (2, 3) for c in (0, 5)),
        ]
    )
    basis = BasisFunctions.of_columns(sizes)
    assert_allclose(basis.encode(X), expected, atol=1e-12)
    assert_array_equal(basis.column, [0, 1, 2, 3, 4, 5, 0, 5, 0, 5])
    assert_array_equal(basis.order, [1] * 6 + [2] * 2 + [3] * 2)


def test_bounds_move_with_the_column(rng):
    sizes, low, high = [0, 1, 2], np.array([-3.0, 2.0, 0.0]), np.array([5.0, 4.0, 10.0])
    unit = rng.rand(30, 3)
    basis = BasisFunctions.of_columns(sizes, low, high)
    assert_allclose(
        basis.encode(low + unit * (high - low)),
        BasisFunctions.of_columns(sizes).encode(unit),
        atol=1e-12,
    )
    assert_array_equal(basis.variances, BasisFunctions.of_columns(sizes).variances)


def test_values_outside_are_clipped():
    basis = BasisFunctions.of_columns([0, 1, 4])
    inside = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    outside = np.array([[-7.0, 3.0, -0.1], [1.5, -1e300, 1.1]])
    assert_array_equal(basis.encode(outside), basis.encode(inside))


@pytest.mark.parametrize("k", [2, 5, 40])
def test_guesses_are_variances_of_uniform_columns(rng, k):
    n = 200_000
    indicator = rng.randint(k, size=n) == 0
    X = np.column_stack([rng.rand(n), rng.randint(2, size=n), indicator]).astype(float)
    basis = BasisFunctions.of_columns([0, 1, k])
    assert_allclose(basis.encode(X).var(axis=0), basis.variances, rtol=0.05)
    assert_allclose((basis.encode(X) ** 2).mean(axis=0), basis.variances, rtol=0.05)


def test_terms_of_some_columns_are_the_same_functions(rng):
    basis = BasisFunctions.of_columns(
        [0, 1, 0, 3, 3, 3], low=np.arange(6), high=np.arange(6) + 2.0
    )
    columns = np.array([5, 2, 0])
    part, places = basis.select(columns)
    X = np.arange(6) + 2 * rng.rand(20, 6)
    np.testing.assert_array_equal(part.encode(X[:, columns]), basis.encode(X)[:, places])
    # Linear terms first, in the order of the columns, as those that are made of columns.
    assert part.column.tolist() == [0, 1, 2, 1, 2, 1, 2]
    assert part.order.tolist() == [1, 1, 1, 2, 2, 3, 3]


def test_functions_are_found_in_another_basis(rng):
    sizes, low, high = [0, 1, 3, 3, 3, 0], np.arange(6), np.arange(6) + 2.0
    few = BasisFunctions.of_columns(sizes, low, high)
    many = BasisFunctions.of_columns(sizes, low, high, orders=range(2, 6))
    # In another order of functions, without two that the few have.
    order = rng.permutation(len(many.column))
    left_out = {(0, 3), (4, 1)}
    order = [k for k in order if (many.column[k], many.order[k]) not in left_out]
    some = BasisFunctions(**{name: value[order] for name, value in vars(many).items()})
    expected, kept = [], []
    for i in range(len(few.column)):
        for k in range(len(some.column)):
            if few.column[i] == some.column[k] and few.order[i] == some.order[k]:
                expected.append(k)
                kept.append(i)
    assert len(kept) == len(few.column) - 2
    assert_array_equal(few.places_in(some), expected)
    X = low + 2 * rng.rand(20, 6)
    assert_array_equal(some.encode(X)[:, few.places_in(some)], few.encode(X)[:, kept])
    assert_array_equal(few.places_in(many), few.places_in(few))
