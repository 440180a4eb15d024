"""Privacy on real hardware: what floating-point numbers come out, and for which input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone

from skdp import GaussianDPNoise, OptimalDPNoise, PrivacyLeakWarning, StaircaseDPNoise
from skdp.noise import RandomBits, _transformers
from skdp.noise._transformers import add_noise, check_bounds, grid_step
from skdp.privacy import gaussian_delta

NOISES = [OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise]
N = 300_000


def n_off_lattice(noisy):
    """How many outputs lie in (-0.5, 0.5) and are no multiple of 2^-53."""
    noisy = noisy.astype(np.float64).ravel()
    return int(np.sum((np.abs(noisy) < 0.5) & (np.ldexp(noisy, 53) % 1 != 0)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cls", NOISES)
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_lattice_does_not_tell_the_input(cls, dtype, epsilon):
    counts = [
        n_off_lattice(cls(epsilon).fit_transform(np.full((N, 1), x, dtype=dtype)))
        for x in (0.0, 1.0)
    ]
    assert stats.fisher_exact([counts, [N - c for c in counts]]).pvalue > 1e-6


def test_the_naive_sampler_fails_that_test():
    rng = np.random.default_rng(0)
    counts = [n_off_lattice(x + rng.laplace(size=N)) for x in (0.0, 1.0)]
    assert counts[1] == 0
    assert 0.2 < counts[0] / N < 0.35


@pytest.mark.parametrize("cls", NOISES)
def test_outputs_lie_on_a_grid_that_does_not_depend_on_the_input(cls, rng):
    noise = cls(0.7, sensitivity=0.3)
    X = rng.standard_normal((500, 3)) * 10.0 ** rng.randint(-8, 8, (500, 3))
    steps = noise.fit_transform(X) / noise._step
    assert_array_equal(steps, np.rint(steps))


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 30.0])
@pytest.mark.parametrize("sensitivity", [1e-9, 0.3, 1e6])
def test_the_step_is_a_small_power_of_two(epsilon, sensitivity):
    magnitude = sensitivity / epsilon
    step = grid_step(sensitivity, magnitude)
    assert np.frexp(step)[0] == 0.5
    assert step <= 2.0**-13 * min(sensitivity, magnitude)
    assert step >= 2.0**-35 * magnitude


@pytest.mark.parametrize("cls", NOISES)
def test_the_step_is_counted_in_the_sensitivity(cls):
    noise = cls(1.0, sensitivity=3.0).fit(np.zeros((2, 1)))
    distribution = noise._make_distribution(3.0 + noise._step)
    assert noise.expected_magnitude_ == distribution.expected_magnitude
    assert noise.expected_magnitude_ > noise._make_distribution(3.0).expected_magnitude


@pytest.mark.parametrize("cls", NOISES)
def test_blocks_of_rows_go_on_with_the_random_bits_of_those_before(cls, monkeypatch):
    monkeypatch.setattr(_transformers, "_BLOCK", 70)
    X = np.zeros((100, 7))
    noise = cls(1.0).fit(X)

    def draw(rows, bits):
        return add_noise(rows, noise._noise, noise._step, bits)

    whole, bits = draw(X, RandomBits(key=bytes(32))), RandomBits(key=bytes(32))
    parts = [draw(X[first : first + 10], bits) for first in range(0, 100, 10)]
    assert_array_equal(whole, np.vstack(parts))
    # Of 2^24 steps of one sensitivity hardly two values are the same; repeated bits repeat 70.
    assert len(np.unique(whole)) > whole.size - 5
    again = RandomBits(key=bytes(32))
    assert_array_equal(draw(X[:10], again), parts[0])  # whereas the same bits are the same noise


@pytest.mark.parametrize("cls", NOISES)
def test_the_size_of_blocks_does_not_change_the_distribution(cls, monkeypatch):
    X, found = np.zeros((100_000, 1)), []
    noise = cls(1.0).fit(X)
    for block in (100, 10**6):
        monkeypatch.setattr(_transformers, "_BLOCK", block)
        found.append(add_noise(X, noise._noise, noise._step, RandomBits(key=bytes(32))).ravel())
    assert (found[0] != found[1]).mean() > 0.9  # bits are taken in another order
    assert stats.ks_2samp(*found).pvalue > 1e-3
    assert stats.ks_2samp(found[0], 1.1 * found[1]).pvalue < 1e-6


def test_record_unit_of_laplace_like_noise_splits_the_budget():
    X = np.zeros((3, 7))
    for cls in (OptimalDPNoise, StaircaseDPNoise):
        record = cls(2.0, 0.01, privacy_unit="record").fit(X)
        element = cls(2.0 / 7, 1 - 0.99 ** (1 / 7)).fit(X)
        assert_allclose(record.expected_magnitude_, element.expected_magnitude_, rtol=1e-12)
        assert_allclose(element.guarantee_.to_record().epsilon, 2.0)
        assert_allclose(element.guarantee_.to_record().delta, 0.01)
        assert record.guarantee_.unit == "record"
        assert record.guarantee_.to_record() is record.guarantee_
        assert "one record, each element by at most 1" in str(record.guarantee_)


def test_record_unit_of_gaussian_noise_takes_the_euclidean_distance():
    noise = GaussianDPNoise(0.5, 1e-5, sensitivity=2.0, privacy_unit="record")
    noise.fit(np.zeros((3, 7)))
    sigma = noise.expected_magnitude_ / np.sqrt(2 / np.pi)
    assert_allclose(gaussian_delta(sigma, 0.5, 2.0 * np.sqrt(7)), 1e-5, rtol=1e-5)
    assert_allclose(noise.guarantee_.delta_at(0.5), 1e-5, rtol=1e-5)
    assert gaussian_delta(sigma, 0.5, 2.0 * np.sqrt(7)) <= 1e-5


def test_bounds_clip_and_set_the_scale_of_each_feature():
    low, high = np.array([0.0, -50.0]), np.array([1.0, 50.0])
    X = np.tile([[7.0, -80.0]], (100_000, 1))
    noise = OptimalDPNoise(4.0, bounds=(low, high)).fit(X)
    noisy = noise.transform(X)
    assert_allclose(np.median(noisy, axis=0), [1.0, -50.0], atol=0.5)
    deviation = np.abs(noisy - [1.0, -50.0]).mean(axis=0)
    assert_allclose(deviation, noise.expected_magnitude_, rtol=0.02)
    assert_allclose(noise.expected_magnitude_, 0.25 * (high - low), rtol=1e-4)
    assert noise.guarantee_.sensitivity is None
    assert "one element, anywhere within the bounds" in str(noise.guarantee_)


def test_bounds_learned_from_the_data_warn(rng):
    X = rng.rand(50, 2) * [1, 5]
    with pytest.warns(PrivacyLeakWarning, match=r"bounds='data'.*bounds=\(0, 255\)"):
        noise = OptimalDPNoise(bounds="data").fit(X)
    assert_allclose(noise.expected_magnitude_, np.ptp(X, axis=0), rtol=1e-4)


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize("noise", [OptimalDPNoise(4.0), GaussianDPNoise(4.0)])
@pytest.mark.parametrize(("value", "width"), [(0.0, 1), (0.2, 1), (-250.0, 250), (1e6, 1e6)])
def test_learned_bounds_of_a_constant_column_hide_its_value(value, width, noise):
    # No width would be no noise: the value counts as one of its own size, or of one.
    X = np.c_[np.full(1000, value), np.linspace(0, 2, 1000)]
    noise = clone(noise).set_params(bounds="data")
    noisy = noise.fit_transform(X)
    assert_allclose(noise.variance_[0] / noise.variance_[1], (width / 2) ** 2)
    assert_allclose(noise.expected_magnitude_[0] / noise.expected_magnitude_[1], width / 2)
    assert (noisy[:, 0] != value).all()
    assert abs(noisy[:, 0].mean() - value) < 4.5 * np.sqrt(noise.variance_[0] / 1000)


@pytest.mark.parametrize(
    "bounds", [(1, 0), (0, np.inf), (0, 1, 2), ([0, 0, 0], 1), [[0, 1], [1, 1]]]
)
def test_bounds_that_make_no_sense_are_refused(bounds):
    with pytest.raises(ValueError, match=r"'bounds' parameter of OptimalDPNoise must be a pair"):
        OptimalDPNoise(bounds=bounds).fit(np.zeros((4, 2)))


def test_bounds_and_a_sensitivity_are_refused():
    with pytest.raises(ValueError, match=r"'sensitivity'.*cannot be combined.*got 2.0"):
        OptimalDPNoise(sensitivity=2.0, bounds=(0, 1)).fit(np.zeros((4, 2)))


def test_budgets_that_the_sampler_cannot_keep_are_refused():
    X = np.zeros((4, 10))
    with pytest.raises(ValueError, match=r"'epsilon'.*leaves 1e-07 for one of 10 elements"):
        OptimalDPNoise(1e-6, privacy_unit="record").fit(X)
    with pytest.raises(ValueError, match=r"'epsilon'.*leaves 25 for one element.*OptimalDPNoise"):
        StaircaseDPNoise(25.0).fit(X)
    with pytest.raises(ValueError, match=r"'epsilon' and 'delta'.*600.0 and 1e-09.*larger delta"):
        GaussianDPNoise(600.0, 1e-9).fit(X)
    with pytest.raises(ValueError, match=r"'epsilon' and 'delta'.*1e-230"):
        GaussianDPNoise(0.5, 1e-230, calibration="classical").fit(X)
    with pytest.raises(ValueError, match=r"at least 0.001 per element"):
        OptimalDPNoise(1e-4, 0.999).fit(X)
    with pytest.raises(ValueError, match=r"'sensitivity'.*too extreme.*1e-320"):
        OptimalDPNoise(sensitivity=1e-320).fit(X)


@pytest.mark.parametrize("delta", [1e-215, 1e-5])
@pytest.mark.parametrize("calibration", ["analytic", "classical"])
def test_the_sampler_s_own_share_is_paid_for(delta, calibration):
    noise = GaussianDPNoise(0.5, delta, privacy_unit="record", calibration=calibration)
    guarantee = noise.fit(np.zeros((2, 7))).guarantee_
    assert guarantee.delta_at(0.5) <= delta * (1 + 1e-9)
    assert guarantee.delta_at(100.0) >= 7 * 2.0**-730
    assert guarantee.epsilon_at(1e-225) == np.inf
    sigma = noise.expected_magnitude_ / np.sqrt(2 / np.pi)
    assert guarantee.gaussian_distance == np.sqrt(7) * (1 + noise._step) / sigma


@pytest.mark.parametrize("delta", [0.0, 0.99])
def test_laplace_like_noise_pays_for_the_sampler_too(delta):
    step = OptimalDPNoise(0.01, delta).fit(np.zeros((2, 1)))._step
    scale = OptimalDPNoise(0.01, delta)
    scale.n_features_in_ = 1
    distribution = scale._make_distribution(1 + step)
    assert (1 + step) / distribution.scale <= 0.01 - 2.0**-30 / (1 - delta) * (1 - 1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_too_large_to_count_in_steps_stay_finite(dtype):
    X = np.array([[np.finfo(dtype).max, 1.0, -np.finfo(dtype).max]], dtype=dtype)
    noisy = OptimalDPNoise().fit_transform(X)
    assert np.isfinite(noisy).all()
    assert noisy[0, 1] != 1.0
    assert_allclose(noisy[0, [0, 2]], X[0, [0, 2]], rtol=1e-6)


def test_bounds_never_leave_the_unit_interval(rng):
    low = rng.standard_normal(1000) * 10.0 ** rng.randint(-8, 8, 1000)
    high = low + np.abs(low) * 10.0 ** -rng.randint(0, 14, 1000).astype(float)
    bounds = check_bounds(OptimalDPNoise(), (low, high), np.zeros((1, 1000)))
    for X in (low, high, low - 1, high + 1, (low + high) / 2):
        unit = bounds.to_unit(X[np.newaxis])
        assert unit.min() >= 0
        assert unit.max() <= 1
