"""Numbers in their own unit: predictions with their deviations, effects, synthetic outcomes.

A regression predicts the number rescaled to 0–1 between its public bounds, on a logarithmic scale
if the outcome has one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.metrics import r2_score
from sklearn.utils import RegressorTags

from skdp.release._model import ClassPrediction
from skdp.tabular import numbers

# Coverage of intervals of outcomes and of R², and the half width in standard deviations.
INTERVAL = 0.8
HALF_WIDTH = float(norm.ppf((1 + INTERVAL) / 2))

# Standard deviations between bounds from which a warning names them.
_FAR_APART = 50.0
# Advice to the owner of a release that may predict nothing.
NUMBER_ADVICE = (
    "Check that outcome and columns have the schema's units. If so, rows are too few, or columns "
    "do not predict."
)


def in_units(outcome, places, step=None):
    """Return rescaled numbers in the unit of the outcome."""
    # Means need not be whole steps. What rounding separates from a bound lies at the bound.
    inside = np.clip(np.round(places, 12), 0, 1)
    return replace(outcome, step=step).decode(inside[:, np.newaxis])


@dataclass(frozen=True)
class NumberForecast:
    """The distribution of the number of each row, and what is asked of it.

    Attributes
    ----------
    places : ndarray of shape (n_samples,)
        Rescaled predictions.

    wider : ndarray of shape (n_samples,)
        Factor by which errors of the model widen the distribution.

    distribution : NumberDistribution

    decode : callable
        Returns numbers in the unit of the outcome.

    rounded : callable
        The same, rounded to steps.

    is_linear : bool, default=False
        Whether the unit is that of the rescaled numbers. The prediction is then their mean.
    """

    places: np.ndarray
    wider: np.ndarray
    distribution: Any
    decode: Callable[[np.ndarray], np.ndarray]
    rounded: Callable[[np.ndarray], np.ndarray]
    is_linear: bool = False

    @classmethod
    def of(cls, outcome, places, wider, distribution):
        """Return the forecast of an outcome with bounds."""
        decode = partial(in_units, outcome)
        rounded = partial(in_units, outcome, step=outcome.step)
        # Without a table that counts zeros, the mean is the prediction.
        is_linear = not outcome.log and (not outcome.zero or distribution.symmetric)
        return cls(places, wider, distribution, decode, rounded, is_linear)

    def quantile(self, level):
        """Return a quantile of each number, rounded to its steps if it has any."""
        return self.rounded(self.distribution.quantile(self.places, self.wider, level))

    def moments(self):
        """Return the mean and the standard deviation of each number."""
        mean, deviation = self.distribution.moments(self.places, self.wider, self.decode)
        return self.decode(self.places) if self.is_linear else mean, deviation

    def interval(self, share):
        """Return intervals that contain this share of the numbers, (n_samples, 2).

        As many are below as above, unless one end is a bound that itself holds more.
        """
        ends = [self.quantile(level) for level in ((1 - share) / 2, (1 + share) / 2)]
        # Any number decodes to one between the bounds.
        bounds = self.decode(np.array([-np.inf, np.inf]))
        lowest, highest = ends[0] <= bounds[0], ends[1] >= bounds[1]
        low = np.where(highest & ~lowest, self.quantile(1 - share), ends[0])
        high = np.where(lowest & ~highest, self.quantile(share), ends[1])
        return np.column_stack([low, high])

    def answer(self, return_std=False, return_interval=None, statistic="mean", quantile=None):
        """Return what the parameters of ``predict`` ask for, after checks."""
        for name, level in (("return_interval", return_interval), ("quantile", quantile)):
            if level is not None and not (isinstance(level, int | float) and 0 < level < 1):
                raise ValueError(
                    f"The {name!r} parameter of predict must be a number between 0 and 1, got "
                    f"{level!r:.100}."
                )
        if statistic not in ("mean", "median"):
            raise ValueError(
                "The 'statistic' parameter of predict must be 'mean' or 'median', got "
                f"{statistic!r:.100}. Pass quantile= for a quantile."
            )
        if statistic == "median":
            quantile = 0.5 if quantile is None else quantile
        needs_moments = quantile is None or return_std
        mean, deviation = self.moments() if needs_moments else (None, None)
        answers = [mean if quantile is None else self.quantile(quantile)]
        if return_std:
            answers.append(deviation)
        if return_interval is not None:
            answers.append(self.interval(return_interval))
        return answers[0] if len(answers) == 1 else tuple(answers)


@dataclass(frozen=True)
class NumberPrediction(ClassPrediction):
    """The number of each row, by a model with a regression."""

    kind = "number"
    learned = "a linear regression"
    advice = NUMBER_ADVICE
    draws_normal_rows = False

    def predict(self, release: Any, rows: np.ndarray, **asked: Any) -> Any:
        """Return the number of each row, with what else is asked; see :meth:`Release.predict`."""
        places, regression = self.model.places(rows), self.model.regression
        wider = regression.wider(places, self._mean)
        return NumberForecast.of(release.outcome, places, wider, regression.distribution).answer(
            **asked
        )

    def score(self, release: Any, y: Any, predicted: np.ndarray) -> float:
        """Return R²."""
        return float(r2_score(numbers(y), predicted))

    def tags(self) -> dict[str, Any]:
        """Return scikit-learn's tags of the kind of estimator."""
        return {"estimator_type": "regressor", "regressor_tags": RegressorTags()}

    def doubt(self) -> str | None:
        """Return the warning about wide bounds, or that nothing may be explained, or None."""
        apart = 1 / self.model.regression.distribution.spread
        if apart > _FAR_APART:
            rows, deviation = self.model.statistics.sums.pooled_counts
            noise = apart * deviation * np.hypot(self._mean, 1 - self._mean) / rows.sum()
            return (
                f"The bounds of the outcome are about {apart:.0f} of its standard deviations "
                f"apart, by noisy sums. Noise moves its mean by {noise:.2g} deviations; with "
                f"bounds 10 apart it would be {noise * 10 / apart:.2g}. State narrower public "
                "bounds, or a logarithmic scale."
            )
        r2, low, high = self.model.regression.r2
        if low > 0:
            return None
        return (
            "This release may predict no better than the mean: expected R², on the schema's "
            f"scale, {r2:.2f} (80% likely: 0 to {high:.2f})."
        )

    def sample(self, release: Any, rows: np.ndarray, random_state: Any) -> np.ndarray:
        """Return random numbers given the rows: predictions plus residuals."""
        distribution = self.model.regression.distribution
        places = distribution.sample(self.model.places(rows), random_state)
        return in_units(release.outcome, places, release.outcome.step)

    def contrast(self, release: Any, positive: Any) -> np.ndarray:
        """Return the one weight of the one term."""
        return np.ones(1)

    def terms(self, release: Any, rows: np.ndarray) -> np.ndarray:
        """Return predictions in the unit of the number, or its logarithm."""
        return release.outcome.width * self.model.places(rows)[:, np.newaxis]

    def explanation(self, release: Any, row: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Return the predicted number, and its deviation at the row."""
        [deviation] = self.predict(release, row[np.newaxis], return_std=True)[1]
        return (lambda rows: self.predict(release, rows)), {"deviation": deviation}

    def result_lines(self, release: Any) -> list[str]:
        """Return lines of the summary about a number; they are noisy and may be shown."""
        n = round(float(self.model.statistics.sums.row_counts.sum()))
        mean, (r2, low, high) = self.expected(release)
        other = f"; of its logarithm: {self.model.regression.r2[0]:.2f}" * release.outcome.log
        return [
            f"{release.guarantee.counted} (noisy; may be shown): {n:,}; mean of the outcome: "
            f"{mean:.4g}",
            f"expected R² at the owners, elsewhere it may be lower (0: the mean): {r2:.2f} "
            f"(80% likely: {low:.2f} to {high:.2f}){other}",
        ]

    def expected(self, release: Any) -> tuple[float, Any]:
        """Return the mean of the outcome in its unit, and the expected R² with its interval."""
        decode, regression = partial(in_units, release.outcome), self.model.regression
        if not release.outcome.log:
            [mean] = decode(np.array([self._mean]))
            return float(mean), regression.r2
        return regression.distribution.summary(decode, regression.r2[0], regression.r2)

    @property
    def _mean(self):
        counts = self.model.statistics.sums.row_counts
        return counts[1] / counts.sum()
