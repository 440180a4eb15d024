"""``skdp schema``: draft a public schema, or combine the schemas of several owners."""

from math import inf

from skdp.commands._arguments import (
    add_outcome,
    add_output,
    add_table,
    between,
    check_pair,
    checked_output,
    drafted,
    read_rows,
    read_schema,
    write_schema,
)
from skdp.commands._tables import add_table_options, inferred
from skdp.tabular import CategoryColumn, Schema

NAME = "schema"
HELP = """Draft a schema from public rows, or combine several schemas.

example:
  skdp schema draft.csv --public --label outcome -o schema.json
  skdp schema --common north.json south.json -o common.json

Never draft a schema from private rows. Read the draft, set its bounds to what instruments and code
books allow, and delete what identifies people. Labels become classes; many different numbers
become a number between rounded bounds. Owners who merge releases first agree on one schema."""


def add_arguments(parser):
    """Add the arguments of the command."""
    add_table(parser, "public rows", nargs="?")
    parser.add_argument(
        "--common",
        nargs="+",
        metavar="FILE",
        help="combine schemas (.json) of several owners",
    )
    parser.add_argument(
        "--all-columns",
        action="store_true",
        help="with --common: keep columns that only some have",
    )
    parser.add_argument(
        "--public",
        action="store_true",
        help="state that rows are public or the target's",
    )
    add_table_options(parser, drop=True)
    add_outcome(parser, "column of labels: classes or a number", default="")
    parser.add_argument(
        "--horizon",
        metavar="NUMBER",
        type=between(0, inf, "it is in the unit of --time, such as 365 days"),
        help="end of follow-up (default: largest time, rounded)",
    )
    parser.add_argument(
        "--event-value",
        metavar="VALUE",
        help="an event in --event (default: 1, true, yes)",
    )
    add_output(parser, "the schema", ".json")


def run(arguments, note):
    """Draft or combine schemas, write the result and return a text about it."""
    if arguments.common is not None:
        return _common(arguments, note)
    if arguments.table is None:
        raise ValueError("TABLE is missing. Name a table of public rows, or schemas by --common.")
    if arguments.all_columns:
        raise ValueError("--all-columns needs --common. Leave it out.")
    if not arguments.public:
        raise ValueError(
            f"--public is missing. The schema discloses bounds and categories of "
            f"{arguments.table!r}. Add --public if these rows are public or the target's. "
            "Otherwise draft from a few invented rows with all categories and the smallest and "
            "largest possible values."
        )
    check_pair(arguments.event, arguments.time)
    if arguments.label is not None and arguments.event is not None:
        raise ValueError(
            f"--label {arguments.label!r} is for classes and numbers, and --event for times. "
            "Leave one of them out."
        )
    of_times = {name: getattr(arguments, name) for name in ("horizon", "event_value")}
    if arguments.event is None and set(of_times.values()) != {None}:
        raise ValueError(
            "--horizon and --event-value are for times to an event. Name --event and --time too."
        )
    target = checked_output(arguments, ".json")
    outcome = {name: getattr(arguments, name) for name in ("label", "event", "time")}
    frame = read_rows(arguments, note, {f"--{name}": column for name, column in outcome.items()})
    if not frame.columns.is_unique:
        raise ValueError(f"{arguments.table!r} repeats the name of a column. Rename one of them.")
    schema = drafted(inferred(frame), note, **outcome, **of_times)
    for column in schema.columns:
        # Names and IDs have more; the fifty states of the USA pass.
        if isinstance(column, CategoryColumn) and len(column.categories) > 50:
            note(
                f"warning: {column.name!r:.100} has {len(column.categories)} categories. If they "
                "are names or IDs, delete the column from the schema."
            )
    if len(schema.outcome.groups) > 50:
        note(f"warning: {arguments.label!r} has {schema.outcome.about}. Is it a label?")
    _note_outcome(schema, arguments, note)
    write_schema(schema, target, arguments)
    return (
        f"{schema.summary()}\nWrote {str(target)!r}, a draft. Read it: set bounds, mark "
        "logarithmic scales and ordered\ncategories, and delete columns that identify people."
    )


def _note_outcome(schema, arguments, note):
    """Note how the labels of a draft were interpreted."""
    notes = _OUTCOME_NOTES[schema.outcome.kind](schema.outcome, arguments)
    if not schema.outcome.is_complete:
        notes = "the draft lists no classes; skdp release needs them: name a column with --label"
    if notes:
        note(notes)


def _note_on_horizon(outcome, arguments):
    if arguments.horizon is not None:
        return ""
    return (
        f"the horizon is {outcome.horizon:g}, the largest time, rounded. Better choose the time "
        "of your question, such as 365 days, up to which many rows are followed"
    )


def _note_on_number(outcome, arguments):
    return (
        f"the labels are read as a number from {outcome.low:g} to {outcome.high:g}. If they "
        f'are classes, replace "outcome" with a list of "classes"{_of_costs(outcome.low)}'
    )


def _note_on_classes(outcome, arguments):
    labels = outcome.groups
    if len(labels) < 3 or not all(isinstance(label, int | float) for label in labels):
        return ""
    return (
        f"the labels are read as {len(labels)} classes. For amounts or counts, replace "
        f'"classes" with "outcome": {{"type": "number", "low": {min(labels):g}, '
        f'"high": {max(labels):g}}} and the possible bounds{_of_costs(min(labels))}'
    )


def _of_costs(low):
    return '; for costs, often zero, add "log": true, "zero": true' if low == 0 else ""


_OUTCOME_NOTES = {
    "class": _note_on_classes,
    "number": _note_on_number,
    "event": _note_on_horizon,
}


def _common(arguments, note):
    """Combine schemas, write the result and return what changes for each owner."""
    paths = arguments.common
    for name in ("table", "public", "label", "event", "time", "horizon", "event_value"):
        if getattr(arguments, name) not in (None, False):
            spelled = "TABLE" if name == "table" else f"--{name.replace('_', '-')}"
            raise ValueError(
                f"{spelled} is for drafts from rows, but --common reads schemas. Leave one of "
                "them out."
            )
    if len(set(paths)) < max(2, len(paths)):
        raise ValueError("--common needs two or more schemas. Name each file once.")
    target = checked_output(arguments, ".json")
    schemas = {}
    for path in paths:
        note(f"reading {path!r}")
        schemas[repr(path)] = read_schema(path)
    columns = "all" if arguments.all_columns else "shared"
    schema = Schema.common(schemas, columns=columns)
    if not schema.outcome.is_complete:
        note("the schemas list no classes; skdp release needs them: add them by hand")
    write_schema(schema, target, arguments)
    lines = [schema.summary()]
    for name, own_schema in schemas.items():
        changes = own_schema.difference(schema)
        agrees = ":" if changes else " agree"
        lines.append(f"{name} (here) and the common schema (there){agrees}")
        lines += [f"  {change}" for change in changes]
    lines.append(
        f"Wrote {str(target)!r}. Read what was widened: distant bounds may be other units,\n"
        "and new categories other spellings. Then every owner makes a release with it."
    )
    return "\n".join(lines)
