"""Numbers in their own unit: predictions with their deviations, effects, synthetic outcomes.

A regression predicts the number rescaled to 0–1 between its public bounds, on a logarithmic scale
if the outcome has one.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.metrics import r2_score
from sklearn.utils import RegressorTags

from skdp.release._prediction import ClassPrediction
from skdp.tabular import numbers

# Coverage of intervals of outcomes and of R², and the half width in standard deviations.
INTERVAL = 0.8
HALF_WIDTH = float(norm.ppf((1 + INTERVAL) / 2))

# Advice to the owner of a release that may predict nothing.
NUMBER_ADVICE = (
    "Check that the outcome and the columns are in the units of their bounds. If so, there are "
    "too few rows for this epsilon, or the columns do not predict the outcome. Merged with "
    "others, such a release may still help a little."
)


def in_units(outcome, places, deviations=None):
    """Return rescaled numbers in the unit of the outcome, and their deviations if given."""
    # Predictions need not be whole steps.
    column, inside = replace(outcome, step=None), np.clip(places, 0, 1)
    values = column.decode(inside[:, np.newaxis])
    if deviations is None:
        return values
    if not outcome.log:
        return values, deviations * (outcome.high - outcome.low)
    low, high = (in_units(outcome, inside + side * deviations) for side in (-1, 1))
    return values, (high - low) / 2


@dataclass(frozen=True)
class NumberPrediction(ClassPrediction):
    """The number of each row, by a model with a regression."""

    kind = "number"
    learned = "a linear regression"
    advice = NUMBER_ADVICE
    draws_normal_rows = False

    def predict(self, release: Any, rows: np.ndarray, return_std: bool = False) -> Any:
        """Return the number of each row, and its standard deviation if asked."""
        places = self.model.places(rows)
        if not return_std:
            return in_units(release.outcome, places)
        deviations = self.model.regression.deviation(places, self._mean)
        return in_units(release.outcome, places, deviations)

    def score(self, release: Any, y: Any, predicted: np.ndarray) -> float:
        """Return R²."""
        return float(r2_score(numbers(y), predicted))

    def tags(self) -> dict[str, Any]:
        """Return scikit-learn's tags of the kind of estimator."""
        return {"estimator_type": "regressor", "regressor_tags": RegressorTags()}

    def doubt(self) -> str | None:
        """Return the warning that nothing may be explained, or None."""
        r2, low, high = self.model.regression.r2
        if low > 0:
            return None
        return (
            "This release may predict the outcome no better than its mean does: its expected R² "
            f"is {r2:.2f} (80% likely: 0 to {high:.2f}), and 0 is the mean."
        )

    def sample(self, release: Any, rows: np.ndarray, random_state: Any) -> np.ndarray:
        """Return random numbers given the rows: predictions plus residuals."""
        places, spread = self.model.places(rows), np.sqrt(self.model.regression.variance[0])
        places = np.clip(places + spread * random_state.standard_normal(len(rows)), 0, 1)
        return release.outcome.decode(places[:, np.newaxis])

    def contrast(self, release: Any, positive: Any) -> np.ndarray:
        """Return the one weight of the one term."""
        return np.ones(1)

    def terms(self, release: Any, rows: np.ndarray) -> np.ndarray:
        """Return predictions in the unit of the number, or its logarithm."""
        return release.outcome.width * self.model.places(rows)[:, np.newaxis]

    def explanation(self, release: Any, row: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Return the predicted number, and its deviation at the row."""
        [deviation] = self.predict(release, row[np.newaxis], True)[1]
        return (lambda rows: self.predict(release, rows)), {"deviation": deviation}

    def result_lines(self, release: Any) -> list[str]:
        """Return lines of the summary about a number; they are noisy and may be shown."""
        n = round(float(self.model.statistics.sums.row_counts.sum()))
        [mean] = in_units(release.outcome, np.array([self._mean]))
        r2, low, high = self.model.regression.r2
        name = "mean" if not release.outcome.log else "mean on the logarithmic scale"
        return [
            f"{release.guarantee.counted} (noisy; may be shown): {n:,}; {name} of the outcome: "
            f"{mean:.4g}",
            f"expected R² on rows like these (0: the mean): {r2:.2f} (80 %: {low:.2f} to "
            f"{high:.2f})",
        ]

    @property
    def _mean(self):
        counts = self.model.statistics.sums.row_counts
        return counts[1] / counts.sum()
