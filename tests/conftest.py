import os

import numpy as np
import pytest
from sklearn.datasets import load_digits

# Threads of BLAS and OpenMP compete with the test runner's own processes.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture(scope="session")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y
