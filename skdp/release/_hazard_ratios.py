"""Hazards of the rows of a category, relative to those of all rows, from noisy sums."""

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from skdp.release._clipping import clipping_effect

# Largest magnitude of the logarithm of a hazard ratio; beyond it nothing is known.
_MOST = 10.0


class HazardRatios:
    """Reader of the hazard ratios of groups of rows.

    The residuals of a group of n rows add up to its events less those that are expected of it by
    the hazards of all rows. Its hazard ratio is that at which rows that leave like all others have
    the same mean residual.

    Parameters
    ----------
    statistics : Statistics
        Of a time to an event.

    units : ndarray of shape (n_features,)
        Of the encoded columns, in those of the sums.

    confidence : float
        Of the intervals.
    """

    def __init__(self, statistics, units, confidence):
        sums, basis = statistics.sums, statistics.basis
        shrinkage = clipping_effect(sums, basis)
        # Rows that became cz when they were clipped were longer.
        scale = units * np.sqrt(shrinkage)
        ends = (sums.contrast[1] - sums.contrast[0]) / 2
        self._residuals = 2 * ends[basis.linear] / scale
        self._noise = 2 * (sums.contrast_sd / scale) ** 2
        self._variance = 4 * max(sums.squares[0] / sums.row_counts.sum(), 0.0)
        self._exits = statistics.exits
        self._quantile = norm.isf((1 - confidence) / 2)

    def of(self, coefficients, n_rows):
        """Return the hazard ratio of rows whose indicator is a sum of columns, and its interval.

        ``coefficients`` are by number of the column; None has that of 1, whose residuals add up
        to zero.
        """
        columns = {key: weight for key, weight in coefficients.items() if key is not None}
        numbers, weights = list(columns), np.array(list(columns.values()))
        if n_rows <= 1:
            return np.nan, 0.0, np.inf
        mean = weights @ self._residuals[numbers] / n_rows
        # About all rows, which the group is a part of.
        sampling = max(1 / n_rows - 1 / self._exits.n_rows, 0.0) * self._variance
        variance = weights**2 @ self._noise[numbers] / n_rows**2 + sampling
        half = self._quantile * np.sqrt(variance)
        return tuple(map(self._ratio, (mean, mean - half, mean + half)))

    def _ratio(self, residual):
        def excess(log_ratio):
            return self._exits.residual_at(log_ratio) - residual

        if excess(-_MOST) >= 0:
            return 0.0
        return np.inf if excess(_MOST) <= 0 else float(np.exp(brentq(excess, -_MOST, _MOST)))
