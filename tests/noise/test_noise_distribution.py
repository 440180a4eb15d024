"""The noise that transformers add follows the closed form, and nothing near it."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise
from skdp.privacy import gaussian_sigma

N_SAMPLES = 200_000
# Two tests a check: a right distribution fails less than once in a million runs.
LEVEL = 4e-7


@dataclass(frozen=True)
class ClosedForm:
    """A point mass at zero and a continuous distribution from scipy."""

    continuous: object
    scale: float
    atom: float = 0.0

    def cdf(self, v):
        return self.continuous.cdf(np.asarray(v) / self.scale)


class Staircase:
    """The staircase distribution for sensitivity 1, by counting steps."""

    def __init__(self, epsilon):
        self.epsilon, self.gamma = epsilon, 1 / (1 + np.exp(epsilon / 2))

    def cdf(self, v):
        # Masses of the pairs of steps are geometric; within a pair the mass is linear.
        k, fraction = np.divmod(np.abs(v), 1.0)
        low, q = 1 - self.gamma, np.exp(-self.epsilon)
        mass = np.where(fraction < self.gamma, fraction, self.gamma + q * (fraction - self.gamma))
        beyond = 0.5 * q**k * (1 - (1 - q) * mass / (self.gamma + q * low))
        return np.where(v < 0, beyond, 1 - beyond)


@cache
def drawn(transformer):
    """Return the number of zeros in a transformer's noise, and the other values in order.

    The same for all tests of one transformer: they differ in what it is held against.
    """
    noise = seeded(transformer).fit_transform(np.zeros((N_SAMPLES // 4, 4)))
    assert not np.array_equal(noise[:, :2], noise[:, 2:])
    values = np.sort(noise[noise != 0])
    return noise.size - len(values), values


def check_noise_distribution(transformer, distribution):
    """Raise AssertionError unless the noise of a transformer follows a distribution.

    The fraction of exact zeros is held against ``distribution.atom`` by a binomial test, and the
    other values against ``distribution.cdf`` by a Kolmogorov-Smirnov test, in total and in both
    halves of the features, which must not copy each other.
    """
    n_zeros, values = drawn(transformer)
    p_atom = stats.binomtest(n_zeros, N_SAMPLES, distribution.atom).pvalue
    assert p_atom > LEVEL, (
        f"fraction of zeros {n_zeros / N_SAMPLES:.4f}, expected {distribution.atom}"
    )
    # The law of the statistic for finite samples is the same here, and slow far in its tail.
    p_rest = stats.kstest(values, distribution.cdf, method="asymp").pvalue
    assert p_rest > LEVEL, "the non-zero values follow another distribution"


def optimal(epsilon, delta, sensitivity):
    return (
        OptimalDPNoise(epsilon, delta, sensitivity),
        ClosedForm(stats.laplace, sensitivity / epsilon, delta),
    )


def staircase(epsilon, delta, sensitivity):
    return (
        StaircaseDPNoise(epsilon, delta, sensitivity),
        ClosedForm(Staircase(epsilon), sensitivity, delta),
    )


def analytic(epsilon, delta, sensitivity):
    return (
        GaussianDPNoise(epsilon, delta, sensitivity),
        ClosedForm(stats.norm, gaussian_sigma(epsilon, delta, sensitivity)),
    )


def classical(epsilon, delta, sensitivity):
    return (
        GaussianDPNoise(epsilon, delta, sensitivity, calibration="classical"),
        ClosedForm(stats.norm, sensitivity * np.sqrt(2 * np.log(1.25 / delta)) / epsilon),
    )


CASES = [
    optimal(1.0, 0.0, 1.0),
    optimal(0.5, 0.05, 2.0),
    optimal(8.0, 0.3, 1.0),
    staircase(1.0, 0.0, 2.0),
    staircase(0.1, 0.2, 1.0),
    staircase(6.0, 0.05, 1.0),
    staircase(0.003, 0.05, 1.0),
    analytic(2.0, 1e-5, 1.0),
    analytic(0.1, 0.05, 3.0),
    classical(0.5, 1e-5, 1.0),
]


def seeded(transformer):
    """A RandomState keeps the run reproducible without the warning that an int deserves."""
    return transformer.set_params(random_state=np.random.RandomState(0))


@pytest.mark.parametrize(("transformer", "distribution"), CASES)
def test_accepts_the_right_distribution(transformer, distribution):
    check_noise_distribution(transformer, distribution)


@pytest.mark.parametrize("factor", [0.9, 1.1])
@pytest.mark.parametrize(("transformer", "distribution"), CASES)
def test_rejects_a_scale_off_by_ten_percent(transformer, distribution, factor):
    with pytest.raises(AssertionError, match="another distribution"):
        check_noise_distribution(
            transformer, replace(distribution, scale=distribution.scale * factor)
        )


@pytest.mark.parametrize("factor", [0.9, 1.1])
@pytest.mark.parametrize(("transformer", "distribution"), [case for case in CASES if case[1].atom])
def test_rejects_a_wrong_delta(transformer, distribution, factor):
    with pytest.raises(AssertionError, match="fraction of zeros"):
        check_noise_distribution(
            transformer, replace(distribution, atom=distribution.atom * factor)
        )


@pytest.mark.parametrize(("transformer", "distribution"), CASES)
def test_rejects_noise_for_half_the_sensitivity(transformer, distribution):
    half = clone(transformer).set_params(sensitivity=transformer.sensitivity / 2)
    with pytest.raises(AssertionError, match="another distribution"):
        check_noise_distribution(half, distribution)


@pytest.mark.parametrize(("transformer", "distribution"), [case for case in CASES if case[1].atom])
def test_rejects_a_missing_atom(transformer, distribution):
    with pytest.raises(AssertionError, match="fraction of zeros"):
        check_noise_distribution(clone(transformer).set_params(delta=0.0), distribution)


def test_rejects_the_other_family():
    transformer, distribution = optimal(1.0, 0.0, 1.0)
    # The normal distribution of the same variance.
    other = ClosedForm(stats.norm, np.sqrt(2) * distribution.scale)
    with pytest.raises(AssertionError, match="another distribution"):
        check_noise_distribution(transformer, other)
