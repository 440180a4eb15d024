"""Audits let right mechanisms pass and refute wrong ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.preprocessing import StandardScaler

from skdp import DPSource, GaussianDPNoise, OptimalDPNoise, RandomizedResponse, StaircaseDPNoise
from skdp.privacy.audit import audit_mechanism, clopper_pearson, epsilon_lower_bound
from skdp.privacy.audit._evidence import detectable_epsilon

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


class OneNoisy(OptimalDPNoise):
    """Noise in column 0 alone."""

    def _perturb(self, X):
        return np.column_stack([super()._perturb(X)[:, :1], X[:, 1:]])


class Copying(OptimalDPNoise):
    """Column 3 is what column 0 was."""

    def _perturb(self, X):
        noisy = super()._perturb(X)
        noisy[:, 3] = X[:, 0]
        return noisy


class LastThin(OptimalDPNoise):
    """A tenth of the noise in the last column."""

    def _perturb(self, X):
        noisy = super()._perturb(X)
        noisy[:, -1] = X[:, -1] + 0.1 * (noisy[:, -1] - X[:, -1])
        return noisy


class LastFourFifths(OptimalDPNoise):
    """Noise for four fifths of the sensitivity in the last column: ε = 1.25 for 1."""

    def _perturb(self, X):
        noisy = super()._perturb(X)
        noisy[:, -1:] = OptimalDPNoise(self.epsilon, self.delta, 0.8).fit_transform(X[:, -1:])
        return noisy


class FirstAndLast(OptimalDPNoise):
    """The first and the last column share their noise, up to a factor."""

    factor = 1.0

    def _perturb(self, X):
        noisy = super()._perturb(X)
        noisy[:, -1] = X[:, -1] + self.factor * (noisy[:, 0] - X[:, 0])
        return noisy


class Mirrored(FirstAndLast):
    """The last column has half the noise of the first, with the other sign."""

    factor = -0.5


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


@pytest.mark.parametrize(
    ("noise", "event"),
    [
        (OneNoisy(1.0), "output["),
        (Copying(1.0), "output[3] >= 1, column 0 moved"),
        (LastThin(1.0), "output[4]"),
        (FirstAndLast(1.0), "columns 0 and 4 have the same noise"),
        (Mirrored(1.0), "output[0] + 2 output[4]"),
    ],
)
def test_every_column_is_moved_and_every_output_looked_at(noise, event):
    audit = audit_mechanism(noise, n_trials=100_000, n_features=5)
    assert not audit.passed, str(audit)
    assert event in audit.event
    assert audit.moved == "5 of 5 pairs of neighbors"


def test_a_column_with_most_of_its_noise_takes_more_trials():
    noise = LastFourFifths(1.0, 0.0)
    few, many = (audit_mechanism(noise, n_trials=n, n_features=5) for n in (2000, 400_000))
    assert few.passed
    assert few.epsilon_detectable > 1.25
    assert not many.passed
    assert "column 4 moved" in many.event
    assert 1 < many.epsilon_lower <= 1.25


def test_right_columns_pass_and_each_of_them_counts():
    audit = audit_mechanism(OptimalDPNoise(1.0), n_trials=N, n_features=5)
    assert audit.passed, str(audit)
    assert audit.epsilon_lower > 0.9


def test_of_many_columns_some_are_moved():
    audit = audit_mechanism(OptimalDPNoise(1.0), n_trials=10_000, n_features=30)
    assert audit.passed
    assert audit.moved == "10 of 30 columns were moved"
    assert audit.epsilon_detectable == np.inf
    assert "but only 10 of 30 columns were moved: of the others this says nothing" in str(audit)
    assert not audit_mechanism(OneNoisy(1.0), n_trials=10_000, n_features=30).passed


class Clean(OptimalDPNoise):
    """No noise in column 2, in some of the rows or in all of them."""

    fraction = 1.0

    def _perturb(self, X):
        noisy = super()._perturb(X)
        rows = np.random.default_rng().random(len(X)) < self.fraction
        noisy[rows, 2] = X[rows, 2]
        return noisy


class HalfClean(Clean):
    fraction = 0.5


class Quiet(OptimalDPNoise):
    """Next to no noise in column 2."""

    def _perturb(self, X):
        noisy = super()._perturb(X)
        noisy[:, 2] = X[:, 2] + (noisy[:, 2] - X[:, 2]) / 1000
        return noisy


@pytest.mark.parametrize("noise", [Clean(1.0), Clean(1.0, 0.01), HalfClean(1.0, 0.0), Quiet(1.0)])
@pytest.mark.parametrize(("n_features", "n_trials"), [(5, 2000), (64, 8000)])
@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_a_clean_column_is_moved_though_few_are(noise, n_features, n_trials):
    audit = audit_mechanism(noise, n_trials=n_trials, n_features=n_features)
    assert not audit.passed, str(audit)
    assert "column 2 moved" in audit.event


class Floored(OptimalDPNoise):
    """Shows nothing below 0: half of the outputs at 0 are 0."""

    def _perturb(self, X):
        return np.maximum(super()._perturb(X), 0)


class Rounded(OptimalDPNoise):
    """Shows whole numbers."""

    def _perturb(self, X):
        return np.round(super()._perturb(X))


class FourDigits(OptimalDPNoise):
    """Shows four significant digits."""

    def _perturb(self, X):
        noisy = super()._perturb(X)
        unit = 10.0 ** (np.floor(np.log10(np.maximum(np.abs(noisy), 1e-300))) - 3)
        return np.round(noisy / unit) * unit


class Single(OptimalDPNoise):
    """Shows numbers of single precision."""

    def _perturb(self, X):
        return super()._perturb(X).astype(np.float32).astype(float)


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize(
    "noise",
    [
        Floored(1.0, 0.0),
        Rounded(1.0, sensitivity=0.3),
        Rounded(5.0),
        Rounded(0.05),
        Rounded(1e-4),
        FourDigits(1.0),
        FourDigits(1e-3),
        Single(1.0),
        Single(0.01),
        OptimalDPNoise(1.0, 0.3),
        OptimalDPNoise(1.0, bounds=([0, 3, 5], [1, 9, 11])),
    ],
)
@pytest.mark.parametrize(("n_features", "n_trials"), [(1, 2000), (3, 2000), (3, 200_000)])
def test_exact_and_equal_outputs_of_right_mechanisms_are_no_leak(noise, n_features, n_trials):
    if noise.bounds is not None and n_features == 1:
        noise = OptimalDPNoise(1.0, bounds=(3, 9))
    audit = audit_mechanism(noise, n_trials=n_trials, n_features=n_features)
    assert audit.passed, str(audit)


class Reusing(OptimalDPNoise):
    """Uses noise again, as ``_reuse`` says."""

    def _perturb(self, X):
        noise = super()._perturb(np.zeros_like(X))
        return X + self._reuse(noise, np.random.default_rng())


class FortyPercent(Reusing):
    """Two rows in five repeat the noise of the row before."""

    def _reuse(self, noise, rng):
        again = np.flatnonzero(rng.random(len(noise)) < 0.4)
        again = again[again > 0]
        noise[again] = noise[again - 1]
        return noise


class RandomSign(Reusing):
    """Column 1 has the noise of column 0, with a random sign."""

    def _reuse(self, noise, rng):
        noise[:, 1] = noise[:, 0] * rng.choice([-1, 1], len(noise))
        return noise


class Blocks(Reusing):
    """Every second row repeats the one before."""

    def _reuse(self, noise, rng):
        return noise[np.arange(len(noise)) // 2 * 2]


class Alternating(Reusing):
    """Rows 2 and 3 of four repeat rows 0 and 1."""

    def _reuse(self, noise, rng):
        return noise[np.arange(len(noise)) // 4 * 4 + np.arange(len(noise)) % 2]


class MirroredHalves(Reusing):
    """The second half has the noise of the first, backwards."""

    def _reuse(self, noise, rng):
        half = len(noise) // 2
        noise[len(noise) - half :] = noise[:half][::-1]
        return noise


class NextRow(Reusing):
    """A tenth of column 1 has what column 0 had three rows before."""

    def _reuse(self, noise, rng):
        rows = np.flatnonzero(rng.random(len(noise)) < 0.1)
        rows = rows[rows >= 3]
        noise[rows, 1] = noise[rows - 3, 0]
        return noise


class Stock(Reusing):
    """Noise is drawn from a stock of 20,000 values."""

    def _reuse(self, noise, rng):
        stock = OptimalDPNoise(1.0).fit_transform(np.zeros((20_000, 1)))[:, 0]
        return rng.choice(stock, noise.shape)


@pytest.mark.parametrize(
    "noise",
    [
        FortyPercent(1.0),
        RandomSign(1.0),
        Blocks(1.0),
        Alternating(1.0),
        MirroredHalves(1.0),
        NextRow(1.0),
        Stock(1.0),
    ],
)
@pytest.mark.parametrize("n_trials", [20_000, 300_000])
def test_noise_that_is_used_again_now_and_then_is_found(noise, n_trials):
    audit = audit_mechanism(noise, n_trials=n_trials, n_features=2)
    assert not audit.passed, str(audit)
    assert "same noise" in audit.event


class TwoCopies(OptimalDPNoise):
    """Column 1 is another noisy copy of column 0: 2ε in all."""

    factor = 1.0

    def _perturb(self, X):
        noisy = super()._perturb(X)
        noisy[:, 1] = self.factor * super()._perturb(X[:, :1])[:, 0]
        return noisy


class Negative(TwoCopies):
    factor = -3.0


@pytest.mark.parametrize("noise", [TwoCopies(1.0), Negative(1.0)])
def test_a_second_copy_of_a_column_is_found(noise):
    audit = audit_mechanism(noise, n_trials=100_000, n_features=3)
    assert 1.5 < audit.epsilon_lower <= 2, str(audit)
    assert "sum of outputs 0, 1" in audit.event
    assert "column 0 moved" in audit.event


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize("unit", ["element", "record"])
@pytest.mark.parametrize("noise", [OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise])
def test_false_alarms_are_no_more_than_the_confidence_allows(noise, unit):
    refuted = 0
    for seed in range(40):
        transformer = noise(1.0, privacy_unit=unit, random_state=np.random.RandomState(seed))
        audit = audit_mechanism(transformer, n_trials=4000, n_features=3, confidence=0.9)
        refuted += not audit.passed
    assert refuted <= 4  # a tenth of them


class Keeping(RandomizedResponse):
    """Never replaces the last class."""

    def transform(self, y):
        return np.where(np.asarray(y) == self.classes_[-1], y, super().transform(y))


class Generous(RandomizedResponse):
    """Keeps labels as for 1.3 times the ε that it states."""

    def transform(self, y):
        response = RandomizedResponse(1.3 * self.epsilon, classes=self.classes)
        return response.fit_transform(y)


@pytest.mark.parametrize("classes", [None, ["a", "b"], [3, 5, 7], range(10)])
def test_randomized_labels_pass_and_are_found_out(classes):
    audit = audit_mechanism(RandomizedResponse(1.0, classes=classes), n_trials=N)
    assert audit.passed, str(audit)
    assert audit.epsilon_lower > 0.9
    assert "per label, by randomized response" in str(audit)
    assert "labels" in audit.event


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize(
    ("response", "event"),
    [
        (Keeping(1.0, classes=range(5)), "and 4: "),
        (Generous(1.0, classes=range(5)), "labels"),
        (RandomizedResponse(1.0, classes=range(2), random_state=3), "same noise"),
        (RandomizedResponse(1.0, classes=range(5), random_state=3), "same noise"),
    ],
)
def test_wrong_label_noise_is_refuted(response, event):
    audit = audit_mechanism(response, n_trials=N)
    assert not audit.passed
    assert event in audit.event


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_label_noise_raises_few_false_alarms():
    # The least ε keeps half of the labels of two classes: no repetition to be found there.
    audits = [
        audit_mechanism(
            RandomizedResponse(
                epsilon, classes=range(k), random_state=np.random.RandomState(seed)
            ),
            n_trials=4000,
            confidence=0.9,
        )
        for seed in range(15)
        for epsilon in (1e-6, 1.0)
        for k in (2, 5)
    ]
    assert sum(not audit.passed for audit in audits) <= 6  # a tenth of them


def test_a_report_says_what_it_could_have_detected():
    sure = 1 - 1e-6  # the noise has no seed, and a true claim is refuted with the rest
    audit = audit_mechanism(OptimalDPNoise(1.0, 0.0), n_trials=20_000, confidence=sure)
    n = 10_000
    assert audit.epsilon_limit == epsilon_lower_bound(n, n, 0, n, 0.0, sure)
    assert audit.epsilon_detectable == detectable_epsilon(1.0, n, n, 0.0, sure)
    assert audit.verdict == (
        "not refuted by these attacks, which detect at least epsilon = "
        f"{audit.epsilon_detectable:.3g}"
    )
    assert audit.verdict in str(audit)


def test_a_claim_beyond_the_sample_cannot_be_refuted():
    audit = audit_mechanism(Idle(8.0), n_trials=2000)
    assert audit.passed
    assert audit.epsilon_detectable == np.inf
    assert "cannot be: samples of this size show at most epsilon = 4.2" in str(audit)


@pytest.mark.parametrize(("claim", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.05), (3.0, 0.01)])
def test_the_detectable_leak_is_detected_every_other_time(claim, delta):
    # The most telling mechanism there is: randomized response that fails with probability δ.
    n, rng = 2000, np.random.default_rng(0)
    epsilon = detectable_epsilon(claim, n, n, delta, 0.9)
    assert epsilon > claim
    found = []
    for factor in (1.0, 1.2):
        q = (1 - delta) / (1 + np.exp(factor * epsilon))
        hits, others = rng.binomial(n, 1 - q, 2000), rng.binomial(n, q, 2000)
        found.append(np.mean(epsilon_lower_bound(hits, n, others, n, delta, 0.9) > claim))
    assert 0.4 < found[0] < 0.6
    assert found[1] > found[0]


def test_sources_are_sent_to_the_other_audit():
    with pytest.raises(ValueError, match="'transformer' parameter of audit_mechanism"):
        audit_mechanism(DPSource())


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
def test_learned_bounds_have_no_neighbors():
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
