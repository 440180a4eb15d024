import numpy as np
import pytest


def _population(rng, n=400, p=5):
    labels = rng.randint(0, 3, n)
    mixing = rng.randn(3, p, p)
    means = rng.randn(3, p)
    rows = means[labels] + np.einsum("nij,nj->ni", mixing[labels], rng.randn(n, p))
    return rows, labels


@pytest.fixture
def population():
    """Make rows of three classes that differ in mean and covariance."""
    return _population
