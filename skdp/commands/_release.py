"""``skdp release``: a release of noisy statistics, of whole records or people."""

import argparse
import secrets
from math import inf
from pathlib import Path

from skdp.commands._tables import check_columns, check_output, read_table
from skdp.privacy import PrivacyLedger
from skdp.release import result_lines
from skdp.source import DPStatisticsSource
from skdp.tabular import Schema, missing_values

NAME = "release"
HELP = """Make a release of private rows: noisy sums that protect whole records, or people.

example:
  skdp release rows.csv --label outcome --schema schema.json --epsilon 1 \\
      --ledger budget.json --budget-epsilon 2 --budget-delta 1e-5 -o hospital.skdp

The schema must be public. Rows of no listed class are left out silently, and a cell that
is no number, or no category, counts as missing: a warning would leak information. For the same
reason nothing of the rows, nor how many there are, is shown. Only the .skdp file may leave."""


def add_arguments(parser):
    """Add what the command takes."""
    parser.add_argument("table", metavar="TABLE", help="private rows (.csv or .parquet)")
    parser.add_label("column with the labels", required=True)
    parser.add_argument("--schema", required=True, metavar="FILE", help="public schema (.json)")
    parser.add_argument(
        "--epsilon",
        required=True,
        metavar="NUMBER",
        type=between(0, inf, "1 is a usual choice, smaller is more private"),
        help="privacy loss of a record, or of a person; smaller is more private",
    )
    small = between(0, 1, "use 1e-5 or less, far below 1 over the number of records")
    parser.add_argument(
        "--delta", metavar="NUMBER", type=small, default=1e-5, help="slack (default: 1e-5)"
    )
    parser.add_argument(
        "--group", metavar="COLUMN", help="column that says whose row it is: protects people"
    )
    ledger = parser.add_argument_group("budget", "the account of what these rows have spent")
    ledger.add_argument("--ledger", metavar="FILE", help="charged before noise is drawn (.json)")
    ledger.add_argument(
        "--budget-epsilon",
        metavar="NUMBER",
        type=between(0, inf, "say what all releases of these rows may spend together"),
        help="largest total epsilon; with a new ledger",
    )
    ledger.add_argument(
        "--budget-delta", metavar="NUMBER", type=small, help="largest total delta; likewise"
    )
    parser.add_output("the release", ".skdp")


def between(low, high, remedy):
    """Return a type of arguments: a number between two others, these excluded.

    Examples
    --------
    >>> between(0, 1, "use 1e-5")("1e-5")
    1e-05
    """

    def number(text):
        try:
            value = float(text)
        except ValueError:
            value = low
        if not low < value < high:
            above = f"above {low:g}" + ("" if high == inf else f" and below {high:g}")
            raise argparse.ArgumentTypeError(f"must be a number {above}, got {text!r}; {remedy}")
        return value

    return number


def run(arguments, note):
    """Check all that can be checked; charge the ledger; draw noise; write the release."""
    stated = {arguments.budget_epsilon, arguments.budget_delta} != {None}
    if stated and arguments.ledger is None:
        raise ValueError(
            "--budget-epsilon and --budget-delta need --ledger, the file that holds the account. "
            "Name one."
        )
    inputs = [arguments.table, arguments.schema, *filter(None, [arguments.ledger])]
    target = check_output(arguments.output, (".skdp",), force=arguments.force, inputs=inputs)
    schema = _schema(arguments)
    note(f"reading {arguments.table!r}")
    frame, labels, groups = _rows(arguments, schema)
    source = DPStatisticsSource(
        arguments.epsilon,
        arguments.delta,
        encoder=schema,
        privacy_unit="record" if groups is None else "group",
    )
    if arguments.ledger is None:
        note("warning: no --ledger, so that nothing adds up what several releases spend")
        note("adding noise to sums over the rows")
        source.fit(frame, labels, groups=groups)
    else:
        _charge(arguments, source, frame, labels, groups, note)
    said = _result(source.release_, target)
    _save(source.release_, target, arguments.force)
    return said


def _result(release, target):
    """Return what to say of a release."""
    lines = [f"Wrote {str(target)!r}: {release!r}.", *result_lines(release)]
    lines.append(
        f"Only {target.name!r} may leave. The table, the ledger and what is on this screen stay "
        f"here.\nRead what it guarantees: skdp describe {target.name}"
    )
    return "\n".join(lines)


def _save(release, target, force):
    """Write a release; under another name where a file of its name appeared meanwhile."""
    try:
        release.save(target, overwrite=force)
    except FileExistsError:
        # Its budget is spent, and nothing gives that back.
        other = target.with_stem(f"{target.stem}-{secrets.token_hex(4)}")
        release.save(other, overwrite=False)
        raise ValueError(
            f"--output {str(target)!r} was written by somebody else meanwhile, and stays as it "
            f"is. The release, which is charged, was saved as {str(other)!r}."
        ) from None


def _schema(arguments):
    """Return the public schema, which must list the classes and leave out the label."""
    try:
        schema = Schema.read(arguments.schema)
    except ValueError as error:
        raise ValueError(f"--schema {arguments.schema!r}: {error}") from None
    if schema.classes is None:
        raise ValueError(
            f"--schema {arguments.schema!r} lists no classes. Add them by hand, as "
            '"classes": ["alive", "dead"], or draft the schema with --label.'
        )
    for argument in ("label", "group"):
        name = getattr(arguments, argument)
        if name in schema.names:
            raise ValueError(
                f"--{argument} {name!r} is also a column of --schema {arguments.schema!r}. "
                f"Delete it there: what is {'predicted' if argument == 'label' else 'an id'} is "
                "no feature."
            )
    return schema


def _rows(arguments, schema):
    """Return the columns of the schema, labels and, where people are protected, ids."""
    frame = read_table(arguments.table)
    asked = {"--label": arguments.label, "--group": arguments.group}
    for argument, name in asked.items():
        check_columns(frame, [name] if name else [], arguments.table, argument)
    check_columns(frame, schema.names, arguments.table, f"--schema {arguments.schema!r}")
    columns, labels = frame[list(schema.names)], frame[arguments.label]
    if arguments.group is None:
        return columns, labels, None
    groups = frame[arguments.group]
    if missing_values(groups).any():
        raise ValueError(
            f"--group {arguments.group!r} has empty cells. Say of each row whose it is, or leave "
            "such rows out."
        )
    return columns, labels, groups


def _charge(arguments, source, frame, labels, groups, note):
    """Enter the release in the ledger, then make it."""
    limits = {"epsilon": arguments.budget_epsilon, "delta": arguments.budget_delta}
    if None in limits.values() and not Path(arguments.ledger).exists():
        raise ValueError(
            f"--ledger {arguments.ledger!r} is no file yet. If these rows have a ledger, name "
            "it; otherwise begin one by stating --budget-epsilon and --budget-delta."
        )
    try:
        ledger = PrivacyLedger(**limits, path=arguments.ledger)
    except ValueError as error:
        raise ValueError(f"--ledger {arguments.ledger!r}, --budget-...: {error}") from None
    before = len(ledger.entries)
    note(f"charging {arguments.ledger!r}, then adding noise to sums over the rows")
    try:
        ledger.release(source, frame, labels, groups=groups, name=Path(arguments.output).name)
    finally:
        total = ledger.total
        if len(ledger.entries) > before:
            note(
                f"spent so far: epsilon {total.epsilon:g} of {_limit(ledger.epsilon)}, delta "
                f"{total.delta:g} of {_limit(ledger.delta)}"
            )


def _limit(value):
    return "any" if value is None else f"{value:g}"
