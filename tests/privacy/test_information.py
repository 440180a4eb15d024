"""Bounds on mutual information, compared with the exact one of explicit channels."""

from math import comb, exp, inf, log

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import xlogy
from scipy.stats import norm

from skdp.privacy import Mechanism
from skdp.privacy._composition import pure_information

from .conftest import guarantee_of

EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0)


def information(prior, channel):
    """Return I(S; T) of a prior and the probabilities of answers, one row for each value."""
    prior, channel = np.asarray(prior), np.asarray(channel)
    answers = prior @ channel
    return float(prior @ xlogy(channel, channel).sum(axis=1) - xlogy(answers, answers).sum())


def randomized_response(epsilon, k):
    channel = np.ones((k, k)) + np.expm1(epsilon) * np.eye(k)
    return channel / channel.sum(axis=1, keepdims=True)


def subset_selection(epsilon, k, d):
    """Return what it says of k values, equally likely: a subset of d, e^ε likelier with its own.

    All values have the same share of subsets, so that counting them is enough.
    """
    inside, outside = comb(k - 1, d - 1) * exp(epsilon), comb(k - 1, d)
    own = inside / (inside + outside)
    return own * log(own * k / d) + (1 - own) * log((1 - own) * k / (k - d))


def test_pure_closed_form_is_the_largest_over_shares():
    for epsilon in (1e-3, *EPSILONS, 20.0):
        a = np.append(np.geomspace(1e-12, 1, 1_000_000), np.linspace(0, 1, 1_000_000))
        z = 1 + a * np.expm1(epsilon)
        largest = np.max(a * np.exp(epsilon) * epsilon / z - np.log(z))
        assert pure_information(epsilon) == pytest.approx(largest, rel=1e-8)


def test_pure_limits():
    assert pure_information(0.0) == 0
    assert pure_information(inf) == inf
    assert pure_information(1e-6) == pytest.approx(1e-12 / 8, rel=1e-9)
    assert pure_information(700.0) == pytest.approx(700 - 1 - log(700), rel=1e-12)
    around = [pure_information(1e-3 * (1 + step)) for step in (-1e-12, 1e-12)]
    assert around[0] == pytest.approx(around[1], rel=1e-6)  # two formulas meet
    grid = np.geomspace(1e-6, 700, 400)
    assert (np.diff([pure_information(epsilon) for epsilon in grid]) > 0).all()


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_pure_bound_is_reached_and_no_smaller_one_holds(epsilon):
    k = 400
    reached = max(subset_selection(epsilon, k, d) for d in range(1, k))
    bound = pure_information(epsilon)
    assert 0.99 * bound < reached <= bound * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_private_channel_exceeds_it(epsilon):
    """Channels at random, and with all likelihoods at one of the two ends."""
    rng = np.random.default_rng(0)
    for trial in range(300):
        k, n = rng.integers(2, 6), rng.integers(2, 12)
        logs = rng.random((k, n)) if trial % 2 else rng.integers(0, 2, (k, n))
        channel = np.exp(epsilon * logs)
        channel /= channel.sum(axis=1, keepdims=True)
        greatest = np.log(channel.max(axis=0) / channel.min(axis=0)).max()
        exact = information(rng.dirichlet(np.ones(k)), channel)
        # Where all likelihoods are equal, both are zero but for the rounding of logarithms.
        assert exact <= pure_information(greatest) * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("p", [0.5, 0.2, 0.01])
def test_gaussian_noise_between_two_values(mu, p):
    def said(t):
        one, two = norm.pdf(t), norm.pdf(t, mu)
        mixed = (1 - p) * one + p * two
        return (1 - p) * xlogy(one, one / mixed) + p * xlogy(two, two / mixed)

    exact = quad(said, -9, 9 + mu, limit=500)[0] / log(2)
    noise = Mechanism("gaussian", inf, 1e-5, squared_distance=mu**2)
    bound = guarantee_of(noise, relation="add/remove").information_bound()
    assert exact <= bound <= 1
    if mu <= 0.1 and p == 0.5:  # reached by small distances
        assert exact > 0.98 * bound


def test_gaussian_noise_behind_many_values_reaches_the_limit():
    """Many values far from each other."""
    rng = np.random.default_rng(0)
    d, n, mu = 1000, 10_000, 1.0
    scores = rng.standard_normal((n, d)) * mu / np.sqrt(2)
    scores[:, 0] += mu**2 / 2  # the first one is true, whose score is μ²/2 on average
    samples = (log(d) + mu**2 / 2 - np.logaddexp.reduce(scores, axis=1)) / log(2)
    exact, error = samples.mean(), samples.std() / np.sqrt(n)
    noise = Mechanism("gaussian", inf, 1e-5, squared_distance=mu**2)
    bound = guarantee_of(noise).information_bound()
    assert bound == pytest.approx(mu**2 / 4 / log(2))
    assert 0.9 * bound < exact - 3 * error
    assert exact <= bound + 3 * error


def test_samplers_of_gaussian_noise_cost_their_slack():
    ideal = Mechanism("gaussian", inf, 1e-5, squared_distance=0.25)
    real = Mechanism("gaussian", inf, 1e-5, squared_distance=0.25, slack=1e-3)
    less, more = (guarantee_of(each).information_bound() * log(2) for each in (ideal, real))
    assert less + 2e-3 < more < less + 4e-3
    cut = Mechanism("gaussian", inf, 1e-5, squared_distance=0.25, cut=1e-3)
    assert guarantee_of(cut).information_bound() == inf
    assert guarantee_of(cut, relation="add/remove").information_bound() == 1


@pytest.mark.parametrize("delta", [1e-5, 0.01, 0.3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_presence_where_the_data_are_shown_with_probability_delta(epsilon, delta):
    channel = np.hstack([(1 - delta) * randomized_response(epsilon, 2), delta * np.eye(2)])
    exact = max(information([p, 1 - p], channel) for p in (0.1, 0.3, 0.5)) / log(2)
    for kind in ("laplace", "pure", "any"):
        mechanism = Mechanism(kind, epsilon, delta)
        bound = guarantee_of(mechanism, relation="add/remove").information_bound()
        assert exact <= bound <= 1
        assert guarantee_of(mechanism).information_bound() == inf


def test_mechanisms_add_up():
    one, two = Mechanism("pure", 0.5), Mechanism("gaussian", 1.0, 1e-5)
    both = guarantee_of(one, two).information_bound()
    alone = [guarantee_of(each).information_bound() for each in (one, two)]
    assert both == pytest.approx(sum(alone))
    assert alone[0] == pytest.approx(pure_information(0.5) / log(2))
    thrice = guarantee_of(Mechanism("pure", 0.5, count=3)).information_bound()
    assert thrice == pytest.approx(3 * alone[0])
    shared = guarantee_of(Mechanism("pure", 2.0, n_elements=4)).information_bound()
    assert shared == pytest.approx(4 * pure_information(0.5) / log(2))


def test_presence_is_one_bit_at_most():
    for mechanism in (
        Mechanism("any", 30.0, 1e-5),
        Mechanism("gaussian", 30.0, 1e-5),
        Mechanism("laplace", inf),
        Mechanism("any", 1.0, 1.0),
    ):
        bound = guarantee_of(mechanism, relation="add/remove").information_bound()
        assert bound == pytest.approx(1)
    weak = guarantee_of(Mechanism("any", 0.5, 1e-5), relation="add/remove")
    expected = (1 - 1e-5) * pure_information(0.5) / log(2) + 1e-5
    assert weak.information_bound() == pytest.approx(expected)
