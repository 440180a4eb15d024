"""``skdp bounds``: a schema of columns without public bounds, by differential privacy."""

from skdp.commands._budget import add_budget, check_budget, opened_ledger
from skdp.commands._tables import (
    add_table_options,
    check_columns,
    check_output,
    people,
    read_table,
    table_options,
)
from skdp.source import quantile_bounds
from skdp.tabular import Schema
from skdp.utils._files import write_whole
from skdp.utils._text import composed

NAME = "bounds"
HELP = """Find bounds and categories of private columns with noise, where none are public.

example:
  skdp bounds rows.csv --numeric lactate --category ward --schema public.json --epsilon 0.1 \\
      --ledger budget.json -o schema.json

This spends a part of the budget, while public bounds cost nothing: write those to a schema
first (--schema), and name the other columns here. The output marks the columns that were found
with noise. Use it for skdp release, with the same ledger."""


def add_arguments(parser):
    """Add the arguments of the command."""
    parser.add_argument("table", metavar="TABLE", help="private rows (.csv, .parquet or .xlsx)")
    for name, text in (("numeric", "numbers"), ("category", "categories")):
        parser.add_argument(
            f"--{name}",
            metavar="COLUMN",
            type=composed,
            action="append",
            default=[],
            help=f"column of {text}; repeatable",
        )
    parser.add_argument("--schema", metavar="FILE", help="public schema of other columns (.json)")
    parser.add_argument(
        "--class",
        dest="classes",
        metavar="CLASS",
        action="append",
        help="public class of the labels; once for each class (default: those of --schema)",
    )
    parser.add_argument(
        "--group",
        metavar="COLUMN",
        type=composed,
        help="column with IDs of people: protects people instead of rows",
    )
    add_table_options(parser)
    add_budget(parser, "a record, or of a person")
    parser.add_output("the schema", ".json")


def run(arguments, note):
    """Find the bounds, write the schema, and return a text about them."""
    check_budget(arguments)
    inputs = [arguments.table, *filter(None, [arguments.schema, arguments.ledger])]
    target = check_output(arguments.output, (".json",), force=arguments.force, inputs=inputs)
    public = None
    if arguments.schema is not None:
        try:
            public = Schema.read(arguments.schema)
        except ValueError as error:
            raise ValueError(f"--schema {arguments.schema!r}: {error}") from None
    note(f"reading {arguments.table!r}")
    frame = read_table(arguments.table, **table_options(arguments))
    check_columns(frame, arguments.numeric, arguments.table, "--numeric")
    check_columns(frame, arguments.category, arguments.table, "--category")
    with opened_ledger(arguments, note) as ledger:
        found = quantile_bounds(
            frame,
            arguments.numeric,
            arguments.category,
            epsilon=arguments.epsilon,
            delta=arguments.delta,
            schema=public,
            classes=arguments.classes,
            groups=people(frame, arguments),
            ledger=ledger,
            name=target.name,
        )
    if found.schema is None:
        return f"{found.summary()}\nNothing was written: no column was found.", 1
    with write_whole(target, overwrite=arguments.force) as file:
        file.write(f"{found.schema.to_json()}\n".encode())
    said = f"Wrote {str(target)!r}, which may be published, and is part of releases."
    return f"{found.summary()}\n{said}"
