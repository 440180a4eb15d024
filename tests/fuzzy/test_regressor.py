import numpy as np
import pytest

from skdp import DeepFuzzyAutoencoder, DeepFuzzyRegressor


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


def test_centers_of_the_wrong_width_are_refused(problem):
    x, Y, a = problem
    with pytest.raises(ValueError, match=r"'centers'.*2 columns.*got 1"):
        DeepFuzzyRegressor(centers=a[:, :1]).fit(x, Y)
    with pytest.raises(ValueError, match=r"'centers' parameter of DeepFuzzyAutoencoder"):
        DeepFuzzyAutoencoder(3, centers=a).fit(Y)
