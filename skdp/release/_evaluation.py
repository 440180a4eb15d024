"""The performance of a model, from noisy histograms of scores or of errors, with intervals."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import combinations
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.utils import check_random_state

from skdp.displays import EvaluationDisplay
from skdp.privacy import WHOLE, PrivacyGuarantee, pack_guarantee, unpack_guarantee
from skdp.release._figures import (
    FIGURES,
    LARGEST_COUNT,
    UNKNOWN,
    Estimate,
    areas,
    estimate_of,
    mean_over_rows,
    require_field,
)
from skdp.release._merging import merged_guarantee
from skdp.release._number_evaluation import N_PLACES, NumberErrors
from skdp.release._score_posterior import LEAST_ROWS, enough_rows, posterior_draws
from skdp.tabular import Outcome, outcome_of
from skdp.utils._files import OtherVersionError, write_whole
from skdp.utils._html import definitions

# Draws of histograms for intervals: their ends have an error of a twelfth of a deviation.
_DRAWS = 1000
_KIND = "skdp evaluation"
# Version of the format, and the most characters of a file: parsed text takes more memory.
_VERSION, _MOST_CHARACTERS = 1, 10_000_000
# Besides those of the outcome.
_KEYS = {"kind", "version", "histograms", "deviation", "guarantee", "parts"}


@dataclass(frozen=True, eq=False)
class PrivateEvaluation:
    """Noisy histograms of a model's scores by class, and performance measures computed from them.

    If the outcome is a number, the histogram counts pairs of prediction and outcome, with noisy
    sums of errors; use :meth:`r2` and the methods after it. If the outcome is a time to an event,
    histograms count predicted probabilities of the event by some public times, and the status of
    rows at these times. Each time has a score, like each of several classes: pass the index of a
    time as ``class_index``, or see all times in :meth:`at_times`. Rows censored before a time are
    distributed by the Kaplan–Meier estimate among rows of similar probability, under the
    assumptions that :func:`~skdp.evaluate_privately` states.

    All methods read the histograms only and cost no further privacy. Values are posterior medians
    with 95% intervals, for the performance of the model on further rows of the same distribution.
    A measure is NaN, "n/a" in the summary, unless the noisy counts show with 95% confidence that
    it is based on 20 rows: rows of the class for an AUC or a sensitivity, rows still followed for
    a measure at a time.

    Parameters
    ----------
    outcome : ClassOutcome, NumberOutcome or EventOutcome
        The classes in the order of the model, the public bounds and scale of a number, or the
        horizon of a time to an event.

    histograms : ndarray of shape (n_scores, 2, n_bins)
        Noisy numbers of rows by bin of the log-odds of a class, among rows of other classes and
        of this class. Two classes have one score, for the second class; more classes have one
        score each. For a time to an event, (n_times, 3, n_bins), among rows still observed at the
        time, rows with the event by then, and rows censored before.

    deviation : float
        Standard deviation of the noise in each number.

    guarantee : PrivacyGuarantee
        For the rows that the model was evaluated on.

    parts : tuple of str, default=()
        SHA-256 of the noisy histograms of each merged evaluation, so that none is merged twice; if
        empty, of these histograms. Empty without noise, because owners may have equal histograms.

    times : tuple of float, default=()
        The public times, for a time to an event.

    sums : ndarray of shape (6,) or None, default=None
        Noisy sums for a number: rows inside and outside of the intervals; absolute errors, in
        units of the range; and, for numbers rescaled to 0–1, squared errors, outcomes minus one
        half, and their squares. The noise has the standard deviations ``deviation`` times
        (4, 4, 2, 2, 2, 1)/√3.2.

    has_intervals : bool, default=False
        Whether the model of a number predicts intervals.

    Raises
    ------
    ValueError
        When the arguments do not fit together.

    See Also
    --------
    skdp.evaluate_privately : Makes one.

    Examples
    --------
    The examples of the methods use this evaluation:

    >>> import numpy as np
    >>> from skdp import evaluate_privately
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.RandomState(0)
    >>> y = rng.randint(2, size=1000)
    >>> X = rng.standard_normal((1000, 2)) + 2 * y[:, None]
    >>> model = LogisticRegression().fit(X[:200], y[:200])
    >>> evaluation = evaluate_privately(model, X[200:], y[200:], epsilon=4.0)
    >>> evaluation
    PrivateEvaluation(2 classes, ε=4)
    >>> evaluation.auc().value > 0.9
    True
    >>> from sklearn.linear_model import LinearRegression
    >>> size = X[:, 0] + rng.standard_normal(1000)
    >>> regressor = LinearRegression().fit(X[:200], size[:200])
    >>> bounds = {"type": "number", "low": -5, "high": 7}
    >>> errors = evaluate_privately(regressor, X[200:], size[200:], 20.0, outcome=bounds)
    >>> errors
    PrivateEvaluation(a number, ε=20)
    """

    outcome: Outcome
    histograms: np.ndarray
    deviation: float
    guarantee: PrivacyGuarantee
    parts: tuple[str, ...] = ()
    times: tuple[float, ...] = ()
    sums: np.ndarray | None = None
    has_intervals: bool = False

    def __post_init__(self) -> None:
        histograms = np.array(self.histograms, dtype=np.float64)
        histograms.setflags(write=False)
        object.__setattr__(self, "histograms", histograms)
        object.__setattr__(self, "times", tuple(self.times))
        kinds = "must be a ClassOutcome, a NumberOutcome or an EventOutcome"
        require_field(isinstance(self.outcome, Outcome), "outcome", kinds)
        shape = self._figures.checked_shape(self)
        require_field(histograms.shape == shape, "histograms", f"must have the shape {shape}")
        small = np.isfinite(histograms).all() and np.abs(histograms).max() < LARGEST_COUNT
        require_field(small, "histograms", "must be numbers of rows")
        number = isinstance(self.deviation, int | float) and 0 <= self.deviation < LARGEST_COUNT
        require_field(number, "deviation", "must be a number from 0")
        counted = self.deviation > 0 or histograms.min() >= 0
        require_field(counted, "histograms", "must not be negative where there is no noise")
        protects_rows = isinstance(self.guarantee, PrivacyGuarantee)
        protects_rows = protects_rows and self.guarantee.unit in WHOLE
        require_field(protects_rows, "guarantee", "must be one of records or people")
        numbers = histograms if self.sums is None else np.append(histograms, self.sums)
        digest = sha256(numbers.astype("<f8").tobytes()).hexdigest()
        parts = tuple(self.parts) or ((digest,) if self.deviation else ())
        object.__setattr__(self, "parts", parts)
        digests = all(isinstance(part, str) for part in parts)
        digests = digests and len(set(parts)) == len(parts) and (self.deviation > 0 or not parts)
        require_field(digests, "parts", "must be different digests of noisy histograms")

    @property
    def _figures(self):
        return FIGURES[self.outcome.kind]

    @property
    def classes(self) -> tuple[Any, ...]:
        """Tuple: labels in the order of the model; empty for a number or a time."""
        return self.outcome.classes

    @property
    def _bins(self):
        return self._figures.bins

    @cached_property
    def _errors(self):
        """Noisy sums of the errors of predictions of a number."""
        return self._figures.errors(self)

    @cached_property
    def _draws(self):
        """Expected rows by score, class and bin, (n_scores, n_draws, 2, n_bins)."""
        self._figures.require_scores()
        random_state = check_random_state(0)  # the histograms already include noise
        # Where probabilities are right, the log-ratio of events to others is the log-odds of the
        # bin; of rows that leave early nothing is expected.
        centers = self._bins.centers
        ratios = np.stack([centers, np.zeros_like(centers)])[: self.histograms.shape[1] - 1]
        rows = [
            posterior_draws(histograms, ratios, self.deviation, _DRAWS, random_state)
            for histograms in self.histograms
        ]
        return self._figures.by_class(np.stack(rows), self.histograms)

    def _estimate(self, measure):
        """Return the value of a function of expected rows, with its interval.

        Without noise, the value is computed from the histograms themselves.
        """
        with np.errstate(invalid="ignore"):
            drawn = measure(self._draws)
            low, value, high = np.quantile(drawn, [0.025, 0.5, 0.975], axis=0)
            if self.deviation == 0:
                counts = self.histograms[:, np.newaxis]
                value = measure(self._figures.by_class(counts, self.histograms))[0]
        return value, low, high

    def _over_scores(self, measure, known, mean=True):
        """Return the sum or mean of a function of rows over scores with enough rows."""
        if not known.any():
            return UNKNOWN
        return self._figures.over_scores(self, measure, known, mean)

    @cached_property
    def _known(self):
        """Whether enough rows have a score, are of other classes, are of its class; by score."""
        self._figures.require_scores()
        states = enough_rows(self.histograms, self.deviation, axis=-1)
        return self._figures.known(self, states)

    @property
    def _has_area(self):
        return self._known[1] & self._known[2]

    @property
    def has_scores(self) -> bool:
        """bool: whether the model has scores of classes or events, not errors of a number."""
        return self._figures.has_scores

    @property
    def positives(self) -> tuple[Any, ...]:
        """Tuple: what each score is the probability of, classes or the event by each time."""
        return self._figures.positives(self)

    @property
    def n_rows(self) -> Estimate:
        """Estimate: number of rows, with an interval for the noise."""
        total, half = self._figures.n_rows(self)
        return Estimate(max(total, 0.0), max(total - half, 0.0), max(total + half, 0.0))

    def auc(self) -> Estimate:
        """Return the area under the ROC curve; for several classes, the one-vs-rest mean.

        For a time to an event, the mean over the public times, by the trapezoidal rule, of the
        cumulative/dynamic AUC: rows with the event by a time against rows without it.

        Returns
        -------
        area : Estimate

        Examples
        --------
        >>> value, low, high = evaluation.auc()
        >>> low < value < high
        True
        """
        return self._over_scores(areas, self._has_area)

    def brier_score(self) -> Estimate:
        """Return the Brier score: the mean squared distance of probabilities from the labels.

        For two classes, of the probability of the second class; for more, summed over classes. For
        a time to an event, the integrated score: the mean over the public times by the trapezoidal
        rule.

        Returns
        -------
        score : Estimate
        """
        return self._over_scores(self._squares, self._known[0], mean=False)

    def log_loss(self) -> Estimate:
        """Return the mean negative log-probability of the true class, in nats.

        Probabilities below 0.003 or above 0.997 are replaced by the centers of the outer bins. For
        a time to an event, the log loss of the event by a time, averaged over the public times.

        Returns
        -------
        loss : Estimate
        """
        p = self._bins.probabilities
        miss = self._figures.misses(self) * -np.log1p(-p)
        return self._over_scores(
            lambda rows: mean_over_rows(rows, miss, -np.log(p)), self._known[0], mean=False
        )

    def _squares(self, rows):
        """Return the mean squared error of probabilities, (n_scores, n_draws)."""
        p = self._bins.probabilities
        return mean_over_rows(rows, p**2, (1 - p) ** 2)

    def at_times(self) -> pd.DataFrame:
        """Return the performance of the predicted probabilities at each public time.

        Returns
        -------
        table : DataFrame
            A line for each ``time``, with ``auc``, ``brier_score`` and the share ``event`` of rows
            with the event by then, each with ``_low`` and ``_high``; ``predicted``, the mean
            predicted probability of the event; and ``followed``, the number of rows still
            observed. NaN from the first time on at which too few rows are observed.

        Raises
        ------
        ValueError
            When the outcome is not a time to an event.

        Examples
        --------
        >>> leaves = np.zeros(1000, dtype=[("event", bool), ("time", float)])
        >>> leaves["event"], leaves["time"] = True, rng.exponential(50 * np.exp(-X[:, 0]))
        >>> from skdp import DPStatisticsSource
        >>> source = DPStatisticsSource(
        ...     20.0, bounds=(-4, 6), outcome={"type": "event", "horizon": 60}
        ... )
        >>> release = source.fit(X[:500], leaves[:500]).release_
        >>> found = evaluate_privately(release, X[500:], leaves[500:], 20.0, times=[10, 30])
        >>> found
        PrivateEvaluation(a time to an event, ε=20)
        >>> found.at_times()["time"].tolist()
        [10.0, 30.0]
        """
        return self._figures.at_times(self)

    def roc_curve(self, class_index: int = -1) -> pd.DataFrame:
        """Return the ROC curve of a class against the others.

        Parameters
        ----------
        class_index : int, default=-1
            Index of the class, of three or more, or of the time.

        Returns
        -------
        curve : DataFrame
            With ``threshold``, the smallest probability that counts as positive, the rates
            ``false_positives`` and ``true_positives``, and ``low`` and ``high`` of the latter.

        Examples
        --------
        >>> evaluation.roc_curve().columns.tolist()
        ['threshold', 'false_positives', 'true_positives', 'low', 'high']
        """
        rows = np.where(self._has_area[class_index], self._draws[class_index], np.nan)
        shares = np.cumsum((rows / rows.sum(axis=-1, keepdims=True))[..., ::-1], axis=-1)
        low, middle, high = np.quantile(shares, [0.025, 0.5, 0.975], axis=0)
        return pd.DataFrame(
            {
                "threshold": expit(self._bins.centers - self._bins.width / 2)[::-1],
                "false_positives": middle[0],
                "true_positives": middle[1],
                "low": low[1],
                "high": high[1],
            }
        )

    def calibration_curve(self, n_groups: int = 10, class_index: int = -1) -> pd.DataFrame:
        """Return the frequency of a class among rows of similar probability.

        Parameters
        ----------
        n_groups : int, default=10
            Number of groups, of roughly equal size.

        class_index : int, default=-1
            Index of the class, of three or more, or of the time.

        Returns
        -------
        curve : DataFrame
            With the mean ``probability``, the ``frequency`` with ``low`` and ``high``, and the
            share ``rows`` of all rows.

        Raises
        ------
        ValueError
            When ``n_groups`` is no whole number from 1 to 48; of a time to an event, to 20.

        Examples
        --------
        >>> evaluation.calibration_curve(3).columns.tolist()
        ['probability', 'frequency', 'low', 'high', 'rows']
        """
        _require_groups("calibration_curve", n_groups, self._bins.n)
        rows = self._draws[class_index]
        total = np.median(rows.sum(axis=1), axis=0)
        middle = (np.cumsum(total) - total / 2) / total.sum()
        group = np.minimum((middle * n_groups).astype(int), n_groups - 1)
        lines = []
        for number in np.unique(group):
            in_group = group == number
            hits = rows[:, 1, in_group].sum(axis=1) / rows[:, :, in_group].sum(axis=(1, 2))
            low, frequency, high = np.quantile(hits, [0.025, 0.5, 0.975])
            counts = self.histograms[class_index][:, in_group]
            if not (self._known[0][class_index] and enough_rows(counts, self.deviation)):
                low, frequency, high = UNKNOWN
            share = total[in_group].sum()
            probability = total[in_group] @ self._bins.probabilities[in_group] / share
            lines.append((probability, frequency, low, high, share / total.sum()))
        names = ["probability", "frequency", "low", "high", "rows"]
        return pd.DataFrame(lines, columns=names)

    def confusion(self, threshold: float = 0.5, class_index: int = -1) -> dict[str, Estimate]:
        """Return the outcomes of decisions at a threshold, as shares of all rows.

        Parameters
        ----------
        threshold : float, default=0.5
            Smallest probability that is decided for the class; rounded to the nearest edge of a
            bin.

        class_index : int, default=-1
            Index of the class, of three or more; it is compared with all others.

        Returns
        -------
        shares : dict of str to Estimate
            "true positive", "false positive", "false negative", "true negative", and "accuracy",
            "sensitivity" and "specificity".

        Raises
        ------
        ValueError
            When the threshold is not between 0 and 1.

        Examples
        --------
        >>> evaluation.confusion(0.5)["sensitivity"].value > 0.5
        True
        """
        if not 0 < threshold < 1:
            raise ValueError(
                "The 'threshold' parameter of PrivateEvaluation.confusion must be a number "
                f"between 0 and 1, got {threshold!r:.100}."
            )
        edge = np.log(threshold / (1 - threshold)) - self._bins.low
        first = int(np.clip(np.rint(edge / self._bins.width), 0, self._bins.n))

        def shares(rows):
            rows = rows[class_index]
            above, below = rows[..., first:].sum(axis=-1), rows[..., :first].sum(axis=-1)
            total = rows.sum(axis=(-2, -1))
            outcomes = [above[:, 1], above[:, 0], below[:, 1], below[:, 0]]
            outcomes = [count / total for count in outcomes]
            return np.stack(
                [
                    *outcomes,
                    outcomes[0] + outcomes[3],
                    above[:, 1] / (above[:, 1] + below[:, 1]),
                    below[:, 0] / (above[:, 0] + below[:, 0]),
                ],
                axis=1,
            )

        names = (
            *("true positive", "false positive", "false negative", "true negative"),
            *("accuracy", "sensitivity", "specificity"),
        )
        rows, others, own = (known[class_index] for known in self._known)
        known = [*[rows] * 5, own, others]
        columns = zip(*self._estimate(shares), known, strict=True)
        return {
            name: estimate_of(estimate) if enough else UNKNOWN
            for name, (*estimate, enough) in zip(names, columns, strict=True)
        }

    def _of_errors(self, measure):
        """Return a figure about a number, which needs enough rows."""
        errors = self._errors
        return estimate_of(measure(errors)) if self.n_rows.low >= LEAST_ROWS else UNKNOWN

    def r2(self) -> Estimate:
        """Return R² of a number: the share of its variance that is explained.

        Like ``sklearn.metrics.r2_score`` of outcomes and predictions clipped to the bounds; of
        their logarithms if the scale of the outcome is logarithmic.

        Returns
        -------
        r2 : Estimate
            NaN with the interval from −inf to 1 if noise hides it.

        Examples
        --------
        >>> low, high = errors.r2()[1:]
        >>> low < 0.7 < high
        True
        """
        return self._of_errors(NumberErrors.r2)

    def mean_absolute_error(self) -> Estimate:
        """Return the mean absolute error of a number, in its unit.

        Returns
        -------
        error : Estimate

        Examples
        --------
        >>> low, high = errors.mean_absolute_error()[1:]
        >>> low < 0.8 < high
        True
        """
        return self._of_errors(NumberErrors.mean_absolute_error)

    def interval_coverage(self) -> Estimate:
        """Return the share of the numbers inside the 80% intervals of their predictions.

        ``predict(X, return_interval=0.8)`` gives the intervals, or they extend 1.28 standard
        deviations of ``predict(X, return_std=True)`` to either side. The share is about 0.8 if
        they are correct.

        Returns
        -------
        share : Estimate

        Raises
        ------
        ValueError
            When the model predicts neither intervals nor standard deviations.
        """
        if self._errors and not self.has_intervals:
            raise ValueError(
                "The model of this PrivateEvaluation has no intervals: its predict has neither "
                "return_interval nor return_std. Evaluate a Release, or a regressor with one."
            )
        return self._of_errors(NumberErrors.coverage)

    def prediction_curve(self, n_groups: int = 8) -> pd.DataFrame:
        """Return the mean of a number among rows of similar predictions.

        Parameters
        ----------
        n_groups : int, default=8
            Number of groups of roughly equal size, at most 16.

        Returns
        -------
        curve : DataFrame
            With ``prediction``, ``outcome`` with ``low`` and ``high``, and the share ``rows`` of
            all rows. On a logarithmic scale these are geometric means.

        Raises
        ------
        ValueError
            When ``n_groups`` is no whole number from 1 to 16.

        Examples
        --------
        >>> errors.prediction_curve(3).columns.tolist()
        ['prediction', 'outcome', 'low', 'high', 'rows']
        """
        _require_groups("prediction_curve", n_groups, N_PLACES)
        return self._errors.curve(n_groups)

    def residuals(self) -> pd.DataFrame:
        """Return how often a number differs from its prediction, and by how much.

        Returns
        -------
        shares : DataFrame
            With ``residual``, the outcome minus the prediction, in its unit, or in shares of a
            logarithmic scale; the ``share`` of the rows at the nearest step of a fifteenth of the
            range, with ``low`` and ``high``.

        Examples
        --------
        >>> errors.residuals().columns.tolist()
        ['residual', 'share', 'low', 'high']
        """
        return self._errors.residuals()

    def summary(self) -> str:
        """Return the performance of the model, as text.

        Returns
        -------
        text : str

        Examples
        --------
        >>> "AUC" in evaluation.summary()
        True
        """
        lines = [
            f"evaluated on about {self.n_rows.value:,.0f} {self.guarantee.counted}, "
            f"{self.guarantee.amount}"
        ]
        return "\n".join([*lines, *self._figures.lines(self)])

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self):
        first, *lines = self.summary().split("\n")
        pairs = [line.strip().split("  ", 1) for line in lines]
        stated = [(name, text.strip()) for name, text in pairs]
        return definitions([(self.guarantee.counted, first), *stated])

    def __repr__(self) -> str:
        return f"PrivateEvaluation({self.outcome.about}, ε={self.guarantee.epsilon:g})"

    def plot(self, axes: Any = None, class_index: int = -1) -> Any:
        """Plot the ROC curve and the calibration curve, with bands of 95%.

        For a number, outcomes against predictions, and residuals; for a time to an event, the
        curves at one of the times.

        Parameters
        ----------
        axes : pair of matplotlib.axes.Axes or None, default=None

        class_index : int, default=-1
            Index of the class, of three or more, or of the time.

        Returns
        -------
        axes : pair of matplotlib.axes.Axes

        Raises
        ------
        ImportError
            When matplotlib is not installed (extra ``plot``).

        See Also
        --------
        skdp.displays.EvaluationDisplay : Draws it.
        """
        display = EvaluationDisplay.from_evaluation(self, class_index=class_index)
        return display.plot(axes).axes_.ravel()

    @classmethod
    def merge(cls, evaluations: Iterable[Self], *, disjoint: bool) -> Self:
        """Return the evaluation of one model on the rows of several owners together.

        Parameters
        ----------
        evaluations : sequence of PrivateEvaluation
            All of the same model. They do not name it, so this cannot be checked.

        disjoint : bool
            Whether nobody is in two of them, see :meth:`Release.merge`.

        Returns
        -------
        evaluation : PrivateEvaluation

        Raises
        ------
        ValueError
            When classes differ, an evaluation occurs twice, also inside a merged one, or none is
            given.

        Examples
        --------
        >>> other = evaluate_privately(model, X[:200], y[:200], epsilon=4.0)
        >>> PrivateEvaluation.merge([evaluation, other], disjoint=True)
        PrivateEvaluation(2 classes, ε=4)
        """
        evaluations = list(evaluations)
        if not evaluations:
            raise ValueError("PrivateEvaluation.merge needs one evaluation or more.")
        if not isinstance(disjoint, bool):
            raise ValueError(
                "The 'disjoint' parameter of PrivateEvaluation.merge must be True or False, got "
                f"{disjoint!r:.100}. Say whether nobody is in two of them."
            )
        first = evaluations[0]
        for evaluation in evaluations[1:]:
            if mismatch := first.outcome.mismatch(evaluation.outcome):
                raise ValueError(
                    f"Evaluations of other outcomes cannot be merged: {mismatch}. They must be of "
                    "one model, by the same public bounds."
                )
            if evaluation.has_intervals != first.has_intervals:
                raise ValueError(
                    "Evaluations with and without intervals cannot be merged: they must be of "
                    "one model."
                )
            if evaluation.times != first.times:
                raise ValueError(
                    "Evaluations of other times cannot be merged: "
                    f"{first.times!r:.200} and {evaluation.times!r:.200}."
                )
        for (j, one), (k, other) in combinations(enumerate(evaluations), 2):
            if set(one.parts) & set(other.parts):
                raise ValueError(
                    f"Evaluations {j} and {k} cannot be merged: they have the counts of the same "
                    "rows, with the same noise, alone or merged with others. Rows that are "
                    "counted twice tell nothing more: pass each evaluation once."
                )
        sums = [evaluation.sums for evaluation in evaluations if evaluation.sums is not None]
        return cls(
            first.outcome,
            np.sum([evaluation.histograms for evaluation in evaluations], axis=0),
            float(np.linalg.norm([evaluation.deviation for evaluation in evaluations])),
            merged_guarantee([evaluation.guarantee for evaluation in evaluations], disjoint),
            tuple(part for evaluation in evaluations for part in evaluation.parts),
            first.times,
            np.sum(sums, axis=0) if sums else None,
            first.has_intervals,
        )

    def save(self, path: str | os.PathLike[str] | BinaryIO, *, overwrite: bool = False) -> None:
        """Write a JSON file.

        Parameters
        ----------
        path : str, path-like or binary file

        overwrite : bool, default=False
            Whether an existing file may be replaced.

        Raises
        ------
        FileExistsError
            When the file exists and ``overwrite`` is False.

        Examples
        --------
        >>> evaluation.save("evaluation.json")
        >>> PrivateEvaluation.load("evaluation.json").classes
        (0, 1)
        """
        document = {
            "kind": _KIND,
            "version": _VERSION,
            "histograms": self.histograms.tolist(),
            "deviation": self.deviation,
            "guarantee": pack_guarantee(self.guarantee),
            "parts": list(self.parts),
        }
        document |= self.outcome.description()
        document |= {key: _plain(getattr(self, key)) for key in self._figures.keys}
        with write_whole(path, overwrite=overwrite) as file:
            file.write(json.dumps(document).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a JSON file; nothing in it is executed.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        evaluation : PrivateEvaluation

        Raises
        ------
        OSError
            When the file does not exist.

        ValueError
            When it contains no evaluation.
        """
        with Path(path).open("rb") as file:
            content = file.read(_MOST_CHARACTERS + 1)
        try:
            document = json.loads(content.decode())
            if document["kind"] != _KIND:
                raise ValueError("it is of another kind")
            if document["version"] != _VERSION:
                raise OtherVersionError(repr(str(path)), document["version"], _VERSION)
            outcome = outcome_of(document)
            keys = FIGURES[outcome.kind].keys
            if set(document) != _KEYS | {*outcome.description(), *keys}:
                raise ValueError("it has other keys")
            histograms = np.array(document["histograms"], dtype=np.float64)
            guarantee = unpack_guarantee(document["guarantee"])
            deviation = document["deviation"]
            if isinstance(deviation, bool) or not isfinite(deviation):
                raise ValueError("its 'deviation' is no number")
            parts, more = tuple(document["parts"]), {key: document[key] for key in keys}
            return cls(outcome, histograms, float(deviation), guarantee, parts, **more)
        except OtherVersionError:
            raise
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
            reason = str(error) if isinstance(error, ValueError) else "something is missing"
            raise ValueError(
                f"{str(path)!r} holds no evaluation of skdp ({reason:.200}). Make it again with "
                "evaluate_privately."
            ) from None


def _plain(value):
    """Return an array as a list, and anything else as it is."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def _require_groups(method, n_groups, most):
    if not isinstance(n_groups, int) or not 1 <= n_groups <= most:
        raise ValueError(
            f"The 'n_groups' parameter of PrivateEvaluation.{method} must be a whole number from "
            f"1 to {most}, got {n_groups!r:.100}."
        )
