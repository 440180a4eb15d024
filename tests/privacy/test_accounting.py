import sys
import warnings
from dataclasses import replace
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from skdp import GaussianDPNoise, OptimalDPNoise, RandomizedResponse, StaircaseDPNoise
from skdp.privacy import (
    Mechanism,
    PrivacyGuarantee,
    gaussian_delta,
    gaussian_epsilon,
    joint_guarantee,
)

from .conftest import needs_accounting

X = np.zeros((4, 6))


def bare(*mechanisms):
    return PrivacyGuarantee("x", mechanisms, 1.0, 6, "", "")


def gaussian(mu, count=1):
    """Gaussian noise of which only the distance is stated."""
    return Mechanism("gaussian", np.inf, squared_distance=count * mu * mu)


def pure_delta(epsilon0, k, epsilon):
    """δ of k uses of the worst ε0-private mechanism: the sum over its binomial answers."""
    p = np.exp(epsilon0) / (1 + np.exp(epsilon0))
    total = 0.0
    for i in range(k + 1):
        one, other = p ** (k - i) * (1 - p) ** i, p**i * (1 - p) ** (k - i)
        total += comb(k, i) * max(0.0, one - np.exp(epsilon) * other)
    return total


@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 2.0])
def test_pure_mechanisms_are_binomial(k, epsilon):
    guarantee = bare(Mechanism("pure", 0.5, count=k))
    slow = pure_delta(0.5, k, epsilon)
    assert_allclose(guarantee.delta_at(epsilon), slow, rtol=2e-3, atol=1e-12)
    assert guarantee.delta_at(epsilon) >= slow - 1e-12


def laplace_delta(epsilon0, epsilon, atom):
    # ∫ max(0, p − e^ε q) for Laplace densities ε0 scales apart: 1 − e^{(ε − ε0)/2}.
    return atom + (1 - atom) * max(0.0, 1 - np.exp((epsilon - epsilon0) / 2))


@needs_accounting
@pytest.mark.parametrize("atom", [0.0, 0.01])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
def test_one_optimal_noise_is_an_exact_mixture(atom, epsilon):
    guarantee = OptimalDPNoise(1.0, atom).fit(X).guarantee_
    expected = laplace_delta(1.0, epsilon, atom)
    assert_allclose(guarantee.delta_at(epsilon), expected, rtol=2e-3, atol=1e-12)
    assert guarantee.delta_at(epsilon) >= expected - 1e-12


@needs_accounting
def test_two_laplace_mechanisms_against_quadrature():
    # Losses of both coordinates on a fine grid, convolved.
    edges = np.linspace(-60, 60, 1_200_001)
    v = (edges[1:] + edges[:-1]) / 2
    mass = np.diff(stats.laplace.cdf(edges))
    loss = np.abs(v - 1) - np.abs(v)  # of two values one apart, in units of the scale
    bins = np.linspace(-1, 1, 4001)
    pmf, _ = np.histogram(loss, np.append(bins - 2.5e-4, 1.0 + 2.5e-4), weights=mass)
    twice = np.convolve(pmf, pmf)
    losses = np.linspace(-2, 2, 8001)
    slow = np.sum(twice * np.maximum(0, 1 - np.exp(1.2 - losses)))
    fast = OptimalDPNoise(1.0, 0.0).fit(X).guarantee_.compose(2).delta_at(1.2)
    assert_allclose(fast, slow, rtol=5e-3)


@pytest.mark.parametrize("k", [2, 10, 784])
def test_gaussian_releases_compose_exactly(k):
    one = GaussianDPNoise(0.3, 1e-6).fit(X)
    sigma = one.expected_magnitude_ / np.sqrt(2 / np.pi)
    together = one.guarantee_.compose(k)
    # The sampler needs 2^-30 of ε for each of them.
    assert_allclose(
        gaussian_delta(sigma / np.sqrt(k), together.epsilon), 1e-6, rtol=1e-7 * k + 1e-5
    )
    assert_allclose(together.epsilon_at(1e-6), together.epsilon)
    summed = one.guarantee_
    for _ in range(min(k, 10) - 1):
        summed = summed + one.guarantee_
    assert_allclose(summed.epsilon, one.guarantee_.compose(min(k, 10)).epsilon)


@pytest.mark.parametrize("cls", [OptimalDPNoise, StaircaseDPNoise])
def test_closed_forms_of_k_releases_and_of_a_record(cls):
    one = cls(0.4, 0.001).fit(X).guarantee_
    for many in (one.compose(6), one.to_record(), one.to_record(6)):
        assert_allclose(many.epsilon, 2.4)
        assert_allclose(many.delta, 1 - 0.999**6)
    assert (one.compose(6).unit, one.to_record().unit) == ("element", "record")
    assert one.to_record(50).n_features == 50


@needs_accounting
def test_tight_composition_is_below_the_basic_one():
    record = OptimalDPNoise(0.1, 0.0).fit(np.zeros((2, 784))).guarantee_.to_record()
    tight = record.epsilon_at(1e-5)
    assert_allclose(record.epsilon, 78.4)
    assert tight < 15.5
    # Not below what a central limit leaves: losses of mean μ and variance s² each.
    mean = 0.1 - 1 + np.exp(-0.1)
    assert tight > 784 * mean


@needs_accounting
@pytest.mark.parametrize("first", [OptimalDPNoise(0.5, 0.0), OptimalDPNoise(0.3, 0.01)])
def test_mechanisms_together_are_never_better_than_one_of_them(first):
    mechanisms = [first.fit(X).guarantee_, GaussianDPNoise(1.0).fit(X).guarantee_]
    epsilons = [0.0, 0.5, 0.78, 1.0, 1.5, 3.0]
    together = [(mechanisms[0] + mechanisms[1]).delta_at(epsilon) for epsilon in epsilons]
    assert np.all(np.diff(together) <= 0)
    for one in mechanisms:
        alone = [one.delta_at(epsilon) for epsilon in epsilons]
        assert np.all(np.array(together) >= np.array(alone) * (1 - 1e-9))
    assert together[-1] > 0


def test_point_masses_leave_no_epsilon_below_their_delta():
    guarantee = OptimalDPNoise(1.0, 0.01).fit(X).guarantee_
    assert guarantee.epsilon_at(0.009) == np.inf
    assert_allclose(guarantee.epsilon_at(0.01), 1.0, rtol=1e-3)


def test_known_only_by_epsilon_and_delta():
    guarantee = bare(Mechanism("any", 1.0, 0.001))
    assert_allclose(guarantee.delta_at(1.0), 0.001)
    assert_allclose(guarantee.delta_at(0.0), 0.001 + 0.999 * pure_delta(1.0, 1, 0.0), rtol=1e-3)


def test_without_dp_accounting_closed_forms_remain(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    gaussian, optimal = GaussianDPNoise().fit(X).guarantee_, OptimalDPNoise().fit(X).guarantee_
    assert_allclose(gaussian.compose(3).epsilon_at(1e-5), gaussian.compose(3).epsilon)
    assert optimal.compose(3).epsilon == 3.0
    with pytest.raises(ImportError, match=r"pip install 'skdp\[privacy\]'"):
        optimal.compose(3).epsilon_at(1e-4)


def test_no_noise_is_no_privacy():
    with pytest.warns(UserWarning, match="adds no noise"):
        none = GaussianDPNoise(np.inf).fit(X).guarantee_
    assert none.epsilon_at(1e-5) == np.inf
    assert none.delta_at(3.0) == 1.0


def exact_delta(epsilon, *mechanisms):
    """δ of pure mechanisms (ε0, k): every outcome in turn, positive terms only."""
    losses, probabilities = np.zeros(1), np.ones(1)
    unit = min(epsilon0 for epsilon0, _ in mechanisms)
    for epsilon0, k in mechanisms:
        # The loss is (k − 2i)ε0, in steps of the smallest ε0.
        step, i = round(epsilon0 / unit), np.arange(k + 1)
        own = np.zeros(k * 2 * step + 1)
        own[(k - i) * 2 * step] = stats.binom.pmf(i, k, 1 / (1 + np.exp(epsilon0)))
        probabilities = np.convolve(probabilities, own)  # by sums, not by FFT
    n = sum(round(epsilon0 / unit) * k for epsilon0, k in mechanisms)
    losses = np.arange(-n, n + 1) * unit
    return np.sum(probabilities * np.maximum(0, -np.expm1(epsilon - losses)))


@pytest.mark.parametrize("z", [0.0, 3.0, 7.0, 8.5])
def test_many_randomized_labels_are_an_exact_binomial_sum(z):
    one = RandomizedResponse(0.005).fit([0, 1]).guarantee_
    many = one.compose(20_000)
    epsilon = 0.25 + z * 0.005 * np.sqrt(20_000)  # δ from 0.2 to 1e-19
    slow = exact_delta(epsilon, (0.005, 20_000))
    assert slow <= many.delta_at(epsilon) <= slow * (1 + 1e-6)
    assert exact_delta(many.epsilon_at(slow), (0.005, 20_000)) <= slow
    assert_allclose(many.epsilon_at(slow), epsilon, rtol=1e-6)


@needs_accounting
@pytest.mark.filterwarnings("ignore:A delta of")
@pytest.mark.parametrize("mechanisms", [[(0.005, 2000), (0.01, 800)], [(0.05, 700), (0.1, 2000)]])
def test_numerical_bounds_are_bounds_down_to_rounding(mechanisms):
    together = bare(*(Mechanism("pure", epsilon0, count=k) for epsilon0, k in mechanisms))
    mean = sum(k * epsilon0**2 / 2 for epsilon0, k in mechanisms)
    deviation = np.sqrt(sum(k * epsilon0**2 for epsilon0, k in mechanisms))
    for z in np.arange(0.0, 9.0):
        epsilon = mean + z * deviation
        slow = exact_delta(epsilon, *mechanisms)
        assert slow <= together.delta_at(epsilon) <= slow * 1.02 + 5e-12
        if slow > 1e-10:
            assert exact_delta(together.epsilon_at(slow), *mechanisms) <= slow


@pytest.mark.parametrize("kind", [pytest.param("laplace", marks=needs_accounting), "pure"])
def test_epsilons_whose_exponential_overflows(kind):
    # 100 losses of 10 each, which hardly ever cancel.
    many = bare(Mechanism(kind, 10.0, count=100))
    assert many.delta_at(720.0) > 0.99
    deltas = [many.delta_at(epsilon) for epsilon in (690.0, 710.0, 850.0, 950.0, 970.0)]
    assert np.all(np.diff(deltas) <= 0)
    for delta in (0.9, 0.1, 1e-6):
        found = many.delta_at(many.epsilon_at(delta))
        assert found <= 1.01 * delta
        if kind == "laplace":
            assert_allclose(found, delta, rtol=0.1)


@needs_accounting
def test_deltas_below_the_arithmetic_warn():
    together = bare(Mechanism("pure", 0.05, count=700), Mechanism("laplace", 0.1, count=99))
    with pytest.warns(UserWarning, match=r"delta=5.0e-12 is below 1e-11"):
        assert together.epsilon_at(5e-12) < 700 * 0.05 + 9.9
    with pytest.warns(UserWarning, match=r"below 1e-11.*closed forms") as record:
        assert 0 < together.delta_at(40.0) < 1e-11
    assert [warning.filename for warning in record] == [__file__]
    exact = RandomizedResponse(0.005).fit([0, 1]).guarantee_.compose(500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        together.epsilon_at(1e-9)
        exact.epsilon_at(1e-15)
        GaussianDPNoise(1.0, 1e-13, 1.0).fit(X).guarantee_.epsilon_at(1e-15)


@pytest.mark.parametrize("cls", [OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise])
@pytest.mark.parametrize("unit", ["element", "record"])
def test_every_guarantee_holds_at_its_own_delta_and_epsilon(cls, unit):
    for p in (1, 3, 10, 64, 784):
        for epsilon in (0.1, 1.0, 7.0):
            for delta in (1e-9, 3e-6, 0.001, 0.1):
                noise = cls(epsilon, delta, privacy_unit=unit).fit(np.zeros((1, p)))
                for own in (noise.guarantee_, noise.guarantee_.to_record()):
                    if own.delta < 1:
                        assert own.epsilon_at(own.delta) <= own.epsilon
                    assert own.delta_at(own.epsilon) <= own.delta


def test_elements_of_which_nothing_is_known_have_group_privacy():
    # With one coin for all elements, shown with probability δ, δ does not even add up.
    known = OptimalDPNoise(0.5, 0.001).fit(X).guarantee_
    unknown = replace(known, mechanisms=[Mechanism("any", 0.5, 0.001)])
    assert_allclose(known.to_record().delta, 1 - 0.999**6)
    group = unknown.to_record()
    assert (group.epsilon, group.unit) == (3.0, "record")
    assert_allclose(group.delta, 0.001 * sum(np.exp(0.5 * i) for i in range(6)))
    assert unknown.compose(6).delta == known.compose(6).delta  # releases are independent
    pure = replace(unknown, mechanisms=[Mechanism("any", 0.5)])
    assert pure.to_record(10_000).delta == 0.0
    assert unknown.to_record(10_000).delta == 1.0
    coin = replace(unknown, mechanisms=[Mechanism("any", 0.0, 0.001)])
    assert coin.to_record().delta == pytest.approx(0.006)


def test_the_joint_guarantee_of_independent_elements_is_one_too():
    first, second = OptimalDPNoise(0.5, 0.01).fit(X), GaussianDPNoise(1.0).fit(X)
    joint = joint_guarantee([first.guarantee_, second.guarantee_])
    assert_allclose(joint.to_record().delta, 1 - 0.99**6)
    unknown = replace(second.guarantee_, mechanisms=[Mechanism("any", 1.0, 1e-5)])
    assert joint_guarantee([first.guarantee_, unknown]).to_record().delta == 1.0


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, False),
        ({"epsilon": 0.9}, True),
        ({"delta": 1e-6}, True),
        ({"squared_distance": 25.0}, True),
        ({"squared_distance": np.inf}, True),
        ({"slack": 0.5}, True),
        ({"cut": 0.5}, True),
        ({"epsilon": np.inf, "squared_distance": np.inf}, False),
        ({"epsilon": 1.0 + 1e-12}, False),
    ],
)
def test_gaussian_noise_that_amounts_to_more_than_is_stated_is_refused(changes, wrong):
    sound = Mechanism("gaussian", 1.0, 1e-5)
    assert_allclose(gaussian_delta(1 / sound.parameter, 1.0), 1e-5, rtol=1e-6)
    if not wrong:
        assert replace(sound, **changes).parameter >= sound.parameter
        return
    with pytest.raises(ValueError, match="'squared_distance' of Mechanism amounts to more than"):
        replace(sound, **changes)


@pytest.mark.parametrize("kind", ["laplace", "pure", "any", "gaussian"])
def test_what_is_of_another_kind_is_refused(kind):
    own = {"count": 2, "n_elements": 3, "squared_distance": 1e-3, "slack": 1e-9, "cut": 1e-9}
    allowed = {
        "gaussian": {"squared_distance", "slack", "cut"},
        "any": {"count"},
    }.get(kind, {"count", "n_elements"})
    for name, value in own.items():
        fields = {"kind": kind, "epsilon": 1.0, "delta": 1e-5, name: value}
        if name in allowed:
            Mechanism(**fields)
        else:
            with pytest.raises(ValueError, match=f"'{name}' of Mechanism must be left at"):
                Mechanism(**fields)


@needs_accounting
def test_very_many_mechanisms_have_a_closed_form_or_none():
    few, many = (bare(Mechanism("laplace", 1e-3, count=n)) for n in (10**6, 10**6 + 1))
    assert_allclose(many.epsilon_at(1e-6), few.epsilon_at(1e-6), rtol=1e-5)
    assert few.epsilon_at(1e-6) < gaussian_epsilon(1.0, 1e-6) * 1.01  # by the central limit
    assert many.compose(10**6).epsilon_at(1e-6) < many.compose(10**6).epsilon
    mixed = bare(Mechanism("laplace", 1e-3, count=10**9), Mechanism("laplace", 0.5))
    with pytest.raises(ValueError, match=r"too many for tight composition.*closed forms"):
        mixed.epsilon_at(1e-6)


@needs_accounting
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("laplace", 1e9, 1), ("laplace", 1.0, 1)),
        (("laplace", 1e-300, 1), ("laplace", 1.5, 1)),
        (("gaussian", 1e150, 4), ("laplace", 1e-5, 1)),
        (("pure", 1e308, 10**5), ("gaussian", 0.1, 1)),
    ],
)
def test_extreme_losses_end_in_a_plain_refusal(first, second):
    both = bare(
        *(
            gaussian(value, count) if kind == "gaussian" else Mechanism(kind, value, count=count)
            for kind, value, count in (first, second)
        )
    )
    for call in (lambda: both.delta_at(1.0), lambda: both.epsilon_at(1e-5)):
        with pytest.raises(ValueError, match=r"too (extreme|many) for tight composition"):
            call()
