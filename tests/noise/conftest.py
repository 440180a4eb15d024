"""An audit of noise by its outputs alone: a lower bound of ε that right noise hardly ever exceeds.

A row, and the same row moved by the sensitivity, are perturbed many times. One half of the outputs
chooses the move and the event that tell the two apart best; new outputs, by Clopper and Pearson,
bound the probabilities of this one event.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binom, norm
from sklearn.base import clone

from skdp.privacy.audit import epsilon_lower_bound

# Equal values of independent noise, of which so many more than expected are no chance.
FEWEST_EQUAL, MISTAKEN = 20, 1e-12


class Audit(NamedTuple):
    epsilon_lower: float
    event: str


class Neighbors:
    """Outputs for a row and for what one move makes of it, in units of the sensitivity."""

    def __init__(self, transformer, n_features):
        transformer.fit(np.zeros((1, n_features)))
        self.guarantee = transformer.guarantee_
        passes = transformer.perturb == "fit"
        self._perturb = transformer.fit_transform if passes else transformer.transform
        if self.guarantee.sensitivity is not None:
            low, high = 0.0, self.guarantee.sensitivity
        else:
            low, high = transformer.bounds
        self._low, high = (np.broadcast_to(end, n_features).astype(float) for end in (low, high))
        self._distance = high - self._low
        self.joint = self.guarantee.unit == "record"  # whether one move changes all columns
        self.moves = [slice(None)] if self.joint else [slice(j, j + 1) for j in range(n_features)]

    def draw(self, move, n):
        row = self._low.copy()
        if move is not None:
            row[move] += self._distance[move]
        rows = np.broadcast_to(row, (n, len(row))).copy()
        return (self._perturb(rows) - self._low) / self._distance


def finest_bit(values):
    """The least k such that a value within half a unit is a multiple of 2^-k; −1 elsewhere.

    Of naive samplers it depends on the input, for not all numbers are reached (Mironov, 2012).
    """
    finest = np.full(len(values), -1)
    rows = np.flatnonzero((np.abs(values) < 0.5) & (values != 0))
    fraction, exponent = np.frexp(values[rows])
    whole = np.ldexp(np.abs(fraction), 53).astype(np.int64)
    trailing = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    finest[rows] = 53 - exponent - trailing
    return finest


def column(rows, j):
    return rows[:, j]


def bits(rows, j):
    return finest_bit(rows[:, j])


def total(rows, columns, shifts):
    return rows[:, columns] @ shifts


def clipped_total(rows, columns, shifts):
    """Of Laplace noise the log-likelihood ratio, up to a factor."""
    return np.clip(rows[:, columns] / shifts, 0, 1).sum(axis=1)


def residual(rows, j, k, factor):
    return rows[:, j] - factor * rows[:, k]


def statistics_of(first, second, joint):
    """Yield names and functions of rows: columns, and combinations of those that move together."""
    p = first.shape[1]
    for j in range(p):
        yield f"output[{j}]", partial(column, j=j)
        yield f"bits of output[{j}]", partial(bits, j=j)
    shift = second.mean(axis=0) - first.mean(axis=0)
    error = np.sqrt(first.var(axis=0) / len(first) + second.var(axis=0) / len(second))
    moved = np.arange(p) if joint else np.flatnonzero(np.abs(shift) > 5.0 * error)
    if len(moved) > 1:
        shifts = np.ones(p) if joint else shift[moved]
        for of in (total, clipped_total):
            yield f"sum of {moved.tolist()}", partial(of, columns=moved, shifts=shifts)
    # With noise that two columns share, one gives away that of the other.
    covariance = np.atleast_2d(np.cov(first, rowvar=False))
    scale = np.sqrt(np.diag(covariance) / np.sqrt(len(first)))
    for j, k in np.argwhere(np.abs(covariance) > 5.0 * np.outer(scale, scale)):
        if j != k:
            factor = covariance[j, k] / covariance[k, k]
            yield f"output[{j}] less output[{k}]", partial(residual, j=j, k=k, factor=factor)


def counts_of(values, levels):
    """How many values are at most, at least, and equal to each level."""
    values = np.sort(values)
    upto, before = (np.searchsorted(values, levels, side) for side in ("right", "left"))
    return np.array([upto, len(values) - before, upto - before])


def rough_bounds(counts, n, others, m, delta, confidence):
    """Bounds of ε by Wilson's intervals, by which the event is chosen."""
    z = norm.isf((1 - confidence) / 2)
    low, high = (
        (
            k / size
            + z**2 / (2 * size)
            + side * z * np.sqrt(k * (size - k) / size**3 + z**2 / (4 * size**2))
        )
        / (1 + z**2 / size)
        for k, size, side in ((counts, n, -1), (others, m, 1))
    )
    return np.log(np.maximum(low - delta, 1e-300) / high)


def bounds_of(first, second, levels, delta, confidence, bound):
    """Bounds of ε by all events of one statistic: which input is first, comparisons, levels."""
    counts = [(counts_of(values, levels), len(values)) for values in (first, second)]
    orders = counts, counts[::-1]
    return np.array([bound(*one, *other, delta, confidence) for one, other in orders])


def repeats(outputs, again):
    """Say which noise comes twice, up to its sign, more often than the grid of it allows."""
    outputs, again = np.abs(outputs[:10_000]), np.abs(again[:10_000])
    outputs[outputs == 0] = np.nan
    n, half = len(outputs), len(outputs) // 2
    runs = [np.unique(values[~np.isnan(values)], return_counts=True)[1] for values in outputs.T]
    equal = max((run * (run - 1.0) / 2).sum() for run in runs) + FEWEST_EQUAL
    rate = min(1.25 * equal / (n * (n - 1) / 2), 1.0)
    pairs = {"calls": (outputs, again), "rows": (outputs[: n - 1], outputs[1:])}
    pairs |= {"halves": (outputs[:half], outputs[half : 2 * half])}
    for k in range(outputs.shape[1]):
        for j in range(k):
            pairs[f"columns {j} and {k}"] = (outputs[:, j], outputs[:, k])
    for name, (one, other) in pairs.items():
        found = np.count_nonzero(one == other)
        if found > one.size / 2:
            return f"{name} have the same noise"
        if found >= FEWEST_EQUAL and binom.sf(found - 1, one.size, rate) < MISTAKEN:
            return f"{name} have the same noise"
    return None


def audited(transformer, n_trials=300_000, n_features=1, confidence=1 - 1e-6):
    """Return a lower bound of the ε of a noise, and the event that gives it."""
    subject = Neighbors(clone(transformer), n_features)
    n, delta = n_trials // 2, subject.guarantee.delta
    first = subject.draw(None, n)
    repeated = repeats(first, subject.draw(None, n))
    if repeated is not None:
        return Audit(np.inf, repeated)
    best = -np.inf, None
    for number, move in enumerate(subject.moves):
        second = subject.draw(move, n // len(subject.moves))
        for name, of in statistics_of(first, second, subject.joint):
            values = of(first), of(second)
            picked = [np.quantile(v, np.linspace(0, 1, 200), method="lower") for v in values]
            levels = np.unique(np.concatenate([*picked, [0.0, 1.0]]))
            bounds = bounds_of(*values, levels, delta, confidence, rough_bounds)
            place = np.unravel_index(bounds.argmax(), bounds.shape)
            if bounds[place] > best[0]:
                what = f"{name} {('<=', '>=', '==')[place[1]]} {levels[place[2]]:.6g}"
                best = bounds[place], (move, of, place[:2], levels[place[2]], f"{what}, {number}")
    move, of, (order, kind), level, name = best[1]
    values = of(subject.draw(None, n)), of(subject.draw(move, n))
    exact = bounds_of(*values, np.array([level]), delta, confidence, epsilon_lower_bound)
    bound = exact[order, kind, 0]
    return Audit(float(bound), f"{name} moved")


@pytest.fixture(scope="session")
def audit():
    return audited
