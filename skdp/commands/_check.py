"""``skdp check``: show the owner the mistakes in a private table before a release."""

import shlex
from dataclasses import replace

from skdp.commands._arguments import (
    add_outcome,
    add_people,
    add_table,
    is_release,
    outcome_columns,
    outcome_values,
    people,
    read_rows,
    read_schema,
    with_columns,
)
from skdp.commands._tables import add_column, check_columns
from skdp.tabular import COLUMN_KINDS, TABLE_KINDS, ClassOutcome, check_table

NAME = "check"
HELP = """Check private rows against a schema before a release.

example:
  skdp check rows.csv --schema schema.json --label outcome

Nothing is released and no budget is spent. Keep the report private: it counts and quotes cells.
Whoever received a release checks their own rows with --schema hospital.skdp; unknown outcomes and
unlisted categories are then no stops.
A stop is a mistake that would silently ruin a release, such as other units. The exit code is then
1, and skdp release refuses until you correct the table or accept the stop by name."""


def add_arguments(parser):
    """Add the arguments of the command."""
    add_private_rows(parser)


def add_private_rows(parser):
    """Add private rows, their schema and the columns of the outcome and of people."""
    add_table(parser)
    add_outcome(parser, "column with the labels")
    add_people(parser)
    parser.add_argument(
        "--schema",
        required=True,
        metavar="FILE",
        help="public schema (.json) or a release (.skdp)",
    )


def run(arguments, note):
    """Return the report on a table and the exit code."""
    schema = schema_of(arguments)
    where = f"--schema {arguments.schema!r}"
    received = is_release(arguments.schema)  # of other rows: outcomes of these may be unknown
    named = [name for name in (arguments.label, arguments.event, arguments.time) if name]
    if received and not named:
        schema = replace(schema, outcome=ClassOutcome())
    report = _checked(_rows_of(arguments, schema, note, where), schema, arguments)
    if received:
        report = _of_a_target(report, named)
    return str(report), 1 if report.stops else 0


def _of_a_target(report, outcome):
    """Return the report on rows that predictions are wanted for."""
    # Their outcomes may be unknown, few rows are enough, and an unlisted category is read as
    # unknown, as the release has learned nothing about it.
    usual = {f"{name}:{kind}" for name in outcome for kind in ("missing", "classes")}
    usual.add("few-rows")
    findings = [
        replace(finding, is_stop=finding.is_stop and finding.kind != "unlisted")
        for finding in report.findings
        if finding.name not in usual
    ]
    findings.sort(key=lambda finding: not finding.is_stop)
    return replace(report, findings=tuple(findings))


def schema_of(arguments, *, label_required=False):
    """Return the public schema, with the column of labels removed."""
    with_outcome = label_required or arguments.label is not None
    schema = read_schema(arguments.schema, "--schema ", with_outcome=with_outcome)
    where = f"--schema {arguments.schema!r}"
    columns = outcome_columns(arguments, schema.outcome, where, required=label_required)
    for option, name in (columns | {"--group": arguments.group}).items():
        if name in schema.names:
            what = {"--label": "a label", "--group": "an ID"}.get(option, "an outcome")
            raise ValueError(
                f"{option} {name!r} is also a column of {where}. Delete it there: {what} is not a "
                "feature."
            )
    return schema


def checked_rows(arguments, schema, note, where):
    """Return the features, outcomes and people of a private table without open stops.

    ``where`` names the schema or release.
    """
    _check_accepted(arguments, schema)
    frame = _rows_of(arguments, schema, note, where)
    groups = people(frame, arguments)
    refuse_stops(frame, schema, arguments)
    outcome, columns = schema.outcome, outcome_columns(arguments, schema.outcome, where)
    # Unreadable cells were accepted or are few.
    labels = outcome.readable(outcome_values(frame, columns, outcome))
    return frame[list(schema.names)], labels, groups


def _rows_of(arguments, schema, note, where):
    """Return a private table that has all columns of the schema and of the arguments."""
    columns = outcome_columns(arguments, schema.outcome, where) | {"--group": arguments.group}
    frame = read_rows(arguments, note, columns)
    check_columns(frame, schema.names, arguments.table, where)
    return frame


def _checked(frame, schema, arguments):
    """Return the report on a private table."""
    columns = outcome_columns(arguments, schema.outcome, "the schema")
    schema = with_columns(schema, columns)
    return check_table(frame, schema, label=arguments.label, group=arguments.group)


def add_accept(parser):
    """Add the option to accept stops."""
    text = "accept a stop of skdp check, as age:clipped"
    add_column(parser, "--accept", text, metavar="COLUMN:KIND", repeatable=True)


def _check_accepted(arguments, schema):
    """Raise ValueError if an accepted stop cannot exist; uses public names only."""
    outcome = outcome_columns(arguments, schema.outcome, "the schema").values()
    columns = [*schema.names, *outcome, *filter(None, [arguments.group])]
    for given in arguments.accept:
        column, _, kind = given.rpartition(":")
        of_column = column in columns and kind in COLUMN_KINDS
        if not of_column and given not in TABLE_KINDS:
            raise ValueError(
                f"--accept {given!r:.100} is not a stop. Write COLUMN:KIND with a column of the "
                "schema, outcome or --group and a kind of "
                f"{', '.join(COLUMN_KINDS)}; or one of {', '.join(TABLE_KINDS)}."
            )


def refuse_stops(frame, schema, arguments):
    """Raise ValueError if a table has stops that are not accepted; it names these only."""
    stops = [stop.name for stop in _checked(frame, schema, arguments).stops]
    stops = [name for name in stops if name not in arguments.accept]
    if stops:
        raise ValueError(
            f"{arguments.table!r} has mistakes that would silently ruin the release. Nothing was "
            "charged. Keep this line private. Run skdp check with this table and schema for "
            "details. Correct the table, or accept: "
            f"{' '.join(f'--accept {shlex.quote(name)}' for name in stops)}"
        )
