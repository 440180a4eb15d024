"""Columns that repeat the outcome, as a column does that is written down with it or after it.

Each function reads private values; what it returns is for their owner only.
"""

import numpy as np

from skdp.tabular._columns import NumericColumn
from skdp.tabular._values import Vocabulary, numbers

# A column repeats the outcome if it predicts all rows but two and this share of those outside the
# largest class. The best columns of adult, heart disease, flchain, whas500, actg320, actg175 and
# randhie miss more than half of these.
_MISSED = 0.01
# Fewest rows outside the largest class, and fewest different numbers, that are evidence.
_RARE, _DIFFERENT = 20, 20
# Rank correlation from which a number repeats another, in other units or on another scale.
_SAME_ORDER = 0.999
# Fewest rows and greatest number of the intervals into which numbers are divided.
_ROWS, _INTERVALS = 5, 200


def repeated_outcome(column, values, outcome, labels):
    """Return how a column repeats the outcome, as text; "" if it does not.

    ``labels`` are the columns of the outcome: one, or the event and the time.
    """
    is_number = isinstance(column, NumericColumn)
    x = numbers(values) if is_number else Vocabulary(list(column.categories)).codes(values)
    groups = _intervals(x) if is_number else x
    for what, y, is_measured in _PARTS[outcome.kind](outcome, labels):
        if is_measured:
            if is_number and _is_same_order(x, y):
                return f"It sorts the rows as the {what} does"
        elif right := _n_told(groups[y >= 0], y[y >= 0].astype(int)):
            n = np.count_nonzero(y >= 0)
            return f"Alone, it predicts {what} in {right:,} of {n:,} rows"
    return ""


def _of_class(outcome, labels):
    yield "the class", outcome.codes(*labels), False


def _of_number(outcome, labels):
    y = numbers(labels[0])
    yield "outcome", y, True
    # As the number of claims tells which costs are zero.
    yield (
        "whether the outcome is at its lower bound",
        np.where(np.isnan(y), -1, y <= outcome.low),
        False,
    )


def _of_event(outcome, labels):
    yield "the event", np.nan_to_num(outcome.events(labels[0]), nan=-1), False
    yield "time", numbers(labels[1]), True


# By the kind of the outcome, what a column may repeat: its name; codes, −1 left out, or numbers;
# and whether it is numbers.
_PARTS = {"class": _of_class, "number": _of_number, "event": _of_event}


def _intervals(x):
    """Return the interval of each number, of equally many rows, with missing ones in their own."""
    known = np.isfinite(x)
    n_intervals = min(_INTERVALS, int(known.sum()) // _ROWS)
    if not n_intervals:
        return np.zeros(len(x), dtype=int)
    ends = np.unique(np.quantile(x[known], np.arange(1, n_intervals) / n_intervals))
    return np.where(known, np.searchsorted(ends, x, side="right"), -1)


def _n_told(groups, codes):
    """Return how many rows the other rows of their group predict, 0 unless nearly all."""
    if not len(codes):
        return 0
    _, groups = np.unique(groups, return_inverse=True)
    counts = np.zeros((groups.max() + 1, codes.max() + 1), dtype=int)
    np.add.at(counts, (groups, codes), 1)
    # Of the other rows in a group, those with the same class must be more than with any other.
    columns = range(counts.shape[1])
    rivals = [np.delete(counts, k, axis=1).max(axis=1, initial=0) for k in columns]
    right = int(counts[counts - 1 > np.transpose(rivals)].sum())
    rare = len(codes) - int(counts.sum(axis=0).max())
    return right if rare >= _RARE and len(codes) - right <= 2 + _MISSED * rare else 0


def _is_same_order(x, y):
    """Return whether two columns of numbers sort the rows in the same or the opposite order."""
    known = np.isfinite(x) & np.isfinite(y)
    ranks = [np.unique(z[known], return_inverse=True) for z in (x, y)]
    if min(len(different) for different, _ in ranks) < _DIFFERENT:
        return False
    # Equal values share the mean of their ranks.
    shared = [(np.cumsum(n := np.bincount(place)) - (n - 1) / 2)[place] for _, place in ranks]
    correlation: np.ndarray = np.asarray(np.corrcoef(shared))
    return bool(abs(correlation[0, 1]) >= _SAME_ORDER)
