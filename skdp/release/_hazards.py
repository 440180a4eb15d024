r"""Log-hazards from a regression of residuals: Cox's model by the method of moments.

The regression of a time predicts the residual M of a row, between −1 and 1
(:mod:`skdp.release._exits`), by a function g(x) of mean 0. Log-hazards are a multiple b g(x). The
factor b is chosen such that expected residuals have the covariance with g that was measured,

.. math:: \mathrm{cov}(E[M | b g], g) = \mathrm{var}(g),

over synthetic rows of the release (:class:`SyntheticRows`). If hazards are small, b is 1 over the
share of rows with the event; it is larger if many cumulative hazards exceed the cap in residuals.

Residuals also give the hazards of the rows of a category, relative to those of all rows.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from skdp.release._clipping import clipping_effect
from skdp.release._synthetic_rows import SyntheticRows
from skdp.utils._linalg import NEGLIGIBLE, TINY

# Number of synthetic rows, and of groups by expected residual, which save time.
_N_ROWS, _N_GROUPS = 4096, 64
# Largest standard deviation of log-hazards, with which concordance is .9, and largest
# log-hazard of a row, whose exponential is finite.
_LARGEST_SPREAD, _LARGEST = 4.0, 30.0
# Largest magnitude of the logarithm of a hazard ratio; larger values are unknown.
_LARGEST_RATIO = 10.0


@dataclass(frozen=True)
class RelativeHazards:
    """Log-hazards as a linear function of the expected rescaled residual, and the baseline.

    Attributes
    ----------
    slope : float
        Log-hazard per unit of the rescaled residual.

    center : float
        Rescaled residual with log-hazard 0.

    spread : float
        Standard deviation of log-hazards over the rows of the source.

    baseline : ndarray of shape (n_intervals,)
        Cumulative hazard within each interval at log-hazard 0.

    concordance : ndarray of shape (3,)
        Expected concordance on rows of the source's distribution, and the bounds of its central
        80% interval.
    """

    slope: float
    center: float
    spread: float
    baseline: np.ndarray
    concordance: np.ndarray

    def log_hazards(self, places: np.ndarray) -> np.ndarray:
        """Return the log-hazards of rows, relative to the baseline."""
        return np.clip(self.slope * (places - self.center), -_LARGEST, _LARGEST)


def relative_hazards(statistics, index):
    """Return :class:`RelativeHazards` linear in a score of rows, from noisy sums."""
    sums = statistics.sums
    places = _typical(statistics, index)
    center = places.mean()
    # Residuals from −1 to 1 are twice as far apart as rescaled ones.
    expected = 2 * (places - center)
    pooled = statistics.exits
    # Places of exits differ between sources by the noise in their hazards.
    n_rows = np.maximum(sums.exits.sum(axis=1), TINY)
    residuals = n_rows @ sums.exit_places / n_rows.sum()
    slope = _slope(expected, pooled, residuals)
    total = 4 * max(sums.squares[0] / sums.row_counts.sum(), 0.0)
    concordance = []
    for r2 in statistics.regression.r2:
        scaled = expected * np.sqrt(r2 * total / max(expected.var(), TINY))
        log_hazards = _slope(scaled, pooled, residuals) * scaled
        concordance.append(pooled.concordance(log_hazards))
    return RelativeHazards(
        slope=2 * slope,
        center=float(center),
        spread=float(slope * expected.std()),
        baseline=pooled.baseline(slope * expected),
        concordance=np.array(concordance),
    )


def measured_hazards(statistics, log_hazards, concordance):
    """Return :class:`RelativeHazards` of known log-hazards."""
    typical = _typical(statistics, log_hazards)
    center = float(typical.mean())
    return RelativeHazards(
        slope=1.0,
        center=center,
        spread=float(typical.std()),
        baseline=statistics.exits.baseline(typical - center),
        concordance=concordance,
    )


def _typical(statistics, index):
    """Return the index of synthetic rows: means of equally many, in ascending order."""
    rows = SyntheticRows(statistics, None).draw(_N_ROWS, np.random.RandomState(0))
    return np.sort(index(rows)).reshape(_N_GROUPS, -1).mean(axis=1)


def _slope(expected, exits, places):
    """Return b such that log-hazards b · expected imply the expected residuals."""
    spread = expected.std()

    def excess(slope):
        residuals = exits.expected_residuals(places, slope * expected)
        return float(np.mean((residuals - residuals.mean()) * expected) / spread - spread)

    # So small a spread is due to rounding: the columns predict nothing.
    if not spread > NEGLIGIBLE or not excess(0.0) < 0:
        return 0.0
    most = _LARGEST_SPREAD / spread
    return float(brentq(excess, 0.0, most, xtol=1e-6 * most)) if excess(most) > 0 else most


class HazardRatios:
    """Estimator of the hazard ratios of groups of rows.

    The residuals of a group add up to its events minus the events expected from the hazards of all
    rows. Its hazard ratio is the one at which rows with the censoring of all rows have the same
    mean residual.

    Parameters
    ----------
    statistics : Statistics
        Statistics of a time to an event.

    units : ndarray of shape (n_features,)
        Units of the encoded columns, in the units of the sums.

    confidence : float
        Confidence of the intervals.
    """

    def __init__(self, statistics, units, confidence):
        sums, basis = statistics.sums, statistics.basis
        shrinkage = clipping_effect(sums, basis)
        # Rows were longer before they were clipped to cz.
        scale = units * np.sqrt(shrinkage)
        ends = (sums.contrast[1] - sums.contrast[0]) / 2
        self._residuals = 2 * ends[basis.linear] / scale
        self._noise = 2 * (sums.contrast_sd / scale) ** 2
        self._variance = 4 * max(sums.squares[0] / sums.row_counts.sum(), 0.0)
        self._exits = statistics.exits
        self._quantile = norm.isf((1 - confidence) / 2)

    def of(self, coefficients, n_rows):
        """Return the hazard ratio of rows whose indicator is a sum of columns, and its interval.

        ``coefficients`` are by index of the column; a negative one is of the constant 1, whose
        residuals add up to zero.
        """
        columns = {key: weight for key, weight in coefficients.items() if key >= 0}
        numbers, weights = list(columns), np.array(list(columns.values()))
        if n_rows <= 1:
            return np.nan, 0.0, np.inf
        mean = weights @ self._residuals[numbers] / n_rows
        # Relative to all rows, which include the group.
        sampling = max(1 / n_rows - 1 / self._exits.n_rows, 0.0) * self._variance
        variance = weights**2 @ self._noise[numbers] / n_rows**2 + sampling
        half = self._quantile * np.sqrt(variance)
        return tuple(map(self._ratio, (mean, mean - half, mean + half)))

    def _ratio(self, residual):
        def excess(log_ratio):
            return self._exits.residual_at(log_ratio) - residual

        if excess(-_LARGEST_RATIO) >= 0:
            return 0.0
        return (
            np.inf
            if excess(_LARGEST_RATIO) <= 0
            else float(np.exp(brentq(excess, -_LARGEST_RATIO, _LARGEST_RATIO)))
        )
