"""Noise that comes twice: from call to call, from row to row, from column to column."""

from itertools import pairwise

import numpy as np
from scipy.stats import binom

# Comparisons of one column with another that look for shared noise, at most (rule of thumb:
# a second).
_COMPARISONS = 200_000_000
# Rows of two columns that are compared, at most (rule of thumb).
_COMPARED_ROWS = 10_000
# The fewest of them, however many columns there are (rule of thumb).
_FEWEST_COMPARED = 500
# Values that are sorted to find equal ones at any distance, at most (rule of thumb: a few
# hundredths of a second).
_SORTED = 100_000
# Probability with which one comparison takes independent noise for repeated noise.
_MISTAKEN_REPEAT = 1e-12
# Fewest equal values that count, and what is added to their expected number before it is
# estimated: 20 where none is expected are never chance (argued).
_FEWEST_EQUAL = 20
# Allowance for the estimated probability of equal values, by a factor (rule of thumb).
_ALLOWANCE = 1.25
# Fewest equal values in one column that are compared with the nearly equal ones (argued: where
# as many as twenty are expected, so many are rarer than one in 10,000).
_FEWEST_POOLED = 40


def find_repeats(outputs, again, chance):
    """Return how noise comes twice, or None; no noise at all is left to the events.

    How often independent values are equal depends on the grid and on the point mass of the
    noise. It is estimated from all pairs of values, of which repeated noise makes few equal,
    and is held against the pairs that repeated noise makes equal.

    Parameters
    ----------
    outputs, again : ndarray of shape (n, n_columns)
        Outputs of one input, from two calls. 0 is no noise.

    chance : float
        Greatest probability with which a right mechanism moves two outputs alike; above 0 for
        labels, which are on no grid.

    Returns
    -------
    text : str or None

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise, again = rng.laplace(size=(2, 1000, 2))
    >>> find_repeats(noise, again, 0.0)
    >>> noise[::3, 1] = -noise[::3, 0]
    >>> find_repeats(noise, again, 0.0)
    'columns 0 and 1 have the same noise'
    """
    found = "the same noise is added again, and can be subtracted"
    if any(_mostly_same(one, other, chance) for one, other in _aligned(outputs, again)):
        return found
    magnitudes, others = np.abs(outputs), np.abs(again)
    if chance == 0:
        magnitudes[magnitudes == 0] = np.nan  # equal to nothing
    rate = _rate(magnitudes[:_COMPARED_ROWS])
    for one, other in _aligned(magnitudes, others):
        if _is_no_chance(np.count_nonzero(one == other), one.size, rate):
            return found
    if chance > 0:
        return None
    if (columns := _shared_noise(magnitudes, rate)) is not None:
        return "columns {} and {} have the same noise".format(*columns)
    return found if _same_at_a_distance(magnitudes) or _drawn_from_few(magnitudes) else None


def _aligned(outputs, again):
    """Return pairs of samples, each of which has the noise of the other if it is repeated."""
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
    """Tell whether most of the noise in one sample is that in another."""
    equal = (one == other)[one != 0]
    if len(equal) == 0 or equal.mean() <= (1 + chance) / 2:
        return False
    # Where chance is 0, that is a fraction of all pairs of numbers on a fine grid.
    return chance == 0 or bool(binom.sf(equal.sum() - 1, len(equal), chance) < _MISTAKEN_REPEAT)


def _rate(columns):
    """Return an upper limit of the probability that two values of one column are equal.

    Nor are independent values of two columns equal more often: by Cauchy and Schwarz, with
    the geometric mean of the probabilities of either.
    """
    n = len(columns)
    equal = max(_equal_pairs(np.sort(column)) for column in columns.T)
    return min(_ALLOWANCE * (equal + _FEWEST_EQUAL) / (n * (n - 1) / 2), 1.0)


def _equal_pairs(values):
    """Return how many pairs of sorted values are equal."""
    values = values[: np.count_nonzero(~np.isnan(values))]
    ends = np.flatnonzero(np.diff(values, append=np.inf))
    runs = np.diff(ends, prepend=-1).astype(np.float64)
    return float((runs * (runs - 1) / 2).sum())


def _is_no_chance(equal, n, rate, comparisons=1):
    """Tell whether so many of n pairs are equal by no chance."""
    mistaken = _MISTAKEN_REPEAT / comparisons
    return equal >= _FEWEST_EQUAL and bool(binom.sf(equal - 1, n, rate) < mistaken)


def _shared_noise(magnitudes, rate):
    """Return two columns that have the same noise, but for its sign, in some rows, or None."""
    p = magnitudes.shape[1]
    n = min(_COMPARED_ROWS, max(_FEWEST_COMPARED, _COMPARISONS // p**2), len(magnitudes))
    columns = np.ascontiguousarray(magnitudes[:n].T)
    for j in range(p - 1):
        equal = np.count_nonzero(columns[j + 1 :] == columns[j], axis=1)
        if _is_no_chance(equal.max(), n, rate, p**2):
            return j, j + 1 + int(equal.argmax())
    return None


def _same_at_a_distance(magnitudes):
    """Tell whether values so many places apart are equal, or those of mirrored places."""
    p = magnitudes.shape[1]
    values = magnitudes[: max(_SORTED // p, 1)].ravel()
    n = len(values)
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    pairs = np.flatnonzero(ranked[1:] == ranked[:-1])
    # Columns on grids of their own are equal to themselves alone: a p-th of all pairs.
    rate = p * _ALLOWANCE * (_equal_pairs(ranked) + _FEWEST_EQUAL) / (n * (n - 1) / 2)
    one, other = order[pairs], order[pairs + 1]
    apart = np.bincount(other - one, minlength=1)
    mirrored = np.bincount(other + one, minlength=1)
    return _is_no_chance(max(apart.max(), mirrored.max()), n, min(rate, 1.0), 3 * n)


def _drawn_from_few(magnitudes):
    """Tell whether values of a column are equal though the grid has room for others.

    On a grid two neighbouring points have nearly the same probability: where many values are
    equal, as many are one step apart. The step is that of the binade.
    """
    for column in magnitudes[: max(_SORTED // magnitudes.shape[1], _COMPARED_ROWS)].T:
        ranked = np.sort(column)
        ranked = ranked[: np.count_nonzero(~np.isnan(ranked))]
        gaps = np.diff(ranked)
        if np.count_nonzero(gaps == 0) < _FEWEST_POOLED:
            continue
        expected = adjacent = 0
        for start, end in _runs(np.frexp(ranked)[1]):
            own = gaps[start : end - 1]
            steps = own[own > 0]
            fewest = min(int(np.count_nonzero(own == 0)), len(steps))
            if fewest < _FEWEST_POOLED:
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
