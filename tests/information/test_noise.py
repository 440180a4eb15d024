"""Information behind noise, compared with closed forms, other quadratures and its bound."""

from itertools import pairwise
from math import atan, exp, inf, log, log1p, pi, sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import xlogy
from scipy.stats import norm

from skdp import GaussianDPNoise, OptimalDPNoise, RandomizedResponse, StaircaseDPNoise
from skdp.information import noise_information
from skdp.noise import GaussianDistribution, OptimalDistribution, StaircaseDistribution

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
PRIORS = ("uniform", "two-point")


def fitted(cls, epsilon, delta=None, **how):
    delta = (1e-5 if cls is GaussianDPNoise else 0.0) if delta is None else delta
    return cls(epsilon, delta, **how).fit([[0.5]])


def two_points_behind_laplace(epsilon):
    """Return the closed form: the loss is ±ε outside the two points, and linear between."""
    c = exp(-epsilon)

    def integral(u):  # of log(1 + c/u²)
        return u * log1p(c / u**2) + 2 * sqrt(c) * atan(u / sqrt(c))

    outside = 0.5 * log(2 / (1 + c)) + 0.5 * c * log(2 / (1 + 1 / c))
    return outside + 0.5 * ((1 - c) * log(2) - integral(1) + integral(c))


@pytest.mark.parametrize("epsilon", [0.01, *EPSILONS, 30.0])
def test_laplace_noise_of_two_points(epsilon):
    found = noise_information(OptimalDistribution(1 / epsilon), "two-point", width=1.0)
    expected = two_points_behind_laplace(epsilon)
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-13)
    for other in (0.9 * epsilon, 1.1 * epsilon):
        if epsilon < 8:  # a tenth off is told
            assert found != pytest.approx(two_points_behind_laplace(other), rel=1e-2)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_noise_of_a_uniform_value(epsilon):
    """By adaptive quadrature of the density that is written out here."""

    def density(t):
        if t < 0:
            return 0.5 * exp(epsilon * t) * (1 - exp(-epsilon))
        return 1 - 0.5 * exp(-epsilon * t) - 0.5 * exp(-epsilon * (1 - t))

    def terms(t):
        return -xlogy(density(t), density(t))

    tails = 2 * quad(terms, -45 / epsilon, 0, epsabs=1e-13, limit=500)[0]
    entropy = tails + quad(terms, 0, 1, epsabs=1e-13, limit=500)[0]
    found = noise_information(OptimalDistribution(1 / epsilon), width=1.0)
    assert found == pytest.approx(entropy - 1 - log(2 / epsilon), abs=1e-11)


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 3.0, 12.0, 60.0])
def test_gaussian_noise_by_adaptive_quadrature(mu):
    distribution = GaussianDistribution(2.0 / mu)  # a width of 2

    def two_points(t):
        p, q = norm.pdf(t), norm.pdf(t, mu)
        return (xlogy(p, p / ((p + q) / 2 + 1e-300)) + xlogy(q, q / ((p + q) / 2 + 1e-300))) / 2

    def uniform(t):
        p = (norm.cdf(t) - norm.cdf(t - mu)) / mu if t < mu / 2 else uniform_upper(t)
        return -xlogy(p, p)

    def uniform_upper(t):
        return (norm.cdf(mu - t) - norm.cdf(-t)) / mu

    points = {"points": sorted({0.0, mu / 2, mu}), "limit": 1000, "epsabs": 1e-13}
    expected = quad(two_points, -10, mu + 10, **points)[0]
    found = noise_information(distribution, "two-point", width=2.0)
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-12)
    expected = quad(uniform, -10, mu + 10, **points)[0] - 0.5 * log(2 * pi * np.e)
    found = noise_information(distribution, width=2.0)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-11)
    # Small noise leaves as much as the ratio of the widths.
    if mu == 60:
        assert found == pytest.approx(log(mu) - 0.5 * log(2 * pi * np.e), abs=0.05)


@pytest.mark.parametrize("epsilon", [0.02, *EPSILONS, 19.0])
def test_staircase_of_two_points_is_as_clear_as_one_answer(epsilon):
    """Steps are as wide as the sensitivity: every loss is ε or −ε, or 0 between the two."""
    noise = StaircaseDistribution(epsilon, 1.0)
    gamma, height = noise.gamma, float(noise.pdf(0.0))
    answer = 1 / (1 + exp(-epsilon))
    binary = log(2) + xlogy(answer, answer) + xlogy(1 - answer, 1 - answer)
    # Between the two points lies (γ, 1 − γ), where both densities are on the lower step.
    alike = (1 - 2 * gamma) * height * exp(-epsilon)
    found = noise_information(noise, "two-point")
    assert found == pytest.approx((1 - alike) * binary, rel=1e-9)
    with pytest.raises(AssertionError):
        assert found * 0.9 == pytest.approx((1 - alike) * binary, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("width", [1.0, 0.37, 2.3])
def test_staircase_by_sums_over_linear_pieces(epsilon, width):
    """Between its kinks the density of the noisy value is linear, and p log p has an integral."""
    noise = StaircaseDistribution(epsilon, 1.0)
    steps = np.arange(-round(50 / epsilon) - 5, round(50 / epsilon) + 6)
    kinks = np.concatenate([steps, steps + noise.gamma, steps - noise.gamma])
    kinks = np.unique(np.concatenate([kinks, kinks + width]).round(13))
    p = np.maximum((noise.cdf(kinks) - noise.cdf(kinks - width)) / width, 1e-300)
    entropy = 0.0
    for (a, b), (low, high) in zip(pairwise(p), pairwise(kinks), strict=True):
        if abs(a - b) < 1e-4 * (a + b):  # nearly constant: by Simpson's rule
            middle = (a + b) / 2
            mean = (xlogy(a, a) + 4 * xlogy(middle, middle) + xlogy(b, b)) / 6
        else:
            mean = (b * b * (log(b) / 2 - 0.25) - a * a * (log(a) / 2 - 0.25)) / (b - a)
        entropy -= mean * (high - low)
    middles = (kinks[1:] + kinks[:-1]) / 2
    f = noise.pdf(middles)
    own = -(xlogy(f, f) * np.diff(kinks)).sum()
    assert noise_information(noise, width=width) == pytest.approx(entropy - own, abs=1e-9)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("cls", [OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise])
def test_grows_with_epsilon_and_stays_below_the_bound(cls, prior):
    found = []
    for epsilon in EPSILONS:
        noise = fitted(cls, epsilon)
        found.append(noise_information(noise, prior))
        bound = noise.guarantee_.information_bound(None if prior == "uniform" else [0.5, 0.5])
        assert 0 < found[-1] <= bound.nats * (1 + 1e-6)
    assert (np.diff(found) > 0).all()


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("k", [2, 3, 10])
def test_randomized_labels(k, prior):
    found = []
    for epsilon in EPSILONS:
        response = RandomizedResponse(epsilon, classes=range(k)).fit([0, 1])
        keep = response.keep_probability_
        found.append(noise_information(response, prior))
        if prior == "uniform":
            other = (1 - keep) / (k - 1)
            assert found[-1] == pytest.approx(
                log(k) + xlogy(keep, keep) + (k - 1) * xlogy(other, other), abs=1e-12
            )
        given = np.full(k, 1 / k) if prior == "uniform" else [0.5, 0.5] + [0.0] * (k - 2)
        assert found[-1] <= response.guarantee_.information_bound(given).nats * (1 + 1e-6)
    assert (np.diff(found) > 0).all()


@pytest.mark.parametrize("cls", [OptimalDistribution, StaircaseDistribution])
def test_a_point_mass_shows_the_value(cls):
    whole = cls(1.0, 1.0, 0.25) if cls is StaircaseDistribution else cls(1.0, 0.25)
    free = cls(1.0, 1.0) if cls is StaircaseDistribution else cls(1.0)
    assert noise_information(whole, width=1.0) == inf
    expected = 0.25 * log(2) + 0.75 * noise_information(free, "two-point", width=1.0)
    assert noise_information(whole, "two-point", width=1.0) == pytest.approx(expected)


def test_no_noise_shows_everything():
    with pytest.warns(UserWarning, match="no noise"):
        noise = OptimalDPNoise(inf).fit([[0.5]])
    assert noise_information(noise) == inf
    assert noise_information(noise, "two-point") == log(2)


def test_units_do_not_matter():
    for cls in (OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise):
        one = noise_information(fitted(cls, 1.0))
        many = noise_information(fitted(cls, 1.0, sensitivity=400.0))
        bounded = noise_information(fitted(cls, 1.0, bounds=(-3, 9)))
        assert many == pytest.approx(one, rel=1e-6)
        assert bounded == pytest.approx(one, rel=1e-6)


def test_densities_are_slopes_of_cumulative_distributions():
    v = np.random.default_rng(0).uniform(-4, 4, 200)
    for noise in (
        OptimalDistribution(0.7, 0.2),
        StaircaseDistribution(1.3, 0.9, 0.1),
        GaussianDistribution(1.4),
    ):
        slopes = (noise.cdf(v + 1e-6) - noise.cdf(v - 1e-6)) / 2e-6
        assert np.median(abs(slopes - noise.pdf(v))) < 1e-8
        assert np.mean(abs(slopes - noise.pdf(v)) < 1e-6) > 0.98
    assert OptimalDistribution(0.0).pdf([0.0, 1.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("noise", "how", "words"),
    [
        (OptimalDistribution(1.0), {}, "'width' .* positive"),
        (OptimalDistribution(1.0), {"width": -1.0}, "'width' .* positive"),
        (OptimalDistribution(1.0), {"width": 1.0, "prior": "normal"}, "'prior' .* 'two-point'"),
        (OptimalDistribution(1.0), {"width": 1e9}, "too large or too small"),
        (StaircaseDistribution(1e-6, 1.0), {}, "too large or too small"),
        (GaussianDistribution(1.0), {"width": 1e6}, "too large or too small"),
        (OptimalDPNoise(), {}, "must be fitted"),
        (RandomizedResponse(), {}, "must be fitted"),
        ("laplace", {"width": 1.0}, "got a str"),
    ],
)
def test_what_cannot_be_done_is_refused(noise, how, words):
    with pytest.raises(ValueError, match=words):
        noise_information(noise, **how)


def test_labels_have_no_width():
    with pytest.raises(ValueError, match=r"'width' .* None"):
        noise_information(RandomizedResponse().fit([0, 1]), width=1.0)
