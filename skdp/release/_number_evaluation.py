r"""The errors of predictions of a number, from noisy sums of private rows, with intervals.

For each row, let p be the prediction and t the outcome, both rescaled to 0–1 between the public
bounds. Rows are counted by the cell of a grid over (p, t), and by whether the outcome is inside
the interval of its prediction. The sums of \|p − t\| in the unit of the outcome, (p − t)², t − ½
and (t − ½)² are perturbed too. R² and the mean absolute error are computed from these sums alone:
sums of squares over many noisy cells would have more noise. Errors of the sums are normal: noise
of known variance, and sampling, whose covariance is estimated from the grid. For this purpose its
counts are replaced by the nearest nonnegative ones that add up to the number of rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from skdp.release._numbers import in_units
from skdp.release._score_posterior import enough_rows

# Number of cells of the grid for predictions and for outcomes: each of their squares has noise.
N_PLACES = 16
_PLACES = np.linspace(0, 1, N_PLACES)
_WIDTH = 1 / (N_PLACES - 1)
# Noise of the sums and of the cells, relative to each other: one row changes them by at most
# (1 in one of two, 1, 1, 1/2, 1/4) and 1, which, divided by these, is a vector of length 1.
SUM_SCALES, CELL_SCALE = np.array([4.0, 4.0, 2.0, 2.0, 2.0, 1.0]), np.sqrt(3.2)
# Number of draws that give the ends of 95% intervals.
_DRAWS = 4000
# Share of an interval outside of it, to either side.
_MISS = 0.025


def cell_of(places):
    """Return the cell of each rescaled number; NaN counts in the middle cell."""
    places = np.clip(np.nan_to_num(places, nan=0.5), 0, 1)
    return np.rint(places / _WIDTH).astype(np.int64)


@dataclass(frozen=True)
class NumberErrors:
    """Noisy counts of rows by cell, noisy sums over rows, and measures computed from them.

    Attributes
    ----------
    outcome : NumericColumn

    histogram : ndarray of shape (n_places, n_places)
        Rows by cell of the prediction and of the outcome.

    sums : ndarray of shape (6,)
        Rows inside and outside of their intervals; and sums of abs(p - t) in widths of the public
        bounds, (p - t)², t - ½ and (t - ½)², with predictions p and outcomes t.

    deviation : float
        Standard deviation of the noise in a cell.
    """

    outcome: Any
    histogram: np.ndarray
    sums: np.ndarray
    deviation: float

    @property
    def noise(self):
        """Standard deviations of the noise in the sums, (6,)."""
        return self.deviation / CELL_SCALE * SUM_SCALES

    def n_rows(self):
        """Return the number of rows, and half of the interval of its noise."""
        return float(self.sums[:2].sum()), 1.96 * float(np.linalg.norm(self.noise[:2]))

    def r2(self):
        """Return R² on the scale of the outcome, with the ends of its interval."""

        def measure(sums):
            n, _, squares, first, second = sums.T
            with np.errstate(all="ignore"):
                total = second - first**2 / n
                possible = (n > 0) & (squares >= 0) & (total > 0)
                return np.where(possible, 1 - squares / total, np.nan)

        return self._estimate(measure, -np.inf, 1.0)

    def mean_absolute_error(self):
        """Return the mean absolute error in the unit of the outcome, with its interval."""
        width = self.outcome.high - self.outcome.low

        def measure(sums):
            with np.errstate(all="ignore"):
                mean = np.clip(sums[:, 1] / sums[:, 0], 0, 1)
            return width * np.where(sums[:, 0] > 0, mean, np.nan)

        return self._estimate(measure, 0.0, width)

    def coverage(self):
        """Return the share of the outcomes inside of their intervals, with its interval."""
        variances = self.noise[:2] ** 2 + np.maximum(self.sums[:2], 0)
        normal = check_random_state(0).standard_normal((_DRAWS, 2))

        def measure(counts):
            inside, outside = np.maximum(counts, 0).T
            with np.errstate(all="ignore"):
                return inside / (inside + outside)

        drawn = measure(self.sums[:2] + np.sqrt(variances) * normal)
        exact = measure(self.sums[np.newaxis, :2])[0]
        return self._interval(drawn, exact, 0.0, 1.0)

    def _estimate(self, measure, least, most):
        """Return the value of a function of sums over rows, with its interval."""
        sums = np.concatenate([[self.sums[:2].sum()], self.sums[2:]])
        variances = np.concatenate([[(self.noise[:2] ** 2).sum()], self.noise[2:] ** 2])
        values, rows = self._of_cells(), _adding_up_to(sums[0], self.histogram.ravel())
        covariance = (values * rows) @ values.T + np.diag(variances)
        # Noise is in the sums already.
        drawn = check_random_state(0).multivariate_normal(sums, covariance, _DRAWS)
        return self._interval(measure(drawn), measure(sums[np.newaxis])[0], least, most)

    def _interval(self, drawn, exact, least, most):
        """Return a value with the bounds of its interval; NaN if noise hides the value."""
        possible = drawn[~np.isnan(drawn)]
        if not len(possible):
            return np.nan, least, most
        low, middle, high = np.quantile(possible, [_MISS, 0.5, 1 - _MISS])
        return middle if self.deviation else exact, low, high

    def _of_cells(self):
        """Return a row's contribution to the sums by its cell, (5, n_cells); its count first."""
        units = in_units(self.outcome, _PLACES) / (self.outcome.high - self.outcome.low)
        distances = np.abs(np.subtract.outer(units, units)).ravel()
        squares = np.subtract.outer(_PLACES, _PLACES).ravel() ** 2
        middle = np.tile(_PLACES - 0.5, N_PLACES)
        # Rows that are anywhere in the same cells have errors, too.
        errors = np.maximum(distances, _WIDTH / 3), squares + _WIDTH**2 / 6
        return np.stack([np.ones_like(middle), *errors, middle, middle**2])

    def curve(self, n_groups):
        """Return the mean outcome among rows of similar predictions, a line for each group."""
        normal = check_random_state(0).standard_normal((_DRAWS // 4, *self.histogram.shape))
        rows = np.maximum(self.histogram, 0)
        drawn = self.histogram + np.sqrt(rows + self.deviation**2) * normal
        total = np.maximum(self.histogram.sum(axis=1), 1e-9)
        middle = (np.cumsum(total) - total / 2) / total.sum()
        groups = np.minimum((middle * n_groups).astype(int), n_groups - 1)
        lines = []
        for number in np.unique(groups):
            group = groups == number
            n, mean = drawn[:, group].sum(axis=(1, 2)), (drawn[:, group] @ _PLACES).sum(axis=1)
            exact = (self.histogram[group] @ _PLACES).sum() / total[group].sum()
            means = np.where(n > 0, mean / n, np.nan)
            ends = self._interval(means, exact, 0.0, 1.0)
            prediction = total[group] @ _PLACES[group] / total[group].sum()
            if not enough_rows(self.histogram[group], self.deviation):
                ends = np.full(3, np.nan)
            in_order = in_units(self.outcome, np.array([prediction, *np.clip(ends, 0, 1)]))
            lines.append((*in_order, total[group].sum() / total.sum()))
        return pd.DataFrame(lines, columns=["prediction", "outcome", "low", "high", "rows"])

    def residuals(self):
        """Return the shares of rows by outcome minus prediction, with their intervals.

        On a logarithmic scale residuals are shares of the scale, as they have no unit.
        """
        steps = np.arange(1 - N_PLACES, N_PLACES)
        counts = np.array([np.trace(self.histogram, k) for k in steps])
        n = max(counts.sum(), 1e-9)
        cells = N_PLACES - np.abs(steps)
        half = 1.96 * np.sqrt(cells * self.deviation**2 + np.maximum(counts, 0)) / n
        width = 1.0 if self.outcome.log else self.outcome.high - self.outcome.low
        shares = np.clip(counts / n + half * np.array([[0], [-1], [1]]), 0, 1)
        lines = np.column_stack([steps * _WIDTH * width, *shares])
        return pd.DataFrame(lines, columns=["residual", "share", "low", "high"])


def _adding_up_to(total, counts):
    """Return the nearest numbers that are not negative and have a positive total."""
    total = max(total, 1.0)
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    return np.maximum(counts - excess[np.flatnonzero(falling > excess)[-1]], 0)
