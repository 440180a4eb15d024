"""The noise that several owners add together: its size and law, and what colluders leave of it."""

from contextlib import suppress
from math import exp, pi

import numpy as np
import pytest
from scipy import stats

from skdp import GaussianDPNoise
from skdp.noise import GaussianDistribution, JointQueries, RandomBits, RoundEnd, Share
from skdp.privacy import gaussian_sigma

STEP = 2**30
N = 40_000
# Owners, and how many of them may collude.
SIZES = [(2, 1), (4, 1), (5, 3), (20, 1)]


SHARES = {"sum": Share(0.5, N, STEP), "later": Share(0.5, 1, STEP)}


def joint(n_owners=4, n_colluding=1, *, key=b"", shares=SHARES, **settings):
    """Return the queries of an owner, whose noise is that of its key."""
    settings = {"epsilon": 1.0, "delta": 1e-5, "overlap": 1, "answers": [], **settings}
    settings = {"n_owners": n_owners, "n_colluding": n_colluding, **settings}
    settings = {"rounds": [(name,) for name in shares], **settings}
    settings = {"bits": RandomBits(key.ljust(32, b"-") if key else None), **settings}
    return JointQueries(shares=shares, **settings)


def noise_of(queries):
    """Return the noise that an owner adds to as many zeros as its share allows."""
    with pytest.raises(RoundEnd):
        queries.add("sum", np.zeros(N, dtype=np.int64), STEP)
    return queries.contributions["sum"]


def noises(n_owners, n_colluding):
    """Return the noise of each owner, the same at each call."""
    keys = (f"{n_owners} {n_colluding} {i}".encode() for i in range(n_owners))
    return np.stack([noise_of(joint(n_owners, n_colluding, key=key)) for key in keys])


def is_normal(noise, sigma):
    """Return whether noise has a normal distribution of mean zero: its variance, and its shape."""
    noise = noise / STEP / sigma
    tail = stats.chi2(len(noise)).sf((noise**2).sum())
    return min(tail, 1 - tail, stats.kstest(noise, "norm").pvalue) > 1e-4


def sigma_of_one(n_owners):
    """Return the standard deviation of a single release, which pays for each owner's sampler."""
    cost = n_owners * (N + 1) * 2.0**-30
    return gaussian_sigma(1.0 - cost, 1e-5) / np.sqrt(0.5)


@pytest.mark.parametrize(("S", "t"), SIZES)
def test_all_owners_together_add_what_those_who_do_not_collude_need(S, t):
    all_noise, sigma = noises(S, t), sigma_of_one(S)
    total = np.sqrt(S / (S - t)) * sigma
    assert joint(S, t).deviation("sum", 1.0) == pytest.approx(total, rel=1e-6)
    assert is_normal(all_noise.sum(axis=0), total)
    for honest in (slice(S - t), slice(t, S)):
        assert is_normal(all_noise[honest].sum(axis=0), sigma)
    for variance in (0.9, 1.1):
        assert not is_normal(all_noise.sum(axis=0), np.sqrt(variance) * total)
        assert not is_normal(all_noise[:-t].sum(axis=0), np.sqrt(variance) * sigma)
    # Of one more than may collude nothing is promised: less than the noise of a release is left.
    if t < S - 1:
        left = all_noise[t + 1 :].sum(axis=0)
        assert is_normal(left, np.sqrt((S - t - 1) / (S - t)) * sigma)


def test_noise_that_is_forgotten_or_too_small_is_found_out(monkeypatch):
    S, t = 4, 1
    total = np.sqrt(S / (S - t)) * sigma_of_one(S)
    right = noises(S, t)
    assert is_normal(right.sum(axis=0), total)
    assert not is_normal(right[1:].sum(axis=0), total)  # forgotten by one owner
    init = JointQueries.__init__

    def too_small(queries, *args, **settings):
        init(queries, *args, **settings)
        queries._part **= 2  # σ²/S² for σ²/S

    monkeypatch.setattr(JointQueries, "__init__", too_small)
    assert not is_normal(noises(S, t).sum(axis=0), total)


def test_noises_of_owners_and_of_numbers_are_independent():
    all_noise = noises(4, 1)
    correlations = np.corrcoef([*all_noise, *np.roll(all_noise, 1, axis=1)])
    assert np.abs(correlations - np.eye(8)).max() < 5 / np.sqrt(N)


def discrete_gaussian(s, length):
    """Return the probabilities of the integers from -length to length."""
    weights = np.exp(-0.5 * (np.arange(-length, length + 1) / s) ** 2)
    return weights / weights.sum()


def tau(s, n):
    """Return how far the sum of n discrete Gaussians is from one: Kairouz et al. (2021)."""
    return 10 * sum(exp(-2 * pi**2 * s**2 * k / (k + 1)) for k in range(1, n))


def distance(law, s, n):
    """Return the largest logarithm of the ratio of the probabilities of a law and of one.

    The law is that of a sum of n, each of deviation s.
    """
    near = np.arange(len(law)) - len(law) // 2
    one = discrete_gaussian(s * np.sqrt(n), len(law) // 2)
    likely = np.abs(near) < 12 * s * np.sqrt(n)  # what is left out has probability 1e-32
    return np.abs(np.log(law[likely]) - np.log(one[likely])).max()


@pytest.mark.parametrize("s", [0.7, 1.0, 2.0])
@pytest.mark.parametrize("n", [2, 3, 7])
def test_a_sum_of_discrete_gaussians_is_nearly_one(s, n):
    each, law = discrete_gaussian(s, 60), np.ones(1)
    for _ in range(n):
        law = np.convolve(law, each)
    assert distance(law, s, n) <= tau(s, n) + 1e-10
    # Noise of one owner less is not.
    law = np.ones(1)
    for _ in range(n - 1):
        law = np.convolve(law, each)
    assert distance(law, s, n) > 1 > tau(s, n)


def test_the_sampler_draws_the_discrete_gaussian_whose_sums_these_are():
    s, n = 8.0, 3
    bits = RandomBits(bytes(32))
    sampler = GaussianDistribution(s).on_grid(1.0)
    drawn = sum(sampler.sample(100_000, bits) for _ in range(n))
    # Cells of five or more expected draws.
    edges = np.arange(-50, 51)
    law = discrete_gaussian(s * np.sqrt(n), 200)[200 - 50 : 200 + 51]
    observed = np.bincount(drawn[np.abs(drawn) <= 50] + 50, minlength=len(edges))
    rest = len(drawn) - observed.sum()
    expected = np.append(law, 1 - law.sum()) * len(drawn)
    assert stats.chisquare(np.append(observed, rest), expected).pvalue > 1e-4
    assert tau(2.0**12, 100) == 0.0  # of the least deviation that is allowed: below all floats


def test_a_person_at_all_owners_has_noise_for_each():
    sigma = joint(5).deviation("sum", 1.0)
    assert joint(5, overlap=5).deviation("sum", 1.0) == pytest.approx(5 * sigma, rel=1e-12)
    assert is_normal(noise_of(joint(5, 1, overlap=5, key=b"a")), 5 * sigma / np.sqrt(5))


def test_each_draw_costs_the_precision_of_the_sampler():
    assert joint(4).mechanism.slack == 4 * (N + 1) * 2.0**-30
    assert joint(4).mechanism.epsilon == 1.0


def test_an_owner_learns_of_a_query_what_all_have_answered_and_nothing_of_itself():
    values = np.arange(6).reshape(2, 3) << 40
    both = [("sum", "later")]
    queries = joint(rounds=both)
    assert not queries.add("sum", values, STEP).any()
    assert queries.asked == both[0]
    assert (queries.contributions["sum"] != values.ravel()).all()
    queries = joint(answers=[np.arange(6)])
    assert not queries.is_asking
    assert queries.add("sum", values, STEP).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not queries.contributions
    assert queries.is_asking
    with pytest.raises(RoundEnd):
        queries.add("later", np.full(1, 1 << 40), STEP)
    assert list(queries.contributions) == list(queries.asked) == ["later"]
    # One round with the answers to two queries.
    shares, answer = {**SHARES, "sum": Share(0.5, 2, STEP)}, np.array([1, 2, 3])
    queries = joint(shares=shares, rounds=both, answers=[answer])
    assert queries.add("sum", np.zeros(2), STEP).tolist() == [1, 2]
    assert queries.add("later", np.zeros(1), STEP).tolist() == [3]


def test_each_use_of_a_query_is_a_round_with_its_part_of_the_budget():
    shares = {"steps": Share(1.0, 3, STEP, 25)}

    def asked(n_answers, uses):
        queries = joint(shares=shares, answers=[np.full(3, i) for i in range(n_answers)])
        queries.divide("steps", uses)
        for i in range(n_answers):
            assert queries.add("steps", np.zeros(3), STEP).tolist() == [i] * 3
        return queries

    one = joint(shares={"steps": Share(1.0, 75, STEP)})  # as many numbers
    for uses in (1, 4, 25):
        found = asked(0, uses).deviation("steps", 1.0) / one.deviation("steps", 1.0)
        assert found == pytest.approx(np.sqrt(uses), rel=1e-12)
    with pytest.raises(RoundEnd):
        asked(3, 4).add("steps", np.zeros(3, dtype=np.int64), STEP)
    with pytest.raises(RuntimeError, match="share of query 'steps' is spent"):
        asked(4, 4).add("steps", np.zeros(3, dtype=np.int64), STEP)
    with pytest.raises(RuntimeError, match="share of query 'steps' is spent"):
        asked(5, 4)


def test_without_bits_only_the_zeros_of_no_rows_are_answered():
    nothing = joint(bits=None)
    with pytest.raises(RoundEnd):
        nothing.add("sum", np.zeros(3, dtype=np.int64), STEP)
    assert not nothing.contributions["sum"].any()
    with pytest.raises(RuntimeError, match="other than zero, and no noise"):
        joint(bits=None).add("sum", np.ones(3, dtype=np.int64), STEP)


def test_a_rehearsal_adds_nothing_to_what_an_owner_contributes():
    queries = joint()
    rehearsal = queries.rehearsal()
    assert not rehearsal.add("sum", np.zeros(3, dtype=np.int64), STEP).any()
    assert not queries.contributions
    with pytest.raises(RuntimeError, match="rehearsal has an answer other than zero"):
        queries.rehearsal().add("sum", np.ones(3, dtype=np.int64), STEP)
    with pytest.raises(RoundEnd):
        queries.add("sum", np.zeros(3, dtype=np.int64), STEP)
    with pytest.raises(RuntimeError, match="share of query 'sum' is spent"):
        queries.add("sum", np.zeros(3, dtype=np.int64), STEP)


def test_the_noise_of_one_owner_must_be_fine_enough_too():
    def of(sensitivity):
        return joint(16, shares={"sum": Share(1.0, 1, sensitivity)})

    sigma = of(2.0**20).deviation("sum", 1.0)
    of(1.001 * 4 * 2**12 / sigma)
    with pytest.raises(ValueError, match="epsilon is too large for the grid"):
        of(0.999 * 4 * 2**12 / sigma)


class ViewOfColluders(GaussianDPNoise):
    """A sum of the values of four owners, less the noise of one who colludes."""

    n_noisy = 3

    def _perturb(self, X):
        answer = np.rint(X[:, 0] * STEP).astype(np.int64)
        shares = {"sum": Share(1.0, len(X), STEP)}
        for _ in range(self.n_noisy):
            queries = joint(epsilon=self.epsilon, delta=self.delta, shares=shares)
            with suppress(RoundEnd):
                queries.add("sum", np.zeros_like(answer), STEP)
            answer += queries.contributions["sum"]
        return answer[:, np.newaxis] / STEP


@pytest.mark.filterwarnings("ignore::skdp.privacy.PrivacyLeakWarning")
@pytest.mark.parametrize(("n_noisy", "least", "most"), [(3, 1.4, 2.0), (1, 2.5, 4.0)])
def test_colluders_learn_no_more_than_is_claimed_unless_others_forget_their_noise(
    audit, n_noisy, least, most, monkeypatch
):
    monkeypatch.setattr(ViewOfColluders, "n_noisy", n_noisy)
    found = audit(ViewOfColluders(2.0, 0.01), n_trials=200_000)
    assert least < found.epsilon_lower <= most, found
