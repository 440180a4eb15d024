import re

import numpy as np
import pytest
from scipy import stats

from skdp.noise import GaussianQueries, RandomBits, Share
from skdp.privacy import gaussian_delta, gaussian_sigma

STEP = 2**30
FRACTIONS = {"once": 0.2, "thrice": 0.3 / 3, "rest": 0.5}


def queries(epsilon=1.0, n_numbers=10**6, seed=0, sensitivity=STEP):
    once, each = n_numbers // 5, n_numbers // 10
    shares = {
        "once": Share(0.2, once, sensitivity),
        "thrice": Share(0.3, each, sensitivity, 3),
        "rest": Share(0.5, n_numbers - once - 3 * each, sensitivity),
    }
    return GaussianQueries(epsilon, 1e-5, shares, RandomBits(bytes([seed] * 32)))


def test_all_queries_together_are_as_private_as_promised():
    asked = queries()
    # Independent of the class: each query is a Gaussian mechanism, whose 1/σ² add up.
    uses = {"once": 1, "thrice": 3, "rest": 1}
    precisions = [n * asked.deviation(name, 1.0) ** -2 for name, n in uses.items()]
    sigma = sum(precisions) ** -0.5
    assert sigma == pytest.approx(1 / asked.distance)
    assert gaussian_delta(sigma, 1.0) <= 1e-5
    # All that is lost is what the sampler needs for a million numbers.
    assert sigma == pytest.approx((1 + 1e-7) * gaussian_sigma(1 - 1e6 * 2.0**-30, 1e-5), rel=1e-9)
    assert asked.mechanism.slack == 1e6 * 2.0**-30


@pytest.mark.parametrize(("name", "scale"), [("once", 1.0), ("thrice", 1.0), ("rest", 0.5)])
def test_noise_is_normal_and_of_the_size_that_the_share_buys(name, scale):
    zeros = np.zeros(40_000, dtype=np.int64)
    noise = queries().add(name, zeros, STEP, scale) / STEP
    sigma = scale * gaussian_sigma(1.0, 1e-5) / np.sqrt(FRACTIONS[name])
    assert stats.kstest(noise, stats.norm(scale=sigma).cdf).pvalue > 1e-3
    for wrong in (0.9, 1.1):
        assert stats.kstest(noise, stats.norm(scale=wrong * sigma).cdf).pvalue < 1e-6


def test_each_number_has_the_scale_that_it_was_given():
    scales = np.where(np.arange(20_000) % 2, 1.0, np.sqrt(0.5)).reshape(100, 200)
    noise = queries().add("rest", np.zeros((100, 200), dtype=np.int64), STEP, scales) / STEP
    assert noise.shape == (100, 200)
    ratio = noise[:, 1::2].var() / noise[:, ::2].var()
    assert ratio == pytest.approx(2, rel=0.06)  # three standard deviations of 2·√(4/10,000)
    assert abs(stats.pearsonr(noise[:, ::2].ravel(), noise[:, 1::2].ravel()).statistic) < 0.03


def test_a_share_cannot_be_spent_twice():
    asked, values = queries(), np.zeros(3, dtype=np.int64)
    asked.add("once", values, STEP)
    with pytest.raises(RuntimeError, match="share of query 'once' is spent"):
        asked.add("once", values, STEP)
    for _ in range(3):
        asked.add("thrice", values, STEP)
    with pytest.raises(RuntimeError, match="share of query 'thrice' is spent"):
        asked.add("thrice", values, STEP)
    with pytest.raises(RuntimeError, match="share of query 'unheard of' is spent"):
        asked.add("unheard of", values, STEP)


def test_no_more_is_asked_than_a_share_was_made_for():
    asked = queries(n_numbers=10)
    with pytest.raises(RuntimeError, match="Query 'once' asks for more than its share"):
        asked.add("once", np.zeros(3, dtype=np.int64), STEP)
    with pytest.raises(RuntimeError, match="Query 'once' asks for more than its share"):
        asked.add("once", np.zeros(2, dtype=np.int64), STEP + 1)
    asked.add("once", np.zeros(2, dtype=np.int64), STEP)


def test_without_noise_answers_are_exact():
    values = np.arange(4) << 40
    noisy = queries(np.inf).add("rest", values, STEP)
    assert noisy.tolist() == values.tolist()
    noisy[0] = 7
    assert values[0] == 0


def test_noise_comes_from_the_random_bits_alone():
    values = np.arange(50) << 30
    first, second, third = (queries(seed=s).add("rest", values, STEP) for s in (1, 1, 2))
    assert first.tolist() == second.tolist()
    assert (first != third).all()


def alone(epsilon, delta, n_numbers=1, sensitivity=STEP, fraction=1.0):
    share = Share(fraction, n_numbers, sensitivity)
    return GaussianQueries(epsilon, delta, {"a": share}, RandomBits(bytes(32)))


def test_what_cannot_be_kept_is_refused():
    with pytest.raises(ValueError, match="more than 1"):
        alone(1.0, 1e-5, fraction=1.1)
    with pytest.raises(ValueError, match=r"'epsilon' parameter, 0\.001, is less than .* a larger"):
        alone(1e-3, 1e-5, n_numbers=10**7)
    with pytest.raises(ValueError, match="Use a delta such as 1e-5"):
        alone(1.0, 1e-300)
    with pytest.raises(ValueError, match="epsilon is too large for the grid"):
        alone(300.0, 1e-5, sensitivity=2**10)
    with pytest.raises(ValueError, match="epsilon is too small for the grid"):
        alone(0.1, 1e-5, sensitivity=2.0**55)
    with pytest.raises(TypeError, match="int64"):
        queries().add("rest", np.zeros(1), STEP)


@pytest.mark.parametrize("epsilon", [500.0, 1e4, 1e300])
@pytest.mark.parametrize("n_numbers", [1, 10**6])
def test_an_epsilon_beyond_the_sampler_is_refused_with_the_largest_one(epsilon, n_numbers):
    with pytest.raises(ValueError, match="beyond the precision of the sampler") as raised:
        queries(epsilon, n_numbers)
    most = int(re.search(r"Use at most (\d+)", str(raised.value))[1])
    distance = queries(most, n_numbers).distance
    assert distance == pytest.approx(1 / gaussian_sigma(most, 1e-5), rel=0.02)
    with pytest.raises(ValueError, match=f"Use at most {most},"):
        queries(most + 2, n_numbers)


@pytest.mark.parametrize("steps", [2.0**35, 2.0**40, 2.0**50, 2.0**56])
def test_large_noise_is_as_exact_as_small(steps):
    sensitivity = steps * alone(1.0, 1e-5, 40_000).distance * (1 - 1e-9)
    noise = alone(1.0, 1e-5, 40_000, sensitivity).add("a", np.zeros(40_000, int), sensitivity)
    assert stats.kstest(noise / steps, "norm").pvalue > 1e-3
    assert np.unique(noise & 1, return_counts=True)[1] == pytest.approx(20_000, rel=0.03)


def divisible(uses, most=50):
    shares = {"counts": Share(0.3, 2, STEP), "steps": Share(0.7, 4, STEP, most)}
    asked = GaussianQueries(2.0, 1e-5, shares, RandomBits(bytes(32)))
    asked.add("counts", np.zeros(2, dtype=np.int64), STEP)
    asked.divide("steps", uses)
    return asked


@pytest.mark.parametrize("uses", [1, 7, 50])
def test_a_share_is_divided_by_earlier_answers_and_all_is_as_private(uses):
    asked, values = divisible(uses), np.zeros(4, dtype=np.int64)
    precision = asked.deviation("counts", 1.0) ** -2
    noise = []
    for _ in range(uses):
        precision += asked.deviation("steps", 1.0) ** -2
        noise.append(asked.add("steps", values, STEP) / STEP)
    # However many uses, all queries are one Gaussian mechanism of the promised loss.
    assert precision**-0.5 == pytest.approx(1 / asked.distance)
    assert gaussian_delta(precision**-0.5, 2.0) <= 1e-5
    assert asked.mechanism.slack == 202 * 2.0**-30  # as of the most
    sd = asked.deviation("steps", 1.0)
    assert np.std(noise) == pytest.approx(sd, rel=4 / np.sqrt(8 * uses))
    with pytest.raises(RuntimeError, match="share of query 'steps' is spent"):
        asked.add("steps", values, STEP)


def test_a_rehearsal_divides_as_well():
    shares = {"steps": Share(1.0, 4, STEP, 50)}
    asked = GaussianQueries(2.0, 1e-5, shares, RandomBits(bytes(32)))
    rehearsal = asked.rehearsal()
    rehearsal.divide("steps", 2)
    expected = asked.deviation("steps", 1.0) * np.sqrt(2 / 50)
    assert rehearsal.deviation("steps", 1.0) == pytest.approx(expected)
    asked.divide("steps", 3)  # another number, as it was not rehearsed with these answers


def test_a_share_is_divided_once_before_it_is_used_and_never_into_more():
    for uses in (0, 51, -1):
        with pytest.raises(RuntimeError, match="into 1 to 50 uses"):
            divisible(uses)
    asked = divisible(3)
    with pytest.raises(RuntimeError, match="can be divided once"):
        asked.divide("steps", 2)
    late = divisible(50)
    late.add("steps", np.zeros(4, dtype=np.int64), STEP)
    with pytest.raises(RuntimeError, match="before its first use"):
        late.divide("steps", 50)
