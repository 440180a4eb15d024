"""Bounds on mutual information, compared with the exact one of explicit channels."""

from math import comb, exp, inf, log, tanh

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import xlogy
from scipy.stats import laplace, norm

from skdp.noise import GaussianDPNoise, OptimalDPNoise, RandomizedResponse, StaircaseDPNoise
from skdp.privacy import InformationBound, Mechanism, PrivacyGuarantee, joint_guarantee
from skdp.privacy._information import (
    approximate_information,
    gaussian_information,
    pure_information,
    round_up,
)

EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0)


def guarantee_of(*mechanisms, relation="replace-one", unit="labeled record"):
    how = {"unit": unit, "relation": relation}
    return PrivacyGuarantee("m", list(mechanisms), None, 1, "c", "e", **how)


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


def priors(k, n, seed=0):
    rng = np.random.default_rng(seed)
    return [np.full(k, 1 / k), *rng.dirichlet(np.full(k, 0.5), n)]


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
    assert pure_information(1e-3) == pytest.approx(1e-6 / 8, rel=1e-6)
    assert pure_information(700.0) == pytest.approx(700 - 1 - log(700), rel=1e-12)
    around = [pure_information(1.0 * (1 + step)) for step in (-1e-12, 1e-12)]
    assert around[0] == pytest.approx(around[1], rel=1e-10)  # two formulas meet
    grid = np.geomspace(1e-6, 700, 400)
    bounds = np.array([pure_information(epsilon) for epsilon in grid])
    assert (np.diff(bounds) > 0).all()
    assert (bounds <= grid * np.tanh(grid / 2)).all()  # Bun and Steinke (2016)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_pure_bound_is_reached_and_no_smaller_one_holds(epsilon):
    k = 400
    reached = max(subset_selection(epsilon, k, d) for d in range(1, k))
    bound = pure_information(epsilon)
    assert 0.99 * bound < reached <= bound * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_subset_selection_by_all_subsets(epsilon):
    """The closed form of the test above, and the bound of a prior, which is reached."""
    k, d = 6, 3
    members = np.array([[bin(s)[2:].zfill(k)[i] == "1" for s in range(2**k)] for i in range(k)])
    weights = np.where(members, exp(epsilon), 1.0)[:, members.sum(axis=0) == d]
    channel = weights / weights.sum(axis=1, keepdims=True)
    exact = information(np.full(k, 1 / k), channel)
    assert exact == pytest.approx(subset_selection(epsilon, k, d), rel=1e-9)
    best = max(subset_selection(epsilon, k, each) for each in range(1, k))
    assert pure_information(epsilon, np.full(k, 1 / k)) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_private_channel_exceeds_it(epsilon):
    """Channels at random, and with all likelihoods at one of the two ends."""
    rng = np.random.default_rng(0)
    guarantee = guarantee_of(Mechanism("pure", epsilon))
    for trial in range(300):
        k, n = rng.integers(2, 6), rng.integers(2, 12)
        logs = rng.random((k, n)) if trial % 2 else rng.integers(0, 2, (k, n))
        channel = np.exp(epsilon * logs)
        channel /= channel.sum(axis=1, keepdims=True)
        greatest = np.log(channel.max(axis=0) / channel.min(axis=0)).max()
        prior = rng.dirichlet(np.ones(k))
        exact = information(prior, channel)
        # Where all likelihoods are equal, both are zero but for the rounding of logarithms.
        assert exact <= pure_information(greatest) * (1 + 1e-9) + 1e-15
        assert exact <= pure_information(greatest, prior) * (1 + 1e-9) + 1e-15
        if greatest <= epsilon:
            assert exact <= guarantee.information_bound(prior).nats * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [2, 3, 10])
def test_randomized_response(epsilon, k):
    response = RandomizedResponse(epsilon, classes=list(range(k))).fit([0, 1])
    channel = randomized_response(epsilon, k)
    for prior in priors(k, 20):
        exact = information(prior, channel)
        bound = response.guarantee_.information_bound(prior)
        assert exact <= bound.nats * (1 + 1e-9)
        assert exact <= response.guarantee_.information_bound().nats * (1 + 1e-9)
        if k == 2:  # the better one of two answers
            ends = pure_information(epsilon, prior)
            entropy = -xlogy(prior, prior).sum()
            assert bound.nats == pytest.approx(min(ends, entropy))
    if k == 2:
        half = np.full(2, 0.5)
        exact = information(half, channel)
        assert response.guarantee_.information_bound(half).nats == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_noise_between_two_values(epsilon):
    def said(t):
        p, q = laplace.pdf(t), laplace.pdf(t, loc=epsilon)
        return (xlogy(p, 2 * p / (p + q)) + xlogy(q, 2 * q / (p + q))) / 2

    exact = quad(said, -40, 40 + epsilon, points=[0, epsilon], limit=500)[0]
    guarantee = OptimalDPNoise(epsilon, 0.0).fit([[0.0]]).guarantee_
    bound = guarantee.information_bound([0.5, 0.5]).nats
    assert exact <= bound * (1 + 1e-6)
    assert bound <= guarantee.information_bound().nats


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("p", [0.5, 0.2, 0.01])
def test_gaussian_noise_between_two_values(mu, p):
    def said(t):
        one, two = norm.pdf(t), norm.pdf(t, mu)
        mixed = (1 - p) * one + p * two
        return (1 - p) * xlogy(one, one / mixed) + p * xlogy(two, two / mixed)

    exact = quad(said, -9, 9 + mu, limit=500)[0]
    noise = Mechanism("gaussian", inf, 1e-5, squared_distance=mu**2)
    for relation, prior in (("add/remove", None), ("add/remove", [p, 1 - p])):
        bound = guarantee_of(noise, relation=relation).information_bound(prior).nats
        assert exact <= bound <= log(2)
    assert bound <= 0.5 * np.log1p(p * (1 - p) * mu**2) * (1 + 1e-12)
    if mu <= 0.1:  # reached by small distances
        assert exact > 0.98 * bound


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_gaussian_noise_in_several_dimensions(d, mu):
    """A regular simplex fills the ball of Jung's theorem; Monte Carlo in d + 1 dimensions."""
    rng = np.random.default_rng(0)
    n = 200_000
    corners = np.eye(d + 1) * mu / np.sqrt(2)
    values = corners[rng.integers(d + 1, size=n)]
    noisy = values + rng.standard_normal((n, d + 1))
    scores = noisy @ corners.T  # all corners have the same norm
    own = (noisy * values).sum(axis=1)
    samples = log(d + 1) + own - np.logaddexp.reduce(scores, axis=1)
    exact, error = samples.mean(), samples.std() / np.sqrt(n)
    bound = gaussian_information(mu**2, d)
    assert bound == pytest.approx(d / 2 * np.log1p(mu**2 / (2 * (d + 1))))
    assert exact <= bound + 3 * error
    assert bound <= gaussian_information(mu**2) == mu**2 / 4
    uniform = np.full(d + 1, 1 / (d + 1))
    assert gaussian_information(mu**2, inf, uniform) == pytest.approx(mu**2 * d / (d + 1) / 4)
    assert exact <= gaussian_information(mu**2, inf, uniform) + 3 * error
    if mu < 1:
        assert exact > 0.9 * bound - 3 * error  # a tenth less is refuted


def test_gaussian_noise_behind_many_values_reaches_the_limit():
    """Many values far from each other: noise in few dimensions would allow less."""
    rng = np.random.default_rng(0)
    d, n, mu = 1000, 10_000, 1.0
    scores = rng.standard_normal((n, d)) * mu / np.sqrt(2)
    scores[:, 0] += mu**2 / 2  # the first one is true, whose score is μ²/2 on average
    samples = log(d) + mu**2 / 2 - np.logaddexp.reduce(scores, axis=1)
    exact, error = samples.mean(), samples.std() / np.sqrt(n)
    assert 0.9 * gaussian_information(mu**2) < exact - 3 * error
    assert exact <= gaussian_information(mu**2) + 3 * error
    assert exact - 3 * error > gaussian_information(mu**2, 1)


def test_dimensions_follow_the_unit():
    noise = GaussianDPNoise(1.0, 1e-5).fit([[0.0, 1.0, 2.0]]).guarantee_
    mu = noise.gaussian_distance
    assert noise.information_bound().nats == pytest.approx(0.5 * np.log1p(mu**2 / 4), rel=1e-6)
    record = noise.to_record()
    assert record.information_bound().nats == pytest.approx(3 * mu**2 / 4, rel=1e-6)
    pair = record.information_bound([0.5, 0.5]).nats
    assert pair == pytest.approx(0.5 * np.log1p(3 * mu**2 / 4), rel=1e-6)


def test_samplers_of_gaussian_noise_cost_their_slack():
    ideal = Mechanism("gaussian", inf, 1e-5, squared_distance=0.25)
    real = Mechanism("gaussian", inf, 1e-5, squared_distance=0.25, slack=1e-3)
    less, more = (guarantee_of(each).information_bound().nats for each in (ideal, real))
    assert less + 2e-3 < more < less + 4e-3
    cut = guarantee_of(Mechanism("gaussian", inf, 1e-5, squared_distance=0.25, cut=1e-3))
    assert cut.information_bound().nats == inf
    assert cut.information_bound([0.5, 0.5]).nats == pytest.approx(log(2))


@pytest.mark.parametrize("delta", [1e-5, 0.01, 0.3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_data_shown_with_probability_delta(epsilon, delta):
    k = 4
    channel = np.hstack([(1 - delta) * randomized_response(epsilon, k), delta * np.eye(k)])
    for prior in priors(k, 10):
        exact = information(prior, channel)
        laplace_noise = guarantee_of(Mechanism("laplace", epsilon, delta))
        bound = laplace_noise.information_bound(prior).nats
        assert exact <= bound * (1 + 1e-9)
        entropy = -xlogy(prior, prior).sum()
        free = min(pure_information(epsilon, prior), entropy)
        assert bound == pytest.approx((1 - delta) * free + delta * entropy)
        for kind in ("pure", "any"):  # of which less is known
            known = guarantee_of(Mechanism(kind, epsilon, delta)).information_bound(prior).nats
            assert bound <= known * (1 + 1e-9)
            assert known <= entropy * (1 + 1e-9)
    assert laplace_noise.information_bound().nats == inf


@pytest.mark.parametrize("delta", [1e-4, 0.05])
@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_any_mechanism_by_random_channels(epsilon, delta):
    """Channels that are (ε, δ)-private for every pair, by the sum of what exceeds."""
    rng = np.random.default_rng(0)
    n_close = 0
    for _ in range(300):
        k, n = rng.integers(2, 6), rng.integers(3, 10)
        channel = np.exp(1.3 * epsilon * rng.random((k, n)))
        channel[:, 0] *= rng.random(k) * delta * 3
        channel /= channel.sum(axis=1, keepdims=True)
        excess = channel[:, None] - exp(epsilon) * channel[None]
        needed = np.maximum(excess, 0).sum(axis=2).max()
        if needed > delta:
            continue
        n_close += 1
        prior = rng.dirichlet(np.ones(k))
        exact = information(prior, channel)
        bound = guarantee_of(Mechanism("any", epsilon, delta)).information_bound(prior)
        assert exact <= bound.nats
    assert n_close > 30


def test_total_variation_of_the_clipped_channel():
    """What the bound for "any" rests on: δ moves every answer into e^±ε of a reference."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        p, q = rng.dirichlet(np.full(6, 0.7), 2)
        epsilon = rng.uniform(0, 1.5)
        delta = max(np.maximum(a - exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))
        low, high = exp(-epsilon) * p, exp(epsilon) * p
        moved = np.clip(q, low, high)
        missing = 1 - moved.sum()
        room = high - moved if missing > 0 else moved - low
        assert abs(missing) <= room.sum() + 1e-12
        moved = moved + missing * room / max(room.sum(), 1e-300)
        assert moved.sum() == pytest.approx(1)
        assert abs(moved - q).sum() / 2 <= delta + 1e-12


def test_approximate_information_closed_form():
    delta, k = 1e-3, 7
    surprise = -delta * log(delta) - (1 - delta) * log(1 - delta)
    expected = pure_information(1.0) + surprise + delta * log(k)
    assert approximate_information(0.5, delta, k) == pytest.approx(expected)
    assert approximate_information(0.5, 0.0, k) == pure_information(1.0)
    assert approximate_information(0.5, 1.0, 2) >= 2 * log(2)


def test_mechanisms_add_up():
    one, two = Mechanism("pure", 0.5), Mechanism("gaussian", 1.0, 1e-5)
    both = guarantee_of(one, two).information_bound().nats
    alone = [guarantee_of(each).information_bound().nats for each in (one, two)]
    assert both == pytest.approx(sum(alone))
    thrice = guarantee_of(Mechanism("pure", 0.5, count=3)).information_bound().nats
    assert thrice == pytest.approx(3 * alone[0])
    assert thrice <= pure_information(1.5)
    shared = guarantee_of(Mechanism("pure", 2.0, n_elements=4)).information_bound().nats
    assert shared == pytest.approx(4 * pure_information(0.5))


@pytest.mark.parametrize("prior", priors(2, 5))
def test_several_answers_by_all_of_them(prior):
    """Of two and three randomized responses, of which one shows the data now and then."""
    delta, epsilon = 0.02, 0.7
    shows = np.hstack([(1 - delta) * randomized_response(epsilon, 2), delta * np.eye(2)])
    channel = shows
    for k in (2, 3):
        channel = np.stack([np.outer(a, b).ravel() for a, b in zip(channel, shows, strict=True)])
        exact = information(prior, channel)
        for kind in ("laplace", "pure", "any"):
            bound = guarantee_of(Mechanism(kind, epsilon, delta, count=k)).information_bound(prior)
            assert exact <= bound.nats * (1 + 1e-9)


def test_presence_is_one_bit_at_most():
    for mechanism in (
        Mechanism("any", 30.0, 1e-5),
        Mechanism("gaussian", 30.0, 1e-5),
        Mechanism("laplace", inf),
        Mechanism("any", 1.0, 1.0),
    ):
        bound = guarantee_of(mechanism, relation="add/remove").information_bound()
        assert bound.bits == pytest.approx(1)
        assert bound.source == "entropy"
    weak = guarantee_of(Mechanism("any", 0.5, 1e-5), relation="add/remove")
    expected = (1 - 1e-5) * pure_information(0.5) + 1e-5 * log(2)
    assert weak.information_bound().nats == pytest.approx(expected)
    assert weak.to_replace_one().information_bound().nats == inf


def test_what_is_known_beforehand_is_not_said():
    for mechanism in (Mechanism("any", inf, 1.0), Mechanism("gaussian", 1.0, 1e-5)):
        assert guarantee_of(mechanism).information_bound([0.0, 1.0]).nats == 0
    skewed = guarantee_of(Mechanism("pure", inf)).information_bound([0.99, 0.01])
    assert skewed.nats == pytest.approx(0.056, abs=1e-4)


def test_unused_values_do_not_count():
    for kind in ("any", "pure", "gaussian"):
        guarantee = guarantee_of(Mechanism(kind, 0.5, 1e-5))
        three, two = ([0.5, 0.5, 0.0], [0.5, 0.5])
        given = [guarantee.information_bound(prior).nats for prior in (three, two)]
        assert given[0] == pytest.approx(given[1], rel=1e-12)


def test_noise_of_disjoint_data_is_not_taken_for_a_point_mass():
    """The weakest of two Gaussian noises is kept by its ε and δ alone."""
    first, second = (GaussianDPNoise(epsilon).fit([[0.0]]).guarantee_ for epsilon in (0.5, 1.0))
    joint = joint_guarantee([first, second])
    prior = np.full(3, 1 / 3)
    expected = approximate_information(1.0, 1e-5, 3)
    assert joint.information_bound(prior).nats == pytest.approx(expected)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ([0.5, 0.6], "sum of 1.1"),
        ([-0.5, 1.5], "least one of -0.5"),
        ([[0.5, 0.5]], "list of probabilities"),
        ([], "list of probabilities"),
        ([np.nan, 1.0], "list of probabilities"),
        ("even", "list of probabilities"),
    ],
)
def test_a_wrong_prior_is_refused(prior, words):
    with pytest.raises(ValueError, match=f"'prior' parameter .*{words}"):
        guarantee_of(Mechanism("pure", 1.0)).information_bound(prior)


def test_presence_has_two_values():
    guarantee = guarantee_of(Mechanism("pure", 1.0), relation="add/remove")
    with pytest.raises(ValueError, match=r"'prior' .* two probabilities .* to_replace_one"):
        guarantee.information_bound([0.5, 0.25, 0.25])


def test_in_words():
    assert str(guarantee_of(Mechanism("any", 1.0, 0.1)).information_bound()) == (
        "Without a prior over finitely many values there is no bound on what it says about the "
        "record with its label."
    )
    noise = StaircaseDPNoise(1.0, 0.0, sensitivity=8.0).fit([[0.0, 1.0]]).guarantee_
    assert str(noise.information_bound([0.25] * 4)) == (
        "It says at most 0.171 bits (0.118 nats) about the element, for the given prior of 4 "
        "values, over values that differ by 8 at most."
    )
    assert (
        "each element of which differs by 8 at most"
        in noise.to_record().information_bound().assumes
    )
    assert InformationBound(log(2), "it", "entropy", "any prior").bits == 1


def test_the_inequality_is_named():
    gaussian, pure = Mechanism("gaussian", 1.0, 1e-5), Mechanism("pure", 1.0)
    variance, ratios = "variance against that of Gaussian noise", "likelihood ratios"
    shown = f"{ratios}, and entropy where the data are shown"
    even = [0.5, 0.5]
    for mechanisms, prior, source in (
        ([gaussian], None, variance),
        ([pure], None, ratios),
        ([pure, gaussian], None, f"{variance} and {ratios}"),
        ([Mechanism("laplace", 1.0, 0.1)], even, shown),
        ([Mechanism("any", 50.0)], even, "entropy"),
    ):
        assert guarantee_of(*mechanisms).information_bound(prior).source == source


def test_numbers_are_rounded_upwards():
    assert [round_up(x) for x in (0.12345, 0.1, 1.0, 123.4, 1234.5, 0.0, inf)] == [
        *("0.124", "0.1", "1", "124", "1,235", "0", "inf")
    ]
    for value in np.random.default_rng(0).lognormal(0, 4, 500):
        assert value * (1 - 1e-9) <= float(round_up(value).replace(",", "")) <= value * 1.011


def test_tanh_bound_of_the_documents():
    """ε tanh(ε/2) is the divergence of randomized response, hence of two neighbors."""
    for epsilon in EPSILONS:
        p, q = randomized_response(epsilon, 2)
        assert (p * np.log(p / q)).sum() == pytest.approx(epsilon * tanh(epsilon / 2))
