"""``skdp predict``: predict classes, numbers or times of the target's rows."""

import numpy as np
import pandas as pd

from skdp.commands._arguments import (
    add_outcome,
    add_output,
    add_release,
    add_table,
    checked_output,
    is_release,
    outcome_columns,
    outcome_values,
    read_rows,
)
from skdp.commands._tables import (
    TABLES,
    add_column,
    add_table_options,
    check_columns,
    six_digits,
    write_table,
)
from skdp.commands._target_rows import (
    EFFECT,
    KNOWN,
    copied_ids,
    known_labels,
    known_outcomes,
    readable_rows,
)
from skdp.release import INTERVAL, Release
from skdp.tabular import missing_values, spelled_as
from skdp.transfer import (
    MAX_ROUNDING,
    DPTransferClassifier,
    DPTransferRegressor,
    DPTransferSurvival,
)

NAME = "predict"
HELP = """Predict the class, number or time of each row of a table.

example:
  skdp predict hospital.skdp target.csv -o predictions.csv
  skdp predict north.skdp south.skdp target.csv --label outcome --id patient -o predictions.csv
  skdp predict hospital.skdp target.csv --class-prior died=0.1 --class-prior home=0.9 -o known.csv

Rows with an empty label are unlabeled; without --label all are. Several releases are merged if
possible, otherwise weighted by your labels. Columns that the table lacks are left out. The output
has one line per row: the --id, then class and probabilities; or the mean of the number and its
interval; or risk, survival --at times and median; then 1 in 'known' if its outcome was known."""
# Fractions of the horizon at which survival probabilities are written, and where curves end.
_PLACES = (0.25, 0.5, 0.75)
_MEDIAN = "median_survival"  # column of predictions


def add_arguments(parser):
    """Add the arguments of the command."""
    add_release(parser, "one or more releases (.skdp)", nargs="+")
    add_table(parser, "the target's rows")
    text = "column of labels; empty cells are unlabeled"
    add_outcome(parser, text, "release's")
    add_column(parser, "--id", "column to copy to the output")
    parser.add_argument(
        "--label-sampling",
        choices=("auto", "random", "stratified"),
        default="auto",
        metavar="HOW",
        help="labeled rows: random, stratified, auto (default)",
    )
    parser.add_argument(
        "--class-prior",
        metavar="CLASS=SHARE",
        action="append",
        help="known share; once per class, one may be omitted",
    )
    parser.add_argument(
        "--interval",
        type=float,
        default=INTERVAL,
        metavar="SHARE",
        help="share between 'low' and 'high' (default: 0.8)",
    )
    parser.add_argument(
        "--at",
        metavar="TIME",
        type=float,
        nargs="+",
        help="times of survival (default: four up to the end)",
    )
    text = "add what each column adds to each prediction"
    parser.add_argument("--explain", action="store_true", help=text)
    add_table_options(parser)
    add_output(parser, "the predictions", " or ".join(TABLES))


def run(arguments, note):
    """Learn from the releases and the target's rows; write the predictions."""
    target = checked_output(arguments, *TABLES)
    releases = _releases(arguments)
    outcome = releases[0].outcome
    columns = outcome_columns(arguments, outcome, f"the release {arguments.release[0]!r}")
    if arguments.class_prior is not None and not outcome.groups:
        raise ValueError(
            f"--class-prior is for classes, but the outcome is {outcome.about}. Omit it."
        )
    if arguments.at is not None and outcome.exits is None:
        raise ValueError(f"--at is for times, but the outcome is {outcome.about}. Omit it.")
    model, rows, known, predictions = _PREDICTIONS[outcome.kind](
        releases, columns, arguments, note
    )
    if known.any():
        predictions[KNOWN] = known.astype(int)
    said = f"Wrote {str(target)!r}: {', '.join(predictions)}; one line per row, in order."
    if outcome.exits is not None and pd.isna(predictions[_MEDIAN]).any():
        said += f"\n{_MEDIAN} is empty where a curve stays above one half."
    if arguments.explain:
        note(f"explaining {len(rows):,} predictions")
        effects, scale = _effects(model, rows)
        predictions |= effects
        said += (
            f"\nThen {EFFECT}COLUMN: what the column adds to {scale},\n"
            "relative to the average of its values."
        )
    if write_table(pd.DataFrame(predictions), target, overwrite=arguments.force):
        said += (
            "\nText that looks like a spreadsheet formula got an apostrophe (') in front; write\n"
            ".parquet to keep it unchanged."
        )
    return said


def _effects(model, rows):
    """Return what each column adds to each prediction, by name, and what it is added to."""
    explained = [model.explain(rows[k : k + 1]) for k in range(len(rows))]
    table = pd.DataFrame([{c.name: c.effect for c in each.columns} for each in explained])
    names = getattr(rows, "columns", table.columns)
    first = explained[0]
    scale = "the risk" if first.unit else "the prediction"
    if first.probability is not None:
        scale = "the log-odds of the class against the second most probable one"
        if len(model.classes_) == 2:
            scale = f"the log-odds of {first.towards!r:.50} against {first.against!r:.50}"
    return {f"{EFFECT}{name}": six_digits(table[name]) for name in names}, scale


# Each of the next three returns the model, its rows, which of them had a known outcome, and the
# columns of the output.


def _classes(releases, columns, arguments, note):
    """Learn classes; predict the class of each row and the class probabilities."""
    classes = np.unique(np.concatenate([release.classes for release in releases]))
    prior = class_shares(classes.tolist(), arguments.class_prior)
    frame = read_rows(arguments, note)
    names = ("class", *(f"probability_{label}" for label in classes.tolist()))
    ids = copied_ids(frame, names, arguments)
    labels = known_labels(frame, classes, arguments)
    rows = readable_rows(frame, releases, arguments)
    known = np.zeros(len(frame), dtype=bool) if labels is None else pd.notna(labels)
    note(
        f"learning from {_named(releases)} and {len(rows):,} rows, {known.sum():,} of them labeled"
    )
    model = DPTransferClassifier(
        _source(releases),
        label_sampling=arguments.label_sampling,
        class_prior=prior,
        random_state=0,
    )
    model.fit(rows, labels)
    probabilities = model.predict_proba(rows)
    predictions = ids | {"class": model.classes_[probabilities.argmax(axis=1)]}
    for label, column in zip(model.classes_.tolist(), _shown(probabilities).T, strict=True):
        predictions[f"probability_{label}"] = column
    return model, rows, known, predictions


def _numbers(releases, columns, arguments, note):
    """Learn numbers; predict the mean of each row and the ends of its interval."""
    names = ("prediction", "low", "high")
    if not 0 < arguments.interval < 1:
        raise ValueError(f"--interval must be between 0 and 1, got {arguments.interval:g}.")
    frame = read_rows(arguments, note)
    ids = copied_ids(frame, names, arguments)
    outcomes = known_outcomes(frame, arguments)
    rows = readable_rows(frame, releases, arguments)
    known = np.zeros(len(frame), dtype=bool) if outcomes is None else np.isfinite(outcomes)
    note(
        f"learning from {_named(releases)} and {len(rows):,} rows, {known.sum():,} with an outcome"
    )
    sampling = "stratified" if arguments.label_sampling == "stratified" else "random"
    model = DPTransferRegressor(_source(releases), label_sampling=sampling).fit(rows, outcomes)
    mean, ends = model.predict(rows, return_interval=arguments.interval)
    predictions = ids | dict(zip(names, map(six_digits, (mean, *ends.T)), strict=True))
    return model, rows, known, predictions


def _times(releases, columns, arguments, note):
    """Learn times; predict the risk of each row and its survival at public times.

    ``columns`` name known events and times; the table may lack them unless options name them.
    """
    outcome = releases[0].outcome
    frame = read_rows(arguments, note, columns if arguments.event is not None else None)
    exits, known = None, np.zeros(len(frame), dtype=bool)
    if set(columns.values()) <= set(frame.columns):
        check_columns(frame, columns.values(), arguments.table, "the outcome")
        exits = outcome_values(frame, columns, outcome)
        known = (~exits.apply(missing_values)).all(axis=1).to_numpy()
    rows = readable_rows(frame, releases, arguments)
    note(
        f"learning from {_named(releases)} and {len(rows):,} rows, {known.sum():,} with an outcome"
    )
    model = DPTransferSurvival(_source(releases)).fit(rows, exits)
    times = _shown_times(model.unique_times_[-1], outcome.horizon, arguments.at, note)
    names = ("risk", *(f"survival_{time:g}" for time in times), _MEDIAN)
    ids = copied_ids(frame, names, arguments)
    curves = model.predict_survival_function(rows, return_array=True)
    reached = curves <= 0.5
    median = np.where(reached.any(axis=1), model.unique_times_[reached.argmax(axis=1)], np.nan)
    at_times = 1 - model.predict_proba_at(rows, times)
    predicted = np.round(model.predict(rows), 6), *_shown(at_times).T, six_digits(median)
    return model, rows, known, ids | dict(zip(names, predicted, strict=True))


def _shown_times(last, horizon, given, note):
    """Return the times of survival probabilities, which curves that end at ``last`` have."""
    if last < horizon:
        note(f"curves end at time {last:g}: too few rows are followed longer")
    if given is None:
        return [*(time for place in _PLACES if (time := horizon * place) < last), last]
    if not all(0 < time <= max(last, float(f"{last:g}")) for time in given):
        raise ValueError(f"--at needs times above 0 and up to {last:g}, where the curves end.")
    return sorted(set(given))


_PREDICTIONS = {"class": _classes, "number": _numbers, "event": _times}


def _source(releases):
    return releases[0] if len(releases) == 1 else releases


def _shown(probabilities):
    # Further decimals are noise, and nothing is certain.
    return np.clip(np.round(probabilities, 6), 10.0**-6, 1 - 10.0**-6)


def _named(releases):
    return "the release" if len(releases) == 1 else f"{len(releases)} releases"


def _releases(arguments):
    """Return the releases; several must have schemas and the same outcome."""
    paths = arguments.release
    if is_release(arguments.table):
        raise ValueError(f"TABLE {arguments.table!r} is a release. Name the table last.")
    if len(set(paths)) < len(paths):
        raise ValueError("RELEASE names a file twice. Name each file once.")
    releases = [Release.load(path) for path in paths]
    if len(releases) == 1:
        return releases
    if len({release.outcome.unlisted() for release in releases}) > 1:
        raise ValueError(
            "RELEASE: the outcomes differ: classes, numbers with other bounds, or times with "
            "other horizons. Predict from each release alone."
        )
    for path, release in zip(paths, releases, strict=True):
        if release.encoder is None:
            raise ValueError(
                f"{path!r} has no schema, so its columns cannot be matched to other releases. "
                "Predict from it alone, or use DPTransferClassifier in Python."
            )
        classes, of_first = (list(made.outcome.groups) for made in (release, releases[0]))
        if classes != of_first:
            raise ValueError(
                f"{path!r} has the classes {classes!r:.200}, but {paths[0]!r} has "
                f"{of_first!r:.200}. Predict from each alone."
            )
    return releases


def class_shares(classes, given):
    """Return the share of each class as ``--class-prior`` gives them, or None."""
    if given is None:
        return None
    classes, example = list(classes), f"as {classes[0]}=0.1"
    shares: dict = {}
    for text in given:
        label, sign, share = text.rpartition("=")
        [label] = spelled_as(np.array([label], dtype=object), np.array(classes)).tolist()
        try:
            shares[label] = float(share if sign else "")
        except ValueError as error:
            raise ValueError(
                f"--class-prior {text!r:.100} is not a class and its share. Write CLASS=SHARE, "
                f"{example}."
            ) from error
    stated_twice = len(shares) < len(given)
    rest = set(classes) - set(shares)
    if len(rest) == 1 and len(shares) == len(classes) - 1:
        shares[rest.pop()] = 1 - sum(shares.values())
    if set(shares) != set(classes) or stated_twice:
        raise ValueError(
            f"--class-prior is given for {list(shares)!r:.200}, {len(given)} in all, but the "
            f"classes are {classes!r:.200}. Give it once per class, {example}; "
            "one may be omitted and has the rest."
        )
    total = sum(shares.values())
    if min(shares.values()) <= 0 or not abs(total - 1) <= MAX_ROUNDING:
        raise ValueError(
            f"--class-prior has shares that add up to {total:g}, the smallest "
            f"{min(shares.values()):g}. Use positive shares that add up to 1."
        )
    return shares
