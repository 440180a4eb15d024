"""``skdp select``: which of the target's rows to label."""

from skdp.commands._arguments import (
    add_output,
    add_table,
    checked_output,
    drafted,
    read_rows,
    read_schema,
)
from skdp.commands._tables import (
    TABLES,
    add_table_options,
    check_columns,
    inferred,
    write_table,
)
from skdp.release import Release
from skdp.tabular import encode_table
from skdp.transfer import representative_rows

NAME = "select"
HELP = """Choose which rows of the target to label, before any label is known.

example:
  skdp select target.csv -n 30 --release hospital.skdp -o chosen.csv
  skdp select target.csv -n 30 --drop patient -o chosen.csv

Each of the chosen rows is in the middle of a cluster of similar ones. The output has them, largest
clusters first, with their number in the table (1 is the first row below the header). Columns are
compared as a release or a schema encodes them; without either, as skdp schema would draft it.
This pays where no release is used, most with hardly more labels than classes; together with a
release a random choice is mostly as good."""


def add_arguments(parser):
    """Add the arguments of the command."""
    add_table(parser, "the target's rows")
    parser.add_argument(
        "-n", "--rows", type=int, required=True, metavar="N", help="how many rows to choose"
    )
    known = parser.add_mutually_exclusive_group()
    known.add_argument("--release", metavar="RELEASE", help="release whose columns count (.skdp)")
    known.add_argument("--schema", metavar="SCHEMA", help="schema whose columns count (.json)")
    add_table_options(parser, drop=True)
    add_output(parser, "the chosen rows", " or ".join(TABLES))


def run(arguments, note):
    """Choose rows, write them, and return what to do with them."""
    target = checked_output(arguments, *TABLES)
    schema = _schema(arguments)
    frame = read_rows(arguments, note)
    if not 1 <= arguments.rows <= len(frame):
        raise ValueError(
            f"--rows is {arguments.rows}, and {arguments.table!r} has {len(frame):,} rows. Choose "
            f"from 1 to {len(frame)} of them."
        )
    if "row" in frame.columns:
        raise ValueError(f"{arguments.table!r} has a column named 'row' already. Rename it.")
    if schema is None:
        check_columns(frame, list(frame.columns), arguments.table, "the table")
        schema = drafted(inferred(frame), note)
    names = [name for name in schema.names if name in frame.columns]
    check_columns(frame, names or schema.names, arguments.table, "the release or schema")
    rows = encode_table(schema.restrict(names), frame[names])
    chosen = representative_rows(rows, arguments.rows, random_state=0)
    rows = frame.iloc[chosen]
    rows.insert(0, "row", chosen + 1)
    write_table(rows, target, overwrite=arguments.force)
    return (
        f"Wrote {str(target)!r}: {len(rows)} of {len(frame):,} rows. Label them in "
        f"{arguments.table!r}, and use\nskdp predict with --label and "
        "--label-sampling random."
    )


def _schema(arguments):
    """Return the schema that a release has or a file is, None where none is named."""
    if arguments.schema is not None:
        return read_schema(arguments.schema)
    if arguments.release is None:
        return None
    schema = Release.load(arguments.release).encoder
    if schema is None:
        raise ValueError(
            f"{arguments.release!r} has no schema, without which columns are not found by name. "
            "Leave --release out, or use representative_rows in Python."
        )
    return schema
