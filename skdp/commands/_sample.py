"""``skdp sample``: synthetic rows of a release, and how near they are to the private ones."""

from skdp.commands._arguments import (
    add_label,
    add_output,
    add_release,
    checked_output,
    read_rows,
)
from skdp.commands._tables import (
    TABLES,
    add_table_options,
    check_columns,
    check_ending,
    write_table,
)
from skdp.release import Release
from skdp.tabular import compare_tables

NAME = "sample"
HELP = """Draw synthetic rows with labels from a release. No budget is spent.

example:
  skdp sample hospital.skdp --rows 1000 --label outcome -o synthetic.csv
  skdp sample hospital.skdp --rows 1000 --label outcome -o synthetic.csv --compare rows.csv

The rows describe nobody: they are computed from the release, and covered by its guarantee. A
model trained on them is less accurate than the release itself (skdp predict). With --compare, the
owner of the private rows sees how similar the synthetic ones are: that report has no noise, and
must stay with the rows."""


def add_arguments(parser):
    """Add the arguments of the command."""
    add_release(parser)
    parser.add_argument(
        "-n", "--rows", type=int, required=True, metavar="N", help="how many rows to draw"
    )
    add_label(
        parser, "name of the column that is written with labels, or numbers (default: label)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="S",
        help="seed for the same rows again (default: different rows each time)",
    )
    parser.add_argument(
        "--compare", metavar="TABLE", help="private rows, with labels in the column of --label"
    )
    add_table_options(parser)
    add_output(parser, "the rows", ".csv or .parquet")


def run(arguments, note):
    """Draw rows and write them; return what was drawn, and how near it is to private rows."""
    target = checked_output(arguments, *TABLES)
    check_ending(target)
    if arguments.rows < 1:
        raise ValueError(f"--rows must be a whole number 1 or more, got {arguments.rows}.")
    if arguments.seed is not None and not 0 <= arguments.seed < 2**32:
        raise ValueError(
            f"--seed must be a whole number from 0 to {2**32 - 1}, got {arguments.seed}."
        )
    label = arguments.label or "label"
    release = Release.load(arguments.release)
    if release.encoder is None:
        raise ValueError(
            f"{arguments.release!r} has no schema, which is needed to write rows as a table. "
            "Use Release.sample in Python."
        )
    if label in release.encoder.names:
        raise ValueError(
            f"--label {label!r} is a column of {arguments.release!r} already. Name another."
        )
    frame, labels = release.sample(arguments.rows, arguments.seed, as_frame=True)
    frame = frame.assign(**{label: labels})
    said = [f"Drew {len(frame):,} synthetic rows by {release!r}."]
    if arguments.compare is not None:
        real = read_rows(arguments, note, "compare")
        check_columns(real, [label], arguments.compare, "--label")
        check_columns(real, release.encoder.names, arguments.compare, "the release")
        note("comparing; what follows is private")
        schema = release.encoder
        said += ["", str(compare_tables(real, frame, schema, label=label)), ""]
    write_table(frame, target, overwrite=arguments.force)
    said.append(f"Wrote {str(target)!r}.")
    return "\n".join(said)
