"""Events that may tell two neighbours apart: which one does it best, and how often it happens."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

# Thresholds of half-lines that are tried as events (rule of thumb).
_THRESHOLDS = 400
# Exponents k of the multiples of 2^-k, in units of the sensitivity, that are tried as events:
# where float64 numbers of a certain size lie.
_LATTICES = np.arange(20, 64)
# Bits of the significand of a float64 number.
_SIGNIFICAND = 53


@dataclass(frozen=True)
class Statistic:
    """A number that is computed of each row of outputs.

    Parameters
    ----------
    kind : {"output", "column", "sum", "clipped sum", "difference", "weighted sum", \
            "clipped weighted sum"}
        The output is the only column. The clipped sums are the log-likelihood ratio of Laplace
        noise, but for a factor.

    column : int, default=0
        Which one, counted from 0.

    other, factor : int and float
        Column that is subtracted from it, this many times.

    shifts : tuple of (int, float)
        Columns of a weighted sum, and how far the move shifts each. They are weighted by that;
        in the clipped one each is clipped to where it was and where it went.

    Examples
    --------
    >>> Statistic("difference", 0, 2, 0.5)([[3.0, 0.0, 4.0]])
    array([1.])
    """

    kind: str
    column: int = 0
    other: int = 0
    factor: float = 0.0
    shifts: tuple = ()

    def __call__(self, rows):
        rows = np.asarray(rows)
        if self.kind == "sum":
            return rows.sum(axis=1)
        if self.kind == "clipped sum":
            return np.clip(rows, 0, 1).sum(axis=1)
        if self.kind == "difference":
            return rows[:, self.column] - self.factor * rows[:, self.other]
        if self.shifts:
            columns, shifts = (np.array(part) for part in zip(*self.shifts, strict=True))
            moved = rows[:, columns] / shifts
            if self.kind == "weighted sum":
                return moved @ shifts**2
            return np.clip(moved, 0, 1).sum(axis=1)
        return rows[:, self.column]

    def __str__(self):
        if self.shifts:
            names = ", ".join(str(column) for column, _ in self.shifts)
            return f"{self.kind} of outputs {names}"
        if self.kind == "difference":
            sign = "-" if self.factor > 0 else "+"
            return f"output[{self.column}] {sign} {abs(self.factor):.4g} output[{self.other}]"
        if self.kind == "column":
            return f"output[{self.column}]"
        return self.kind if self.kind == "output" else f"{self.kind} of the row"

    @property
    def is_column(self):
        """Whether it is an output as it came."""
        return self.kind in ("output", "column")


@dataclass(frozen=True)
class Event:
    """A set of outcomes of a statistic.

    Parameters
    ----------
    kind : {"<=", ">=", "==", "off"}
        "off": within half a sensitivity, and no multiple of 2^-level.

    statistic : Statistic
        Of a row of outputs.

    level : float
        What it is compared with.

    swapped : bool
        Whether it is more probable with the second neighbour than with the first.

    Examples
    --------
    >>> Event("<=", Statistic("column"), 0.5, False).count([[0.1], [0.9], [0.5]])
    2
    """

    kind: str
    statistic: Statistic
    level: float
    swapped: bool

    def count(self, rows):
        """Return in how many rows it happened."""
        values = self.statistic(rows)
        if self.kind == "<=":
            holds = values <= self.level
        elif self.kind == ">=":
            holds = values >= self.level
        elif self.kind == "==":
            holds = values == self.level
        else:
            holds = _finest_bits(values) > self.level
        return int(np.count_nonzero(holds))

    def __str__(self):
        if self.kind == "off":
            return f"{self.statistic} within half a unit and no multiple of 2^-{self.level:g}"
        return f"{self.statistic} {self.kind} {self.level:.6g}"


def _finest_bits(values):
    """Return the least k of which values within ±1/2 are multiples of 2^-k, −1 elsewhere."""
    finest = np.full(len(values), -1)
    rows = np.flatnonzero((np.abs(values) < 0.5) & (values != 0))
    fraction, exponent = np.frexp(values[rows])
    whole = np.ldexp(np.abs(fraction), _SIGNIFICAND).astype(np.int64)
    trailing = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    finest[rows] = _SIGNIFICAND - exponent - trailing
    return finest


class Sample:
    """Outputs on which events are chosen: sorted once for each statistic.

    Parameters
    ----------
    rows : ndarray of shape (n, n_columns)
        Outputs of one input.
    """

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
        """Return how many values are "off" each lattice."""
        if statistic not in self._off:
            finest = _finest_bits(statistic(self.rows))
            finest = np.clip(finest, 0, _LATTICES[-1] + 1)
            at_most = np.cumsum(np.bincount(finest, minlength=_LATTICES[-1] + 2))
            self._off[statistic] = len(self) - at_most[_LATTICES]
        return self._off[statistic]


def best_event(first, second, statistics, subject, confidence):
    """Return the event that tells two samples apart best, and how well.

    Parameters
    ----------
    first, second : Sample
        Outputs of two neighbours.

    statistics : sequence of Statistic
        Of which events are tried.

    subject : Subject
        Says which events there are, and the δ that is granted.

    confidence : float
        Of the rough bound by which events are compared.

    Returns
    -------
    bound : float
        A rough bound of ε, by Wilson's score interval: it only chooses.

    event : Event
    """
    best: tuple = (-np.inf, None)
    for statistic in statistics:
        kinds, levels, *counts = _candidates(first, second, statistic, subject)
        for swapped in (False, True):
            (hits, n), (others, m) = zip(counts, (len(first), len(second)), strict=True)
            if swapped:
                hits, n, others, m = others, m, hits, n
            bounds = _rough_bound(hits, n, others, m, subject.guarantee.delta, confidence)
            k = int(np.argmax(bounds))
            if best[1] is None or bounds[k] > best[0]:
                event = Event(str(kinds[k]), statistic, float(levels[k]), swapped)
                best = (float(bounds[k]), event)
    return best


def _candidates(first, second, statistic, subject):
    """Return kinds and levels of events, and how often each of them happened."""
    samples = [sample.sorted(statistic) for sample in (first, second)]
    picks = [s[np.linspace(0, len(s) - 1, _THRESHOLDS // 2).astype(int)] for s in samples]
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
    centre = p + z**2 / (2 * n)
    return (centre - reach) / (1 + z**2 / n), (centre + reach) / (1 + z**2 / n)
