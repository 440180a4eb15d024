"""``skdp predict``: classes and probabilities of the target's rows, by a release."""

import numpy as np
import pandas as pd

from skdp.commands._tables import (
    TABLES,
    check_columns,
    check_ending,
    check_output,
    read_table,
    write_table,
)
from skdp.release import Release
from skdp.tabular import Vocabulary, missing_values, numbers, spelled_as
from skdp.transfer import MAX_ROUNDING, DPTransferClassifier

NAME = "predict"
HELP = """Predict the class of each row of a target's table, by a release and any labels.

example:
  skdp predict hospital.skdp target.csv -o predictions.csv
  skdp predict hospital.skdp target.csv --label outcome -o predictions.csv
  skdp predict hospital.skdp target.csv --class-prior died=0.1 --class-prior home=0.9 -o known.csv

Rows whose cell in the label column is empty are unlabelled; without --label all are. Columns that
the table lacks are left out of the release, with a warning; others are not read. The output has
one line for each row, in the same order: class, and a probability of each class."""


def add_arguments(parser):
    """Add what the command takes."""
    parser.add_argument("release", metavar="RELEASE", help="file of a release (.skdp)")
    parser.add_argument("table", metavar="TABLE", help="the target's rows (.csv or .parquet)")
    parser.add_label("column with the labels that are known; other cells are empty")
    parser.add_argument(
        "--label-sampling",
        choices=("auto", "random", "stratified"),
        default="auto",
        help="how labelled rows were chosen: as a random sample, whose frequencies of classes are "
        "those of the table, or stratified, the same number of each class (default: stratified if "
        "two or more classes have labels, and all of these as many; otherwise random)",
    )
    parser.add_argument(
        "--class-prior",
        metavar="CLASS=SHARE",
        action="append",
        help="known share of a class among the target's rows; once for each class",
    )
    parser.add_output("the predictions", ".csv or .parquet")


def run(arguments, note):
    """Learn from the release and the target's rows; write what that predicts of these."""
    inputs = [arguments.release, arguments.table]
    target = check_output(arguments.output, TABLES, force=arguments.force, inputs=inputs)
    check_ending(target)
    release = Release.load(arguments.release)
    prior = class_shares(release.classes.tolist(), arguments.class_prior)
    note(f"reading {arguments.table!r}")
    frame = read_table(arguments.table)
    labels = _labels(frame, release, arguments)
    rows = _rows(frame, release, arguments)
    n_labels = 0 if labels is None else int(pd.notna(labels).sum())
    note(f"learning from the release and {len(rows):,} rows, {n_labels:,} of them labelled")
    model = DPTransferClassifier(
        release,
        label_sampling=arguments.label_sampling,
        class_prior=prior,
        random_state=0,
    )
    model.fit(rows, labels)
    probabilities = model.predict_proba(rows)
    predictions = {"class": model.classes_[probabilities.argmax(axis=1)]}
    for label, column in zip(model.classes_.tolist(), probabilities.T, strict=True):
        predictions[f"probability_{label}"] = column
    said = f"Wrote {str(target)!r}: {', '.join(predictions)}; one line for each row, in order."
    if write_table(pd.DataFrame(predictions), target, overwrite=arguments.force):
        said += (
            "\nClasses that spreadsheets would take for formulas have an apostrophe (') in front; "
            "write .parquet to\nhave them as they are."
        )
    return said


def class_shares(classes, given):
    """Return the share of each class by its label, as ``--class-prior`` gives them.

    Parameters
    ----------
    classes : sequence

    given : list of str or None
        Of the form CLASS=SHARE.

    Returns
    -------
    shares : dict or None
        None where none is given.

    Raises
    ------
    ValueError
        When they are not a share of each class, positive and of sum 1.

    Examples
    --------
    >>> class_shares((0, 1), ["1=0.2", "0=0.8"])
    {1: 0.2, 0: 0.8}
    """
    if given is None:
        return None
    classes, example = list(classes), f"as {classes[0]}=0.1"
    shares: dict = {}
    for text in given:
        label, _, share = text.rpartition("=")
        [label] = spelled_as(np.array([label], dtype=object), np.array(classes)).tolist()
        try:
            shares[label] = float(share)
        except ValueError as error:
            raise ValueError(
                f"--class-prior {text!r:.100} is no class and its share. Write CLASS=SHARE, "
                f"{example}."
            ) from error
    if set(shares) != set(classes) or len(given) != len(classes):
        raise ValueError(
            f"--class-prior is given for {list(shares)!r:.200}, {len(given)} in all, but the "
            f"classes are {classes!r:.200}. Give it once for each of these, {example}."
        )
    total = sum(shares.values())
    if min(shares.values()) <= 0 or not abs(total - 1) <= MAX_ROUNDING:
        raise ValueError(
            f"--class-prior gives shares that add up to {total:g}, the least of them "
            f"{min(shares.values()):g}. They must be positive and add up to 1."
        )
    return shares


def _labels(frame, release, arguments):
    """Return the label of each row, None where it has none; None without a column of them."""
    if arguments.label is None:
        return None
    where = "--label (leave it out where no label is known)"
    check_columns(frame, [arguments.label], arguments.table, where)
    cells, classes = frame[arguments.label], release.classes.tolist()
    codes = Vocabulary(classes).codes(cells)
    unknown = (codes < 0) & ~missing_values(cells)
    if unknown.any():
        known = ", ".join(f"{label!r:.50}" for label in classes[:10])
        raise ValueError(
            f"--label {arguments.label!r} has {unknown.sum():,} cells that are no class of the "
            f"release, whose classes are {known}. Spell labels as the release does, and leave "
            "the cells of unlabelled rows empty."
        )
    return np.array([*classes, None], dtype=object)[codes]


def _rows(frame, release, arguments):
    """Return the columns that the release knows, in the types that it expects."""
    where = f"the release {arguments.release!r}"
    if release.encoder is not None:
        names = release.encoder.names
        # Of what is missing, the release is restricted to the rest; of everything, it is refused.
        shared = [name for name in names if name in frame.columns] or names
        check_columns(frame, shared, arguments.table, where)
        return frame[shared]
    if release.feature_names is None:
        names = [name for name in frame.columns if name != arguments.label]
    else:
        names = release.feature_names.tolist()
    check_columns(frame, names, arguments.table, where)
    rows = pd.DataFrame({name: numbers(frame[name]) for name in names})
    faulty = [name for name in names if not np.isfinite(rows[name].to_numpy(dtype=float)).all()]
    if faulty:
        raise ValueError(
            f"{arguments.table!r} has cells that are no number in the column {faulty[0]!r:.100}, "
            f"and {where} has no place for missing values. Fill or leave out such rows."
        )
    return rows if release.feature_names is not None else rows.to_numpy()
