import numpy as np
import pytest

from skdp import DeepFuzzyClassifier


@pytest.fixture
def problem(rng):
    x = rng.rand(80, 2)
    Y = np.c_[np.sin(4 * x[:, 0]), x[:, 0] * x[:, 1], x[:, 1] ** 2] + 0.05 * rng.randn(80, 3)
    return x, Y, rng.rand(7, 2)


@pytest.fixture(scope="session")
def participants():
    return np.array(["anna", "ben", "carl"])


@pytest.fixture(scope="session")
def split(digits, participants):
    """Rows of three participants, and test rows."""
    X, y = digits
    groups = participants[np.arange(len(X)) % 3]
    return X[:1400], X[1400:], y[:1400], y[1400:], groups[:1400]


@pytest.fixture(scope="session")
def together(split):
    X, _, y, _, groups = split
    return DeepFuzzyClassifier(random_state=0).fit(X, y, groups=groups)


@pytest.fixture(scope="session")
def fit_apart(participants):
    """Fit one model for each participant."""

    def fit(split, **settings):
        X, _, y, _, groups = split
        return [
            DeepFuzzyClassifier(random_state=0, **settings).fit(
                X[groups == name], y[groups == name], groups=groups[groups == name]
            )
            for name in participants
        ]

    return fit
