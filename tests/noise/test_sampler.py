"""What the sampler's tables say exactly, against the definition of privacy."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise
from skdp.noise import (
    GaussianDistribution,
    OptimalDistribution,
    RandomBits,
    StaircaseDistribution,
    _distributions,
)
from skdp.noise._distributions import AliasTable, Cells, IntegerNoise
from skdp.noise._randomness import _draw_key


@pytest.mark.parametrize("weights", [[1.0], [0.5, 0.5], [1, 0, 3, 1e-9], np.arange(1, 38)])
def test_alias_table_is_exact(weights):
    table = AliasTable(weights)
    capacity = 1 << table._shift
    found = [0] * len(table._keep)
    for column, (keep, alias) in enumerate(zip(table._keep, table._alias, strict=True)):
        found[column] += int(keep)
        found[alias] += capacity - int(keep)
    assert found[: len(weights)] == table.weights
    assert not any(found[len(weights) :])
    assert sum(table.weights) == 2**64
    exact = [Fraction(float(w)) / sum(map(Fraction, map(float, weights))) for w in weights]
    for weight, probability in zip(table.weights, exact, strict=True):
        lost = abs(Fraction(weight, 2**64) - probability)
        assert lost <= Fraction(len(weights), 2**52) * probability + Fraction(1, 2**64)


def test_alias_table_draws_what_it_says():
    table = AliasTable([1, 2, 5])
    integers = np.linspace(0, 2**64 - 2**12, 8000).astype(np.uint64)
    assert_allclose(np.bincount(table.draw(integers)) / 8000, [1 / 8, 2 / 8, 5 / 8], atol=1e-3)


def exact_probabilities(noise, largest):
    """P(|k|) for k = 0 … largest from the table's integers and the acceptance bits."""
    weights, free = noise.proposals, 63 - noise._place_bits
    magnitudes = np.zeros(noise._length)
    first_zero = 0.0
    for c in range(noise._tail):
        start, width = int(noise._starts[c]), int(noise._widths[c])
        places = np.arange(width)
        size = int(noise._masks[c]) + 1
        chance = np.exp(-noise._log_ratio(np.full(width, start), places))
        accepted = np.ceil(chance * 2.0**free) / 2.0**free
        magnitudes[start : start + width] += weights[c] / size * accepted
        if start == 0:
            first_zero = weights[c] / size / 2
    tail, atom = weights[noise._tail], weights[noise._atom]
    later = magnitudes.sum() + tail  # what a proposal in the tail comes to, atoms rejected
    first = magnitudes.copy()
    first[0] = first_zero
    total = first.sum() + tail + atom
    out, entered = [first / total], tail / total
    while len(out) * noise._length <= largest:
        out.append(entered * magnitudes / later)
        entered *= tail / later
    out = np.concatenate(out)[: largest + 1]
    return out, atom / total


SCALE = 3000.0  # small enough that all integers can be listed
DISTRIBUTIONS = [
    (OptimalDistribution(SCALE, 0.0), 1.0),
    (OptimalDistribution(SCALE, 0.1), 1.0),
    (StaircaseDistribution(0.5, 0.5 * SCALE), 0.5),
    (StaircaseDistribution(4.0, SCALE, 0.1), 4.0),
    (StaircaseDistribution(1 / 300, SCALE / 150, 0.1), 1 / 300),  # several steps in a cell
    (StaircaseDistribution(1 / 290, 11.0), 1 / 290),  # of which the last is cut short
]


@pytest.mark.parametrize(("distribution", "epsilon"), DISTRIBUTIONS)
def test_every_ratio_of_the_tables_is_private(distribution, epsilon):
    noise = distribution.on_grid(1.0)
    magnitudes, atom = exact_probabilities(noise, 3 * noise._length)
    assert abs(atom - distribution.delta) <= 2e-9 * distribution.delta
    assert atom <= distribution.delta
    assert_allclose(magnitudes[0] + magnitudes[1:].sum() + atom, 1, rtol=1e-4)
    pmf = np.concatenate([magnitudes[:0:-1] / 2, magnitudes[:1], magnitudes[1:] / 2])
    laplace = isinstance(distribution, OptimalDistribution)
    shift = round(distribution.scale * epsilon) if laplace else int(distribution.sensitivity)
    loss = np.log(pmf[shift:] / pmf[:-shift])
    assert np.abs(loss).max() <= epsilon + 2.0**-30
    assert np.abs(loss).max() >= epsilon - 1e-4  # and no more noise than needed


def weights_of_cells(distribution, step, starts):
    """Weight of the first integer of each cell relative to that of zero, from the definition."""
    if isinstance(distribution, GaussianDistribution):
        return np.exp(-0.5 * (starts * step / distribution.scale) ** 2)
    if isinstance(distribution, OptimalDistribution):
        return np.exp(-starts * step / distribution.scale)
    period = int(np.ceil(distribution.sensitivity / step))
    upper = max(1, round(distribution.gamma * period))
    periods, rest = np.divmod(starts, period)
    return np.exp(-distribution.epsilon * (periods + (rest >= upper)))


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.5])
@pytest.mark.parametrize("epsilon", [1e-4, 0.003, 0.004, 0.01, 0.1, 0.3, 0.57, 1.0, 3.0, 19.0])
@pytest.mark.parametrize("cls", [OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise])
def test_every_cell_of_every_table_has_its_probability(cls, epsilon, delta):
    # As fitted, on the grid that is used: 2^-24 of the sensitivity.
    fitted = cls(epsilon, delta).fit(np.zeros((1, 1)))
    noise, step = fitted._noise, fitted._step
    starts, sizes = noise._starts[: noise._tail], noise._masks[: noise._tail] + 1.0
    ideal = weights_of_cells(fitted._make_distribution(1 + step), step, starts)
    found = noise.proposals[: noise._tail] / sizes
    assert np.abs(np.log(found / found[0] / ideal)).max() <= 2 * 2.0**-32 + 1e-12
    assert_allclose(noise.proposals.sum(), 1, rtol=1e-12)


def test_a_table_that_is_not_exact_enough_is_never_used(monkeypatch):
    monkeypatch.setattr(_distributions, "CELL_PRECISION", 1e-14)
    with pytest.raises(ArithmeticError, match="relative error"):
        StaircaseDPNoise(0.3).fit(np.zeros((1, 1)))


@pytest.mark.parametrize(
    "weights", [[1.0, 2.0**-40], [2.0**-80, 1.0, 1e-3], [2.0**-33, 1.0, 2.0**-70, 2.0**-34, 0.25]]
)
def test_weights_far_apart_are_exact_in_any_order(weights):
    # Cells of one integer each; a single table of 64 bits would lose the small ones.
    heights = np.array(weights)
    n = len(heights)
    cells = Cells(np.arange(n), np.ones(n, dtype=np.int64), heights, 2 * heights.sum())
    noise = IntegerNoise(cells, lambda starts, places: np.zeros(len(places)))
    assert len(noise._tables) > 1
    assert_allclose(noise.proposals[:n], heights / heights.sum(), rtol=2.0**-32)


@pytest.mark.parametrize("delta", [1e-40, 1e-19, 1e-12, 1e-5, 0.3, 0.999])
@pytest.mark.parametrize("cls", [OptimalDPNoise, StaircaseDPNoise])
def test_the_point_mass_is_never_more_than_delta_and_hardly_less(cls, delta):
    noise = cls(1.0, delta).fit(np.zeros((1, 1)))._noise
    # Of what is accepted: zero, which has no sign, is rejected half the time.
    zero = noise.proposals[0] / (noise._masks[0] + 1.0) / 2
    rejected = zero + sum(
        p * (1 - accepted(noise, c)) for c, p in enumerate(noise.proposals[: noise._tail])
    )
    atom = noise.proposals[noise._atom] / (1 - rejected)
    assert delta * (1 - 2.0**-29) <= atom <= delta


def accepted(noise, c):
    """Mean acceptance of a cell of Laplace or staircase noise, but for zero."""
    width, size = int(noise._widths[c]), int(noise._masks[c]) + 1
    loss = noise._log_ratio(np.array([noise._starts[c]]), np.array([1.0]))[0]
    mean = 1.0 if loss == 0 else -np.expm1(-loss * width) / -np.expm1(-loss) / width
    return width / size * mean


def test_the_discrete_laplace_is_its_closed_form():
    magnitudes, _ = exact_probabilities(OptimalDistribution(SCALE).on_grid(1.0), 50_000)
    q = np.exp(-1 / SCALE)
    expected = (1 - q) / (1 + q) * q ** np.arange(50_001) * np.where(np.arange(50_001), 2, 1)
    assert_allclose(magnitudes, expected, rtol=2.0**-31)


def test_the_discrete_gaussian_is_its_closed_form():
    magnitudes, _ = exact_probabilities(GaussianDistribution(SCALE).on_grid(1.0), 40_000)
    k = np.arange(40_001)
    expected = np.exp(-0.5 * (k / SCALE) ** 2) * np.where(k, 2, 1)
    expected /= expected[0] + expected[1:].sum()
    assert_allclose(magnitudes, expected, rtol=2.0**-31)  # to 13σ, where it is 1e-41


@pytest.mark.parametrize("distribution", [distribution for distribution, _ in DISTRIBUTIONS])
def test_sampling_follows_the_tables(distribution):
    noise = distribution.on_grid(1.0)
    drawn = noise.sample(400_000, RandomBits(bytes(32)))
    magnitudes, atom = exact_probabilities(noise, 60_000)
    magnitudes[0] += atom
    edges = np.unique(np.searchsorted(np.cumsum(magnitudes), np.linspace(0.01, 0.99, 40))) + 1
    expected = np.add.reduceat(magnitudes, np.append(0, edges)) * len(drawn)
    expected[-1] = len(drawn) - expected[:-1].sum()
    counts = np.bincount(np.searchsorted(edges, np.abs(drawn), side="right"))
    assert stats.chisquare(counts, expected).pvalue > 1e-6
    halves = [int(np.sum(drawn > 0)), int(np.sum(drawn < 0))]
    assert stats.binomtest(halves[0], sum(halves)).pvalue > 1e-6


def test_far_tails_are_reached():
    # Beyond the table's end, at 8 to 16 scales, the distribution goes on: 1 in 3,000 or fewer.
    distribution = OptimalDistribution(4095.0)
    noise = distribution.on_grid(1.0)
    drawn = np.abs(noise.sample(3_000_000, RandomBits(bytes(32))))
    beyond = int(np.sum(drawn >= noise._length))
    expected = np.exp(-noise._length / 4095)
    assert stats.binomtest(beyond, len(drawn), expected).pvalue > 1e-6
    rest = drawn[drawn >= noise._length] - noise._length
    assert stats.kstest(rest + 0.5, stats.expon(scale=4095).cdf).pvalue > 1e-6


@pytest.mark.parametrize("epsilon", [2e-6, 1e-4, 1e-3, 0.0039, 0.004, 0.1, 1.0])
@pytest.mark.parametrize("cls", [OptimalDPNoise, StaircaseDPNoise])
def test_few_draws_take_longer_because_their_noise_is_large(cls, epsilon):
    # One that leaves the table takes another round, and is then known to be large.
    noise = cls(epsilon).fit(np.zeros((1, 1)))._noise
    _, done, tail = noise._attempt(200_000, 0, RandomBits(bytes(32)))
    assert tail.mean() < np.exp(-8) + 2e-4
    assert done.mean() > 0.5


@pytest.mark.parametrize("atom", [0.0, 0.3])
def test_a_short_table_goes_on_without_atoms(atom):
    # Two scales long, so that an eighth of the draws are in the tail: no spikes at its joints.
    scale, one_sided = 50.0, -1 / np.expm1(-1 / 50)
    starts = np.arange(0, 104, 4)
    heights = np.exp(-starts / scale)
    tail = 2 * np.exp(-104 / scale) * one_sided
    cells = Cells(starts, np.full(26, 4), heights, 2 * one_sided - 1, tail)
    noise = IntegerNoise(cells, lambda starts, places: places / scale, atom)
    drawn = np.abs(noise.sample(1_000_000, RandomBits(bytes(32))))
    q = np.exp(-1 / scale)
    k = np.arange(320)
    expected = (1 - atom) * (1 - q) / (1 + q) * q**k * np.where(k, 2, 1)
    expected[0] += atom
    counts = np.bincount(np.minimum(drawn, 320), minlength=321)
    expected = np.append(expected, 1 - expected.sum())
    assert stats.chisquare(counts, len(drawn) * expected).pvalue > 1e-6


def test_random_bits_are_the_cipher_and_never_repeat():
    # The first block of AES-256-CTR with a zero key and counter, NIST's well-known answer.
    integers = RandomBits(bytes(32)).draw(2)
    assert integers.tobytes().hex() == "dc95c078a2408989ad48a21492842087"
    assert not np.array_equal(RandomBits().draw(4), RandomBits().draw(4))
    stream = RandomBits(bytes(32))
    assert_array_equal(np.append(stream.draw(3), stream.draw(2)), RandomBits(bytes(32)).draw(5))


def drawn(random_state):
    return RandomBits(_draw_key(random_state)).draw(4)


def test_seeds_fix_the_random_bits_and_nothing_else_does():
    assert_array_equal(drawn(3), drawn(3))
    assert not np.array_equal(drawn(3), drawn(4))
    generator = np.random.RandomState(0)
    assert not np.array_equal(drawn(generator), drawn(generator))
    assert not np.array_equal(drawn(None), drawn(None))
