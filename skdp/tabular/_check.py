"""A check of a private table against its schema before a release, for its owner only.

Findings are exact: show them on the owner's screen only.
"""

import os
import shlex
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skdp.tabular._columns import (
    LEAST,
    MOST,
    NumericColumn,
    cells_without_value,
    mostly_far_outside,
    values_outside,
)
from skdp.tabular._leaks import repeated_outcome
from skdp.tabular._mistakes import (
    FEW,
    MANY,
    are_dates,
    described,
    entries_of,
    id_texts,
    is_known_after,
    is_record_number,
    missing_option,
    most_frequent,
    nines,
    number_forms,
    odd_rows,
    repeats_like_people,
    said_of_ids,
    spellings,
    start_of,
)
from skdp.tabular._schema import Schema, as_schema
from skdp.tabular._values import canonical, missing_values, numbers
from skdp.utils._frames import as_elements, as_frame, named_like, text_width
from skdp.utils._validation import listed

# Kinds of findings by which stops are accepted: of a column, and of the whole table.
COLUMN_KINDS = (
    *("codes", "clipped", "decimals", "unread", "spelling", "unlisted"),
    *("missing", "constant", "classes", "bound", "ids", "negative", "events", "leak"),
)
TABLE_KINDS = ("duplicates", "people", "totals", "few-rows")
# Rows of a class below which noise at ε = 1, about 4 in a count, hides its existence, and
# below which hardly anything can be learned about it.
_NO_CLASS, _SMALL_CLASS = 5, 30
# Share of the horizon below which nearly all times suggest another unit, and share of times that
# may be below it if the others are beyond; the quantile for "nearly all".
_EARLY, _NEARLY = 0.05, 0.995
# Longest line of a report in characters, as terminals show.
_WIDTH = 90
# What is said of labels that were not checked.
_NO_LABEL = "labels were not checked, as no label was named"
# Number of values with a sign such as "<" that a remedy repeats.
_SHOWN = 3
# Smallest number of different rows or IDs for which their frequencies are evidence.
_DIFFERENT = 10


@dataclass(frozen=True)
class TableFinding:
    """One finding of a check of a table.

    Parameters
    ----------
    column : str or None
        Name of the column; None for the whole table.

    kind : str
        A public code: "codes", "clipped", "decimals", "unread", "spelling", "unlisted",
        "missing", "constant", "classes", "bound", "ids", "negative", "events" or "leak" of
        a column; "duplicates", "people", "totals" or "few-rows" of the table.

    text : str
        The finding, with counts and values of the rows: private.

    is_stop : bool
        Whether it would silently ruin a release, and must be accepted by its name; otherwise
        it is a remark.

    Examples
    --------
    >>> from skdp.tabular import TableFinding
    >>> TableFinding("age", "clipped", "590 of 600 values lie outside 18 to 110.", True).name
    'age:clipped'
    """

    column: str | None
    kind: str
    text: str
    is_stop: bool

    @property
    def name(self) -> str:
        """str: the name to accept it by: "column:kind", or the kind for the whole table."""
        return self.kind if self.column is None else f"{self.column}:{self.kind}"


@dataclass(frozen=True)
class TableReport:
    """Private findings of :func:`~skdp.tabular.check_table`; keep them with the rows.

    Parameters
    ----------
    n_rows : int
        Number of rows.

    counts : tuple of tuple
        For each column its name, and the numbers of cells that are missing, unreadable (not a
        number or listed category) and clipped to the bounds. A numeric label is last.

    classes : tuple of tuple
        Each class with its number of rows; empty if labels are numbers or were not checked.

    findings : tuple of TableFinding
        Stops first, then remarks.

    outcome : str, default=""
        Description of the outcome if it is a number or a time.

    See Also
    --------
    check_table : Returns it.

    Examples
    --------
    >>> from skdp.tabular import TableReport
    >>> print(TableReport(2, (("age", 0, 0, 1),), (), ()))
    This report is private: it tells about the rows. It stays here.
    2 rows; labels were not checked, as no label was named
    <BLANKLINE>
      column  missing  not read  clipped
      age           0         0        1
    <BLANKLINE>
    No stop was found.
    """

    n_rows: int
    counts: tuple[tuple[str, int, int, int], ...]
    classes: tuple[tuple[Any, int], ...]
    findings: tuple[TableFinding, ...]
    outcome: str = ""

    @property
    def stops(self) -> tuple[TableFinding, ...]:
        """Tuple of TableFinding: mistakes that would silently ruin a release."""
        return tuple(finding for finding in self.findings if finding.is_stop)

    @property
    def remarks(self) -> tuple[TableFinding, ...]:
        """Tuple of TableFinding: all other findings."""
        return tuple(finding for finding in self.findings if not finding.is_stop)

    def __str__(self) -> str:
        classes = ", ".join(f"{str(label)!r:.40} {count:,}" for label, count in self.classes)
        labels = f"classes {classes}" if classes else self.outcome or _NO_LABEL
        width = text_width(_WIDTH)
        lines = [
            "This report is private: it tells about the rows. It stays here.",
            *textwrap.wrap(f"{self.n_rows:,} rows; {labels}", width, subsequent_indent="  "),
            "",
            *self._table(),
            "",
        ]
        if self.stops:
            what = "which would silently ruin a release or predictions"
            lines.append(f"Stops, {what}. Correct them, or accept:")
            lines += self._listed(self.stops)
        else:
            lines.append("No stop was found.")
        if self.remarks:
            lines += ["Remarks:", *self._listed(self.remarks)]
        return "\n".join(lines)

    def _table(self):
        """Yield lines with the counts of each column."""
        cells = [["column", "missing", "not read", "clipped"]]
        cells += [[f"{name:.30}", *(f"{n:,}" for n in counts)] for name, *counts in self.counts]
        first, *others = (max(map(len, column)) for column in zip(*cells, strict=True))
        for name, *counts in cells:
            numbers = (text.rjust(width) for text, width in zip(counts, others, strict=True))
            yield f"  {name.ljust(first)}  {'  '.join(numbers)}"

    @staticmethod
    def _listed(findings):
        lines, indent, width = [], " " * 4, text_width(_WIDTH)
        for finding in findings:
            lines.append(f"  {finding.name}")
            lines += textwrap.wrap(
                finding.text, width, initial_indent=indent, subsequent_indent=indent
            )
        return lines


def check_table(
    frame: pd.DataFrame,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str],
    *,
    label: str | None = None,
    group: str | None = None,
) -> TableReport:
    """Check a private table against a schema, for its owner, before any budget is spent.

    A release clips values outside the schema or counts them as missing, silently, because a
    warning would leak information. A table in other units thus silently ruins the release and
    wastes its budget. This check shows such mistakes to the owner beforehand. It adds no noise:
    **the report is private** and must stay with the rows.

    A *stop* is a finding that would silently ruin a release. It needs at least five cells and a
    share of the rows, so that a single record hardly ever decides. Other findings are remarks.

    Parameters
    ----------
    frame : DataFrame
        The columns of the schema and of the labels. Other columns are searched for duplicates
        and for IDs of people.

    schema : Schema, mapping, str or path-like
        The public description of the columns. A string that starts with a brace is JSON, any
        other a path.

    label : str or None, default=None
        Column of labels, to check against the classes of the schema or the bounds of its
        outcome. None if the outcome is a time to an event: its two columns are checked if the
        frame has them.

    group : str or None, default=None
        Column of people's IDs, if people are to be protected.

    Returns
    -------
    report : TableReport
        Prints as text.

    Raises
    ------
    ValueError
        If the frame has no rows, lacks a column or repeats it, or if labels are given for a
        schema without classes and outcome, or with a time to an event.

    See Also
    --------
    skdp.schema_from : Drafts a schema.

    Notes
    -----
    Correct the table, not the schema: bounds and categories that were adapted to private rows
    reveal these rows. A release tells its readers that its owner found the table in order or
    accepted the findings. No guarantee covers what an owner does to a table beforehand.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skdp.tabular import check_table
    >>> schema = {"temperature": {"type": "numeric", "low": 30, "high": 45}}
    >>> table = pd.DataFrame({"temperature": np.linspace(96, 104, 200)})  # °F
    >>> report = check_table(table, schema)
    >>> [finding.name for finding in report.stops]
    ['temperature:clipped']
    >>> print(report.stops[0].text)
    200 of 200 values (100.0%) lie outside 30 to 45. Are they in other units?
    """
    schema = as_schema(schema)
    outcome, of_outcome = schema.outcome, schema.outcome.label_columns(label, "check_table")
    wanted = [*schema.names, *of_outcome, *filter(None, (label, group))]
    frame = named_like(as_frame(frame, "frame"), wanted)
    if label is None and not set(of_outcome) & set(getattr(frame, "columns", [])):
        of_outcome = []
    _require_columns(frame, [*schema.names, *of_outcome], schema, label, group)
    counts, findings = [], []
    for column in schema.columns:
        values = frame[column.name]
        missing, unread = cells_without_value(column, values)
        clipped, of_column = 0, [*unread_findings(column, values)]
        if isinstance(column, NumericColumn):
            clipped, of_numbers = _clipping_findings(column, values)
            of_column += [*of_numbers, *_number_findings(column.name, values)]
        findings += [*of_column, *_absence_findings(column, missing)]
        if of_outcome:
            findings += _leak_findings(column, values, outcome, [frame[c] for c in of_outcome])
        if not of_column and not clipped:
            findings += _constant_findings(column, values, missing | unread)
        counts.append((column.name, int(missing.sum()), int(unread.sum()), clipped))
    classes, checked = (), ""
    if of_outcome:
        of_labels = _OUTCOME_FINDINGS[outcome.kind](frame, outcome, *of_outcome)
        classes, counted, found = of_labels
        counts += counted
        findings += found
        checked = "" if classes else outcome.checked(of_outcome)
    findings += _person_findings(frame, schema, label, group)
    findings += _row_findings(frame, schema)
    findings.sort(key=lambda finding: not finding.is_stop)
    return TableReport(len(frame), tuple(counts), classes, tuple(findings), checked)


def _require_columns(frame, needed, schema, label, group):
    """Raise ValueError unless each column to check exists exactly once."""
    names = list(getattr(frame, "columns", []))
    for name in (*needed, *filter(None, (label, group))):
        if names.count(name) != 1:
            raise ValueError(
                f"The 'frame' parameter of check_table must have one column {name!r:.100}, got "
                f"{names.count(name)}. Pass a DataFrame with the columns of the schema, the "
                "labels and the IDs."
            )
    if not len(frame):
        raise ValueError("The 'frame' parameter of check_table has no rows. Pass some.")
    if label is not None and not schema.outcome.is_complete:
        raise ValueError(
            "The 'schema' parameter of check_table has neither classes nor a numeric outcome, "
            "but 'label' is given. Add the classes to the schema."
        )


def _of(count, total, what="values"):
    return f"{count:,} of {total:,} {what} ({count / total:.1%})"


def _is_many(count, total, share):
    """Return whether there are enough cells to stop a release."""
    return count >= LEAST and count > share * total


def unread_findings(column, values):
    """Yield findings about cells that are neither missing nor what the column says."""
    missing, unread = cells_without_value(column, values)
    cells, n = as_elements(values)[unread], int((~missing).sum())
    if isinstance(column, NumericColumn):
        yield from _unread_findings(column.name, cells, n)
    else:
        yield from _listing_findings(column.name, cells, n, column.categories, "count as missing")


def _clipping_findings(column, values):
    """Return the number of clipped values of a numeric column, and the findings about them."""
    given = numbers(values)
    given = given[~np.isnan(given)]
    outside = values_outside(given, column.low, column.high)
    if len(outside):
        return len(outside), [_clipped_finding(column, given, outside)]
    return 0, [*_code_findings(column.name, given)]


def _number_findings(name, values):
    """Yield remarks on record numbers; not stops, because one repeated record decides."""
    if is_record_number(name, values):
        text = (
            "All values are different whole numbers, like record numbers or IDs. Those are not "
            "features and mislead if records are sorted by label: delete the column from the "
            "schema."
        )
        yield TableFinding(name, "ids", text, False)


def _code_findings(name, values):
    """Yield findings about numbers of nines far from all others."""
    if found := nines(values):
        text = f"{listed(found, show=str)} lies apart from all other values: {_code(name, found)}"
        yield TableFinding(name, "codes", text, False)


def _code(name, found):
    """Return the remedy for numbers that may stand for missing values."""
    return (
        "if this is a code for missing values, empty these cells, or add "
        f"{missing_option({name: found})}."
    )


def _clipped_finding(column, values, outside):
    """Return a finding that explains values outside the bounds of a column."""
    low, high, n, count = column.low, column.high, len(values), len(outside)
    text = f"{_of(count, n)} lie outside {low:g} to {high:g}."
    distinct, times = np.unique(outside, return_counts=True)
    most, code = times.max(), distinct[times.argmax()]
    if mostly_far_outside(values, low, high):
        text += " Are they in other units?"
    elif most >= LEAST and most > MOST * count:
        text += f" {most:,} of these are {code:g}: {_code(column.name, [f'{code:g}'])}"
        return TableFinding(column.name, "codes", text, _is_many(count, n, FEW))
    else:
        middle = (low + high) / 2
        farthest = distinct[np.argsort(-abs(distinct - middle), kind="stable")]
        text += f" They are clipped; the farthest: {listed(farthest.tolist(), 3, '{:g}'.format)}."
        if found := nines(values):
            text += f" {listed(found, show=str)} lies apart: {_code(column.name, found)}"
    return TableFinding(column.name, "clipped", text, _is_many(count, n, MANY))


def _unread_findings(name, cells, n):
    """Yield findings about cells of a numeric column that are not numbers."""
    signs, extras, advice = number_forms(cells)
    if signs:
        text = (
            f"{_of(signs, n)} have a decimal comma, thousands separators, a currency or a minus "
            "sign behind the number, and count as missing. Write them like -1234.5, or add "
            f"{advice}."
        )
        yield TableFinding(name, "decimals", text, _is_many(signs, n, FEW))
    if len(cells) > signs:
        text = f"{_of(len(cells) - signs, n)} are not numbers, and count as missing."
        if extras:
            shown = listed(extras.most_common(), 3, _counted if len(extras) > 1 else _quoted)
            text += (
                f" Of these, {extras.total():,} are numbers with {shown}: write the number "
                f"alone, in the unit of the bounds{_unit_hint(name, cells, extras)}."
            )
        text += f" The most frequent: {most_frequent(cells)}.{_date_hint(cells)}"
        yield TableFinding(name, "unread", text, _is_many(len(cells) - signs, n, MANY))


def _counted(pair):
    return f"{pair[0]!r:.20} ({pair[1]:,})"


def _quoted(pair):
    return f"{pair[0]!r:.20}"


def _unit_hint(name, cells, extras):
    """Return the option that removes the unit or sign of numbers, if all have the same one."""
    (unit, *others), signs = extras, set("=~≈*,")
    if others or signs & set(unit):
        return ""
    option = f", or add --units={shlex.quote(unit)}"
    if not set("<>≤≥") & set(unit):
        return option
    marks = sorted({cell for cell in cells.tolist() if isinstance(cell, str) and unit in cell})
    leave_out = missing_option({name: marks[:_SHOWN]}) + ",..." * (len(marks) > _SHOWN)
    return f"{option}, which reads '{unit}5' as 5, or {leave_out}, which empties such cells"


def _date_hint(cells):
    hint = " These are dates: turn them into numbers, such as an age or days since a public date."
    return hint if are_dates(cells) else ""


def _listing_findings(name, cells, n, listing, fate):
    """Yield findings about cells that are not listed as categories or classes."""
    alike, other = spellings(cells, listing)
    n_alike, n_other = (sum(count for _, count, _ in texts) for texts in (alike, other))
    if n_alike:
        text = (
            f"{_of(n_alike, n)} differ from a listed one in case, white space or "
            f"punctuation, and {fate}: {described(alike)}."
        )
        yield TableFinding(name, "spelling", text, _is_many(n_alike, n, FEW))
    if n_other:
        text = f"{_of(n_other, n)} are not listed, and {fate}: {described(other)}."
        text += f" Listed are {listed(listing)}."
        yield TableFinding(name, "unlisted", text, _is_many(n_other, n, MANY))


def _absence_findings(column, missing):
    """Yield findings about missing values."""
    n, count = len(missing), int(missing.sum())
    if count == n:
        text = "All values are missing: nothing can be learned from this column."
        yield TableFinding(column.name, "missing", text, not column.missing)
    elif count and not column.missing:
        as_what = "no category" if column.is_one_hot else "the middle of the scale"
        text = (
            f"{_of(count, n)} are missing and count as {as_what}, because the schema does not "
            "allow missing values."
        )
        yield TableFinding(column.name, "missing", text, _is_many(count, n, MANY))


def _leak_findings(column, values, outcome, labels):
    """Yield a finding about a column that repeats the outcome, or is named as if it did."""
    if repeats := repeated_outcome(column, values, outcome, labels):
        text = (
            f"{repeats}, like a column that is filled in with the outcome or later. If so, delete "
            "it from the schema: it is unknown when a prediction is made."
        )
        yield TableFinding(column.name, "leak", text, True)
    elif is_known_after(column.name):
        text = (
            "Its name suggests that it is known only with the outcome, like a time of follow-up "
            "or a length of stay, and leaks it. If so, delete it from the schema."
        )
        yield TableFinding(column.name, "leak", text, False)


def _constant_findings(column, values, absent):
    """Yield a finding about a column with a single value."""
    if not absent.all() and np.ptp(column.positions(values)[~absent]) == 0:
        text = "All values present are the same: nothing can be learned from this column."
        yield TableFinding(column.name, "constant", text, False)


def _left_out_findings(name, count, n, what="labels"):
    """Yield a finding about missing outcomes."""
    if count:
        text = f"{_of(count, n, what)} are missing, and their rows are left out."
        yield TableFinding(name, "missing", text, _is_many(count, n, MOST))


def _label_findings(frame, outcome, label):
    """Return the classes with their sizes, no counts, and findings about the labels."""
    values = frame[label]
    codes, missing = outcome.codes(values), missing_values(values)
    sizes = np.bincount(codes[codes >= 0], minlength=outcome.n_cells).tolist()
    classes = tuple(zip(outcome.classes, sizes, strict=True))
    unread = (codes < 0) & ~missing
    n, count = len(missing), int(missing.sum())
    cells, fate = as_elements(values)[unread], "their rows are left out"
    findings = [*_listing_findings(label, cells, n - count, outcome.classes, fate)]
    findings += _left_out_findings(label, count, n)
    for least, most, so_many, is_stop in (
        (0, _NO_CLASS, "noise hides so few rows", True),
        (_NO_CLASS, _SMALL_CLASS, "so few rows teach little", False),
    ):
        small = [f"{str(c)!r:.40} ({size:,})" for c, size in classes if least <= size < most]
        if small:
            text = f"{listed(small, show=str)}: {so_many}."
            findings.append(TableFinding(label, "classes", text, is_stop))
    return classes, [], findings


def _outcome_findings(frame, outcome, label):
    """Return no classes, the counts of numeric labels, and findings about them."""
    values, column = frame[label], outcome.column(label)
    missing, unread = cells_without_value(column, values)
    n, count = len(missing), int(missing.sum())
    clipped, of_numbers = _clipping_findings(column, values)
    findings = [*unread_findings(column, values), *of_numbers]
    left_out = "count as missing", "their rows are left out"
    findings = [replace(finding, text=finding.text.replace(*left_out)) for finding in findings]
    findings += _left_out_findings(label, count, n)
    absent = missing | unread
    if absent.all():
        text = "No label is a number: nothing can be learned about the outcome."
        findings.append(TableFinding(label, "unread", text, True))
    elif np.ptp(places := column.positions(values)[~absent]) == 0:
        text = "All labels are the same within the bounds: the outcome cannot be learned."
        findings.append(TableFinding(label, "constant", text, True))
    else:
        at_ends = {outcome.low: int((places == 0).sum()), outcome.high: int((places == 1).sum())}
        bound, at_bound = max(at_ends.items(), key=lambda pair: pair[1])
        if at_bound > MOST * len(places) and not (outcome.zero and bound == 0):
            remedy = "are the bounds too narrow, or is the outcome rather one of two classes?"
            if bound == 0:
                remedy = (
                    'if they are real zeros, such as no costs, add "zero": true to the outcome.'
                )
            text = (
                f"{_of(at_bound, len(places), 'labels')} are at or beyond the bound {bound:g}. "
                f"Such rows cannot be distinguished: {remedy}"
            )
            findings.append(TableFinding(label, "bound", text, False))
    return (), [(label, count, int(unread.sum()), clipped)], findings


def _exit_findings(frame, outcome, name, time):
    """Return no classes, the counts of events and times, and findings about them."""
    n = len(frame)
    cells = [as_elements(frame[column]) for column in (name, time)]
    happened, times = outcome.events(cells[0]), numbers(cells[1])
    counts, findings = [], []
    for column, given, unread in zip((name, time), cells, outcome.unread(*cells), strict=True):
        missing = missing_values(given)
        findings += _left_out_findings(column, int(missing.sum()), n, "values")
        if unread.any():
            wanted, hint = "no numbers", ""
            if column == name:
                wanted = "neither 0 or 1, true or false, nor yes or no"
                hint = ' If one of them is the event, name it in the schema: "event_value".'
            text = (
                f"{_of(int(unread.sum()), n)} are {wanted}, and their rows are left out. The most "
                f"frequent of these: {most_frequent(given[unread])}.{_date_hint(given[unread])}"
                f"{hint}"
            )
            findings.append(TableFinding(column, "unread", text, unread.sum() >= LEAST))
        late = int((times > outcome.horizon).sum()) if column == outcome.time else 0
        counts.append((column, int(missing.sum()), int(unread.sum()), late))
    if (start := start_of(frame, outcome.time)) is not None:
        text = (
            f"This is a start/stop table: rows begin, by {start!r:.100}, where the row before "
            "ended. Each would count as followed from 0. Keep one row per person, with the first "
            "values of the columns and the last time and event."
        )
        findings.append(TableFinding(None, "people", text, True))
    elif (entry := entries_of(frame, outcome.time)) is not None:
        text = (
            f"{entry!r:.100} seems to say when rows came under observation, but all count as "
            "followed from 0, which understates the risk. If so, use the time since entry, and "
            "the entry as a column."
        )
        findings.append(TableFinding(outcome.time, "events", text, False))
    competing = (outcome.codes(*cells) >= outcome.n_cells).sum() if outcome.competing else 0
    if competing:
        text = (
            f"{_of(int(competing), n)} have a competing event and are censored there: predicted "
            "probabilities are those if competing events did not occur."
        )
        findings.append(TableFinding(name, "events", text, False))
    negative = int((times < 0).sum())
    if negative:
        text = f"{_of(negative, n, 'times')} are negative, and their rows are left out."
        stop = _is_many(negative, n, FEW)
        findings.append(TableFinding(outcome.time, "negative", text, stop))
    known = (happened >= 0) & (times >= 0)
    with_event = known & (happened == 1)
    findings += _horizon_findings(outcome, times[known], times[with_event])
    findings += _event_findings(name, times, known, with_event, outcome.horizon)
    return (), counts, findings


# By the kind of the outcome: classes with their sizes, counts of its columns, and findings.
_OUTCOME_FINDINGS: dict[str, Callable[..., Any]] = {
    "class": _label_findings,
    "number": _outcome_findings,
    "event": _exit_findings,
}


def _horizon_findings(outcome, times, of_events):
    """Yield findings about times that are far below the horizon or beyond it."""
    if len(times) < LEAST:
        return
    horizon, (first, last) = outcome.horizon, np.quantile(times, [_EARLY, _NEARLY])
    if last < _EARLY * horizon or first > horizon:
        side = "beyond" if first > horizon else f"below {_EARLY:.0%} of"
        text = f"Nearly all times are {side} the horizon {horizon:g}. Are they in its unit?"
        yield TableFinding(outcome.time, "bound", text, True)
    elif late := int((of_events > horizon).sum()):
        text = (
            f"{_of(late, len(of_events), 'events')} are after the horizon {horizon:g}: these rows "
            "count as without the event there."
        )
        yield TableFinding(outcome.time, "bound", text, False)


def _event_findings(name, times, known, with_event, horizon):
    """Yield findings about how many rows have the event up to the horizon."""
    n, count = int(known.sum()), int((with_event & (times <= horizon)).sum())
    if count and with_event.sum() == n:
        text = "All rows have the event: does the table lack those who left without it?"
        yield TableFinding(name, "constant", text, False)
    elif count < _SMALL_CLASS:
        what = "noise hides so few" if count < _NO_CLASS else "this teaches little"
        text = f"{_of(count, max(n, 1), 'rows')} have the event up to the horizon: {what}."
        yield TableFinding(name, "events", text, count < _NO_CLASS)


def _person_findings(frame, schema, label, group):
    """Yield findings about IDs of people, or about missing ones."""
    if group is None:
        names = [name for name in frame.columns if name != label and list(frame).count(name) == 1]
        theirs = {name: text for name in names if (text := said_of_ids(name, frame[name]))}
        if theirs:
            yield TableFinding(None, "people", " ".join(theirs.values()), True)
        for name in schema.names:
            if name not in theirs and repeats_like_people(frame[name]):
                text = (
                    "Equal values are adjacent, or equally frequent, like IDs of people with "
                    "several rows. If these are IDs, name the column with --group and delete it "
                    "from the schema."
                )
                yield TableFinding(name, "ids", text, False)
        return
    values = frame[group]
    missing = missing_values(values)
    if missing.any():
        text = (
            f"{_of(int(missing.sum()), len(missing), 'ids')} are missing: a release refuses them."
        )
        yield TableFinding(group, "missing", text, True)
    ids = id_texts(values)
    counts = ids.value_counts()
    if not len(counts):
        return
    if counts.iloc[0] == 1:
        text = "Each id occurs once: rows are people already, and protecting rows costs less."
        yield TableFinding(group, "ids", text, False)
    elif len(counts) >= _DIFFERENT and _is_many(counts.iloc[0], len(ids), MANY):
        text = (
            f"One id, {str(counts.index[0])!r:.40}, has {_of(counts.iloc[0], len(ids), 'rows')} "
            "and counts as one person. Does it mean that the person is unknown?"
        )
        yield TableFinding(group, "ids", text, True)


def _comparable(values):
    """Return a column whose cells are equal if any reader could make them equal."""
    if is_numeric_dtype(values.dtype):
        return numbers(values)
    elements = as_elements(values)
    texts = [v if isinstance(v, str) else str(canonical(v)) for v in elements.tolist()]
    return np.array(texts, dtype=object)


def _row_findings(frame, schema):
    """Yield findings about whole rows: copies, and their number."""
    cells = [_comparable(frame.iloc[:, i]) for i in range(frame.shape[1])]
    rows = pd.DataFrame(dict(enumerate(cells)))
    hashes = pd.util.hash_pandas_object(rows, index=False).to_numpy()
    n, different = len(frame), len(np.unique(hashes))
    copies = n - different
    if copies > MANY * n:
        # Copies are not chance if a column distinguishes nearly all rows, as IDs and measurements
        # of many digits do, or if most copies lie equally far behind their originals, as in a
        # table that was pasted twice.
        distinct = max(rows[i].nunique() for i in rows)
        apart = pd.Series(np.arange(n)).groupby(hashes).diff()
        pasted = apart[apart > 1].value_counts().max() > MOST * copies
        stop = different >= _DIFFERENT and (pasted or distinct > 0.9 * different)
        text = (
            f"{_of(copies, n, 'rows')} are copies of others in all columns. A person who is in "
            "the table twice counts twice and is protected half as well. If people have several "
            "rows, name the column of their IDs (group=, --group)."
        )
        yield TableFinding(None, "duplicates", text, bool(stop and copies >= LEAST))
    text, is_stop = odd_rows(frame)
    if text:
        yield TableFinding(None, "totals", text, is_stop)
    # With fewer, noise at ε = 1 exceeds most differences of means.
    wanted = 10 * len(schema.encoded_names)
    if n < wanted:
        text = (
            f"{n:,} rows are few for {len(schema.encoded_names)} encoded columns: a rule of thumb "
            f"is ten per column, {wanted:,}, at ε = 1. Leave out columns, or spend more."
        )
        yield TableFinding(None, "few-rows", text, False)
