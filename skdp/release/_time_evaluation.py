r"""Rows with and without an event by public times, from noisy counts of private rows.

Of each row, at each public time t, is counted the bin of the predicted probability of the event by
t, and whether the row is there at t, has had the event by then, or left before without it. Of the
latter it is not known whether they would have had the event. Kaplan and Meier's estimate within a
bin shares them out: it is the solution of

.. math:: n S = s + \sum_c (S / S(u_c)), \quad S(u) = S^{g(u)},

with n rows in the bin, s of them there at t, and :math:`u_c` the times at which the others left
(Efron, 1967). Neither these times nor the course g of the hazard up to t, from 0 to 1, are known
by bin; they are those of all rows, by the counts at the public times before t. Within an
interval between these, hazards are constant and rows leave evenly with them.

What is left are rows with and without the event in each bin, as of two classes: the area under
their ROC curve is that of cumulative cases and dynamic controls.
"""

from itertools import pairwise

import numpy as np
import pandas as pd

from skdp.release._score_posterior import Bins
from skdp.utils._linalg import TINY

# Ways in which a row is at a time: there, with the event by then, or left before.
N_STATES = 3
# Public times unless others are given, in units of the horizon.
DEFAULT_TIMES = (0.25, 0.5, 0.75)
MOST_TIMES = 20
# Wider than those of classes, and without the far ends where hardly any rows are: intervals of the
# Brier score are half as wide, by flchain and nwtco at ε = 1.
TIME_BINS = Bins(-5.0, 3.0, 20)
# Places within an interval at which rows leave, and steps of Newton's method (rules of thumb).
_PLACES = (np.arange(4) + 0.5) / 4
_N_STEPS = 10


def by_event(rows, histograms):
    """Return expected rows without and with the event, (n_times, n_draws, 2, n_bins).

    Of rows of each state, (n_times, n_draws, 3, n_bins); hazards are those of the histograms.
    """
    ahead, weights = _ahead(histograms.sum(axis=-1))
    there, _, left = np.moveaxis(rows, -2, 0)
    n = np.maximum(rows.sum(axis=-2), TINY)
    # The distance from the solution is convex and not negative here: steps never pass it.
    survival = np.clip((there + left) / n, TINY, 1)
    for _ in range(_N_STEPS):
        kept = np.zeros_like(survival)
        slope = np.zeros_like(survival)
        for h, weight in zip(ahead.T, weights.T, strict=True):
            h, weight = h[:, np.newaxis, np.newaxis], weight[:, np.newaxis, np.newaxis]
            power = weight * survival**h
            kept += power
            slope += h * power
        slope = n - left * slope / survival
        step = (n * survival - there - left * kept) / np.maximum(slope, TINY)
        survival = np.clip(survival - step, TINY, 1)
    return np.stack([n * survival, n * (1 - survival)], axis=-2)


def _ahead(totals):
    """Return how much of the hazard up to each time is ahead of rows that leave before it.

    As shares at some places in each interval, with their weights, both (n_times, n_places).
    """
    there, events, left = np.maximum(totals, 0).T
    events = np.maximum(np.diff(np.maximum.accumulate(events), prepend=0), 0)
    left = np.maximum(np.diff(np.maximum.accumulate(left), prepend=0), 0)
    at_start = there + events + left
    hazards = events / np.maximum(at_start - (events + left) / 2, 1) + TINY
    ends = np.cumsum(hazards)
    passed = (ends - hazards)[:, np.newaxis] + hazards[:, np.newaxis] * _PLACES
    n_times = len(ends)
    ahead = 1 - passed.ravel() / ends[:, np.newaxis]
    before = np.tril(np.ones((n_times, n_times)))
    weights = np.repeat(before * (left + TINY), len(_PLACES), axis=1)
    return np.maximum(ahead, 0), weights / weights.sum(axis=1, keepdims=True)


def mean_weights(times):
    """Return the weights of the mean over time, by the trapezoidal rule."""
    steps = np.diff(np.asarray(times))
    if not len(steps):
        return np.ones(1)
    return (np.append(steps, 0) + np.append(0, steps)) / (2 * steps.sum())


def event_shares(rows):
    """Return the share of rows with the event by each time, (n_draws, n_times)."""
    counts = rows.sum(axis=-1)
    return (counts[..., 1] / np.maximum(counts.sum(axis=-1), TINY)).T


def time_table(times, figures):
    """Return a table with a line for each time, of figures by name: value, low and high."""
    columns: dict = {"time": list(times)}
    for name, (value, low, high) in figures.items():
        columns |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return pd.DataFrame(columns)


def time_lines(table):
    """Return the lines of a summary about a table of times."""
    lines = []
    for line in table.to_dict("records"):
        figures = [
            f"{said} {line[name]:.3f} ({line[f'{name}_low']:.3f} to {line[f'{name}_high']:.3f})"
            for name, said in (("auc", "AUC"), ("brier_score", "Brier score"), ("event", "event"))
        ]
        lines.append(
            f"  {'by ' + format(line['time'], 'g'):<12}  {', '.join(figures)}, "
            f"predicted {line['predicted']:.3f}"
        )
    return lines


def times_fault(times, outcome):
    """Return why an evaluation cannot have these public times, or None."""
    numbers = all(isinstance(t, int | float) and not isinstance(t, bool) for t in times)
    if not numbers or not 1 <= len(times) <= MOST_TIMES:
        return f"1 to {MOST_TIMES} numbers"
    within = all(0 < t <= outcome.horizon for t in times)
    if not within or any(a >= b for a, b in pairwise(times)):
        return f"ascending, above 0 and up to the horizon {outcome.horizon:g}"
    return None
