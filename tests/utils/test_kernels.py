import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp.utils._kernels import inverse_squared_range, log_kernel, squared_exponential


def kr(x, z, w):
    """The kernel of two single points, as the paper writes it."""
    return np.exp(-0.5 * sum(w[k] * (x[k] - z[k]) ** 2 for k in range(len(x))))


@pytest.fixture
def problem(rng):
    x = rng.randn(30, 2) * [1.0, 3.0] + [0.0, 5.0]
    return x, rng.randn(6, 2) * [1.0, 3.0] + [0.0, 5.0], inverse_squared_range(x) * 9


def test_kernel_is_the_papers(problem):
    x, a, w = problem
    slow = [[kr(xi, am, w) for am in a] for xi in x]
    assert_allclose(squared_exponential(x, a, w), slow, rtol=1e-12)


def test_kernel_far_from_the_origin(problem):
    x, a, w = problem
    shift = 1e6
    assert_allclose(
        squared_exponential(x + shift, a + shift, w), squared_exponential(x, a, w), rtol=1e-8
    )


def test_log_kernel_is_a_squared_distance_and_never_positive(problem):
    x, a, w = problem
    slow = [[-0.5 * np.sum(w * (xi - am) ** 2) for am in a] for xi in x]
    assert_allclose(log_kernel(x, a, w), slow, rtol=1e-9)
    assert log_kernel(1e8 + x, 1e8 + x, w).max() <= 0


def test_negligible_coordinates_have_no_weight():
    x = np.array([[0.0, 5.0, 1.0], [2.0, 5.0, 1.0 + 1e-9], [4.0, 5.0, 1.0]])
    assert_array_equal(inverse_squared_range(x), [1 / 16, 0.0, 0.0])
    assert_array_equal(inverse_squared_range(np.ones((3, 2))), [0.0, 0.0])
