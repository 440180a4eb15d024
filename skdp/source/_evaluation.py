"""Private evaluation of a model: exact histograms of scores, and their noise."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from inspect import signature
from typing import Any, NamedTuple

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
    check_outcome,
    read_outcome,
    read_persons,
    row_weights,
)
from skdp.source._integers import ROW
from skdp.source._publication import default_settings, publish, sealed, whole_guarantee
from skdp.tabular import ClassOutcome, Outcome, numbers, outcome_from
from skdp.utils._frames import as_frame

# By kind of outcome: the models that need an 'outcome' parameter, and an example.
_STATED = {
    "number": (
        "a regressor: the public bounds of the number",
        {"type": "number", "low": 0, "high": 80},
    ),
    "event": (
        "a model of times: the public horizon",
        {"type": "event", "horizon": 1825},
    ),
}
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
    judged = _outcome_of(model, outcome)
    kind = _KINDS[judged.kind](model, judged, times)
    check_budget("evaluate_privately", epsilon, delta)
    frame = as_frame(X)
    with default_settings():
        labels = read_outcome(y, frame, judged)
        check_outcome(y, labels, judged)
        weights = row_weights(read_persons(groups, len(frame), "evaluate_privately"), len(frame))
    with sealed("evaluate_privately"):
        counts = kind.count(model, _readable(model, frame), labels, weights).ravel()
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
        n_cells = int(np.prod(kind.shape))
        return PrivateEvaluation(
            outcome=judged,
            histograms=noisy[:n_cells].reshape(kind.shape),
            deviation=float(queries.deviation("histograms", kind.sensitivity) * kind.scales[0]),
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


class _Kind(NamedTuple):
    """The public properties of the counts for a kind of outcome."""

    shape: tuple
    count: Callable
    # Sensitivity: the norm of one row's change of all counts, each in units of its scale.
    sensitivity: float
    scales: np.ndarray
    # Texts of the guarantee: the mechanism, what is covered, and what is public.
    noisy: str
    covered: str
    public: str
    # Further fields of the evaluation, from noisy sums besides the histograms.
    more: Callable


def _of_classes(model, outcome, times):
    """Return how rows are counted by class and score."""
    _refuse_times(times)
    n_scores = 1 if outcome.n_cells == 2 else outcome.n_cells
    # A row changes one bin of each histogram by 1: the norm is the root of their number.
    shape, sensitivity = (n_scores, 2, SCORE_BINS.n), np.sqrt(n_scores)
    said = "histograms of scores", "scores", "classes, the bins"
    count = partial(_counts, outcome=outcome)
    return _Kind(shape, count, sensitivity, np.ones(1), *said, lambda sums: {})


def _of_number(model, outcome, times):
    """Return how rows are counted by prediction and outcome, and how their errors are summed."""
    _refuse_times(times)
    shape, count = (1, N_PLACES, N_PLACES), partial(_number_counts, outcome=outcome)
    # One row moves all cells and sums, in units of these, by a vector of length 1.
    scales = np.append(np.full(N_PLACES**2, CELL_SCALE), SUM_SCALES)
    said = "counts and sums of errors", "predictions", "bounds, the cells"

    def more(sums):
        return {"sums": sums, "has_intervals": _asked_of(model) is not None}

    return _Kind(shape, count, 1.0, scales, *said, more)


def _refuse_times(times):
    if times is not None:
        raise ValueError(
            "The 'times' parameter of evaluate_privately is for models of a time to an event. "
            "Leave it out."
        )


def _of_times(model, outcome, times):
    """Return how rows are counted at each public time; raise ValueError for other times."""
    own = getattr(model, "outcome", getattr(model, "outcome_", None))
    # Curves of a release end where too few rows were followed.
    end = float(model.unique_times_[-1]) if isinstance(own, Outcome) else outcome.horizon
    end = min(end, outcome.horizon)
    given = end * np.array(DEFAULT_TIMES) if times is None else times
    try:
        at = np.asarray(given, dtype=np.float64).ravel().tolist()
        fault = times_fault(at, outcome)
        if fault is None and max(at) > end:
            fault = f"up to {end:g}, where the curves of the model end"
    except (TypeError, ValueError, OverflowError):
        fault = "numbers"
    if fault is not None:
        raise ValueError(
            f"The 'times' parameter of evaluate_privately must be public times, {fault}, got "
            f"{times!r:.100}."
        )
    # A row is in exactly one cell of the histogram of each time: the norm of its change is the
    # root of the number of times.
    shape, sensitivity = (len(at), N_STATES, TIME_BINS.n), np.sqrt(len(at))
    count = partial(_time_counts, outcome=outcome, times=at)
    said = "counts of events", "probabilities", "times and horizon, the bins"
    return _Kind(shape, count, sensitivity, np.ones(1), *said, lambda sums: {"times": at})


# By the kind of the outcome.
_KINDS = {"class": _of_classes, "number": _of_number, "event": _of_times}


def _outcome_of(model, given):
    """Return the outcome of a model: its classes, the given outcome, or its ``outcome``."""
    # Decided by the model's methods, because a model need not have tags.
    classifies = hasattr(model, "classes_") or hasattr(model, "predict_proba")
    kind = "class" if classifies or not hasattr(model, "predict") else "number"
    kind = "event" if hasattr(model, "predict_survival_function") else kind
    if given is None:
        own = (getattr(model, name, None) for name in ("outcome", "outcome_"))
        stated = [o for o in own if isinstance(o, Outcome) and o.kind == kind]
        if stated:
            return stated[0]
    if kind not in _STATED:
        if given is None:
            return ClassOutcome(_checked_classes(model))
        raise ValueError(
            "The 'outcome' parameter of evaluate_privately is for regressors, and models of "
            "times. Leave it out, or pass a fitted regressor as the model, not one of type "
            f"{type(model).__name__}."
        )
    wanted, example = _STATED[kind]
    if given is None:
        raise ValueError(
            f"The 'outcome' parameter of evaluate_privately is needed for {wanted}, such as "
            f"outcome={example!r}."
        )
    outcome = outcome_from(given)
    if outcome.kind != kind:
        raise ValueError(
            f"The 'outcome' parameter of evaluate_privately must be that of {wanted}, such as "
            f"{example!r}, got {given!r:.200}."
        )
    return outcome


def _readable(model, X):
    """Return rows such that a model reads each one independently."""
    if isinstance(model, Release):
        return model.encode(X)
    # A single text in a list would convert all its numbers to text.
    return X if hasattr(X, "shape") else np.array(X, dtype=object)


def _asked_of(model):
    """Return the parameter by which a model predicts intervals or deviations, or None."""
    offered = signature(model.predict).parameters
    return next((name for name in ("return_interval", "return_std") if name in offered), None)


def _number_counts(model, X, labels, weights, outcome):
    """Return exact weights by cell, and sums over rows, in one array: **private**."""
    asked = _asked_of(model)
    settings: dict[str, Any] = (
        {} if asked is None else {asked: INTERVAL if asked == "return_interval" else True}
    )
    # R² and the curve are about logarithms, of which a median is the prediction.
    if outcome.log and "statistic" in signature(model.predict).parameters:
        settings["statistic"] = "median"
    middle = (outcome.low + outcome.high) / 2

    def predictions(rows):
        found = model.predict(rows, **settings)
        values, *errors = found if asked else [found]
        wanted = (len(rows), 2) if asked == "return_interval" else (len(rows),)
        if np.shape(values) != (len(rows),) or any(np.shape(e) != wanted for e in errors):
            raise ValueError("predict returned another shape")
        values, *errors = (np.asarray(part, dtype=np.float64) for part in (values, *errors))
        values = np.clip(np.nan_to_num(values, nan=middle), outcome.low, outcome.high)
        # Without errors, no outcome counts as inside an interval.
        ends = errors[0] if errors else np.full((len(rows), 2), np.nan)
        if asked == "return_std":
            ends = values[:, np.newaxis] + HALF_WIDTH * ends[:, np.newaxis] * [-1, 1]
        return np.column_stack([values, outcome.positions(values), ends])

    [labels] = labels
    places = outcome.positions(labels)
    known = ~np.isnan(places)
    places, weights = places[known], weights[known]
    predicted, predicted_places, low, high = _row_by_row(predictions, X, 4)[known].T
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


def _counts(model, X, labels, weights, outcome):
    """Return exact weights by score, class and bin, (n_scores, 2, n_bins): **private**."""
    K = outcome.n_cells
    scored = [1] if K == 2 else list(range(K))

    def bins(rows):
        probabilities = np.asarray(model.predict_proba(rows), dtype=np.float64)
        if probabilities.shape != (len(rows), K):
            raise ValueError("predict_proba returned another shape")
        return SCORE_BINS.of(probabilities[:, scored])

    places = _row_by_row(bins, X, len(scored)).astype(np.int64)
    codes = outcome.codes(*labels)
    has_class = codes >= 0
    counts = np.zeros((len(scored), 2, SCORE_BINS.n), dtype=np.int64)
    for number, c in enumerate(scored):
        cells = ((codes == c).astype(np.int64), places[:, number])
        np.add.at(counts[number], tuple(index[has_class] for index in cells), weights[has_class])
    return counts


def _time_counts(model, X, labels, weights, outcome, times):
    """Return exact weights by time, state and bin, (n_times, 3, n_bins): **private**."""

    def bins(rows):
        functions = model.predict_survival_function(rows)
        # A curve is constant beyond the last of its times.
        curves = [curve(np.clip(times, *curve.domain)) for curve in functions]
        probabilities = 1 - np.array(curves, dtype=np.float64)
        if probabilities.shape != (len(rows), len(times)):
            raise ValueError("predict_survival_function returned another shape")
        return TIME_BINS.of(probabilities)

    places = _row_by_row(bins, X, len(times)).astype(np.int64)
    counts = np.zeros((len(times), N_STATES, TIME_BINS.n), dtype=np.int64)
    for k, state in enumerate(outcome.states(*labels, times)):
        known = state >= 0
        np.add.at(counts[k], (state[known], places[known, k]), weights[known])
    return counts


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
