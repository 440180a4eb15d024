import numpy as np
import pytest

from skdp import DPSource, OptimalDPNoise
from skdp.datasets import hide_labels


@pytest.fixture(scope="session")
def same(digits):
    """A target with the features of the source: training rows, labels and marks, test rows."""
    X, y = digits[0][1::2], digits[1][1::2]
    return X[:500], y[:500], hide_labels(y[:500], 5, random_state=0), X[500:], y[500:]


@pytest.fixture(scope="session")
def other(domains):
    """A target with fewer features than the source."""
    X, y = domains.target, domains.target_target
    return X[:500], y[:500], hide_labels(y[:500], 5, random_state=0), X[500:], y[500:]


@pytest.fixture(scope="session")
def release_of(domains):
    """Make a release of some parts, from the same noisy copy of the rows whatever the parts."""

    def make(parts):
        noise = OptimalDPNoise(8.0, random_state=np.random.RandomState(0))
        settings = {"n_components": 8, "n_layers": 1, "random_state": 0}
        source = DPSource(bounds=(0, 1), noise=noise, parts=parts, **settings)
        return source.fit(domains.source, domains.source_target).release_

    return make


@pytest.fixture(scope="session")
def all_parts(release_of):
    return release_of("all")
