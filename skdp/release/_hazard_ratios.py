"""Hazards of the rows of a category, relative to those of all rows, from noisy sums."""

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from skdp.release._clipping import clipping_effect

# Largest magnitude of the logarithm of a hazard ratio; larger values are unknown.
_MOST = 10.0


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

        ``coefficients`` are by index of the column; None is the constant 1, whose residuals add up
        to zero.
        """
        columns = {key: weight for key, weight in coefficients.items() if key is not None}
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

        if excess(-_MOST) >= 0:
            return 0.0
        return np.inf if excess(_MOST) <= 0 else float(np.exp(brentq(excess, -_MOST, _MOST)))
