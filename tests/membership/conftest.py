import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import train_test_split


@pytest.fixture
def eights(digits):
    X, y = digits
    return X[y == 8]


@pytest.fixture(scope="session")
def split(digits):
    return train_test_split(*digits, test_size=500, random_state=0)


@pytest.fixture(scope="session")
def check_reconstruction():
    return _check_reconstruction


def _check_reconstruction(autoencoder, X):
    """The output is the layer output nearest to each row, and the error its distance."""
    outputs = autoencoder.layer_outputs(X)
    distances = ((outputs - X) ** 2).sum(axis=2)
    rows = np.arange(len(X))
    winners = outputs[distances.argmin(axis=0), rows]
    assert outputs.shape == (autoencoder.n_layers, *X.shape)
    assert_allclose(autoencoder.reconstruct(X), winners, rtol=1e-12)
    assert_allclose(autoencoder.reconstruction_error(X), distances.min(axis=0), rtol=1e-9)
