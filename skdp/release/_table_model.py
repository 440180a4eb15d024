"""The model of noisy sums: linear log-odds and shape functions of the columns of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from skdp.release._linear_regression import MOST_EXPLAINED
from skdp.release._linear_scores import LinearScores
from skdp.release._model import Model
from skdp.release._moments import Moments
from skdp.release._numbers import HALF_WIDTH, NumberPrediction
from skdp.release._parts import array, part
from skdp.release._posterior import positive_mean
from skdp.release._prediction import ClassPrediction
from skdp.release._relative_hazards import RelativeHazards, relative_hazards
from skdp.release._shapes import ShapeFunctions, merged_shapes
from skdp.release._statistics import Statistics
from skdp.release._synthetic_rows import SyntheticRows
from skdp.release._times import TimePrediction

# Share of the linear part of merged shapes that is left out of the scores of sources of few rows,
# and the rows of one, as effective without noise, at which it is half of that: log loss of 2 and 4
# owners of 300 to 8,000 rows, ε = 1 and 4, on adult, vietnam and nwtco .3537 with half everywhere,
# .3528 with nothing, .3520 so; on flchain, randhie and diamonds, where this was not chosen, .2653,
# .2675 and .2645.
_LINEAR_SHARE, _HALVED_AT = 0.5, 1000.0


@dataclass(frozen=True)
class TableModel(Model):
    """Noisy sums over rows, and functions of single columns that refine what follows from them.

    Attributes
    ----------
    statistics : Statistics
        The sums, from which moments and linear scores are estimated when they are first read.

    shapes : ShapeFunctions or None, default=None
        Added to the linear scores.

    unexplained : ndarray of shape (2,) or None, default=None
        Of a number with shape functions: the share of the unexplained variance of the linear
        regression that they leave, and the standard deviation of its noise.
    """

    kind = "table"

    statistics: Statistics = part(Statistics)
    shapes: ShapeFunctions | None = part(ShapeFunctions, optional=True)
    unexplained: np.ndarray | None = array("2", "f", least=0, below=2.0, optional=True)

    @property
    def moments(self) -> Moments:
        """Moments of the columns."""
        return self.statistics.moments

    @property
    def linear(self) -> LinearScores | None:
        """Linear scores of the classes."""
        return self.statistics.linear

    @property
    def regression(self) -> Any:
        """Linear regression of a number."""
        return self.statistics.regression

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the expected place of a number between its bounds for each row."""
        places = self.regression.predict(rows)
        if self._corrections is None:
            return places
        low, high = self._corrections.scores(rows).T
        return places + high - low

    @cached_property
    def expected_r2(self) -> np.ndarray:
        """Expected R² of a number and its interval, with shape functions where there are any."""
        r2 = self.regression.r2
        if self.unexplained is None:
            return r2
        left, sd = self.unexplained
        wider = np.array([0.0, -1.0, 1.0]) * HALF_WIDTH * sd * (1 - r2[0])
        explained = np.clip(1 - left * (1 - r2) + wider, 0.0, MOST_EXPLAINED)
        return np.concatenate([explained[:1], np.sort(explained[1:])])

    @cached_property
    def hazards(self) -> RelativeHazards:
        """Log-hazards and their baseline, where the outcome is a time."""
        with np.errstate(all="ignore"):
            return relative_hazards(self)

    def risks(self, rows: np.ndarray) -> np.ndarray:
        """Return the log-hazard of each row, relative to the baseline."""
        return self.hazards.log_hazards(self.places(rows))

    @cached_property
    def variance(self) -> float:
        """Variance of the place of a number about its prediction."""
        variance = self.regression.variance[0]
        if self.unexplained is not None:
            variance *= np.clip(positive_mean(*self.unexplained), 1e-6, 1.0)
        return float(variance)

    @cached_property
    def prediction(self) -> ClassPrediction:
        """What follows for rows and outcomes, by what the sums are about."""
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
        scores = self.linear.scores(rows)
        return scores if self._corrections is None else scores + self._corrections.scores(rows)

    @cached_property
    def _corrections(self):
        """Shapes as they count: of several small sources without much that is linear."""
        # Sums of all rows are known better than what each source made of its own, as timid as its
        # noise asked for; but half of the budget went into the shapes, and from many rows these
        # correct what linear scores cannot say.
        statistics = self.statistics
        if self.shapes is None or statistics.n_sources < 2:
            return self.shapes
        rows = statistics.effective_rows / statistics.n_sources
        return self.shapes.less_linear(statistics.basis, _LINEAR_SHARE / (1 + rows / _HALVED_AT))

    def sample(self, n: int, release: Any, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return synthetic rows of a table, labeled by the probabilities that they have here."""
        if release.encoder is None and self.prediction.draws_normal_rows:
            return super().sample(n, release, random_state)
        rows = SyntheticRows(self.statistics, release.encoder).draw(n, random_state)
        return rows, self.prediction.sample(release, rows, random_state)

    def restrict(self, columns: np.ndarray, release: Any) -> Self:
        """Return the sums of functions of some of the columns, exactly as they are."""
        shapes = None if self.shapes is None else self.shapes.restrict(columns, release)
        everything = len(columns) == release.n_features
        left = self.unexplained if everything else None
        return type(self)(self.statistics.restrict(columns), shapes, left)

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """Return the sums of all rows, and shapes that lead from these to the mean of scores."""
        statistics = Statistics.merge([model.statistics for model in models])
        left = None
        if all(model.unexplained is not None for model in models):
            shares = np.array([model.statistics.sums.row_counts.sum() for model in models])
            shares = shares / shares.sum()
            both = np.array([model.unexplained for model in models])
            left = np.array([shares @ both[:, 0], np.linalg.norm(shares * both[:, 1])])
        return cls(statistics, merged_shapes(models, statistics), left)

    def contents(self) -> list[str]:
        """Return what this consists of, a line for each part."""
        n = self.statistics.n_sources
        of = f" of {n} sources" if n > 1 else ""
        lines = [
            f"noisy counts, sums and second moments{of}; means, covariances, "
            f"{self.prediction.learned} follow"
        ]
        return lines if self.shapes is None else [*lines, self.shapes.contents()]


# By what the sums are about.
_PREDICTIONS = {
    prediction.kind: prediction
    for prediction in (ClassPrediction, NumberPrediction, TimePrediction)
}
