"""Performance measures of an evaluation, by the kind of the outcome."""

from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from skdp.release._number_evaluation import N_PLACES, SUM_SCALES, NumberErrors
from skdp.release._score_posterior import LEAST_ROWS, Bins
from skdp.release._time_evaluation import (
    N_STATES,
    TIME_BINS,
    by_event,
    event_shares,
    mean_weights,
    time_lines,
    time_table,
    times_fault,
)

# Log loss and Brier score use the log-odds in the middle of a row's bin, with an error of at most
# an eighth.
SCORE_BINS = Bins(-6.0, 6.0, 48)
# More rows than any table has; larger counts in a file are refused.
LARGEST_COUNT = 1e15


class Estimate(NamedTuple):
    """A value, and the bounds of its 95% interval, which includes noise and sampling.

    Attributes
    ----------
    value, low, high : float

    Examples
    --------
    >>> from skdp.release import Estimate
    >>> area = Estimate(0.81, 0.78, 0.84)
    >>> area.value, area.high
    (0.81, 0.84)
    """

    value: float
    low: float
    high: float


class ClassFigures:
    """Figures of scores by class, with methods that take the evaluation ``e``."""

    bins = SCORE_BINS
    # Keys of a file besides those of all evaluations, which are fields.
    keys: tuple[str, ...] = ()
    # Whether there are scores of classes, or of events.
    has_scores = True
    # For the summary: what measures are averaged over, a prefix of names, and what scores predict.
    prefix, scored = "", "classes"
    # What a constant prediction consists of, and whether losses are sums over scores.
    constant, is_summed = "the frequencies alone", True

    def checked_shape(self, e: Any) -> tuple[int, ...]:
        """Return the shape of the histograms; raise ValueError where fields do not fit."""
        self._require_fields(e)
        classes = e.classes
        usual = isinstance(classes, tuple) and len(classes) == len(set(classes)) >= 2
        usual = usual and all(isinstance(c, str | bool | int | float) for c in classes)
        require_field(usual, "outcome", "must have two or more different labels")
        return (1 if len(classes) == 2 else len(classes), 2, SCORE_BINS.n)

    def _require_fields(self, e):
        """Raise ValueError if fields for numbers or times are given for another outcome."""
        require_field(isinstance(e.has_intervals, bool), "has_intervals", "must be True or False")
        alone = "sums" in self.keys or (e.sums is None and not e.has_intervals)
        require_field(alone, "sums", "must be there for a number alone, as 'has_intervals'")
        timed = "times" in self.keys or not e.times
        require_field(timed, "times", "must be there for a time to an event alone")

    def require_scores(self) -> None:
        """Raise ValueError if the outcome has no scores of classes or events."""

    def errors(self, e: Any) -> NumberErrors:
        """Return the errors of predictions of a number."""
        raise ValueError(
            "This PrivateEvaluation is of a classifier, or about a time, which has no errors of a "
            "number. Use auc, log_loss, brier_score, confusion, roc_curve or calibration_curve, "
            "and at_times of a time."
        )

    def at_times(self, e: Any) -> Any:
        """Return the table of figures by public time."""
        raise ValueError(
            "This PrivateEvaluation is not about a time to an event. Use auc, brier_score or "
            "calibration_curve."
        )

    def by_class(self, rows: np.ndarray, histograms: np.ndarray) -> np.ndarray:
        """Return rows without and with each class, or event, from rows as they are counted."""
        return rows

    def known(self, e: Any, states: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return by score whether rows suffice: in total, of other classes, of its class."""
        return np.full(len(states), e.n_rows.low >= LEAST_ROWS), *states.T

    def over_scores(self, e: Any, measure: Any, known: np.ndarray, mean: bool) -> Estimate:
        """Return the sum, or mean, over known scores of a function of rows."""
        weights = self.weights(e, known) if mean else np.ones(known.sum())
        return estimate_of(e._estimate(lambda rows: weights @ measure(rows)[known]))

    def weights(self, e: Any, known: np.ndarray) -> np.ndarray:
        """Return the weights of known scores in a mean."""
        return np.full(known.sum(), 1 / known.sum())

    def baselines(self, e: Any, known: np.ndarray) -> dict[str, str]:
        """Return the figures of predictions that are the same for all rows, as text by name."""
        shares = np.clip(e._estimate(event_shares)[0][known], 1e-12, 1 - 1e-12)
        weights = np.ones(len(shares)) if self.is_summed else self.weights(e, known)
        squares = weights @ (shares * (1 - shares))
        loss = -weights @ (
            shares * np.log(shares) + self.misses(e) * (1 - shares) * np.log1p(-shares)
        )
        named = {"log loss": loss, "Brier score": squares}
        return {"AUC": "; chance: 0.5"} | {
            name: f"; {self.constant}: {value:.3f}" for name, value in named.items()
        }

    def misses(self, e: Any) -> float:
        """Return 1 for a score that also states the probability of the others, otherwise 0."""
        return float(len(e.histograms) == 1)

    def positives(self, e: Any) -> tuple[Any, ...]:
        """Return what each score is the probability of."""
        return e.classes

    def n_rows(self, e: Any) -> tuple[float, float]:
        """Return the number of rows, and half of the interval of its noise."""
        # Each row is in the histogram of every score; their mean has the least noise.
        total = float(e.histograms.sum(axis=(1, 2)).mean())
        half = 1.96 * e.deviation * np.sqrt(e.histograms[0].size / len(e.histograms))
        return total, half

    def lines(self, e: Any) -> list[str]:
        """Return the lines of the summary."""
        rows, mean = e._known[0], self.prefix
        figures = {
            f"{mean}AUC": (e.auc(), e._has_area),
            f"{mean}log loss": (e.log_loss(), rows),
            f"{mean}Brier score": (e.brier_score(), rows),
        } | self.more_figures(e)
        baselines, lines = self.baselines(e, rows) if rows.any() else {}, []
        for name, (estimate, enough) in figures.items():
            known = f", over {enough.sum()} of {len(enough)} {self.scored}"
            part = baselines.get(name.removeprefix(mean), "") + ("" if enough.all() else known)
            lines.append(f"  {name:<{12 + len(mean)}}  {figure_text(estimate, '.3f', part)}")
        return lines

    def more_figures(self, e: Any) -> dict[str, Any]:
        """Return the figures of decisions, between two classes."""
        if len(e.classes) != 2:
            return {}
        decisions = e.confusion()
        names = "accuracy", "sensitivity", "specificity"
        return {name: (decisions[name], e._known[0]) for name in names}


class NumberFigures(ClassFigures):
    """Figures of the errors of predictions of a number."""

    keys = "sums", "has_intervals"
    has_scores = False

    def checked_shape(self, e: Any) -> tuple[int, ...]:
        """Return the shape of the histograms; raise ValueError where sums do not fit."""
        self._require_fields(e)
        sums = np.array(e.sums, dtype=np.float64)
        sums.setflags(write=False)
        object.__setattr__(e, "sums", sums)
        small = sums.shape == SUM_SCALES.shape and np.abs(sums).max() < LARGEST_COUNT
        require_field(small, "sums", f"must be {len(SUM_SCALES)} sums over rows")
        return (1, N_PLACES, N_PLACES)

    def require_scores(self) -> None:
        """Raise ValueError."""
        raise ValueError(
            "This PrivateEvaluation is about a number, which has no classes. Use r2, "
            "mean_absolute_error, interval_coverage, prediction_curve or residuals."
        )

    def errors(self, e: Any) -> NumberErrors:
        """Return the errors of predictions."""
        return NumberErrors(e.outcome, e.histograms[0], e.sums, e.deviation)

    def n_rows(self, e: Any) -> tuple[float, float]:
        """Return the number of rows, and half of the interval of its noise."""
        return e._errors.n_rows()

    def lines(self, e: Any) -> list[str]:
        """Return the lines of the summary."""
        figures = {
            "R² (log)" if e.outcome.log else "R²": (e.r2(), ".3f", ""),
            "mean error": (e.mean_absolute_error(), ".4g", ""),
        }
        if e.has_intervals:
            figures["in intervals"] = (e.interval_coverage(), ".3f", "; right: 0.8")
        return [f"  {name:<12}  {figure_text(*figure)}" for name, figure in figures.items()]


class TimeFigures(ClassFigures):
    """Figures of probabilities of the event by public times."""

    bins = TIME_BINS
    keys = ("times",)
    prefix, scored = "mean ", "times"
    constant, is_summed = "the shares with the event alone", False

    def checked_shape(self, e: Any) -> tuple[int, ...]:
        """Return the shape of the histograms; raise ValueError where times do not fit."""
        self._require_fields(e)
        fault = times_fault(e.times, e.outcome)
        require_field(not fault, "times", f"must be public times: {fault}")
        return (len(e.times), N_STATES, TIME_BINS.n)

    def by_class(self, rows: np.ndarray, histograms: np.ndarray) -> np.ndarray:
        """Return rows without and with the event."""
        return by_event(rows, histograms)

    def known(self, e: Any, states: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return at which times there are enough rows, and rows with the event."""
        # Who is followed at a time was followed before.
        followed = np.logical_and.accumulate(states[:, 0])
        return followed, followed, followed & states[:, 1]

    def over_scores(self, e: Any, measure: Any, known: np.ndarray, mean: bool) -> Estimate:
        """Return the mean over known times of a function of rows."""
        # The same rows are counted at all times, which err in one direction: the mean of the ends
        # of the intervals is never narrower than the interval of the mean.
        ends = e._estimate(lambda rows: measure(rows).T)
        weights = self.weights(e, known)
        return estimate_of(end[known] @ weights for end in ends)

    def weights(self, e: Any, known: np.ndarray) -> np.ndarray:
        """Return the weights of known times in a mean."""
        return mean_weights(np.array(e.times)[known])

    def misses(self, e: Any) -> float:
        """Return 1: the others are without the event."""
        return 1.0

    def positives(self, e: Any) -> tuple[Any, ...]:
        """Return what each score is the probability of."""
        return tuple(f"the event by {time:g}" for time in e.times)

    def at_times(self, e: Any) -> Any:
        """Return the table of figures by public time."""
        measures = {
            "auc": lambda rows: areas(rows).T,
            "brier_score": lambda rows: e._squares(rows).T,
            "event": event_shares,
        }
        p = self.bins.probabilities
        measures["predicted"] = lambda rows: mean_over_rows(rows, p, p).T
        figures = {
            name: np.where(
                e._has_area if name == "auc" else e._known[0], e._estimate(measure), np.nan
            )
            for name, measure in measures.items()
        }
        table = time_table(e.times, figures).drop(columns=["predicted_low", "predicted_high"])
        return table.assign(followed=np.maximum(e.histograms[:, 0].sum(axis=-1), 0.0))

    def lines(self, e: Any) -> list[str]:
        """Return the lines of the summary, first one for each time."""
        return [*time_lines(self.at_times(e)), *super().lines(e)]

    def more_figures(self, e: Any) -> dict[str, Any]:
        """Return no more."""
        return {}


# By the kind of the outcome.
FIGURES = {"class": ClassFigures(), "number": NumberFigures(), "event": TimeFigures()}

UNKNOWN = Estimate(nan, nan, nan)


def estimate_of(estimate):
    return Estimate(*(float(number) for number in estimate))


def figure_text(estimate, form, more=""):
    """Return a figure with its interval, or that there is none."""
    if isnan(estimate.value):
        return f"n/a: fewer than {LEAST_ROWS} rows, or noise hides them"
    value, low, high = (format(number, form) for number in estimate)
    return f"{value} (95%: {low} to {high}){more}"


def areas(rows):
    """Return the area of each score, ties counted half: (n_scores, n_draws); NaN of one class."""
    others, positives = rows[..., 0, :], rows[..., 1, :]
    below = np.cumsum(others, axis=-1) - others / 2
    pairs = others.sum(axis=-1) * positives.sum(axis=-1)
    areas = np.full(pairs.shape, np.nan)
    return np.divide((positives * below).sum(axis=-1), pairs, out=areas, where=pairs > 0)


def mean_over_rows(rows, of_others, of_own):
    """Return the mean over rows of a function of the bin for each score, (n_scores, n_draws)."""
    total = (rows[..., 0, :] @ of_others) + (rows[..., 1, :] @ of_own)
    return total / np.maximum(rows.sum(axis=(-2, -1)), np.finfo(float).tiny)


def require_field(holds, name, what):
    if not holds:
        raise ValueError(f"The {name!r} of PrivateEvaluation {what}.")
