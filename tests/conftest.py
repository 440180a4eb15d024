import warnings
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_digits

from skdp import DPSource, OptimalDPNoise, PrivacyLeakWarning
from skdp.datasets import load_digits_domains
from skdp.noise import _queries, _randomness
from skdp.source import _publication, _statistics_source
from skdp.tabular import ClassOutcome
from skdp.transfer import _self_training


def _open_source(X, y, **settings):
    """A source without noise, to compare with; the warning about it is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return DPSource(np.inf, sensitivity=1.0, random_state=0, **settings).fit(X, y)


def _altered(release, **changes):
    """A release of noisy rows with other fields, or other parts of its model, or without some."""
    if "classes" in changes:
        changes["outcome"] = ClassOutcome(changes.pop("classes"))
    frame = {name: value for name, value in changes.items() if name in vars(release)}
    parts = {name: value for name, value in changes.items() if name not in frame}
    if "classifier" in parts:
        denoised = parts.get("subspace", release.subspace) is not None
        parts["code_classifier" if denoised else "row_classifier"] = parts.pop("classifier")
        parts.setdefault("code_classifier", None)
    return replace(release, model=replace(release.model, **parts), **frame)


@pytest.fixture(scope="session")
def altered():
    return _altered


def _at_another_site(release, X):
    """Probabilities of two classes averaged over intercepts, by quadrature."""
    known = release.linear.intercept_sd
    spread = 0.7 if known is None else known[0]
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    log_odds = np.diff(release.scores(X), axis=1)
    p = expit(log_odds + spread * nodes) @ (weights / weights.sum())
    return np.column_stack([1 - p, p])


@pytest.fixture(scope="session")
def at_another_site():
    return _at_another_site


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture(scope="session")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


@pytest.fixture(scope="session")
def domains():
    return load_digits_domains()


@pytest.fixture(scope="session")
def open_source():
    return _open_source


@pytest.fixture(scope="session")
def release(domains):
    """Without noise."""
    return _open_source(domains.source, domains.source_target, n_layers=2).release_


@pytest.fixture(scope="session")
def noisy_release(domains):
    """Of whole noisy rows."""
    noise = OptimalDPNoise(8.0, random_state=np.random.RandomState(0))
    source = DPSource(bounds=(0, 1), noise=noise, parts="papers", n_layers=2, random_state=0)
    return source.fit(domains.source, domains.source_target).release_


@pytest.fixture(scope="session")
def denoised_release(domains):
    noise = OptimalDPNoise(8.0, random_state=np.random.RandomState(0))
    source = DPSource(bounds=(0, 1), noise=noise, n_components=8, n_layers=1, random_state=0)
    return source.fit(domains.source, domains.source_target).release_


@pytest.fixture
def no_doubts(monkeypatch):
    """Sources do not look whether to warn of their release, which takes half of a small fit."""
    monkeypatch.setattr(_statistics_source, "warn_of_doubt", lambda release: None)


@pytest.fixture
def no_rehearsals(monkeypatch):
    """Releases are made at once, without a rehearsal of no rows, which is half of a small fit."""
    monkeypatch.setattr(_publication, "_rehearse", lambda what, make, rehearsals: None)


@pytest.fixture
def few_rounds(monkeypatch):
    """Self-training has the first and the last of its rounds by default, where these are eight."""
    adapted = _self_training._adapted_sizes
    monkeypatch.setattr(_self_training, "_adapted_sizes", lambda rows: adapted(rows)[::7])


@pytest.fixture
def quick_noise(monkeypatch):
    """Noise of statistics is rounded normal noise, without tables, which take most of a fit."""

    def sampler(deviation):
        def sample(n, bits):
            noise = np.random.default_rng(bits.draw(2)).standard_normal(n)
            return np.rint(deviation * noise).astype(np.int64)

        return SimpleNamespace(sample=sample)

    monkeypatch.setattr(_queries, "_sampler", sampler)


@pytest.fixture
def seeded_noise(monkeypatch):
    """Noise without a seed is the same in all runs, whatever their options and the test's name."""
    keys = partial(np.random.RandomState(0).bytes, 32)
    monkeypatch.setattr(_randomness, "fresh_key", keys)


@pytest.fixture
def small(rng):
    """Rows of three classes that do not differ."""
    return rng.rand(120, 6), np.arange(120) % 3
