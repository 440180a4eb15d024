from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp import GaussianDPNoise, OptimalDPNoise
from skdp.privacy import gaussian_delta


@pytest.fixture
def X():
    return np.zeros((10, 7))


def test_optimal_record_level(X):
    record = OptimalDPNoise(epsilon=0.5, delta=0.01).fit(X).guarantee_.to_record()
    assert_allclose(record.epsilon, 3.5)
    assert_allclose(record.delta, 1 - 0.99**7)


def test_gaussian_record_level(X):
    noise = GaussianDPNoise(epsilon=0.5, delta=1e-5, sensitivity=2.0).fit(X)
    record = noise.guarantee_.to_record()
    sigma = noise.expected_magnitude_ / np.sqrt(2 / np.pi)
    at_record = gaussian_delta(sigma, record.epsilon, 2.0 * np.sqrt(7))
    assert record.delta == 1e-5
    assert_allclose(at_record, 1e-5, rtol=1e-5)  # the sampler's own 7·2^-30 of ε
    assert 0.5 < record.epsilon < 3.5


def test_it_cannot_be_changed(X):
    guarantee = OptimalDPNoise().fit(X).guarantee_
    with pytest.raises(FrozenInstanceError):
        guarantee.epsilon = 0.1


@pytest.mark.parametrize(
    ("perturb", "covered", "excluded"),
    [
        ("always", "every row that transform returns", "labels"),
        ("fit", "training rows", "queries"),
    ],
)
def test_it_says_what_it_covers(X, perturb, covered, excluded):
    guarantee = OptimalDPNoise(perturb=perturb).fit(X).guarantee_
    assert covered in guarantee.covers
    assert excluded in guarantee.excludes
    assert guarantee.unit == "element"
    assert "differ in one element by at most 1" in str(guarantee)


def test_empirical_privacy_loss_stays_below_epsilon():
    # Lower-bound ε from samples of two neighbours: the most telling half-lines, with counts
    # large enough that the ratio is known to a few percent.
    epsilon = 1.0
    zeros, ones = np.zeros((400_000, 1)), np.ones((400_000, 1))
    noise = OptimalDPNoise(epsilon=epsilon, delta=0.0, random_state=np.random.RandomState(0))
    low, high = noise.fit(zeros).transform(zeros), noise.transform(ones)
    losses = [np.log(np.mean(high > t) / np.mean(low > t)) for t in np.linspace(-2, 4, 25)]
    assert epsilon - 0.05 < max(losses) < epsilon + 0.05
