r"""From a regression of residuals to log-hazards: Cox's model by moments.

The regression of a time says what the residual M of a row is expected to be, between −1 and 1
(:mod:`skdp.release._exits`), a function g(x) of mean 0. Log-hazards are a multiple b g(x) of it:
residuals that they give have the covariance with g that the regression found,

.. math:: \mathrm{cov}(E[M | b g], g) = \mathrm{var}(g),

over rows that are drawn from what the release says of the columns (:class:`SyntheticRows`). At
small hazards b is 1 over the share of rows with the event; it is larger where the hazards of many
rows are beyond what a residual can be.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from skdp.release._exits import Exits, expected_residuals
from skdp.release._synthetic_rows import SyntheticRows
from skdp.utils._linalg import NEGLIGIBLE, TINY

# Rows that are drawn, and groups of these by expected residual, to save time.
_N_ROWS, _N_GROUPS = 4096, 64
# Largest standard deviation of log-hazards that is believed, and largest log-hazard of a row
# (rules of thumb).
_LARGEST_SPREAD, _LARGEST = 4.0, 30.0


@dataclass(frozen=True)
class RelativeHazards:
    """Log-hazards of rows by the expected places of their residuals, and the baseline.

    Attributes
    ----------
    slope : float
        Log-hazard by place.

    center : float
        Place whose log-hazard is 0.

    spread : float
        Standard deviation of log-hazards over the rows of the source.

    baseline : ndarray of shape (n_intervals,)
        Cumulative hazard within each interval at log-hazard 0.

    concordance : ndarray of shape (3,)
        Expected concordance on rows of the source's own distribution, and the ends of its central
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
    """Return :class:`RelativeHazards` linear in an index of rows, by noisy sums over these."""
    sums = statistics.sums
    places = _typical(statistics, index)
    center = places.mean()
    # Of places from 0 to 1 residuals are twice as far apart.
    expected = 2 * (places - center)
    sources = [Exits.of(*of) for of in zip(sums.exits, sums.exit_sd, strict=True)]
    pooled = statistics.exits
    slope = _slope(expected, sources, sums.exit_places)
    total = 4 * max(sums.squares[0] / sums.row_counts.sum(), 0.0)
    concordance = []
    for r2 in statistics.regression.r2:
        scaled = expected * np.sqrt(r2 * total / max(expected.var(), TINY))
        log_hazards = _slope(scaled, sources, sums.exit_places) * scaled
        concordance.append(pooled.concordance(log_hazards))
    return RelativeHazards(
        slope=2 * slope,
        center=float(center),
        spread=float(slope * expected.std()),
        baseline=pooled.baseline(slope * expected),
        concordance=np.array(concordance),
    )


def measured_hazards(statistics, log_hazards, concordance):
    """Return :class:`RelativeHazards` of log-hazards that are known."""
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


def _slope(expected, sources, places):
    """Return b such that log-hazards b · expected give the residuals that are expected."""
    spread = expected.std()

    def excess(slope):
        residuals = expected_residuals(sources, places, slope * expected)
        return float(np.mean((residuals - residuals.mean()) * expected) / spread - spread)

    # So small a spread is rounding: nothing is expected of the columns.
    if not spread > NEGLIGIBLE or not excess(0.0) < 0:
        return 0.0
    most = _LARGEST_SPREAD / spread
    return float(brentq(excess, 0.0, most, xtol=1e-6 * most)) if excess(most) > 0 else most
