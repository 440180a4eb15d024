import warnings

import numpy as np
import pytest

from skdp import DPSource, OptimalDPNoise, PrivacyLeakWarning
from skdp.datasets import load_digits_domains


def _open_source(X, y, **settings):
    """A release without noise, to compare with; the warning about it is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return DPSource(np.inf, random_state=0, **settings).fit(X, y)


def _hide(y, per_class, seed=0):
    """Keep a few labels of each class, and mark the others by -1."""
    rng = np.random.RandomState(seed)
    shown = np.concatenate(
        [rng.permutation(np.flatnonzero(y == c))[:per_class] for c in np.unique(y)]
    )
    marked = np.full(len(y), -1)
    marked[shown] = y[shown]
    return marked


@pytest.fixture(scope="session")
def open_source():
    return _open_source


@pytest.fixture(scope="session")
def hide():
    return _hide


@pytest.fixture(scope="session")
def domains():
    return load_digits_domains()


@pytest.fixture(scope="session")
def release(domains):
    return _open_source(domains.source, domains.source_target, n_layers=2)


@pytest.fixture(scope="session")
def noisy_release(domains):
    noise = OptimalDPNoise(8.0, random_state=np.random.RandomState(0))
    source = DPSource(8.0, noise=noise, denoise=False, n_layers=2, random_state=0)
    return source.fit(domains.source, domains.source_target)


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
