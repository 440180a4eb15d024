"""What is learned of perturbed rows does not depend on how many are looked at together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp import DPSource, OptimalDPNoise, RandomizedResponse
from skdp.utils import _linalg


def _release(X, y, **settings):
    noise = OptimalDPNoise(4.0, random_state=np.random.RandomState(0))
    source = DPSource(
        noise=noise, n_components=4, n_layers=1, parts="all", random_state=0, **settings
    )
    return source.fit(X, y).release_


def _numbers(release):
    parts = [release.moments, release.subspace, release.mixtures, release.alignment]
    return {
        f"{type(part).__name__}.{name}": getattr(part, name)
        for part in parts
        if part is not None
        for name in vars(part)
        if getattr(part, name) is not None
    }


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize("randomized", [False, True])
def test_blocks_change_nothing_but_rounding(rng, monkeypatch, randomized):
    X, y = rng.rand(300, 8), np.arange(300) % 3
    X[:, 0] += y

    def label_noise():
        # Randomized labels give every row a weight in every class.
        state = np.random.RandomState(0)
        return (
            RandomizedResponse(2.0, classes=range(3), random_state=state) if randomized else None
        )

    whole = _numbers(_release(X, y, label_noise=label_noise()))
    monkeypatch.setattr(_linalg, "_ROWS_AT_ONCE", 7)
    in_blocks = _numbers(_release(X, y, label_noise=label_noise()))
    assert set(in_blocks) == set(whole)
    assert len(whole) > 10
    for name, numbers in whole.items():
        assert_allclose(in_blocks[name], numbers, rtol=1e-5, atol=1e-6, err_msg=name)


def test_noise_too_small_to_matter_is_found_in_any_block(monkeypatch):
    monkeypatch.setattr(_linalg, "_ROWS_AT_ONCE", 3)
    X = np.full((50, 4), 1e6, dtype=np.float32)
    noise = OptimalDPNoise(1.0, sensitivity=1e-4)
    with pytest.raises(ValueError, match="keep most elements as they are"):
        DPSource(noise=noise).fit(X, np.arange(50) % 2)
