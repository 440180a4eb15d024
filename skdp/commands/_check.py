"""``skdp check``: the mistakes in a private table, for its owner, before a release."""

import shlex

from skdp.commands._arguments import (
    add_outcome,
    add_people,
    add_table,
    outcome_columns,
    outcome_values,
    people,
    read_rows,
    read_schema,
    with_columns,
)
from skdp.commands._tables import add_column, check_columns
from skdp.tabular import COLUMN_KINDS, TABLE_KINDS, check_table

NAME = "check"
HELP = """Check private rows against a schema before a release; for their owner only.

example:
  skdp check rows.csv --schema schema.json --label outcome

Nothing is released, and no budget is spent. The report is private: it counts and quotes cells.
A stop is a finding that would silently ruin a release, such as other units; skdp release refuses
it too, until the table is corrected or the stop accepted by name. The exit code is then 1."""


def add_arguments(parser):
    """Add the arguments of the command."""
    add_private_rows(parser)


def add_private_rows(parser):
    """Add private rows, their schema, and the columns of the outcome and of people."""
    add_table(parser)
    add_outcome(parser, "column with the labels")
    add_people(parser)
    parser.add_argument("--schema", required=True, metavar="FILE", help="public schema (.json)")


def run(arguments, note):
    """Return the report on a table, and the exit code."""
    schema = schema_of(arguments)
    where = f"--schema {arguments.schema!r}"
    report = _checked(_rows_of(arguments, schema, note, where), schema, arguments)
    return str(report), 1 if report.stops else 0


def schema_of(arguments, *, label_required=False):
    """Return the public schema, which says what labels may be and leaves out their column."""
    with_outcome = label_required or arguments.label is not None
    schema = read_schema(arguments.schema, "--schema ", with_outcome=with_outcome)
    where = f"--schema {arguments.schema!r}"
    columns = outcome_columns(arguments, schema.outcome, where, required=label_required)
    for option, name in (columns | {"--group": arguments.group}).items():
        if name in schema.names:
            what = {"--label": "a label", "--group": "an ID"}.get(option, "an outcome")
            raise ValueError(
                f"{option} {name!r} is also a column of {where}. Delete it there: {what} is no "
                "feature."
            )
    return schema


def checked_rows(arguments, schema, note, where):
    """Return the features, outcomes and people of a private table that may be released.

    It has no stops but those that are accepted. ``where`` says what the schema is of.
    """
    _check_accepted(arguments, schema)
    frame = _rows_of(arguments, schema, note, where)
    groups = people(frame, arguments)
    refuse_stops(frame, schema, arguments)
    outcome, columns = schema.outcome, outcome_columns(arguments, schema.outcome, where)
    # What cannot be read was accepted, or is in few cells.
    labels = outcome.readable(outcome_values(frame, columns, outcome))
    return frame[list(schema.names)], labels, groups


def _rows_of(arguments, schema, note, where):
    """Return a private table, which has all columns of the schema and of the arguments."""
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
    text = "accept this stop of skdp check, such as age:clipped; repeatable"
    add_column(parser, "--accept", text, metavar="COLUMN:KIND", repeatable=True)


def _check_accepted(arguments, schema):
    """Raise ValueError where an accepted stop is none that can be found; by public names only."""
    outcome = outcome_columns(arguments, schema.outcome, "the schema").values()
    columns = [*schema.names, *outcome, *filter(None, [arguments.group])]
    for given in arguments.accept:
        column, _, kind = given.rpartition(":")
        of_column = column in columns and kind in COLUMN_KINDS
        if not of_column and given not in TABLE_KINDS:
            raise ValueError(
                f"--accept {given!r:.100} is nothing that can be found. Write COLUMN:KIND with a "
                "column of the schema, of the outcome or of --group and one of "
                f"{', '.join(COLUMN_KINDS)}; or one of {', '.join(TABLE_KINDS)}."
            )


def refuse_stops(frame, schema, arguments):
    """Raise ValueError where a table has stops that are not accepted, by their names alone."""
    stops = [stop.name for stop in _checked(frame, schema, arguments).stops]
    stops = [name for name in stops if name not in arguments.accept]
    if stops:
        raise ValueError(
            f"{arguments.table!r} has mistakes that would silently ruin the release. Nothing was "
            "charged. This line reveals private rows: keep it here. Run skdp check with the same "
            "table and schema to see more. Correct the table, or accept what is intended: "
            f"{' '.join(f'--accept {shlex.quote(name)}' for name in stops)}"
        )
