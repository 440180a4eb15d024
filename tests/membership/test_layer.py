import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp.membership._layer import fit_layer
from skdp.utils._kernel_regression import squared_exponential


@pytest.fixture
def problem(rng):
    x = rng.rand(60, 3)
    return x, np.c_[np.sin(4 * x[:, 0]), x[:, 1] * x[:, 2]]


def fit(x, Y, **settings):
    settings = {"n_inducing": 15, "inference": "gamma", "nu": 2.1} | settings
    return fit_layer(x, Y, random_state=np.random.RandomState(0), **settings)


@pytest.mark.parametrize("inference", ["gamma", "empirical"])
def test_fitted_values_are_the_predictions_of_the_training_inputs(problem, inference):
    x, Y = problem
    layer, fitted = fit(x, Y, inference=inference)
    assert_allclose(layer.predict(x), fitted, rtol=1e-7, atol=1e-9)
    kernel = squared_exponential(x, layer.inducing_points, layer.weights)
    assert_allclose(layer.predict(x), kernel @ layer.coef)


def test_given_points_are_used_and_other_dtypes_follow(problem):
    x, Y = problem
    layer, _ = fit(x, Y, inducing_points=x[:7])
    assert_allclose(layer.inducing_points, x[:7])
    single = layer.astype(np.float32)
    assert single.predict(x.astype(np.float32)).dtype == np.float32
    assert_allclose(single.predict(x.astype(np.float32)), layer.predict(x), atol=1e-4)
    assert single.precision == layer.precision


def test_only_empirical_inference_drops_inducing_points(problem):
    x, Y = problem
    assert len(fit(x, Y, n_inducing=60)[0].inducing_points) == 60
    assert len(fit(x, Y, n_inducing=60, inference="empirical")[0].inducing_points) < 60


def test_fitted_values_have_the_dtype_of_the_outputs(problem):
    x, Y = problem
    assert fit(x, Y.astype(np.float32))[1].dtype == np.float32
