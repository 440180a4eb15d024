"""The model of a table: noisy sums, and scores that are sums over its columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from skdp.release._descent import Descent
from skdp.release._hazards import (
    RelativeHazards,
    measured_hazards,
    relative_hazards,
)
from skdp.release._model import ClassPrediction, Model
from skdp.release._moments import Moments
from skdp.release._numbers import NumberPrediction
from skdp.release._parts import part
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
        Coefficients that replace the ones computed from the sums.
    """

    kind = "table"

    statistics: Statistics = part(Statistics)
    descent: Any = part(Descent, optional=True)

    @property
    def moments(self) -> Moments:
        """Moments of the columns."""
        return self.statistics.moments

    @cached_property
    def linear(self) -> Any:
        """LinearScores of the classes; None for a number or a time."""
        if self.is_learned and self.statistics.kind == "class":
            return self._calibrated.linear(self.statistics)
        return self.statistics.linear

    @cached_property
    def regression(self) -> Any:
        """Linear regression of a number, or of the residual of a time."""
        if self.is_learned and self.statistics.kind == "number":
            return self._calibrated.regression(self.statistics.regression)
        return self.statistics.regression

    @property
    def is_learned(self) -> bool:
        """Whether learned coefficients, not the sums, give the scores."""
        return self.descent is not None

    @cached_property
    def _calibrated(self) -> Any:
        """Calibrated scores of the coefficients, if they were learned."""
        with np.errstate(all="ignore"):
            return self.descent.calibrated(self.statistics)

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the expected number of each row, rescaled to 0–1 between its bounds."""
        return self.regression.predict(rows)

    @cached_property
    def hazards(self) -> RelativeHazards:
        """Log-hazards and their baseline, if the outcome is a time."""
        with np.errstate(all="ignore"):
            if self.is_learned:
                concordance = self._calibrated.value
                return measured_hazards(self.statistics, self._index, concordance)
            return relative_hazards(self.statistics, self._index)

    @property
    def baseline(self) -> np.ndarray:
        """Baseline hazards of the intervals in which enough rows are followed."""
        return self.hazards.baseline[: self.statistics.exits.n_followed]

    def _index(self, rows):
        """Return the linear score that log-hazards depend on."""
        return self._calibrated.scores(rows)[:, 0] if self.is_learned else self.places(rows)

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
        if self.statistics.kind != "class":
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
        statistics = self.statistics.restrict(columns)
        if self.is_learned and len(columns) == release.n_features:
            return type(self)(statistics, self.descent.reordered(columns))
        return type(self)(statistics)  # only the sums can be marginalized to fewer columns

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """Return the sums of all rows, and mean coefficients if all models have coefficients."""
        statistics = Statistics.merge([model.statistics for model in models])
        if not all(model.is_learned for model in models):
            return cls(statistics)
        if len(models) == 1:
            return models[0]
        with np.errstate(all="ignore"):
            measured = [model.descent.measured(model.statistics) for model in models]
        return cls(statistics, Descent.mean(measured))

    def contents(self) -> list[str]:
        """Return what this consists of, a line for each part."""
        n = self.statistics.n_sources
        of = f" of {n} sources" if n > 1 else ""
        learned = self.prediction.learned
        sums = f"noisy counts, sums and second moments{of}, for means"
        if not self.is_learned:
            return [f"{sums}, covariances and {learned}"]
        return [f"{sums} and covariances", f"{learned}, by noisy gradients"]


# By the kind of the outcome.
_PREDICTIONS = {
    prediction.kind: prediction
    for prediction in (ClassPrediction, NumberPrediction, TimePrediction)
}
