"""Audits let right mechanisms pass and refute wrong ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.preprocessing import StandardScaler

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise
from skdp.privacy.audit import audit_mechanism, clopper_pearson, epsilon_lower_bound

N = 300_000

RIGHT = [
    (OptimalDPNoise(1.0), 0.9),
    (OptimalDPNoise(0.5, 0.1), 0.4),
    (OptimalDPNoise(1.0, 0.9), 0.7),
    (OptimalDPNoise(2.0, 0.0, sensitivity=0.3), 1.85),
    (OptimalDPNoise(2.0, bounds=(3, 9)), 1.85),
    (OptimalDPNoise(2.0, perturb="fit"), 1.85),
    (StaircaseDPNoise(1.0), 0.9),
    (StaircaseDPNoise(4.0, 0.01), 3.6),
    (GaussianDPNoise(1.0, 0.01), 0.7),
]


@pytest.mark.parametrize(("noise", "least"), RIGHT)
def test_right_mechanisms_pass_and_are_found_out(noise, least):
    audit = audit_mechanism(noise, n_trials=N)
    assert audit.passed, str(audit)
    assert least < audit.epsilon_lower <= noise.epsilon
    assert "not refuted" in str(audit)


@pytest.mark.parametrize(
    ("noise", "least"),
    [
        (OptimalDPNoise(3.0, privacy_unit="record"), 2.3),
        (StaircaseDPNoise(3.0, privacy_unit="record"), 2.3),
        (GaussianDPNoise(2.0, 0.01, privacy_unit="record"), 1.5),
    ],
)
def test_records_are_audited_as_a_whole(noise, least):
    audit = audit_mechanism(noise, n_trials=N, n_features=4)
    assert least < audit.epsilon_lower <= noise.epsilon, str(audit)


class Naive(OptimalDPNoise):
    """NumPy's Laplace noise, added to floats."""

    def _perturb(self, X):
        return X + np.random.default_rng().laplace(scale=1 / self.epsilon, size=X.shape)


class Thin(OptimalDPNoise):
    """Nine tenths of the scale."""

    def _make_distribution(self, sensitivity):
        return super()._make_distribution(0.9 * sensitivity)


class ForHalf(StaircaseDPNoise):
    """Calibrated for half the sensitivity."""

    def _make_distribution(self, sensitivity):
        return super()._make_distribution(sensitivity / 2)


class Showing(OptimalDPNoise):
    """Twice the δ."""

    def _element_budget(self):
        epsilon, delta = super()._element_budget()
        return epsilon, 2 * delta


class Stuck(GaussianDPNoise):
    """The same noise for every row."""

    def _perturb(self, X):
        return X + super()._perturb(X[:1])


class Shared(OptimalDPNoise):
    """The same noise for every column."""

    def _perturb(self, X):
        return X + super()._perturb(np.zeros((len(X), 1)))


class Twice(OptimalDPNoise):
    """The same noise in both halves."""

    def _perturb(self, X):
        noise = super()._perturb(np.zeros((len(X) // 2, X.shape[1])))
        return X + np.concatenate([noise, noise])


class Idle(OptimalDPNoise):
    """No noise at all."""

    def _perturb(self, X):
        return X.copy()


@pytest.mark.parametrize(
    ("noise", "event"),
    [
        (Naive(1.0, 0.0), "no multiple of 2"),
        (Thin(1.0, 0.0), "output"),
        (ForHalf(1.0), "output"),
        (Showing(1.0, 0.02), "output =="),
        (Stuck(1.0), "same noise"),
        (OptimalDPNoise(random_state=3), "same noise"),
        (Idle(8.0), "output"),
    ],
)
@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_wrong_mechanisms_are_refuted(noise, event):
    audit = audit_mechanism(noise, n_trials=1_000_000)
    assert not audit.passed
    assert event in audit.event
    assert "REFUTED" in str(audit)


@pytest.mark.parametrize("noise", [Shared(1.0), Twice(1.0)])
def test_repeated_noise_is_found(noise):
    audit = audit_mechanism(noise, n_trials=10_000, n_features=3)
    assert not audit.passed
    assert "same noise" in audit.event


def test_the_event_is_tested_on_other_outputs():
    # Half of all bounds may be wrong at this confidence; chosen and tested on the same
    # outputs, nearly all would be.
    audits = [
        audit_mechanism(OptimalDPNoise(1.0), n_trials=2000, confidence=0.5) for _ in range(40)
    ]
    assert sum(not audit.passed for audit in audits) < 20


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"confidence": 95}, "confidence"),
        ({"n_trials": 0}, "n_trials"),
        ({"value": 1e300}, "value"),
    ],
)
def test_wrong_calls_are_named(changed, name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of audit_mechanism"):
        audit_mechanism(OptimalDPNoise(), **changed)


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_learned_bounds_have_no_neighbours():
    with pytest.raises(ValueError, match="Give it public bounds"):
        audit_mechanism(OptimalDPNoise(bounds="data"))


def test_something_without_a_guarantee_is_refused():
    with pytest.raises(ValueError, match=r"'transformer'.*must state a guarantee_.*Standard"):
        audit_mechanism(StandardScaler())


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (500, 1000)])
def test_clopper_pearson_inverts_the_binomial(hits, n):
    low, high = clopper_pearson(hits, n, 0.9)
    if hits:
        assert_allclose(stats.binom.sf(hits - 1, n, low), 0.05)
    if hits < n:
        assert_allclose(stats.binom.cdf(hits, n, high), 0.05)
    assert low <= hits / n <= high


def test_epsilon_lower_bound_is_its_formula():
    low, high = stats.beta.ppf(0.05, 80, 21), stats.beta.ppf(0.95, 21, 80)
    expected = np.log((low - 0.1) / high)
    assert_allclose(epsilon_lower_bound(80, 100, 20, 100, delta=0.1, confidence=0.9), expected)
    assert epsilon_lower_bound(10, 100, 20, 100) == 0
