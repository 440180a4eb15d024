"""Events that distinguish neighbors, and the detection of repeated noise."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import binom, norm

# Exponents k of the multiples of 2^-k, in units of the sensitivity, that are tried as events,
# since float64 numbers of a certain size are such multiples.
_LATTICES = np.arange(20, 64)
_COMPARISONS = {"<=": np.less_equal, ">=": np.greater_equal, "==": np.equal}


@dataclass(frozen=True)
class _Repeats:
    """How repeated noise is looked for."""

    # Largest number of comparisons of columns (rule of thumb: a second).
    comparisons: int = 200_000_000
    # Largest number of rows of two columns that are compared, and smallest, for any number of
    # columns (rules of thumb).
    most_rows: int = 10_000
    fewest_rows: int = 500
    # Largest number of values that are sorted to find equal ones at any distance (rule of thumb: a
    # few hundredths of a second).
    sorted: int = 100_000
    mistaken: float = 1e-12  # error probability of one comparison for independent noise
    # Smallest relevant number of equal values, which is also added to their estimated number: 20,
    # if none is expected, are never due to chance (argued).
    fewest_equal: int = 20
    allowance: float = 1.25  # for the estimated probability of equal values (rule of thumb)
    # Smallest number of equal values in one column that is compared with the nearly equal ones
    # (argued: if twenty are expected, so many have a probability below one in 10,000).
    fewest_pooled: int = 40


@dataclass(frozen=True, eq=False)
class Statistic:
    """A number computed from each row of outputs, and its name in a report."""

    name: str
    of_rows: Callable
    is_column: bool = False  # whether it is an unchanged output

    def __call__(self, rows):
        return self.of_rows(np.asarray(rows))

    def __str__(self):
        return self.name


@dataclass(frozen=True)
class Event:
    """Outcomes of a statistic: at most, at least or equal to a level, or "off" a lattice."""

    kind: str  # "off": within half a sensitivity, and no multiple of 2^-level
    statistic: Statistic
    level: float
    swapped: bool  # whether it is more probable with the second neighbor

    def count(self, rows):
        """Return the number of rows in which the event occurred."""
        values = self.statistic(rows)
        if self.kind == "off":
            return int(np.count_nonzero(_finest_bits(values) > self.level))
        return int(np.count_nonzero(_COMPARISONS[self.kind](values, self.level)))

    def __str__(self):
        if self.kind == "off":
            return f"{self.statistic} within half a unit and no multiple of 2^-{self.level:g}"
        return f"{self.statistic} {self.kind} {self.level:.6g}"


def _finest_bits(values):
    """Return the least k such that values within ±1/2 are multiples of 2^-k, −1 elsewhere."""
    finest = np.full(len(values), -1)
    rows = np.flatnonzero((np.abs(values) < 0.5) & (values != 0))
    fraction, exponent = np.frexp(values[rows])
    whole = np.ldexp(np.abs(fraction), 53).astype(np.int64)  # bits of the significand
    trailing = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    finest[rows] = 53 - exponent - trailing
    return finest


class Sample:
    """Outputs of one input for the choice of events, sorted once for each statistic."""

    def __init__(self, rows):
        self.rows = rows
        self._sorted: dict = {}
        self._off: dict = {}

    def __len__(self):
        return len(self.rows)

    def sorted(self, statistic):
        """Return the sorted values of a statistic."""
        if statistic not in self._sorted:
            self._sorted[statistic] = np.sort(statistic(self.rows))
        return self._sorted[statistic]

    def off_lattices(self, statistic):
        """Return the number of values that are "off" each lattice."""
        if statistic not in self._off:
            finest = _finest_bits(statistic(self.rows))
            finest = np.clip(finest, 0, _LATTICES[-1] + 1)
            at_most = np.cumsum(np.bincount(finest, minlength=_LATTICES[-1] + 2))
            self._off[statistic] = len(self) - at_most[_LATTICES]
        return self._off[statistic]


def best_event(first, second, statistics, subject, confidence):
    """Return an approximate bound and the event that tells samples of two neighbors apart best."""
    # The bound, by Wilson's score interval at this confidence, is used for the choice alone.
    best: tuple = (-np.inf, None)
    for statistic in statistics:
        kinds, levels, *counts = _candidates(first, second, statistic, subject)
        counted = list(zip(counts, (len(first), len(second)), strict=True))
        for swapped in (False, True):
            (hits, n), (others, m) = counted[::-1] if swapped else counted
            bounds = _rough_bound(hits, n, others, m, subject.guarantee.delta, confidence)
            k = int(np.argmax(bounds))
            if best[1] is None or bounds[k] > best[0]:
                event = Event(str(kinds[k]), statistic, float(levels[k]), swapped)
                best = (float(bounds[k]), event)
    return best


def _candidates(first, second, statistic, subject):
    """Return kinds and levels of events, and the counts of each."""
    samples = [sample.sorted(statistic) for sample in (first, second)]
    # 200 thresholds of each sample (rule of thumb).
    picks = [s[np.linspace(0, len(s) - 1, 200).astype(int)] for s in samples]
    levels = np.unique(np.concatenate(picks))
    groups = [("<=", levels), (">=", levels)]
    counts = [
        [np.searchsorted(s, levels, "right"), len(s) - np.searchsorted(s, levels, "left")]
        for s in samples
    ]
    if statistic.is_column:
        groups.append(("==", np.array(subject.atoms)))
        for s, count in zip(samples, counts, strict=True):
            sides = [np.searchsorted(s, subject.atoms, side) for side in ("right", "left")]
            count.append(sides[0] - sides[1])
    if statistic.is_column and subject.on_grid:
        groups.append(("off", _LATTICES))
        for sample, count in zip((first, second), counts, strict=True):
            count.append(sample.off_lattices(statistic))
    kinds = np.concatenate([np.full(len(values), kind) for kind, values in groups])
    return kinds, np.concatenate([v for _, v in groups]), *map(np.concatenate, counts)


def _rough_bound(hits, n, other_hits, other_n, delta, confidence):
    """Return log((P_low − δ)/Q_high) by Wilson's score intervals, −inf where it is negative."""
    z = norm.isf((1 - confidence) / 2)
    low, _ = _wilson(hits, n, z)
    _, high = _wilson(other_hits, other_n, z)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(low - delta, 0) / high)


def _wilson(hits, n, z):
    p = hits / n
    reach = z * np.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2)
    center = p + z**2 / (2 * n)
    return (center - reach) / (1 + z**2 / n), (center + reach) / (1 + z**2 / n)


def find_repeats(outputs, again, chance):
    """Return how noise is repeated in outputs of two calls, as a text, or None.

    A lack of noise is left to the events.
    """
    # A correct mechanism changes two outputs equally with a probability of at most ``chance``,
    # positive for labels. The probability that independent values are equal depends on the grid
    # and on the point mass of the noise. It is estimated from all pairs of values, few of which
    # are equal due to repeated noise, and compared with the pairs that repeated noise makes equal.
    repeated = "the same noise is added again, and can be subtracted"
    if any(_mostly_same(one, other, chance) for one, other in _aligned(outputs, again)):
        return repeated
    magnitudes, others = np.abs(outputs), np.abs(again)
    if chance == 0:
        magnitudes[magnitudes == 0] = np.nan  # equal to nothing
    rate = _rate(magnitudes[: _Repeats.most_rows])
    for one, other in _aligned(magnitudes, others):
        if _is_no_chance(np.count_nonzero(one == other), one.size, rate):
            return repeated
    if chance > 0:
        return None
    if (columns := _shared_noise(magnitudes, rate)) is not None:
        return "columns {} and {} have the same noise".format(*columns)
    return repeated if _same_at_a_distance(magnitudes) or _drawn_from_few(magnitudes) else None


def _aligned(outputs, again):
    """Return pairs of samples that have equal noise if it is repeated."""
    half = len(outputs) // 2
    even = outputs[: 2 * half]
    return [
        (outputs, again),
        (even[::2], even[1::2]),
        (even[1:-1:2], even[2::2]),
        (even[:half], even[half:]),
        (even[:half], even[: half - 1 : -1]),
    ]


def _mostly_same(one, other, chance):
    """Return whether most of the noise of one sample equals that of another."""
    equal = (one == other)[one != 0]
    if len(equal) == 0 or equal.mean() <= (1 + chance) / 2:
        return False
    # Where chance is 0, that is a fraction of all pairs of numbers on a fine grid.
    return chance == 0 or bool(binom.sf(equal.sum() - 1, len(equal), chance) < _Repeats.mistaken)


def _rate(columns):
    """Return an upper limit of the probability that two values of one column are equal."""
    # Nor are independent values of two columns equal more often: by Cauchy and Schwarz, with the
    # geometric mean of the probabilities of either.
    n = len(columns)
    equal = max(_equal_pairs(np.sort(column)) for column in columns.T)
    return min(_Repeats.allowance * (equal + _Repeats.fewest_equal) / (n * (n - 1) / 2), 1.0)


def _equal_pairs(values):
    """Return how many pairs of sorted values are equal."""
    values = values[: np.count_nonzero(~np.isnan(values))]
    runs = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float((runs * (runs - 1) / 2).sum())


def _is_no_chance(equal, n, rate, comparisons=1):
    """Return whether the number of equal pairs among n is significant."""
    mistaken = _Repeats.mistaken / comparisons
    return equal >= _Repeats.fewest_equal and bool(binom.sf(equal - 1, n, rate) < mistaken)


def _shared_noise(magnitudes, rate):
    """Return two columns with the same noise, up to its sign, in some rows, or None."""
    p = magnitudes.shape[1]
    n = max(_Repeats.fewest_rows, _Repeats.comparisons // p**2)
    n = min(_Repeats.most_rows, n, len(magnitudes))
    columns = np.ascontiguousarray(magnitudes[:n].T)
    for j in range(p - 1):
        equal = np.count_nonzero(columns[j + 1 :] == columns[j], axis=1)
        if _is_no_chance(equal.max(), n, rate, p**2):
            return j, j + 1 + int(equal.argmax())
    return None


def _same_at_a_distance(magnitudes):
    """Return whether values at a fixed distance, or in mirrored positions, are equal."""
    p = magnitudes.shape[1]
    values = magnitudes[: max(_Repeats.sorted // p, 1)].ravel()
    n = len(values)
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    pairs = np.flatnonzero(ranked[1:] == ranked[:-1])
    # Columns on grids of their own are equal to themselves alone: a p-th of all pairs.
    equal = _equal_pairs(ranked) + _Repeats.fewest_equal
    rate = p * _Repeats.allowance * equal / (n * (n - 1) / 2)
    one, other = order[pairs], order[pairs + 1]
    apart = np.bincount(other - one, minlength=1)
    mirrored = np.bincount(other + one, minlength=1)
    return _is_no_chance(max(apart.max(), mirrored.max()), n, min(rate, 1.0), 3 * n)


def _drawn_from_few(magnitudes):
    """Return whether values of a column are drawn from a small set of points of the grid."""
    # Two adjacent points of a grid have nearly the same probability: if many values are equal,
    # equally many are one step apart. The step is that of the binade.
    for column in magnitudes[: max(_Repeats.sorted // magnitudes.shape[1], _Repeats.most_rows)].T:
        ranked = np.sort(column)
        ranked = ranked[: np.count_nonzero(~np.isnan(ranked))]
        gaps = np.diff(ranked)
        if np.count_nonzero(gaps == 0) < _Repeats.fewest_pooled:
            continue
        expected = adjacent = 0
        for start, end in _runs(np.frexp(ranked)[1]):
            binade = gaps[start : end - 1]
            steps = binade[binade > 0]
            fewest = min(int(np.count_nonzero(binade == 0)), len(steps))
            if fewest < _Repeats.fewest_pooled:
                continue
            # A few lesser gaps are roundings of one point.
            step = np.partition(steps, fewest // 16)[fewest // 16]
            expected += fewest
            adjacent += int(np.count_nonzero(steps < 1.5 * step))
        # Of all binades together: in one of them a decimal grid may change its step.
        if adjacent < expected / 4:
            return True
    return False


def _runs(values):
    """Return where each run of equal values starts and ends."""
    ends = np.flatnonzero(np.diff(values)) + 1
    bounds = [0, *ends.tolist(), len(values)]
    return pairwise(bounds)
