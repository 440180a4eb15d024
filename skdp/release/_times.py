"""Times to an event in their own unit: curves of survival, concordance, synthetic times."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skdp.release._exits import Exits, unit_doubt
from skdp.release._hazards import HazardRatios
from skdp.release._model import ClassPrediction, refuse_numbers
from skdp.release._numbers import NUMBER_ADVICE
from skdp.release._score_posterior import LEAST_ROWS
from skdp.tabular import numbers
from skdp.utils._survival import StepFunction, concordance_index

# Number of points in each interval at which a curve steps.
_STEPS = 10
# Number of events below which the expected concordance is called uncertain.
_MANY_EVENTS = 100
# Number of draws for the band of a curve.
_DRAWS = 200


def followed_times(outcome, n_intervals):
    """Return the times at which curves step, of the intervals that are followed."""
    return outcome.curve_times[: _STEPS * n_intervals]


def cumulative_hazards(outcome, baseline, log_hazards, times=None):
    """Return cumulative hazards of rows at some times, (n_samples, n_times).

    Baseline hazards are constant within each of the first intervals; by default, times are those
    at which curves step.
    """
    ends = np.append(0.0, outcome.ends[: len(baseline)])
    times = np.asarray(followed_times(outcome, len(baseline)) if times is None else times, float)
    # As messages round the last time, so may users.
    if not ((times >= 0) & (times <= max(ends[-1], float(f"{ends[-1]:g}")))).all():
        raise ValueError(
            f"The 'times' parameter of predict_proba_at must be numbers from 0 to {ends[-1]:g}: "
            "too few rows are followed longer."
        )
    cumulative = np.interp(times, ends, np.append(0.0, np.cumsum(baseline)))
    return np.multiply.outer(np.exp(log_hazards), cumulative)


def curves(outcome, baseline, log_hazards, return_array, survival):
    """Return curves of cumulative hazards, or of survival, as an array or a function per row."""
    values = cumulative_hazards(outcome, baseline, log_hazards)
    values = np.exp(-values) if survival else values
    if return_array:
        return values
    times, at_zero = np.append(0.0, followed_times(outcome, len(baseline))), float(survival)
    functions = [StepFunction(times, np.append(at_zero, row)) for row in values]
    # An array of objects; assigning a list would call them.
    result = np.empty(len(functions), dtype=object)
    result[:] = functions
    return result


def survival_curve(release, confidence):
    """Return the curve of all rows at the ends of intervals, and its band."""
    if not 0 < confidence < 1:
        raise ValueError(
            "The 'confidence' parameter of Release.survival_curve must be a number between 0 and "
            f"1, got {confidence!r:.100}."
        )
    hazards = release.statistics.exits
    exits, deviation = release.statistics.sums.pooled_exits
    spread = np.sqrt(hazards.rows + deviation**2)
    normal = np.random.RandomState(0).standard_normal((_DRAWS, len(exits)))
    drawn = [Exits.of(counts, deviation).hazards for counts in exits + spread * normal]
    ends = (1 - confidence) / 2, (1 + confidence) / 2
    least, most = np.quantile(np.cumsum(drawn, axis=1), ends, axis=0)
    value, n = np.cumsum(hazards.hazards), hazards.n_followed
    parts = {"survival": value, "low": np.maximum(most, value), "high": np.minimum(least, value)}
    values = {
        name: curves(release.outcome, np.diff(of[:n], prepend=0), np.zeros(1), True, True)[0]
        for name, of in parts.items()
    }
    start = {"time": 0.0} | dict.fromkeys(values, 1.0)
    curve = pd.DataFrame({"time": followed_times(release.outcome, n), **values})
    return pd.concat([pd.DataFrame([start]), curve], ignore_index=True)


def events_and_times(outcome, y, where):
    """Return events and times of y as arrays, all of them known."""
    given = outcome.parts(y)
    if given is None or (outcome.cells(*given) < 0).any():
        raise ValueError(
            f"The 'y' parameter of {where} must be a structured array of event and time, or a "
            f"table with the columns {outcome.event!r} and {outcome.time!r}, without missing "
            "values or times below 0."
        )
    events, times = outcome.events(given[0]), numbers(given[1])
    return (events == 1) & (times <= outcome.horizon), np.minimum(times, outcome.horizon)


# What a risk is, for explanations.
LOG_HAZARD = "log-hazard relative to the average row (higher: earlier events):"


def concordance(outcome, y, risks, where):
    """Return Harrell's concordance of risks with y, followed up to the horizon."""
    events, times = events_and_times(outcome, y, where)
    return concordance_index(events, times, risks)


@dataclass(frozen=True)
class TimePrediction(ClassPrediction):
    """The risk of each row, the log-hazard relative to the baseline, by a model with hazards."""

    kind = "event"
    learned = "hazards and their dependence on the columns"
    advice = NUMBER_ADVICE
    draws_normal_rows = False

    def predict(self, release: Any, rows: np.ndarray, **asked: Any) -> Any:
        """Return the risk of each row."""
        refuse_numbers(asked)
        return self.model.risks(rows)

    def score(self, release: Any, y: Any, predicted: np.ndarray) -> float:
        """Return Harrell's concordance."""
        return concordance(release.outcome, y, predicted, "Release.score")

    def tags(self) -> dict[str, Any]:
        """Return scikit-learn's tags of the kind of estimator; times have none."""
        return {"estimator_type": None}

    def doubt(self) -> str | None:
        """Return the warning about the unit of times, or that they may not be ordered, or None."""
        c, low, high = self.model.hazards.concordance
        wrong = unit_doubt(*self.model.statistics.sums.pooled_exits)
        if wrong is not None or low > 0.5:
            return wrong
        return (
            "This release may order times no better than chance: expected concordance "
            f"{c:.2f} (80% likely: 0.5 to {high:.2f})."
        )

    def sample(self, release: Any, rows: np.ndarray, random_state: Any) -> np.ndarray:
        """Return random events and times given the rows, as a structured array."""
        outcome, model = release.outcome, self.model
        factors = np.exp(model.risks(rows))
        n, ends = len(rows), np.append(0.0, outcome.ends)
        y = np.zeros(n, dtype=[(outcome.event, bool), (outcome.time, float)])
        y[outcome.time] = outcome.horizon
        at_risk = np.ones(n, dtype=bool)
        for k, (hazard, leaves) in enumerate(
            zip(model.hazards.baseline, model.statistics.exits.censoring, strict=True)
        ):
            event = at_risk & (random_state.random_sample(n) < -np.expm1(-hazard * factors))
            censored = at_risk & ~event & (random_state.random_sample(n) < leaves)
            gone = event | censored
            times = ends[k] + (ends[k + 1] - ends[k]) * random_state.random_sample(n)
            y[outcome.event] |= event
            y[outcome.time] = np.where(gone, times, y[outcome.time])
            at_risk &= ~gone
        return y

    def contrast(self, release: Any, positive: Any) -> np.ndarray:
        """Return the one weight of the one term."""
        return np.ones(1)

    def terms(self, release: Any, rows: np.ndarray) -> np.ndarray:
        """Return risks."""
        return self.model.risks(rows)[:, np.newaxis]

    def explanation(self, release: Any, row: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Return the risk."""
        return self.model.risks, {"unit": LOG_HAZARD}

    def ratios(self, widths: np.ndarray, confidence: float) -> dict[str, Any]:
        """Return the estimator of hazard ratios of categories, by the widths of the columns."""
        statistics = self.model.statistics
        units = statistics.basis.scale[statistics.basis.linear] * widths
        return {"hazard ratio": HazardRatios(statistics, units, confidence).of}

    def result_lines(self, release: Any) -> list[str]:
        """Return lines of the summary about a time; they are noisy and may be shown."""
        exits, end = self.model.statistics.exits, release.unique_times_[-1]
        left = 1 - np.exp(-exits.hazards[: exits.n_followed].sum())
        c, low, high = self.model.hazards.concordance
        few = "" if exits.n_events >= _MANY_EVENTS else "uncertain, "
        n_rows = release.moments.class_counts.sum()  # as in the first line of the summary
        lines = [
            f"{release.guarantee.counted} (noisy; may be shown): {n_rows:,.0f}; with "
            f"the event by time {end:g}: {left:.0%}",
            f"expected concordance at the owners, elsewhere it may be lower (chance: 0.5): "
            f"{c:.2f} (80% likely: {low:.2f} to {high:.2f}); {few}from about "
            f"{round(exits.n_events):,} events",
        ]
        if (competing := self.model.statistics.sums.competing) is not None:
            lines.append(
                f"with a competing event, counted as censored: {max(round(competing.sum()), 0):,}"
            )
        if end < release.outcome.horizon:
            lines.append(
                f"curves end at time {end:g} instead of {release.outcome.horizon:g}: later, fewer "
                f"than {LEAST_ROWS} may be left"
            )
        return lines
