import numpy as np
import pytest


class Rows:
    """Rows in memory as integers, in chunks."""

    def __init__(self, Q, class_indices, weights=None, size=37):
        self.Q, self.class_indices, self.weights, self.size = Q, class_indices, weights, size
        self.centre, self.radius = np.zeros(Q.shape[1]), 3.0

    def chunks(self):
        for start in range(0, len(self.Q), self.size):
            here = slice(start, start + self.size)
            weights = None if self.weights is None else self.weights[here]
            yield self.Q[here].astype(np.float64), self.class_indices[here], weights


class Recorder:
    """Adds normal noise of some scale, and keeps what was asked."""

    def __init__(self, sigma=0.0, seed=0):
        self.sigma, self.rng, self.exact, self.sensitivity = (
            sigma,
            np.random.RandomState(seed),
            {},
            {},
        )
        self.shares = {}

    def standard_deviation(self, sensitivity, share):
        return self.sigma * sensitivity / np.sqrt(share)

    def add(self, name, exact, sensitivity, share, scales=None):
        assert exact.dtype == np.int64
        assert name not in self.exact
        self.exact[name], self.sensitivity[name], self.shares[name] = exact, sensitivity, share
        noise = self.rng.standard_normal(exact.shape) * (1.0 if scales is None else scales)
        return exact + self.standard_deviation(sensitivity, share) * noise


@pytest.fixture
def clusters(rng):
    """Return integer rows of three classes of two clusters each, and their class indices."""
    y = rng.randint(3, size=900)
    centres = rng.uniform(-1, 1, (3, 2, 6))
    Z = centres[y, rng.randint(2, size=900)] + 0.3 * rng.randn(900, 6)
    norms = np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 3.0)
    return np.trunc(Z / norms * 2.0**16 * (1 - 1e-12)), y


@pytest.fixture
def make_rows():
    return Rows


@pytest.fixture
def make_noise():
    return Recorder
