import numpy as np
import pytest

from skdp.release import BasisFunctions
from skdp.source import RowGrid
from skdp.source._linear_model import perturb_sums

RADIUS = 3.0


class Rows:
    """Rows in memory that are integers already, in chunks."""

    def __init__(self, Q, class_indices, sizes=None, n_rows=37):
        self.Q, self.codes, self.sizes, self.n_rows = Q, class_indices, sizes, n_rows

    def chunks(self, grid):
        for start in range(0, len(self.Q), self.n_rows):
            here = slice(start, start + self.n_rows)
            sizes = None if self.sizes is None else self.sizes[here]
            yield self.Q[here].astype(np.float64), self.codes[here], sizes


class Recorder:
    """Queries that add normal noise of one relative size, and keep what they were asked."""

    def __init__(self, sigma=0.0, seed=0):
        self.sigma, self.rng = sigma, np.random.RandomState(seed)
        self.exact, self.sensitivity = {}, {}

    def deviation(self, name, sensitivity):
        return self.sigma * sensitivity

    def add(self, name, exact, sensitivity, scales=1.0):
        assert exact.dtype == np.int64
        self.exact[name], self.sensitivity[name] = exact, sensitivity
        noise = self.rng.standard_normal(exact.shape) * scales
        return exact + np.rint(self.deviation(name, sensitivity) * noise).astype(np.int64)


class Asked:
    """Queries that keep exact answers, and the sensitivity that is claimed of each."""

    def __init__(self, counts):
        self.answers, self.claimed, self.counts = {}, {}, counts

    def deviation(self, name, sensitivity):
        return 1.0 * sensitivity

    def add(self, name, values, sensitivity, scales=1.0):
        self.answers[name], self.claimed[name] = values / scales, sensitivity
        return self.counts if name == "counts" else values


def _changes(before, after, grid, counts):
    some, others = Asked(counts), Asked(counts)
    perturb_sums(before, grid, some)
    perturb_sums(after, grid, others)
    assert some.claimed == others.claimed
    return {
        name: (np.linalg.norm(others.answers[name] - some.answers[name]), claimed)
        for name, claimed in some.claimed.items()
    }


@pytest.fixture
def changes():
    """By how much answers differ, and what is claimed of each, where noisy counts are public."""
    return _changes


@pytest.fixture
def clusters(rng):
    """Return integer rows of three classes of two clusters each, and their class indices."""
    y = rng.randint(3, size=900)
    centers = rng.uniform(-1, 1, (3, 2, 6))
    Z = centers[y, rng.randint(2, size=900)] + 0.3 * rng.randn(900, 6)
    norms = np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), RADIUS)
    return np.trunc(Z / norms * 2.0**16 * (1 - 1e-12)), y


@pytest.fixture
def grid():
    """Return the grid of these rows, on which z = x."""
    return RowGrid(BasisFunctions.of_columns([0] * 6, -1.0, 1.0, orders=()), np.zeros(6), RADIUS)


@pytest.fixture
def make_rows():
    return Rows


@pytest.fixture
def make_queries():
    return Recorder
