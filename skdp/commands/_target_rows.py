"""The target's table: its rows as releases read them, its IDs and its known outcomes."""

import numpy as np
import pandas as pd

from skdp.commands._tables import check_columns, spelled_otherwise
from skdp.tabular import (
    Vocabulary,
    cells_without_value,
    missing_values,
    number_forms,
    numbers,
    odd_rows,
    unread_findings,
)
from skdp.utils._frames import named_like
from skdp.utils._validation import listed
from skdp.utils._warnings import warn

# Column of predictions that marks rows whose outcome was known, and how columns of effects begin.
KNOWN, EFFECT = "known", "effect_"


def known_outcomes(frame, arguments):
    """Return the outcome of each row, NaN if unknown; None without a column of them."""
    if arguments.label is None:
        return None
    where = "--label (omit it if no outcome is known)"
    check_columns(frame, [arguments.label], arguments.table, where)
    cells = frame[arguments.label]
    outcomes = numbers(cells)
    unknown = ~np.isfinite(outcomes) & ~missing_values(cells)
    if unknown.any():
        signs, _, advice = number_forms(cells[unknown])
        hint = f" Some numbers have other signs: add {advice}." if signs else ""
        raise ValueError(
            f"--label {arguments.label!r} has {unknown.sum():,} cells that are not numbers. Leave "
            f"cells without an outcome empty.{hint}"
        )
    return outcomes


def known_labels(frame, classes, arguments):
    """Return the label of each row, None if unknown; None without a column of them."""
    if arguments.label is None:
        return None
    where = "--label (omit it if no label is known)"
    check_columns(frame, [arguments.label], arguments.table, where)
    cells, classes = frame[arguments.label], classes.tolist()
    codes = Vocabulary(classes).codes(cells)
    unknown = (codes < 0) & ~missing_values(cells)
    if unknown.any():
        spelled = ", ".join(f"{label!r:.50}" for label in classes[:10])
        raise ValueError(
            f"--label {arguments.label!r} has {unknown.sum():,} cells that are not classes of the "
            f"release: {spelled}. Spell labels as the release does and leave unlabeled cells "
            "empty."
        )
    return np.array([*classes, None], dtype=object)[codes]


def copied_ids(frame, taken, arguments):
    """Return the column to copy by its name; empty if none is named."""
    name = arguments.id
    if name is None:
        return {}
    check_columns(frame, [name], arguments.table, "--id")
    if name in (*taken, KNOWN) or (arguments.explain and name.startswith(EFFECT)):
        raise ValueError(
            f"--id {name!r} is also the name of a column of the predictions. Rename it in the "
            "table."
        )
    return {name: frame[name].to_numpy(dtype=object)}


def readable_rows(frame, releases, arguments):
    """Return the columns that the releases know, in the expected types."""
    if text := odd_rows(frame)[0]:
        warn(text)
    release = releases[0]
    where = "the releases" if len(releases) > 1 else f"the release {arguments.release[0]!r}"
    if release.encoder is not None:
        names = list(dict.fromkeys(name for one in releases for name in one.encoder.names))
        # Missing columns are left out of a release; it refuses if all are missing.
        shared = [name for name in names if name in frame.columns] or names
        if alike := spelled_otherwise([n for n in names if n not in shared], frame.columns):
            warn(
                f"{arguments.table!r} spells {listed(alike)} of {where} differently: case, white "
                "space or signs. Rename them, or they count as missing."
            )
        check_columns(frame, shared, arguments.table, where)
        columns = {column.name: column for one in releases for column in one.encoder.columns}
        frame = _read_as_listed(frame, [columns[name] for name in shared])
        named = (arguments.label, arguments.event, arguments.time, arguments.id)
        if others := [name for name in frame.columns if name not in (*shared, *named)]:
            warn(
                f"{arguments.table!r} has columns unknown to {where}, {listed(others)}: not used."
                f"{_labels_hint(frame, others, release, arguments)}"
            )
        return frame[shared]
    if release.feature_names is None:
        names = [name for name in frame.columns if name != arguments.label]
    else:
        names = release.feature_names.tolist()
        frame = named_like(frame, names)
    check_columns(frame, names, arguments.table, where)
    rows = pd.DataFrame({name: numbers(frame[name]) for name in names})
    faulty = [name for name in names if not np.isfinite(rows[name].to_numpy(dtype=float)).all()]
    if faulty:
        raise ValueError(
            f"{arguments.table!r} has cells that are not numbers in the column "
            f"{faulty[0]!r:.100}, and {where} does not allow missing values. Fill in or delete "
            "these rows."
        )
    return rows if release.feature_names is not None else rows.to_numpy()


def _labels_hint(frame, others, release, arguments):
    """Return which unused column seems to hold the labels, if no column of them was named."""
    if arguments.label is None and len(release.outcome.groups) > 0:
        classes = Vocabulary(list(release.outcome.groups))
        for name in others:
            codes, missing = classes.codes(frame[name]), missing_values(frame[name])
            if not missing.all() and (missing | (codes >= 0)).all():
                return f" If {name!r:.100} has known labels, name it by --label."
    return ""


def _read_as_listed(frame, columns):
    """Return a table with None for cells that are not what a column says; warn of these."""
    # The table is the target's own: whoever runs this may see its cells.
    for column in columns:
        values = frame[column.name]
        for finding in unread_findings(column, values):
            warn(f"{column.name!r:.100}: {finding.text}")
        _, unread = cells_without_value(column, values)
        if unread.any():
            frame = frame.assign(**{column.name: values.astype(object).mask(unread, None)})
    return frame
