import sys
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp import GaussianDPNoise, OptimalDPNoise, RandomizedResponse, StaircaseDPNoise
from skdp.privacy import PrivacyGuarantee, PrivacyLoss, gaussian_delta

X = np.zeros((4, 6))


def bare(*losses, epsilon=1.0, delta=0.0):
    return PrivacyGuarantee("x", epsilon, delta, 1.0, 6, "", "", losses=losses)


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
    guarantee = bare(PrivacyLoss("pure", 0.5, count=k))
    slow = pure_delta(0.5, k, epsilon)
    assert_allclose(guarantee.delta_at(epsilon), slow, rtol=2e-3, atol=1e-12)
    assert guarantee.delta_at(epsilon) >= slow - 1e-12


def laplace_delta(epsilon0, epsilon, atom):
    # ∫ max(0, p − e^ε q) for Laplace densities ε0 scales apart: 1 − e^{(ε − ε0)/2}.
    return atom + (1 - atom) * max(0.0, 1 - np.exp((epsilon - epsilon0) / 2))


@pytest.mark.parametrize("atom", [0.0, 0.01])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
def test_one_optimal_noise_is_an_exact_mixture(atom, epsilon):
    guarantee = OptimalDPNoise(1.0, atom).fit(X).guarantee_
    expected = laplace_delta(1.0, epsilon, atom)
    assert_allclose(guarantee.delta_at(epsilon), expected, rtol=2e-3, atol=1e-12)
    assert guarantee.delta_at(epsilon) >= expected - 1e-12


def test_two_laplace_mechanisms_against_quadrature():
    # Losses of both coordinates on a fine grid, convolved.
    from scipy import stats

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


def test_tight_composition_is_below_the_basic_one():
    record = OptimalDPNoise(0.1, 0.0).fit(np.zeros((2, 784))).guarantee_.to_record()
    tight = record.epsilon_at(1e-5)
    assert_allclose(record.epsilon, 78.4)
    assert tight < 15.5
    # Not below what a central limit leaves: losses of mean μ and variance s² each.
    mean = 0.1 - 1 + np.exp(-0.1)
    assert tight > 784 * mean


def test_mechanisms_together_are_their_sum():
    laplace, gaussian = OptimalDPNoise(0.5, 0.0).fit(X), GaussianDPNoise(0.5).fit(X)
    both = laplace.guarantee_ + gaussian.guarantee_
    assert_allclose([both.epsilon, both.delta], [1.0, 1e-5])
    assert both.mechanism == "optimal + Gaussian"
    assert both.epsilon_at(1e-5) < 1.0
    assert both.epsilon_at(1e-5) > max(
        laplace.guarantee_.epsilon_at(1e-5), gaussian.guarantee_.epsilon_at(1e-5)
    )


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


def test_a_small_and_a_large_loss_are_composed_in_bounded_time():
    small, large = OptimalDPNoise(1e-4, 0.0).fit(X), GaussianDPNoise(1.0).fit(X)
    together = (small.guarantee_ + large.guarantee_).epsilon_at(1e-5)
    assert 1.0 - 1e-6 < together < 1.002


def test_point_masses_leave_no_epsilon_below_their_delta():
    guarantee = OptimalDPNoise(1.0, 0.01).fit(X).guarantee_
    assert guarantee.epsilon_at(0.009) == np.inf
    assert_allclose(guarantee.epsilon_at(0.01), 1.0, rtol=1e-3)


def test_known_only_by_epsilon_and_delta():
    guarantee = bare(epsilon=1.0, delta=0.001)
    assert_allclose(guarantee.delta_at(1.0), 0.001)
    assert_allclose(guarantee.delta_at(0.0), 0.001 + 0.999 * pure_delta(1.0, 1, 0.0), rtol=1e-3)


def test_labels_compose_too():
    guarantee = RandomizedResponse(0.5).fit([0, 1]).guarantee_
    assert_allclose(guarantee.compose(3).epsilon, 1.5)
    assert_allclose(guarantee.compose(3).delta_at(1.0), pure_delta(0.5, 3, 1.0), rtol=2e-3)


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


@pytest.mark.parametrize("k", [0, -1, 2.5])
def test_impossible_repetitions_are_named(k):
    guarantee = OptimalDPNoise().fit(X).guarantee_
    with pytest.raises(ValueError, match=rf"'k' parameter must be a whole number.*{k}"):
        guarantee.compose(k)
    with pytest.raises(ValueError, match="'n_features' parameter"):
        guarantee.to_record(k)


def test_impossible_levels_are_named():
    guarantee = OptimalDPNoise().fit(X).guarantee_
    with pytest.raises(ValueError, match=r"'delta' parameter must be in \[0, 1\), got 1.0"):
        guarantee.epsilon_at(1.0)
    with pytest.raises(ValueError, match="'epsilon' parameter must be >= 0, got -1"):
        guarantee.delta_at(-1)
