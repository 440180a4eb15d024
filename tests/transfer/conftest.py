from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from skdp import DPSource, OptimalDPNoise

# One drawing of labels, that of the recorded numbers; a script is in no package.
_hide = run_path(str(Path(__file__).with_name("record_regression.py")))["hide"]


@pytest.fixture(scope="session")
def hide():
    """Keep a few labels of each class, and mark the others by -1."""
    return _hide


@pytest.fixture(scope="session")
def same(digits):
    """A target with the features of the source: training rows, labels and marks, test rows."""
    X, y = digits[0][1::2], digits[1][1::2]
    return X[:500], y[:500], _hide(y[:500], 5), X[500:], y[500:]


@pytest.fixture(scope="session")
def other(domains):
    """A target with fewer features than the source."""
    X, y = domains.target, domains.target_target
    return X[:500], y[:500], _hide(y[:500], 5), X[500:], y[500:]


@pytest.fixture(scope="session")
def release_of(domains):
    """Make a release of some parts, from the same noisy copy of the rows whatever the parts."""

    def make(parts):
        noise = OptimalDPNoise(8.0, random_state=np.random.RandomState(0))
        settings = {"n_components": 8, "n_layers": 1, "random_state": 0}
        source = DPSource(noise=noise, parts=parts, **settings)
        return source.fit(domains.source, domains.source_target).release_

    return make


@pytest.fixture(scope="session")
def all_parts(release_of):
    return release_of("all")
