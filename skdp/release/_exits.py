r"""Hazards from noisy counts of exits: events and censorings by interval.

The *exits* of a source count its rows by interval: first events, then censored rows, and last the
rows at risk at the horizon. Noisy counts and their hazards are shrunk towards powers of time,
according to their noise. Without noise, hazards are Nelson–Aalen estimates,

.. math:: λ_k = d_k / (r_k - (d_k + c_k) / 2),

with :math:`d_k` rows that leave interval k with the event, :math:`c_k` without, and :math:`r_k`
at risk when it begins. The residual of the null model of a row that leaves in k is

.. math:: M = δ - \min(Λ(t_k), 1)

with :math:`t_k` the middle of the interval: it lies between −1 and 1, and the sum of M z is the
score of Cox's partial likelihood at zero.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.special import softmax
from sklearn.isotonic import isotonic_regression

from skdp.release._score_posterior import LEAST_ROWS
from skdp.tabular import INTERVAL_ENDS
from skdp.utils._linalg import TINY

# Number of intervals.
N = len(INTERVAL_ENDS)
# Largest cumulative hazard in a residual, which bounds what one row adds.
_CAP = 1.0
# Powers of time of the distributions that noisy counts are shrunk towards: Weibull hazards from
# steeply falling to rising, averaged by evidence.
_POWERS = np.array([0.4, 0.6, 0.8, 1.0, 1.3, 1.7, 2.2])
_SHARES = np.diff(INTERVAL_ENDS[:, np.newaxis] ** _POWERS, axis=0, prepend=0)
# Standard deviations of factors of intervals, from small to large ones, averaged by
# evidence; and their correlation over three intervals or so (rule of thumb).
_SPREADS = (0.1, 0.3, 1.0, 3.0)
_NEARBY = (np.exp(-np.abs(np.subtract.outer(np.arange(N), np.arange(N))) / 3) + np.eye(N)) / 2
# Smallest number of rows of each kind of exit, so that quotients are finite.
_LEAST = 1e-3
# Largest deviation of counts that are taken as they are.
_NO_NOISE = 1e-6
# Share of the horizon below which times are probably in another unit, and of rows that are few.
_EARLY = _FEW = 0.02
# Smallest hazard in differences: of two smaller ones, either event is equally likely to be first.
_LEAST_HAZARD = 1e-6


def _smoothed(counts, deviation, weights=1.0):
    """Return posterior means of the counts of intervals, given their noise, with the same sum.

    None is negative, which the isotonic regression of their cumulative sums ensures.
    """
    # Zeros in place of negative counts would move rows to where there are few: with standard
    # deviations of 35 and 19 rows in 13 tables, curves were too high by .043 and .029, and are by
    # .022 and .013.
    total = max(counts.sum(), 0.0)
    if min(deviation, total) <= _NO_NOISE:  # counts as they are, against underflow
        return np.maximum(counts, 0.0)
    probabilities, means, _ = _posterior(counts, deviation, weights)
    cumulative = np.clip(np.cumsum(probabilities @ means), 0.0, total)
    cumulative[-1] = total
    return np.diff(isotonic_regression(cumulative), prepend=0.0)


def _posterior(counts, deviation, weights=1.0):
    """Return probabilities, posterior means and covariances of candidates for true counts.

    In the prior, counts are ``weights`` times a power of time, times normal factors that are
    correlated between nearby intervals. Candidates have different powers, and standard deviations
    of the factors.
    """
    expected = (_SHARES.T * weights)[:, np.newaxis]
    expected = max(counts.sum(), _LEAST) * expected / expected.sum(axis=-1, keepdims=True)
    means = np.broadcast_to(expected, (*expected.shape[:1], len(_SPREADS), N)).reshape(-1, N)
    spreads = np.tile(_SPREADS, len(expected))[:, np.newaxis]
    priors = (spreads * means)[:, :, np.newaxis] * (spreads * means)[:, np.newaxis] * _NEARBY
    covariances = priors + deviation**2 * np.eye(N)
    away = (counts - means)[:, :, np.newaxis]
    solved = np.linalg.solve(covariances, away)
    log_evidence = -(away * solved).sum(axis=(1, 2)) / 2 - np.linalg.slogdet(covariances)[1] / 2
    left = priors - priors @ np.linalg.solve(covariances, priors)
    return softmax(log_evidence), means + (priors @ solved)[:, :, 0], left


@dataclass(frozen=True)
class Exits:
    """The exits of a source's rows, with their hazards.

    Attributes
    ----------
    hazards : ndarray of shape (n_intervals,)
        Cumulative hazard of the event within each interval, over all rows.

    censoring : ndarray of shape (n_intervals,)
        Share of the rows at risk that are censored in each interval.

    rows : ndarray of shape (n_cells,)
        Positive rows of each kind of exit.

    counts, deviation : ndarray of shape (n_cells,) and float
        Noisy rows of each kind of exit, and the standard deviation of the noise.
    """

    hazards: np.ndarray
    censoring: np.ndarray
    rows: np.ndarray
    counts: np.ndarray
    deviation: float

    @classmethod
    def of(cls, exits: np.ndarray, deviation: float) -> Self:
        """Return the exits from noisy rows of each kind of exit."""
        exposed = np.ones(N)
        # Numbers of rows follow a power of time, then a power of time times the rows at risk.
        for _ in range(2):
            parts = [_smoothed(exits[k : k + N], deviation, exposed) for k in (0, N)]
            rows = np.maximum(np.concatenate([*parts, exits[2 * N :]]), _LEAST)
            events, others = rows[:N], rows[N : 2 * N]
            at_risk = rows.sum() - np.cumsum(events + others) + events + others
            exposed = np.maximum(at_risk - (events + others) / 2, _LEAST)
        # Where few rows and noise remain, hazards are taken from other intervals.
        hazards = np.maximum(_smoothed(exits[:N], deviation, exposed), _LEAST) / exposed
        censoring = others / np.maximum(at_risk - events, _LEAST)
        return cls(hazards, censoring, rows, exits, deviation)

    @property
    def n_rows(self) -> float:
        """Number of rows."""
        return float(self.rows.sum())

    @property
    def n_events(self) -> float:
        """Number of rows with the event."""
        return float(self.rows[:N].sum())

    @cached_property
    def n_followed(self) -> int:
        """Number of intervals, at least 1, at whose end enough rows are still observed.

        The rows that leave later are at least 20 with a probability of 84%, given the noise.
        """
        later = np.tri(N, k=-1).T  # of each interval, without itself
        mean, variance = np.full(N, self.counts[-1]), np.full(N, self.deviation**2)
        for counts in (self.counts[:N], self.counts[N : 2 * N]):
            if self.deviation <= _NO_NOISE:
                mean += later @ counts
                continue
            probabilities, means, left = _posterior(counts, self.deviation)
            means, around = means @ later.T, np.einsum("ki,cij,kj->ck", later, left, later)
            mean += probabilities @ means
            variance += probabilities @ (around + (means - probabilities @ means) ** 2)
        enough = np.flatnonzero(mean - np.sqrt(variance) >= LEAST_ROWS)
        return int(enough.max(initial=0)) + 1

    @property
    def places(self) -> np.ndarray:
        """Weight of each kind of exit in the upper pseudo-class, (1 + M) / 2."""
        # M is the martingale residual of Therneau, Grambsch and Fleming (1990), its hazard capped.
        cumulative = np.cumsum(self.hazards)
        middle = np.minimum(cumulative - self.hazards / 2, _CAP)
        at_horizon = min(cumulative[-1], _CAP)
        return (1 + np.concatenate([1 - middle, -middle, [-at_horizon]])) / 2

    def baseline(self, log_hazards: np.ndarray) -> np.ndarray:
        """Return the hazards at log-hazard 0, if the given log-hazards are equally frequent.

        The average over all rows at risk then equals ``hazards``.
        """
        return self._walk(log_hazards)[0]

    def residual_at(self, log_ratio: float) -> float:
        """Return the residual of rows with a multiple of these hazards, minus that of all rows."""
        multiple, same = (self._leaves(np.exp(log_hazard)) for log_hazard in (log_ratio, 0.0))
        return float((multiple - same) @ (2 * self.places - 1))

    def _leaves(self, factor):
        """Return the probability of each kind of exit at a multiple of the hazards."""
        stays = np.exp(-self.hazards * factor)
        at_risk = np.append(1.0, np.cumprod(stays * (1 - self.censoring)))
        parts = [at_risk[:-1] * (1 - stays), at_risk[:-1] * stays * self.censoring, at_risk[-1:]]
        return np.concatenate(parts)

    def expected_residuals(self, places: np.ndarray, log_hazards: np.ndarray) -> np.ndarray:
        """Return the expected residual of rows whose kinds of exit have these places."""
        return self._walk(log_hazards)[1] @ (2 * places - 1)

    def concordance(self, log_hazards: np.ndarray) -> float:
        """Return Harrell's concordance, if the given log-hazards are equally frequent."""
        # A row with the event is compared with those at risk afterwards, and those that
        # leave in the same interval.
        log_hazards = np.sort(log_hazards)
        baseline, leaves = self._walk(log_hazards)
        events, others = leaves[:, :N].T, leaves[:, N : 2 * N].T
        after = 1 - np.cumsum(events + others, axis=0) + others / 2
        hazards = np.outer(baseline, np.exp(log_hazards))
        pairs = events.T @ after + pairs_within(events, hazards)
        ties = log_hazards[:, np.newaxis] == log_hazards
        right = pairs[log_hazards[:, np.newaxis] > log_hazards].sum() + pairs[ties].sum() / 2
        return float(right / max(pairs.sum(), TINY))

    def _walk(self, log_hazards):
        """Return the baseline, and the probability of each kind of exit, (n_rows, n_cells)."""
        factors, at_risk = np.exp(log_hazards), np.ones(len(log_hazards))
        baseline, events, others = [], [], []
        for hazard, leaves in zip(self.hazards, self.censoring, strict=True):
            of_interval = _hazard(-np.expm1(-hazard), factors, at_risk / at_risk.sum())
            stays = np.exp(-of_interval * factors)
            baseline.append(of_interval)
            events.append(at_risk * (1 - stays))
            others.append(at_risk * stays * leaves)
            at_risk = at_risk * stays * (1 - leaves)
        return np.array(baseline), np.column_stack([*events, *others, at_risk])


def pairs_within(events, hazards):
    """Return pairs of rows with the event in the same interval, (n_scores, n_scores).

    Entry (i, j) is the expected number of pairs in which a row of score i has the event first.

    Parameters
    ----------
    events, hazards : ndarray of shape (n_intervals, n_scores)
        Rows with the event, and cumulative hazards, constant within each interval.
    """
    pairs = np.zeros((events.shape[1],) * 2)
    for rows, hazard in zip(events, np.maximum(hazards, _LEAST_HAZARD), strict=True):
        happens, both = -np.expm1(-hazard), np.add.outer(hazard, hazard)
        # ∫ h exp(-h t) (exp(-h' t) - exp(-h')) dt, if both rows have the event.
        first = hazard[:, np.newaxis] / both * -np.expm1(-both)
        first -= np.outer(happens, np.exp(-hazard))
        pairs += np.outer(rows, rows) * first / np.outer(happens, happens)
    return pairs


def unit_doubt(exits, deviation):
    """Return the warning that times and horizon may be in other units, or None."""
    n_rows, leave = exits.sum(), np.cumsum(exits[:N] + exits[N : 2 * N])
    if n_rows < 6 * deviation:
        return None
    early = np.interp(_EARLY, INTERVAL_ENDS, leave)
    if early > n_rows / 2 + 3 * deviation:  # two deviations of the noise of two counts
        where = f"Half of the times are below {100 * _EARLY:g} % of the horizon"
    elif leave[-1] < max(_FEW * n_rows, 2 * deviation):
        where = "Nearly all times are beyond the horizon"
    else:
        return None
    return f"{where}, by the noisy counts. Are they in another unit, such as years and days?"


def _hazard(probability, factors, shares):
    """Return h such that the mean of 1 − exp(−h · factor) is the probability."""
    h = -np.log1p(-min(probability, 1 - 1e-12)) / (shares @ factors)
    for _ in range(30):  # far more than Newton's method needs
        stays = np.exp(-h * factors)
        excess = shares @ (1 - stays) - probability
        step = excess / max(shares @ (factors * stays), TINY)
        h = max(h - step, 0.0)
        if abs(step) <= 1e-14 * h:
            break
    return h
