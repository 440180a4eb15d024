import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import DeepFuzzyRegressor


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_queries_are_predicted_by_the_nearest_rule(problem, dtype):
    x, Y, a = problem
    model = DeepFuzzyRegressor(centers=a, max_layers=1).fit(x.astype(dtype), Y)
    mean, std = model.predict(np.array([[1e8, 1e8], [-1e8, 3.0]], dtype=dtype), return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()


def test_predictive_std_covers_new_rows(rng):
    # 95 % intervals of the predictive distribution hold about 95 % of fresh observations.
    def sample(n):
        x = rng.rand(n, 1)
        return x, np.sin(5 * x.ravel()) + 0.2 * rng.randn(n)

    model = DeepFuzzyRegressor(n_inducing=12, random_state=0).fit(*sample(500))
    x, y = sample(4000)
    mean, std = model.predict(x, return_std=True)
    inside = np.mean(np.abs(y - mean) < 1.96 * std)
    assert 0.93 < inside < 0.97


def test_units_do_not_matter(problem):
    x, Y, _ = problem
    scale, shift = np.array([1e-3, 1e4]), np.array([5.0, -1e5])
    plain, other = (
        DeepFuzzyRegressor(random_state=0).fit(rows, outputs)
        for rows, outputs in [(x, Y), (shift + scale * x, 1e4 + 1e3 * Y)]
    )
    assert plain.length_scale_ == other.length_scale_
    mean, std = plain.predict(x, return_std=True)
    other_mean, other_std = other.predict(shift + scale * x, return_std=True)
    assert_allclose(other_mean, 1e4 + 1e3 * mean, rtol=1e-6)
    assert_allclose(other_std, 1e3 * std, rtol=1e-4)


@pytest.mark.parametrize(("frequency", "length_scale"), [(20.0, 0.1), (1.0, 1.0)])
def test_the_width_of_the_sets_follows_the_function(frequency, length_scale, rng):
    x = rng.rand(200, 1)
    y = 100 + np.sin(frequency * x.ravel()) + 0.01 * rng.randn(200)
    model = DeepFuzzyRegressor(random_state=0).fit(x[::2], y[::2])
    assert model.length_scale_ == length_scale
    assert model.score(x[1::2], y[1::2]) > 0.95
    same = DeepFuzzyRegressor(length_scale=length_scale, random_state=0).fit(x[::2], y[::2])
    assert_array_equal(model.predict(x), same.predict(x))
