"""The model of a table: noisy sums, and scores that are sums over its columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from skdp.release._descent import Descent
from skdp.release._linear_scores import LinearScores
from skdp.release._model import Model
from skdp.release._moments import Moments
from skdp.release._numbers import NumberPrediction
from skdp.release._parts import part
from skdp.release._prediction import ClassPrediction
from skdp.release._relative_hazards import (
    RelativeHazards,
    measured_hazards,
    relative_hazards,
)
from skdp.release._statistics import Statistics
from skdp.release._synthetic_rows import SyntheticRows
from skdp.release._times import TimePrediction


@dataclass(frozen=True)
class TableModel(Model):
    """Noisy sums over rows, and coefficients learned by noisy gradient descent, if any.

    Attributes
    ----------
    statistics : Statistics
        The sums, from which moments and linear scores are estimated when they are first read.

    descent : Descent or None, default=None
        Coefficients that replace those computed from the sums.
    """

    kind = "table"

    statistics: Statistics = part(Statistics)
    descent: Descent | None = part(Descent, optional=True)

    @property
    def moments(self) -> Moments:
        """Moments of the columns."""
        return self.statistics.moments

    @cached_property
    def linear(self) -> LinearScores | None:
        """Linear scores of the classes."""
        if self._calibrated is None or self.statistics.kind != "class":
            return self.statistics.linear
        return self._calibrated.linear(self.statistics)

    @cached_property
    def regression(self) -> Any:
        """Linear regression of a number, or of the residual of a time."""
        regression = self.statistics.regression
        if self._calibrated is None or regression is None or self.statistics.kind == "event":
            return regression
        return self._calibrated.regression(regression)

    @cached_property
    def _calibrated(self):
        """Calibrated scores of the coefficients, or None."""
        if self.descent is None:
            return None
        with np.errstate(all="ignore"):
            return self.descent.calibrated(self.statistics)

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the expected number of each row, rescaled to 0–1 between its bounds."""
        return self.regression.predict(rows)

    @cached_property
    def hazards(self) -> RelativeHazards:
        """Log-hazards and their baseline, if the outcome is a time."""
        with np.errstate(all="ignore"):
            if self._calibrated is not None:
                concordance = self._calibrated.value
                return measured_hazards(self.statistics, self._index, concordance)
            return relative_hazards(self.statistics, self._index)

    @property
    def baseline(self) -> np.ndarray:
        """Baseline hazards of the intervals in which enough rows are followed."""
        return self.hazards.baseline[: self.statistics.exits.n_followed]

    def _index(self, rows):
        """Return the linear score that log-hazards depend on."""
        if self._calibrated is None:
            return self.places(rows)
        return self._calibrated.scores(rows)[:, 0]

    def risks(self, rows: np.ndarray) -> np.ndarray:
        """Return the log-hazard of each row, relative to the baseline."""
        return self.hazards.log_hazards(self._index(rows))

    @cached_property
    def prediction(self) -> ClassPrediction:
        """The prediction for rows and outcomes, by the kind of the outcome."""
        return _PREDICTIONS[self.statistics.kind](self)

    def effective_rows(self, release: Any) -> float:
        """Return the number of rows that would be as informative without noise."""
        return self.statistics.effective_rows

    def score(self, rows: np.ndarray) -> np.ndarray:
        """Return log-posteriors up to a constant for each row."""
        if self.linear is None:
            raise ValueError(
                "This release is about a number or a time, which has no classes to score. Use "
                "predict."
            )
        return self.linear.scores(rows)

    def sample(self, n: int, release: Any, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return synthetic rows of a table, labeled by this model's probabilities."""
        if release.encoder is None and self.prediction.draws_normal_rows:
            return super().sample(n, release, random_state)
        rows = SyntheticRows(self.statistics, release.encoder).draw(n, random_state)
        return rows, self.prediction.sample(release, rows, random_state)

    def restrict(self, columns: np.ndarray, release: Any) -> Self:
        """Return the unchanged sums of functions of some of the columns."""
        descent = self.descent
        if descent is not None and len(columns) == release.n_features:
            descent = descent.reordered(columns)
        else:
            descent = None  # only the sums can be marginalized to fewer columns
        return type(self)(self.statistics.restrict(columns), descent)

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """Return the sums of all rows, and mean coefficients if all models have coefficients."""
        statistics = Statistics.merge([model.statistics for model in models])
        descents = [model.descent for model in models]
        if any(descent is None for descent in descents):
            return cls(statistics)
        calibrated = [model._calibrated for model in models]
        return cls(statistics, Descent.mean(calibrated, statistics))

    def contents(self) -> list[str]:
        """Return what this consists of, a line for each part."""
        n = self.statistics.n_sources
        of = f" of {n} sources" if n > 1 else ""
        follow = self.prediction.learned
        if self.descent is None:
            return [
                f"noisy counts, sums and second moments{of}; means, covariances, {follow} follow"
            ]
        return [
            f"noisy counts, sums and second moments{of}; means and covariances follow",
            f"coefficients by noisy gradients, from which {follow} follow",
        ]


# By the kind of the outcome.
_PREDICTIONS = {
    prediction.kind: prediction
    for prediction in (ClassPrediction, NumberPrediction, TimePrediction)
}
