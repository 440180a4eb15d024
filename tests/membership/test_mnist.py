"""Reference figures on real digits; skipped where MNIST is not at hand."""

import os
from pathlib import Path

import numpy as np
import pytest

from skdp import WideCDMMAClassifier
from skdp.datasets import fetch_mnist


@pytest.fixture(scope="module")
def mnist():
    folder = os.environ.get("SKDP_DATA")
    if not folder or not (Path(folder) / "mnist.npz").is_file():
        pytest.skip("SKDP_DATA names no folder with mnist.npz")
    return fetch_mnist(subset="test", return_X_y=True)


# Errors on 1,000 digits have a standard deviation of 0.5 points; each bound is one below
# what this split gives.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("inference", "n", "accuracy"), [("gamma", 9000, 0.979), ("empirical", 4500, 0.936)]
)
def test_thousands_of_digits(mnist, inference, n, accuracy):
    X, y = mnist
    papers = {"n_components": 20, "error_scale": "shared", "n_layers": 1}
    model = WideCDMMAClassifier(inference=inference, n_jobs=2, random_state=0, **papers)
    model.fit(X[:n], y[:n])
    assert np.mean(model.predict(X[9000:]) == y[9000:]) >= accuracy
