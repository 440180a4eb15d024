import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp import DeepFuzzyAutoencoder


def test_membership_is_that_of_the_report(digits):
    X, y = digits
    model = DeepFuzzyAutoencoder(10, random_state=0).fit(X[y == 8])
    errors = ((X - model.reconstruct(X)) ** 2).sum(axis=1)
    assert_allclose(model.membership(X), np.exp(-errors / (2 * 64)), rtol=1e-9)
    assert_allclose(model.transform(X), X @ model.components_.T)
    assert_allclose(model.inverse_transform(model.transform(X)), model.reconstruct(X))


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((6, 3)),
        np.repeat(np.eye(3), 4, axis=0),
        np.c_[np.linspace(0, 1, 20), np.ones(20)],
        np.linspace(0, 1, 30)[:, None],
        np.ones((1, 4)),
        np.eye(4, 30),
    ],
    ids=["all zero", "duplicates", "constant column", "p = 1", "one row", "N < n_components"],
)
def test_degenerate_data_stay_finite(X):
    model = DeepFuzzyAutoencoder(n_inducing=1.0, random_state=0).fit(X)
    assert np.isfinite(model.reconstruct(X)).all()
    assert ((X - model.reconstruct(X)) ** 2).sum() <= 0.05 * (X**2).sum() + 1e-12
