"""``skdp schema``: a draft of the public schema, from rows that are no secret."""

from skdp.commands._tables import check_columns, check_output, inferred, read_table
from skdp.tabular import CategoryColumn, schema_from
from skdp.utils._files import write_whole

NAME = "schema"
HELP = """Draft a schema from rows that are public, or the target's own.

example:
  skdp schema draft.csv --public --label outcome -o schema.json

Bounds and categories of private rows are private: never draft from these. Read the draft,
widen its bounds to what instruments and code books allow, and delete what identifies people."""
# Categories of a column above which it may well hold names or ids (rule of thumb).
_MANY = 50


def add_arguments(parser):
    """Add what the command takes."""
    parser.add_argument("table", metavar="TABLE", help="public rows (.csv or .parquet)")
    parser.add_argument(
        "--public", action="store_true", help="say that these rows are public, or the target's own"
    )
    parser.add_label("column with the labels, whose values become the list of classes")
    parser.add_output("the schema", ".json")


def run(arguments, note):
    """Draft a schema, write it, and return what to say of it."""
    if not arguments.public:
        raise ValueError(
            f"--public is missing. A schema tells the bounds and categories of the rows in "
            f"{arguments.table!r}, and travels in every release, outside all guarantees. If these "
            "rows are public, or the target's own, add --public. If they are private, draft from "
            "others, or write the schema from units, instruments and code books."
        )
    target = check_output(
        arguments.output, (".json",), force=arguments.force, inputs=[arguments.table]
    )
    note(f"reading {arguments.table!r}")
    frame = read_table(arguments.table)
    label = [] if arguments.label is None else [arguments.label]
    check_columns(frame, label, arguments.table, "--label")
    if not frame.columns.is_unique:
        raise ValueError(f"{arguments.table!r} has columns of the same name. Rename one of them.")
    schema = schema_from(inferred(frame), public=True, label=arguments.label)
    for column in schema.columns:
        if isinstance(column, CategoryColumn) and len(column.categories) > _MANY:
            note(
                f"warning: {column.name!r:.100} has {len(column.categories)} categories. If these "
                "are names or ids, delete the column from the schema."
            )
    if not label:
        note("the draft lists no classes; skdp release needs them: name a column by --label")
    text = schema.to_json() + "\n"
    with write_whole(target, overwrite=arguments.force) as file:
        file.write(text.encode())
    return (
        f"{schema.summary()}\nWrote {str(target)!r}, a draft. Read it: widen bounds, mark "
        "logarithmic scales and ordered\ncategories, and delete columns that identify people."
    )
