"""The noise that transformers add follows the closed form, and nothing near it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from skdp import GaussianDPNoise, OptimalDPNoise
from skdp.privacy import gaussian_sigma

N_SAMPLES = 200_000
# A right law fails one run in ten thousand; the seeds below are not among them.
LEVEL = 1e-4


@dataclass(frozen=True)
class ClosedForm:
    """A point mass at zero and a continuous part, from scipy."""

    continuous: object
    scale: float
    atom: float = 0.0

    def cdf(self, v):
        return self.continuous.cdf(v, scale=self.scale)


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


def test_rejects_the_other_family():
    transformer, law = optimal(1.0, 0.0, 1.0)
    # The normal law of the same variance.
    other = ClosedForm(stats.norm, np.sqrt(2) * law.scale)
    with pytest.raises(AssertionError, match="another law"):
        check_noise_law(seeded(transformer), other)
