"""What noise says that it will cost, before any is drawn."""

import numpy as np
import pytest

from skdp import GaussianDPNoise, OptimalDPNoise, RandomizedResponse, StaircaseDPNoise


@pytest.mark.parametrize("cls", [OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise])
@pytest.mark.parametrize("settings", [{}, {"privacy_unit": "record"}, {"perturb": "fit"}])
def test_it_is_what_fit_states_and_leaves_no_trace(cls, settings):
    X, state = np.ones((4, 3)), np.random.RandomState(0)
    noise = cls(0.5, random_state=state, **settings)
    before = state.get_state()
    stated = noise.guarantee_for(X)
    assert not hasattr(noise, "guarantee_")
    assert state.get_state()[2] == before[2]
    assert np.array_equal(state.get_state()[1], before[1])
    assert stated == noise.fit(X).guarantee_
    assert not np.array_equal(noise.fit_transform(X), X)


def test_labels_too():
    response = RandomizedResponse(0.5)
    stated = response.guarantee_for([0, 1, 1])
    assert not hasattr(response, "guarantee_")
    assert stated == response.fit([0, 1, 1]).guarantee_
