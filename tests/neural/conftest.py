"""Data and settings so small that networks take a tenth of a second."""

import pytest

SMALL = {"hidden_layer_sizes": (6, 4), "n_epochs": 2, "batch_size": 50, "random_state": 0}


@pytest.fixture
def small():
    """Settings of a small dense network."""
    return dict(SMALL)


@pytest.fixture(scope="session")
def some_digits(digits):
    X, y = digits
    return X[:300], y[:300]


@pytest.fixture(scope="session")
def fitted(some_digits):
    from skdp.neural import AdaptiveLaplaceClassifier

    return AdaptiveLaplaceClassifier(**SMALL).fit(*some_digits)
