"""How the scores of each kind of outcome were measured: the table's outcomes, and its claims."""

from typing import Any

import numpy as np

from skdp.release._claims import (
    Claims,
    NumberBins,
    TimeCells,
    class_claims,
    number_claims,
    pair_claims,
    time_claims,
)
from skdp.release._score_table import pair_frame, score_frame


class MeasuredScores:
    """The scores of a descent with a table, and noisy sums over the same rows.

    Parameters
    ----------
    descent : Descent

    statistics : Statistics
    """

    # Number of outcomes in the table, besides zeros of numbers.
    n_outcomes: Any = 2

    def __init__(self, descent: Any, statistics: Any) -> None:
        self.coefficients, self.intercepts = descent.coefficients, descent.intercepts
        self.variances, self.table = descent.basis.variances, descent.table
        self.statistics = statistics
        self.counts, self.noise = statistics.sums.pooled_counts
        self.basis = descent.basis

    @property
    def measured(self) -> np.ndarray:
        """Variances of the functions, measured where there are sums."""
        measured, of_sums = self.variances.copy(), self.statistics.basis
        places = np.sort(of_sums.places_in(self.basis))
        measured[places] = self.statistics.variances[self.basis.places_in(of_sums)]
        return measured

    def frame(self) -> Any:
        """Return the expected center and deviation of the scores that a source counts."""
        return score_frame(self.coefficients[0], self.intercepts[0], self.variances)

    def claims(self) -> Claims:
        """Return the expected performance of the scores."""
        return class_claims(self.table, self.measured, self.counts, self.noise)

    def intercept(self, claims: Claims) -> float:
        """Return what is added to the scores times the claimed slope."""
        return claims.intercept


class _SeveralClasses(MeasuredScores):
    """Pairs of classes: a row belongs to the first one, the second one, or neither."""

    n_outcomes = 3

    def frame(self):
        return pair_frame(self.coefficients, self.variances)

    def claims(self):
        noise = self.noise * np.sqrt(len(self.counts))
        return pair_claims(
            self.table, self.measured, len(self.counts), float(self.counts.sum()), noise
        )


class _Number(MeasuredScores):
    """A number, which is rescaled to −1 to 1 in the table, and to 0–1 in a release."""

    def _bins(self, zero=False):
        deviation = float(self.table.deviation[0])
        return NumberBins.of_sums(self.statistics.sums, zero, deviation)

    @property
    def n_outcomes(self):
        return self._bins().n

    def frame(self):
        return score_frame(2 * self.coefficients[0], 2 * self.intercepts[0] - 1, self.variances)

    def claims(self):
        counts = self.statistics.sums.row_counts  # of the bounds, between which rows are divided
        n, mean = float(counts.sum()), float(counts[1] / counts.sum())
        mean_sd = 2 * self.noise / n * np.hypot(mean, 1 - mean)
        bins = self._bins(zero=len(self.table.counts) > self.n_outcomes)
        noise = float(np.sqrt(2) * self.noise)
        return number_claims(self.table, self.measured, bins, float(mean_sd), n, noise)

    def intercept(self, claims):
        return (claims.intercept + 1 - claims.slope) / 2


class _Time(MeasuredScores):
    """The log-hazard of a time to an event."""

    @property
    def _cells(self):
        return TimeCells.of(self.statistics.exits, float(self.table.deviation[0]))

    @property
    def n_outcomes(self):
        return self._cells.n

    def claims(self):
        deviation = float(self.statistics.sums.exit_sd[0])
        return time_claims(
            self.table, self.measured, self._cells, self.statistics.exits, deviation
        )


def measured_scores(descent: Any, statistics: Any) -> MeasuredScores:
    """Return the scores of a descent as those of the kind of outcome."""
    several = statistics.kind == "class" and len(descent.coefficients) > 1
    kind = _SeveralClasses if several else _KINDS[statistics.kind]
    return kind(descent, statistics)


_KINDS: dict[str, type[MeasuredScores]] = {
    "class": MeasuredScores,
    "number": _Number,
    "event": _Time,
}
