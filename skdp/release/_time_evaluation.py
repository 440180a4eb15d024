r"""Rows with and without an event by public times, from noisy counts of private rows.

At each public time t, rows are counted by bin of the predicted probability of the event by t and
by status: still observed at t, event by then, or censored before. Whether censored rows would have
had the event is unknown. The Kaplan–Meier estimate within a bin distributes them: the survival S
of a bin at t is the solution of

.. math:: n S = s + l S / m(S), m(S) = \sum_k w_k S^{g_k},

for n rows in the bin, s of them observed at t, and l censored before, whose expected survival is S
divided by the survival at the time of censoring (Efron, 1967). The distribution of censoring times
:math:`w_k`, and the course of the hazard up to t, :math:`g_k` from 0 to 1, are not known by bin.
They are estimated from the counts of all rows at the public times before t, assuming that hazards
of bins are proportional over time. Between these times, hazards are constant and censoring is
uniform.

The result is the number of rows with and without the event in each bin, as for two classes. The
area under their ROC curve is the cumulative/dynamic AUC.
"""

from itertools import pairwise
from math import isnan

import numpy as np
import pandas as pd

from skdp.release._score_posterior import Bins
from skdp.utils._linalg import NEGLIGIBLE, TINY

# States of a row at a time: still observed, event by then, or censored before.
N_STATES = 3
# Public times unless others are given, in units of the horizon.
DEFAULT_TIMES = (0.25, 0.5, 0.75)
# Most public times: each adds to the sensitivity.
MOST_TIMES = 20
# Wider than those of classes, and without the far ends where hardly any rows are: intervals of the
# Brier score are half as wide, by flchain and nwtco at ε = 1.
TIME_BINS = Bins(-5.0, 3.0, 20)
# Places within an interval at which rows leave, and steps of Newton's method, which converges in
# fewer.
_PLACES = (np.arange(4) + 0.5) / 4
_N_STEPS = 10
# Number of rounds that estimate the course of a bin's hazard from the hazard of all rows.
_N_COURSES = 5


def by_event(rows, histograms):
    """Return expected rows without and with the event, (n_times, n_draws, 2, n_bins).

    The argument has rows of each state, (n_times, n_draws, 3, n_bins), and the histograms give the
    hazards.
    """
    hazards, leaving = _hazards(histograms.sum(axis=-1))
    found = np.empty((*rows.shape[:2], 2, rows.shape[-1]))
    for k, of_time in enumerate(rows):
        n, survival = of_time.sum(axis=1), _survival(of_time, hazards[: k + 1], leaving[: k + 1])
        found[k] = np.stack([n * survival, n * (1 - survival)], axis=1)
    return found


def _hazards(totals):
    """Return hazards of the event, and of leaving, in the intervals that end at each time."""
    there, events, left = np.maximum(totals, 0).T
    events = np.maximum(np.diff(np.maximum.accumulate(events), prepend=0), 0)
    left = np.maximum(np.diff(np.maximum.accumulate(left), prepend=0), 0)
    half = np.maximum(there + (events + left) / 2, 1)
    return events / half + NEGLIGIBLE, left / half + NEGLIGIBLE


def _survival(rows, hazards, leaving):
    """Return the share of rows without the event at the last time, (n_draws, n_bins)."""
    # If censoring does not depend on the event, the distribution of the intervals of censoring.
    density = np.exp(leaving - np.cumsum(leaving)) * -np.expm1(-leaving)
    course = hazards / hazards.sum()
    mean = rows.mean(axis=0, keepdims=True)
    for _ in range(_N_COURSES):
        # The hazard of all rows is the hazard of a bin, times the mean over rows still observed.
        log = -np.log(_solved(mean, course, density)[0])
        middle = np.cumsum(course) - course / 2
        still = mean[0].sum(axis=0) * np.exp(-np.outer(middle, log))
        course = hazards * still.sum(axis=1) / (still @ log + TINY)
        course = course / course.sum()
    return _solved(rows, course, density)


def _solved(rows, course, density):
    """Return the solution S of n S = s + l S / m(S), with the mean m of S at times of leaving.

    ``rows`` are (n_draws, 3, n_bins); ``course`` is the share of each interval in the cumulative
    hazard, ``density`` the relative frequency of censoring in it.
    """
    there, _, left = rows.transpose(1, 0, 2)
    n = np.maximum(rows.sum(axis=1), TINY)
    ends = np.cumsum(course)
    ahead = 1 - ((ends - course)[:, np.newaxis] + np.outer(course, _PLACES)).ravel()
    weights = np.repeat(density, len(_PLACES)) / (len(_PLACES) * density.sum())
    # Newton's method on n S − s − l S / m(S), which is convex, from a start where it is not
    # negative: steps never pass the root.
    survival = np.clip((there + left) / n, NEGLIGIBLE, 1)
    for _ in range(_N_STEPS):
        powers = weights[:, np.newaxis, np.newaxis] * survival ** -ahead[:, np.newaxis, np.newaxis]
        total = powers.sum(axis=0)  # m(S) / S
        slope = np.tensordot(ahead, powers, axes=1) / (survival * total**2)
        step = (n * survival - there - left / total) / np.maximum(n - left * slope, TINY)
        survival = np.clip(survival - step, NEGLIGIBLE, 1)
    return survival


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
    names = {"auc": "AUC", "brier_score": "Brier score", "event": "had the event"}
    for line in table.to_dict("records"):
        figures = [
            f"{said} {line[k]:.3f} ({line[f'{k}_low']:.3f} to {line[f'{k}_high']:.3f})"
            for k, said in names.items()
            if not isnan(line[k])
        ]
        if len(figures) == len(names) - 1:
            figures.insert(0, "AUC n/a: too few events")
        figures.append(f"predicted {line['predicted']:.3f}")
        if isnan(line["event"]):
            figures = ["n/a: too few rows are left"]
        figures.append(f"about {line['followed']:,.0f} still followed")
        lines.append(f"  {'by ' + format(line['time'], 'g'):<17}  {', '.join(figures)}")
    return lines


def times_fault(times, outcome):
    """Return why an evaluation cannot use these public times, or None."""
    numbers = all(isinstance(t, int | float) and not isinstance(t, bool) for t in times)
    if not numbers or not 1 <= len(times) <= MOST_TIMES:
        return f"1 to {MOST_TIMES} numbers"
    within = all(0 < t <= outcome.horizon for t in times)
    if not within or any(a >= b for a, b in pairwise(times)):
        return f"ascending, above 0 and up to the horizon {outcome.horizon:g}"
    return None
