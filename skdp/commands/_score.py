"""``skdp score``: compare predictions with the outcomes of the user's own rows."""

import warnings
from dataclasses import replace
from math import inf, isnan, nan
from numbers import Integral
from textwrap import wrap

import numpy as np
import pandas as pd
from scipy.stats import beta
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import (
    PredictionErrorDisplay,
    accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
)
from sklearn.utils import check_random_state

from skdp.commands._arguments import (
    add_outcome,
    add_plot,
    add_table,
    checked_plot,
    drawn,
    is_release,
    outcome_columns,
    outcome_values,
    read_rows,
    read_schema,
)
from skdp.commands._tables import (
    add_column,
    add_table_options,
    check_columns,
    escaped_text,
    read_table,
)
from skdp.commands._target_rows import KNOWN, known_labels, known_outcomes
from skdp.displays import EvaluationDisplay
from skdp.release import LEAST_ROWS, Release, StepFunction
from skdp.source import evaluate_privately
from skdp.tabular import (
    ClassOutcome,
    EventOutcome,
    canonical,
    missing_values,
    numbers,
    person_ids,
)
from skdp.utils._frames import text_width
from skdp.utils._survival import concordance_index

NAME = "score"
HELP = """Compare predictions with the outcomes of your own rows.

example:
  skdp score predictions.csv truth.csv --label outcome
  skdp score predictions.xlsx truth.csv --label outcome --id patient --plot calibration.png

PREDICTIONS comes from skdp predict. TRUTH has the outcomes of the same rows in the same order, or
matched by --id. Rows with an empty outcome are ignored, and so are rows whose outcome skdp predict
knew: their scores are too good. Show the figures, which have no noise, only to those who may see
the rows."""
# Bootstrap samples of an interval, and the most rows of each.
_DRAWS, _MOST_ROWS = 200, 2000
# Tolerance of the sum of written probabilities: those of ten classes may have two decimals.
_ROUNDING = 0.01
_NOTHING = (
    "No privacy budget was spent: these are exact figures of your own rows. Show them only\n"
    "to those who may see the rows; skdp evaluate makes figures for others."
)


def add_arguments(parser):
    """Add the arguments of the command."""
    add_table(parser, "output of skdp predict", "predictions", "PREDICTIONS")
    add_table(parser, "rows with their outcomes", metavar="TRUTH")
    add_outcome(parser, "column of labels or numbers in TRUTH", "--schema's")
    parser.add_argument(
        "--schema",
        metavar="FILE",
        help="schema (.json) or release (.skdp) whose outcome is a time",
    )
    add_column(parser, "--id", "column in both tables that identifies rows")
    add_table_options(parser)
    add_plot(parser, "the calibration")


def run(arguments, note):
    """Compare, and return a text about it."""
    target = checked_plot(arguments)
    note(f"reading {arguments.predictions!r}")
    try:
        predictions = read_table(arguments.predictions, note=note)
    except ValueError as error:
        said = "--sep and so on apply to TRUTH only. Name PREDICTIONS as skdp predict wrote it."
        raise ValueError(f"{error} {said}") from None
    scores = [name for name in predictions.columns if name.startswith("probability_")]
    times = [name for name in predictions.columns if name.startswith("survival_")]
    if scores:
        score, columns = _of_classes, scores
    elif "prediction" in predictions.columns:
        score, columns = _of_numbers, ["prediction"]
    elif times and "risk" in predictions.columns:
        score, columns = _of_times, ["risk", *times]
    else:
        raise ValueError(
            f"{arguments.predictions!r} lacks the columns of skdp predict: 'probability_' plus a "
            "class, 'prediction', or 'risk' and 'survival_' plus a time. Name its output."
        )
    check_columns(predictions, columns, arguments.predictions, "skdp predict")
    outcome = _outcome_of(arguments.schema) if score is _of_times else ClassOutcome()
    named = outcome_columns(arguments, outcome, "the predictions", required=True)
    truth = read_rows(arguments, note, named)
    predictions, truth = _joined(predictions, truth, arguments)
    predictions, truth, left_out = _unknown(predictions, truth)
    values = np.column_stack([numbers(predictions[name]) for name in columns])
    _check_predictions(values, columns, arguments.predictions)
    lines, plot = score(predictions, truth, values, columns, named, arguments)
    lines[0] += left_out
    lines += drawn(plot, target, arguments)
    return "\n".join([*lines, _NOTHING])


def _unknown(predictions, truth):
    """Return the rows whose outcome skdp predict did not know, and a text about the others."""
    if KNOWN not in predictions.columns:
        return predictions, truth, ""
    known = numbers(predictions[KNOWN]) == 1
    if known.all():
        raise ValueError(
            "PREDICTIONS has no rows whose outcome skdp predict did not know, and scores of the "
            "others are too good. Predict without --label, or leave some labels out."
        )
    text = f"; {known.sum():,} that skdp predict knew are left out" if known.any() else ""
    return predictions[~known], truth[~known], text


def _outcome_of(path):
    """Return the outcome of a schema or release, which must be a time."""
    if path is None:
        return EventOutcome(1.0)
    named = Release.load(path) if is_release(path) else read_schema(path, "--schema ")
    outcome = named.outcome
    if not outcome.columns:
        raise ValueError(f"--schema {path!r} has an outcome that is not a time. Leave it out.")
    return outcome


def _check_predictions(values, columns, path):
    """Raise ValueError unless predictions are numbers and probabilities are from 0 to 1."""
    remedy = "Name the file as skdp predict wrote it."
    if not np.isfinite(values).all():
        raise ValueError(f"{path!r} has predictions that are not numbers. {remedy}")
    p = values[:, [name.startswith(("probability_", "survival_")) for name in columns]]
    if (p < 0).any() or (p > 1).any():
        raise ValueError(f"{path!r} has probabilities that are not from 0 to 1. {remedy}")
    if columns[0].startswith("probability_") and (
        len(columns) < 2 or (abs(p.sum(axis=1) - 1) > _ROUNDING).any()
    ):
        raise ValueError(
            f"{path!r} has probabilities of {len(columns)} classes that do not add up to 1 in "
            f"each row, or of one class only. {remedy}"
        )


def _joined(predictions, truth, arguments):
    """Return predictions and outcomes of the same rows."""
    paths = arguments.predictions, arguments.table
    if arguments.id is None:
        if len(predictions) != len(truth):
            raise ValueError(
                f"{paths[0]!r} has {len(predictions):,} rows, and {paths[1]!r} {len(truth):,}. "
                "Name the column that identifies rows with --id, as for skdp predict."
            )
        return predictions, truth
    ids = []
    for frame, path in zip((predictions, truth), paths, strict=True):
        check_columns(frame, [arguments.id], path, "--id")
        ids.append(_keys(frame[arguments.id]))
        if any(key is None for key in ids[-1]):
            raise ValueError(
                f"--id {arguments.id!r} has empty cells in {path!r}. Fill them in or delete these "
                "rows."
            )
        if not ids[-1].is_unique:
            raise ValueError(f"--id {arguments.id!r} repeats a value in {path!r}. Make it unique.")
    places = ids[1].get_indexer(ids[0])
    if (places < 0).all():
        raise ValueError(f"--id {arguments.id!r}: the tables share no value. Name tables that do.")
    return predictions[places >= 0], truth.iloc[places[places >= 0]]


def _keys(values):
    """Return comparable IDs: whole numbers of any size exactly, other cells unchanged."""
    escaped = values.astype(object).map(escaped_text)
    keys = [
        exact if isinstance(exact, Integral) else canonical(value)
        for exact, value in zip(person_ids(escaped), escaped, strict=True)
    ]
    return pd.Index(keys, dtype=object)


def _of_classes(predictions, truth, p, columns, named, arguments):
    """Return lines about class probabilities, and a function that plots their calibration."""
    classes = np.array([name.removeprefix("probability_") for name in columns], dtype=object)
    labels = known_labels(truth, classes, arguments)
    known = np.array([label is not None for label in labels])
    y = (labels[known, np.newaxis] == classes).astype(int)
    p = p[known] / p[known].sum(axis=1, keepdims=True)
    shares = np.tile(y.mean(axis=0), (len(y), 1))
    scored = [1] if len(classes) == 2 else range(len(classes))
    of_each = y.sum(axis=0)
    rarest = min((n for n in (*of_each, *(len(y) - of_each)) if n), default=0)

    def auc(y, p):
        present = [k for k in scored if 0 < y[:, k].sum() < len(y)]
        return np.mean([roc_auc_score(y[:, k], p[:, k]) for k in present]) if present else nan

    def brier(y, p):
        return ((y - p)[:, scored] ** 2).sum(axis=1).mean()

    def accuracy(y, p):
        return accuracy_score(y.argmax(axis=1), p.argmax(axis=1))

    lines = [
        _first_line(known, truth),
        _line("AUC", auc, (y, p), "chance", 0.5, f"{rarest} rows of a class", rarest),
        _line("log loss", log_loss, (y, p), "the frequencies alone", log_loss(y, shares)),
        _line("Brier score", brier, (y, p), "the frequencies alone", brier(y, shares)),
        _line("accuracy", accuracy, (y, p), "the most frequent class", accuracy(y, shares)),
    ]
    for k in scored:
        lines.append(f"rows of similar probability of {classes[k]!r:.50}, with 95% intervals:")
        lines += _table({"probability": p[:, k], "frequency": y[:, k]}, _share, "{:.3f}".format)

    def plot():
        ax, settings = None, {"n_bins": _n_groups(y), "strategy": "quantile"}
        for k in scored:
            named = {"name": classes[k], "ax": ax}
            ax = CalibrationDisplay.from_predictions(y[:, k], p[:, k], **settings, **named).ax_
        return ax

    return lines, plot


def _of_numbers(predictions, truth, values, columns, named, arguments):
    """Return lines about predicted numbers, and a function that plots them."""
    y = known_outcomes(truth, arguments)
    known = np.isfinite(y)
    y, predicted = y[known], values[known, 0]
    middle = np.full(len(y), np.median(y))
    lines = [
        _first_line(known, truth),
        _line("R²", r2_score, (y, predicted), "the mean", 0.0),
        _line(
            *("mean error", mean_absolute_error, (y, predicted), "the median"),
            mean_absolute_error(y, middle),
        ),
    ]
    if {"low", "high"} <= set(predictions.columns):
        low, high = (numbers(predictions[name])[known] for name in ("low", "high"))
        inside = ((low <= y) & (y <= high)).astype(float)
        lines.append(_line("in intervals", np.mean, (inside,), "right, unless --interval", 0.8))
    lines.append(_line("mean", np.mean, (predicted,), "the outcomes", y.mean()))
    lines.append("rows of similar predictions, with 95% intervals of the mean outcome:")
    lines += _table({"prediction": predicted, "outcome": y}, _mean, _short)
    settings = {"kind": "actual_vs_predicted", "random_state": 0}
    return lines, lambda: PredictionErrorDisplay.from_predictions(y, predicted, **settings).ax_


class _Curves:
    """Written survival curves, as a model whose input is row numbers."""

    def __init__(self, times, survival):
        self._times = np.append(0.0, times)
        self._survival = np.column_stack([np.ones(len(survival)), survival])

    def predict_survival_function(self, X):
        """Return the curve of each row."""
        return [StepFunction(self._times, self._survival[int(row)]) for row in X[:, 0]]


def _of_times(predictions, truth, values, columns, named, arguments):
    """Return lines about survival curves, and a function that plots the last time."""
    times = numbers([name.removeprefix("survival_") for name in columns[1:]])
    if not (np.isfinite(times).all() and (np.diff(times, prepend=0) > 0).all()):
        raise ValueError(
            f"{arguments.predictions!r} has columns 'survival_' that do not end in ascending "
            "times. Name the file as skdp predict wrote it."
        )
    times = times.tolist()
    outcome = replace(_outcome_of(arguments.schema), horizon=times[-1])
    exits = outcome_values(truth, named, outcome)
    events, left = outcome.read(exits)
    known = ~np.isnan(events) & (left >= 0)
    strange = ~known & ~exits.apply(missing_values).any(axis=1).to_numpy()
    if strange.any():
        event, time = exits[strange].iloc[0].tolist()
        raise ValueError(
            f"{arguments.table!r} has {strange.sum():,} unreadable events or times, such as "
            f"{event!r:.50} and {time!r:.50}. Write events as 0/1, false/true or no/yes and times "
            "as numbers from 0, leave cells empty, or name a --schema with the value of events."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no noise, which is what is wanted
        evaluation = evaluate_privately(
            *(_Curves(times, values[known, 1:]), np.arange(known.sum()).reshape(-1, 1)),
            *(exits[known], inf),
            outcome=outcome.description()["outcome"],
            times=times,
        )
    events, left = (events == 1) & (left <= times[-1]), np.minimum(left, times[-1])
    followed = events[known], left[known], values[known, 0]
    lines = [
        _first_line(known, truth),
        _line(
            *("concordance", concordance_index, followed, "chance", 0.5),
            *(f"{followed[0].sum()} events", followed[0].sum()),
        ),
    ]
    for line in evaluation.summary().split("\n")[1:]:
        lines += wrap(line, text_width(100), subsequent_indent=" " * 21)
    # The last time with an ROC curve, if any.
    area = evaluation.at_times()["auc"]
    last = area.last_valid_index()
    index = len(area) - 1 if last is None else last
    display = EvaluationDisplay.from_evaluation(evaluation, class_index=index)
    return lines, lambda: display.plot().ax_


def _first_line(known, truth):
    if not known.any():
        raise ValueError(
            "TRUTH has no outcomes that skdp predict did not know. Name a table with further "
            "outcomes of these rows."
        )
    return f"{known.sum():,} rows with an outcome, of {len(truth):,}"


def _line(name, measure, columns, other, reference, rare="", n_rare=LEAST_ROWS):
    """Return a figure with its interval and the figure of a baseline."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of samples with one class only
        value = measure(*columns)
        n, random_state = len(columns[0]), check_random_state(0)
        size = min(n, _MOST_ROWS)
        samples = (random_state.randint(n, size=size) for _ in range(_DRAWS))
        values = np.array([measure(*(column[rows] for column in columns)) for rows in samples])
        distances = (values - np.nanmean(values)) * np.sqrt(size / n)
        low, high = value + np.nanquantile(distances, [0.025, 0.975])
    if isnan(value):
        return f"  {name:<12}  unknown: all rows have the same outcome"
    form = _short if name.startswith("mean") else "{:.3f}".format
    interval = f" (95%: {form(low)} to {form(high)})" if n > 1 else ""
    if n_rare < LEAST_ROWS:
        interval = f" ({rare}: too few for an interval)"
    return f"  {name:<12}  {form(value)}{interval}; {other}: {form(reference)}"


def _n_groups(y):
    """Return the number of groups of at least twenty rows each."""
    return int(np.clip(len(y) // 20, 2, 10))


def _table(columns, interval, form):
    """Return lines of a table of groups of rows, with intervals of means."""
    predicted, observed = columns.values()
    edges = np.quantile(predicted, np.linspace(0, 1, _n_groups(observed) + 1)[1:-1])
    groups = pd.DataFrame(columns).groupby(np.searchsorted(edges, predicted))
    low, high = interval(groups[[*columns][1]])
    table = groups.mean().assign(low=low, high=high, rows=groups.size())
    return table.to_string(index=False, float_format=form).splitlines()


def _share(groups):
    """Return the Clopper–Pearson interval (1934) of each share."""
    hits, n = groups.sum(), groups.size()
    low, high = beta.ppf(0.025, hits, n - hits + 1), beta.isf(0.025, hits + 1, n - hits)
    return np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)


def _mean(groups):
    """Return the interval of each mean."""
    half = 1.96 * groups.std(ddof=0) / np.sqrt(groups.size())
    return groups.mean() - half, groups.mean() + half


def _short(value):
    return f"{float(f'{value:.4g}'):,.10g}"
