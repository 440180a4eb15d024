"""Private evaluation of a model: exact histograms of scores, and their noise."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from hashlib import sha256
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skdp.noise import GaussianQueries, Share, private_bits
from skdp.privacy import PrivacyLedger
from skdp.release import (
    CELL_SCALE,
    DEFAULT_TIMES,
    HALF_WIDTH,
    INTERVAL,
    N_PLACES,
    N_STATES,
    SCORE_BINS,
    SUM_SCALES,
    TIME_BINS,
    PrivateEvaluation,
    Release,
    cell_of,
    times_fault,
)
from skdp.source._door import (
    check_budget,
    read_outcome,
    read_persons,
    row_weights,
)
from skdp.source._integers import ROW
from skdp.source._publication import default_settings, publish, sealed, whole_guarantee
from skdp.tabular import ClassOutcome, Outcome, numbers, outcome_from
from skdp.utils._frames import as_frame

# Attributes of models that predict classes.
_OF_CLASSES = ("classes_", "predict_proba")
# Largest number that is compared as one with those of other types.
_LARGEST = 1e300


def evaluate_privately(
    model: Any,
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    *,
    outcome: Mapping[str, Any] | None = None,
    times: Sequence[float] | None = None,
    groups: ArrayLike | None = None,
    ledger: PrivacyLedger | str | os.PathLike[str] | None = None,
    name: str = "evaluation",
    random_state: int | np.random.RandomState | None = None,
) -> PrivateEvaluation:
    r"""Evaluate a classifier, regressor or survival model on private rows, with noise.

    The owner of private rows can publish how accurate a model is without showing the rows. So can
    a target whose labels are private. Everything is computed from noisy counts:

    - **Classes.** Rows are counted by class and by public bins of the model's log-odds, and
      Gaussian noise is added to the counts. One row adds 1 to one count or, with K ≥ 3 classes, to
      one count for each class, so the sensitivity is :math:`\sqrt{K}`.
    - **Numbers.** Rows are counted by public cells of (prediction, outcome). If ``predict`` has
      ``return_interval`` or ``return_std``, rows whose outcome is inside the 80% interval of its
      prediction are counted too. The absolute and squared errors, the outcomes and their squares
      are summed. Outcomes and predictions are clipped to the public bounds. On a logarithmic
      scale medians are predicted, if ``predict`` has ``statistic``, and squares are of
      logarithms. One row changes all these numbers, each divided by its public scale, by at most
      1 in Euclidean norm.
    - **Times to an event.** For each of T public times, rows are counted by public bins of the
      log-odds of the event by then, and by their status: still observed, event, or censored
      before. One row adds 1 to one count for each time, so the sensitivity is :math:`\sqrt{T}`.
      Rows censored before are distributed by the Kaplan–Meier estimate within each bin. **This
      assumes** that, within a bin, censoring does not depend on the time of the event; that the
      distribution of censoring times before a public time is the same in all bins; and that
      hazards are proportional over time.

    **What is guaranteed**: whole records with their labels (add/remove), or with ``groups`` whole
    people, each of whose k rows counts 1/k. The model itself is not covered: a model trained on
    these rows without protection may reveal them, and its evaluation on them is optimistic. The
    score of a row must not depend on other rows. Even in a fitted classifier, the last digits of a
    score depend on the size of a batch and on the position in it. Therefore the model is called
    with batches of 256 rows, padded with copies; the position of a row depends on the row alone,
    and equal rows are scored once.

    Parameters
    ----------
    model : Release, or fitted classifier with ``predict_proba``, or fitted regressor
        Or a fitted model with ``predict_survival_function``, such as scikit-survival's. Prefer a
        model that was not trained on these rows.

    X : array-like of shape (n_samples, n_features) or DataFrame
        Private rows, in the form that the model expects.

    y : array-like of shape (n_samples,), or DataFrame
        Private labels; for times, a structured array of event and time, or a table with these
        columns. Rows are left out silently if the model does not know their class, or if their
        number or event and time is missing or unreadable. Five unreadable events or times raise an
        error.

    epsilon : float, default=1.0
        Privacy loss. ``inf`` adds no noise, and warns.

    delta : float, default=1e-5
        Slack δ.

    outcome : mapping or None, default=None
        For a regressor, the public bounds of the number, such as ``{"type": "number", "low": 0,
        "high": 80}``, with ``"log": True`` to evaluate on a logarithmic scale. Noise is
        proportional to the distance between the bounds, so bounds that are too wide cost accuracy.
        For a survival model, the public horizon, such as ``{"type": "event", "horizon": 1825}``.
        None: the ``outcome`` attribute of the model, such as a release's.

    times : sequence of float or None, default=None
        For a survival model, public times of evaluation, above 0, up to the horizon and in
        ascending order. Each further time makes the others less accurate. None: a quarter, half
        and three quarters of the time at which the curves of a release end, otherwise of the
        horizon.

    groups : array-like of shape (n_samples,) or None, default=None
        The person whom each row belongs to: whole people are protected.

    ledger : PrivacyLedger, str, path-like or None, default=None
        Charged before noise is drawn.

    name : str, default="evaluation"
        Name of the ledger's entry.

    random_state : int, RandomState instance or None, default=None
        For tests only: anyone who knows the seed can remove the noise. A seed warns.

    Returns
    -------
    evaluation : PrivateEvaluation
        With ``guarantee``.

    Raises
    ------
    ValueError
        Naming the parameter and the remedy; nothing is charged.

    BudgetExceededError
        When the ledger does not allow it; no noise is drawn.

    RuntimeError
        When the model fails on these rows. The model's message is withheld, as it may quote them.

    Warns
    -----
    PrivacyLeakWarning
        When ``random_state`` is a seed, or ``epsilon`` is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skdp import evaluate_privately
    >>> rng = np.random.RandomState(0)
    >>> y = rng.randint(2, size=1000)
    >>> X = rng.standard_normal((1000, 2)) + 2 * y[:, None]
    >>> model = LogisticRegression().fit(X[:200], y[:200])
    >>> evaluation = evaluate_privately(model, X[200:], y[200:], epsilon=2.0)
    >>> evaluation.auc().value > 0.8
    True

    A number needs public bounds:

    >>> from sklearn.linear_model import LinearRegression
    >>> length = 10 + 5 * X[:, 0]
    >>> regressor = LinearRegression().fit(X[:200], length[:200])
    >>> outcome = {"type": "number", "low": 0, "high": 40}
    >>> found = evaluate_privately(regressor, X[200:], length[200:], 8.0, outcome=outcome)
    >>> found.r2().value > 0.5
    True

    A time to an event:

    >>> from skdp import DPStatisticsSource
    >>> leaves = np.zeros(1000, dtype=[("event", bool), ("time", float)])
    >>> leaves["time"] = rng.exponential(100 * np.exp(-X[:, 0]))
    >>> leaves["event"] = leaves["time"] < 90
    >>> event = {"type": "event", "horizon": 90}
    >>> source = DPStatisticsSource(8.0, bounds=(-4, 6), outcome=event)
    >>> release = source.fit(X[:500], leaves[:500]).release_
    >>> found = evaluate_privately(release, X[500:], leaves[500:], 8.0, times=[30, 60])
    >>> bool(found.at_times()["auc"].min() > 0.6)
    True
    """
    judged, counts_of = _judged(model, outcome)
    kind = counts_of(model, judged, times)
    check_budget("evaluate_privately", epsilon, delta)
    frame = as_frame(X)
    with default_settings():
        labels = read_outcome(y, frame, judged)

        weights = row_weights(read_persons(groups, len(frame), "evaluate_privately"), len(frame))
    with sealed("evaluate_privately"):
        counts = kind.count(_readable(model, frame), labels, weights).ravel()
    share = Share(1.0, counts.size, ROW * kind.sensitivity)
    bits = private_bits("evaluate_privately", random_state)
    queries = GaussianQueries(epsilon, delta, {"histograms": share}, bits)
    known = isinstance(model, Release)
    foreign = "" if known else "; that the model scores a row by the values of others"
    guarantee = whole_guarantee(
        f"Gaussian noise on {kind.noisy}",
        (queries.mechanism,),
        kind.shape[0] + 1,
        by_group=groups is not None,
        covers=f"the {kind.covered} of the rows and their labels",
        excludes=f"the model, its {kind.public}; refusals of the input{foreign}",
    )

    def make(counts, queries):
        noisy = queries.add("histograms", counts, share.sensitivity, kind.scales) / ROW
        deviation = queries.deviation("histograms", kind.sensitivity) * kind.scales[0]
        n_cells = int(np.prod(kind.shape))
        return PrivateEvaluation(
            outcome=judged,
            histograms=noisy[:n_cells].reshape(kind.shape),
            deviation=float(deviation),
            guarantee=guarantee,
            **kind.more(noisy[n_cells:]),
        )

    return publish(
        "evaluate_privately",
        guarantee,
        make,
        private=(counts, queries),
        rehearsals=[(np.zeros_like(counts), queries.rehearsal())],
        ledger=ledger,
        name=name,
    )


class _Counts(ABC):
    """How rows of a kind of outcome are counted; what is said of it is public.

    Attributes
    ----------
    shape : tuple
        Of the histograms.

    sensitivity : float
        The norm of one row's change of all counts, each in units of its scale.
    """

    kind: str  # of the outcome
    needs: str  # what 'outcome' must be
    scales = np.ones(1)
    # Texts of the guarantee: the mechanism, what is covered, and what is public.
    noisy: str
    covered: str
    public: str
    shape: tuple
    sensitivity: float = 1.0

    def __init__(self, model, outcome, times):
        self._model, self._outcome = model, outcome
        if times is not None:
            raise ValueError(
                "The 'times' parameter of evaluate_privately is for models of a time to an event. "
                "Leave it out."
            )

    @abstractmethod
    def count(self, X, labels, weights):
        """Return exact weights by cell, and sums over rows, in one array: **private**."""

    def more(self, sums):
        """Return further fields of the evaluation, from noisy sums besides the histograms."""
        return {}


class ClassCounts(_Counts):
    """Rows by score, class and bin, of shape (n_scores, 2, n_bins)."""

    kind, needs = "class", "left out for a classifier"
    noisy, covered, public = "histograms of scores", "scores", "classes, the bins"

    def __init__(self, model, outcome, times):
        super().__init__(model, outcome, times)
        K = outcome.n_cells
        self._scored = [1] if K == 2 else list(range(K))
        self.shape = (len(self._scored), 2, SCORE_BINS.n)
        # A row changes one bin of each histogram by 1: the norm is the root of their number.
        self.sensitivity = np.sqrt(len(self._scored))

    def count(self, X, labels, weights):
        def bins(rows):
            probabilities = np.asarray(self._model.predict_proba(rows), dtype=np.float64)
            if probabilities.shape != (len(rows), self._outcome.n_cells):
                raise ValueError("predict_proba returned another shape")
            return SCORE_BINS.of(probabilities[:, self._scored])

        places = _row_by_row(bins, X, len(self._scored)).astype(np.int64)
        codes = self._outcome.codes(*labels)
        kept = codes >= 0
        counts = np.zeros(self.shape, dtype=np.int64)
        for k, c in enumerate(self._scored):
            cells = (codes[kept] == c).astype(np.int64), places[kept, k]
            np.add.at(counts[k], cells, weights[kept])
        return counts


class NumberCounts(_Counts):
    """Rows by prediction and outcome, and sums of their errors."""

    kind = "number"
    needs = "public bounds for a regressor, such as {'type': 'number', 'low': 0, 'high': 80}"
    noisy, covered, public = "counts and sums of errors", "predictions", "bounds, the cells"
    shape = (1, N_PLACES, N_PLACES)
    # One row moves all cells and sums, in units of these, by a vector of length 1.
    scales = np.append(np.full(N_PLACES**2, CELL_SCALE), SUM_SCALES)

    def __init__(self, model, outcome, times):
        super().__init__(model, outcome, times)
        # The parameter by which the model predicts intervals or deviations, or None.
        offered = signature(model.predict).parameters
        names = ("return_interval", "return_std")
        self._asked = next((name for name in names if name in offered), None)
        interval = INTERVAL if self._asked == "return_interval" else True
        self._settings: dict[str, Any] = {self._asked: interval} if self._asked else {}
        # R² and the curve are about logarithms, of which a median is the prediction.
        if outcome.log and "statistic" in offered:
            self._settings["statistic"] = "median"

    def more(self, sums):
        return {"sums": sums, "has_intervals": self._asked is not None}

    def count(self, X, labels, weights):
        [labels], outcome = labels, self._outcome
        places = outcome.positions(labels)
        known = ~np.isnan(places)
        places, weights = places[known], weights[known]
        predicted, predicted_places, low, high = _row_by_row(self._predict, X, 4)[known].T
        truth = np.clip(numbers(labels)[known], outcome.low, outcome.high)
        distances = np.abs(truth - predicted)
        inside = (low <= truth) & (truth <= high)
        terms = (
            *(inside, ~inside, distances / (outcome.high - outcome.low)),
            *((places - predicted_places) ** 2, places - 0.5, (places - 0.5) ** 2),
        )
        histogram = np.zeros((N_PLACES, N_PLACES), dtype=np.int64)
        np.add.at(histogram, (cell_of(predicted_places), cell_of(places)), weights)
        # Rounded toward zero, so that no row counts for more than its weight.
        sums = [np.trunc(weights * np.clip(term, -1, 1)).astype(np.int64).sum() for term in terms]
        return np.append(histogram, sums)

    def _predict(self, rows):
        """Return predictions, their positions between the bounds, and ends of intervals."""
        found, outcome = self._model.predict(rows, **self._settings), self._outcome
        values, *errors = found if self._asked else [found]
        wanted = (len(rows), 2) if self._asked == "return_interval" else (len(rows),)
        if np.shape(values) != (len(rows),) or any(np.shape(e) != wanted for e in errors):
            raise ValueError("predict returned another shape")
        values, *errors = (np.asarray(part, dtype=np.float64) for part in (values, *errors))
        values = np.nan_to_num(values, nan=(outcome.low + outcome.high) / 2)
        values = np.clip(values, outcome.low, outcome.high)
        # Without errors, no outcome counts as inside an interval.
        ends = errors[0] if errors else np.full((len(rows), 2), np.nan)
        if self._asked == "return_std":
            ends = values[:, np.newaxis] + HALF_WIDTH * ends[:, np.newaxis] * [-1, 1]
        return np.column_stack([values, outcome.positions(values), ends])


class TimeCounts(_Counts):
    """Rows by public time, state and bin, of shape (n_times, 3, n_bins)."""

    kind = "event"
    needs = "a public horizon for a model of times, such as {'type': 'event', 'horizon': 1825}"
    noisy, covered = "counts of events", "probabilities"
    public = "times and horizon, the bins"

    def __init__(self, model, outcome, times):
        super().__init__(model, outcome, None)
        own = getattr(model, "outcome", getattr(model, "outcome_", None))
        # Curves of a release end where too few rows were followed.
        end = float(model.unique_times_[-1]) if isinstance(own, Outcome) else outcome.horizon
        end = min(end, outcome.horizon)
        given = end * np.array(DEFAULT_TIMES) if times is None else times
        try:
            self._times = np.asarray(given, dtype=np.float64).ravel().tolist()
            fault = times_fault(self._times, outcome)
            if fault is None and max(self._times) > end:
                fault = f"up to {end:g}, where the curves of the model end"
        except (TypeError, ValueError, OverflowError):
            fault = "numbers"
        if fault is not None:
            raise ValueError(
                f"The 'times' parameter of evaluate_privately must be public times, {fault}, got "
                f"{times!r:.100}."
            )
        self.shape = (len(self._times), N_STATES, TIME_BINS.n)
        # A row is in exactly one cell of the histogram of each time: the norm of its change is
        # the root of the number of times.
        self.sensitivity = np.sqrt(len(self._times))

    def more(self, sums):
        return {"times": self._times}

    def count(self, X, labels, weights):
        def bins(rows):
            functions = self._model.predict_survival_function(rows)
            # A curve is constant beyond the last of its times.
            curves = [curve(np.clip(self._times, *curve.domain)) for curve in functions]
            probabilities = 1 - np.array(curves, dtype=np.float64)
            if probabilities.shape != (len(rows), len(self._times)):
                raise ValueError("predict_survival_function returned another shape")
            return TIME_BINS.of(probabilities)

        places = _row_by_row(bins, X, len(self._times)).astype(np.int64)
        counts = np.zeros(self.shape, dtype=np.int64)
        for k, state in enumerate(self._outcome.states(*labels, self._times)):
            known = state >= 0
            np.add.at(counts[k], (state[known], places[known, k]), weights[known])
        return counts


def _judged(model, given):
    """Return the outcome of a model, and how its rows are counted."""
    # Decided by the model's methods, because a model need not have tags.
    counts: type[_Counts] = NumberCounts
    if hasattr(model, "predict_survival_function"):
        counts = TimeCounts
    elif any(hasattr(model, name) for name in _OF_CLASSES) or not hasattr(model, "predict"):
        counts = ClassCounts
    if given is None:
        own = (getattr(model, name, None) for name in ("outcome", "outcome_"))
        stated = (o for o in own if isinstance(o, Outcome) and o.kind == counts.kind)
        outcome = next(stated, None)
        if outcome is None and counts is ClassCounts:
            outcome = ClassOutcome(_checked_classes(model))
    else:
        outcome = outcome_from(given)
    if outcome is None or outcome.kind != counts.kind:
        raise ValueError(
            f"The 'outcome' parameter of evaluate_privately must be {counts.needs}, got "
            f"{given!r:.200}, for a model of type {type(model).__name__}."
        )
    return outcome, counts


def _readable(model, X):
    """Return rows such that a model reads each one independently."""
    if isinstance(model, Release):
        return model.encode(X)
    # A single text in a list would convert all its numbers to text.
    return X if hasattr(X, "shape") else np.array(X, dtype=object)


def _checked_classes(model):
    """Return the classes of a model as a list; raise ValueError for what cannot be used."""
    classes = getattr(model, "classes_", None)
    if classes is None or not hasattr(model, "predict_proba"):
        raise ValueError(
            "The 'model' parameter of evaluate_privately must be a Release, a fitted classifier "
            "with predict_proba, or a fitted regressor with the 'outcome' parameter, got one of "
            f"type {type(model).__name__}."
        )
    classes = np.asarray(classes).tolist()
    if len(set(classes)) < max(2, len(classes)):
        raise ValueError(
            "The 'model' parameter of evaluate_privately must have two or more different classes."
        )
    return classes


def _row_by_row(say, X, n_numbers):
    """Return ``say`` of each row, (n_samples, n_numbers), bit for bit independent of other rows.

    Matrix products and vectorized functions round a row depending on the size of its block and its
    position there. So blocks have 256 rows, the digest of a row determines its position, and equal
    rows are passed once.
    """
    first: dict = {}
    alike = [first.setdefault(digest, i) for i, digest in enumerate(_digests(X))]
    shown = np.array(list(first.values()), dtype=np.int64)
    places = np.array([digest[0] for digest in first], dtype=np.int64)
    turns = pd.Series(places).groupby(places).cumcount().to_numpy()
    blocks = np.full((turns.max(initial=-1) + 1, 256), -1)
    blocks[turns, places] = shown
    said = np.zeros((len(alike), n_numbers))
    for block in blocks:
        taken = block >= 0
        rows = np.where(taken, block, block.max())
        said[block[taken]] = say(_at(X, rows))[taken]
    return said[alike]


def _digests(X):
    """Return a digest of each row, of numbers by value: other rows may change their type."""
    if not isinstance(X, pd.DataFrame):
        X = np.asarray(X)
        X = pd.DataFrame(X.reshape(len(X), int(np.prod(X.shape[1:]))))
    values, texts = np.full(X.shape, np.nan), [""] * len(X)
    for j in range(X.shape[1]):
        column = X.iloc[:, j].to_numpy()
        if np.can_cast(column.dtype, np.float64):
            values[:, j] = column
            continue
        for i, value in enumerate(column.tolist()):
            number = isinstance(value, float | int | np.integer | np.floating)
            if number and not abs(value) > _LARGEST:
                values[i, j] = value
            else:
                texts[i] += f"{j}:{value!r};"
    return [
        sha256(row.tobytes() + text.encode(errors="backslashreplace")).digest()
        for row, text in zip(values, texts, strict=True)
    ]


def _at(X, rows):
    """Return some of the rows, in a memory layout that does not depend on their number."""
    if hasattr(X, "iloc"):
        return X.iloc[rows].set_axis(range(len(rows))).copy()
    return X.take(rows, axis=0) if isinstance(X, np.ndarray) else X[rows]
