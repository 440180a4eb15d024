"""``skdp bounds``: find bounds and categories of private columns with noise."""

from skdp.commands._arguments import (
    add_budget,
    add_output,
    add_people,
    add_table,
    charged_output,
    check_budget,
    checked_output,
    people,
    read_rows,
    read_schema,
    write_schema,
)
from skdp.commands._tables import add_column, check_columns
from skdp.source import quantile_bounds

NAME = "bounds"
HELP = """Find bounds and categories of private columns with noise.

example:
  skdp bounds rows.csv --numeric lactate --category ward --schema public.json --epsilon 0.1 \\
      --ledger budget.json -o schema.json

This spends budget; public bounds cost nothing. Pass a schema of the public columns (--schema) and
name the others here. Use the output, which marks their bounds as noisy, with the same ledger."""


def add_arguments(parser):
    """Add the arguments of the command."""
    add_table(parser)
    add_column(parser, "--numeric", "column of numbers; repeatable", repeatable=True)
    add_column(parser, "--category", "column of categories; repeatable", repeatable=True)
    parser.add_argument("--schema", metavar="FILE", help="public schema of other columns (.json)")
    parser.add_argument(
        "--class",
        dest="classes",
        metavar="CLASS",
        action="append",
        help="public class of labels (default: --schema's)",
    )
    add_people(parser)
    add_budget(parser, "a record, or a person")
    add_output(parser, "the schema", ".json")


def run(arguments, note):
    """Find the bounds, write the schema and return a text about it."""
    check_budget(arguments)
    target = checked_output(arguments, ".json")
    public = None if arguments.schema is None else read_schema(arguments.schema, "--schema ")
    frame = read_rows(arguments, note)
    check_columns(frame, arguments.numeric, arguments.table, "--numeric")
    check_columns(frame, arguments.category, arguments.table, "--category")
    groups = people(frame, arguments)
    with charged_output(arguments, target, note) as (ledger, file):
        bounds = quantile_bounds(
            frame,
            arguments.numeric,
            arguments.category,
            epsilon=arguments.epsilon,
            delta=arguments.delta,
            schema=public,
            classes=arguments.classes,
            groups=groups,
            ledger=ledger,
            name=target.name,
        )
        if bounds.schema is None:
            raise ValueError(f"No column was found and nothing was written.\n{bounds.summary()}")
        write_schema(bounds.schema, file, arguments)
    said = f"Wrote {str(target)!r}, which may be published and becomes part of releases."
    return f"{bounds.summary()}\n{said}"
