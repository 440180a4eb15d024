"""The noise that transformers add follows the closed form, and nothing near it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise
from skdp.privacy import gaussian_sigma

N_SAMPLES = 200_000
# Two tests a check: a right law fails less than once in a million runs.
LEVEL = 4e-7


@dataclass(frozen=True)
class ClosedForm:
    """A point mass at zero and a continuous part, from scipy."""

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
        # Masses of the pairs of steps are geometric; within a pair the share is linear.
        k, part = np.divmod(np.abs(v), 1.0)
        low, q = 1 - self.gamma, np.exp(-self.epsilon)
        share = np.where(part < self.gamma, part, self.gamma + q * (part - self.gamma))
        beyond = 0.5 * q**k * (1 - (1 - q) * share / (self.gamma + q * low))
        return np.where(v < 0, beyond, 1 - beyond)


def check_noise_law(transformer, law):
    """Raise AssertionError unless the noise of a transformer follows a law.

    The share of exact zeros is held against ``law.atom`` by a binomial test, and the other
    values against ``law.cdf`` by a Kolmogorov-Smirnov test, in total and in both halves of
    the columns, which must not copy each other.
    """
    X = np.zeros((N_SAMPLES // 4, 4))
    noise = transformer.fit_transform(X)
    assert not np.array_equal(noise[:, :2], noise[:, 2:])
    noise = noise.ravel()
    values = noise[noise != 0]
    n_zeros = len(noise) - len(values)
    p_atom = stats.binomtest(n_zeros, len(noise), law.atom).pvalue
    p_rest = stats.kstest(values, law.cdf).pvalue
    assert p_atom > LEVEL, f"share of zeros {n_zeros / len(noise):.4f}, expected {law.atom}"
    assert p_rest > LEVEL, "the non-zero values follow another law"


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
    analytic(2.0, 1e-5, 1.0),
    analytic(0.1, 0.05, 3.0),
    classical(0.5, 1e-5, 1.0),
]


def seeded(transformer):
    """A RandomState keeps the run reproducible without the warning that an int deserves."""
    return transformer.set_params(random_state=np.random.RandomState(0))


@pytest.mark.parametrize(("transformer", "law"), CASES)
def test_accepts_the_right_law(transformer, law):
    check_noise_law(seeded(transformer), law)


@pytest.mark.parametrize("factor", [0.9, 1.1])
@pytest.mark.parametrize(("transformer", "law"), CASES)
def test_rejects_a_scale_off_by_ten_percent(transformer, law, factor):
    with pytest.raises(AssertionError, match="another law"):
        check_noise_law(seeded(transformer), replace(law, scale=law.scale * factor))


@pytest.mark.parametrize("factor", [0.9, 1.1])
@pytest.mark.parametrize(("transformer", "law"), [case for case in CASES if case[1].atom])
def test_rejects_a_wrong_delta(transformer, law, factor):
    with pytest.raises(AssertionError, match="share of zeros"):
        check_noise_law(seeded(transformer), replace(law, atom=law.atom * factor))


@pytest.mark.parametrize(("transformer", "law"), CASES)
def test_rejects_noise_for_half_the_sensitivity(transformer, law):
    half = clone(transformer).set_params(sensitivity=transformer.sensitivity / 2)
    with pytest.raises(AssertionError, match="another law"):
        check_noise_law(seeded(half), law)


@pytest.mark.parametrize(("transformer", "law"), [case for case in CASES if case[1].atom])
def test_rejects_a_missing_atom(transformer, law):
    with pytest.raises(AssertionError, match="share of zeros"):
        check_noise_law(seeded(clone(transformer).set_params(delta=0.0)), law)


def test_rejects_the_other_family():
    transformer, law = optimal(1.0, 0.0, 1.0)
    # The normal law of the same variance.
    other = ClosedForm(stats.norm, np.sqrt(2) * law.scale)
    with pytest.raises(AssertionError, match="another law"):
        check_noise_law(seeded(transformer), other)
