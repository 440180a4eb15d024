"""``skdp sample``: synthetic rows of a release, and how near they are to the private ones."""

from skdp.commands._tables import (
    TABLES,
    add_table_options,
    check_columns,
    check_ending,
    check_output,
    read_table,
    table_options,
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
# A seed is a whole number from 0 to this.
_MAX_SEED = 2**32 - 1


def add_arguments(parser):
    """Add the arguments of the command."""
    parser.add_argument("release", metavar="RELEASE", help="file of a release (.skdp)")
    parser.add_argument(
        "-n", "--rows", type=int, required=True, metavar="N", help="how many rows to draw"
    )
    parser.add_label("name of the column that is written with labels (default: label)")
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
    parser.add_output("the rows", ".csv or .parquet")


def run(arguments, note):
    """Draw rows and write them; return what was drawn, and how near it is to private rows."""
    inputs = [arguments.release, *filter(None, [arguments.compare])]
    target = check_output(arguments.output, TABLES, force=arguments.force, inputs=inputs)
    check_ending(target)
    for name, value, most in (
        ("rows", arguments.rows, None),
        ("seed", arguments.seed, _MAX_SEED),
    ):
        least = 1 if name == "rows" else 0
        if value is not None and (value < least or value > (most or value)):
            limits = f"{least} or more" if most is None else f"from {least} to {most}"
            raise ValueError(f"--{name} must be a whole number {limits}, got {value}.")
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
        note(f"reading {arguments.compare!r}")
        real = read_table(arguments.compare, **table_options(arguments))
        check_columns(real, [label], arguments.compare, "--label")
        check_columns(real, release.encoder.names, arguments.compare, "the release")
        note("comparing; what follows is private")
        schema = release.encoder
        said += ["", str(compare_tables(real, frame, schema, label=label)), ""]
    write_table(frame, target, overwrite=arguments.force)
    said.append(f"Wrote {str(target)!r}.")
    return "\n".join(said)
