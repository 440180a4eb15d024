"""``skdp sample``: synthetic rows of a release, and how near they are to the private ones."""

from skdp.commands._arguments import (
    add_outcome,
    add_output,
    add_release,
    checked_output,
    outcome_columns,
    read_rows,
    with_columns,
)
from skdp.commands._tables import (
    TABLES,
    add_table_options,
    check_columns,
    write_table,
)
from skdp.release import Release
from skdp.tabular import EventOutcome, compare_tables

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
    text = "name of the column that is written with labels, or numbers (default: label)"
    add_outcome(parser, text, "that of the release")
    parser.add_argument(
        "--seed",
        type=int,
        metavar="S",
        help="seed for the same rows again (default: different rows each time)",
    )
    parser.add_argument(
        "--compare", metavar="TABLE", help="private rows, with the outcome in the same columns"
    )
    add_table_options(parser)
    add_output(parser, "the rows", " or ".join(TABLES))


def run(arguments, note):
    """Draw rows and write them; return what was drawn, and how near it is to private rows."""
    target = checked_output(arguments, *TABLES)
    if arguments.rows < 1:
        raise ValueError(f"--rows must be a whole number 1 or more, got {arguments.rows}.")
    if arguments.seed is not None and not 0 <= arguments.seed < 2**32:
        raise ValueError(
            f"--seed must be a whole number from 0 to {2**32 - 1}, got {arguments.seed}."
        )
    release = Release.load(arguments.release)
    if release.encoder is None:
        raise ValueError(
            f"{arguments.release!r} has no schema, which is needed to write rows as a table. "
            "Use Release.sample in Python."
        )
    columns = outcome_columns(arguments, release.outcome, f"the release {arguments.release!r}")
    columns = columns or {"--label": "label"}
    for option, name in columns.items():
        if name in release.encoder.names:
            raise ValueError(
                f"{option} {name!r} is a column of {arguments.release!r} already. Name another."
            )
    frame, outcomes = release.sample(arguments.rows, arguments.seed, as_frame=True)
    about_time = isinstance(release.outcome, EventOutcome)
    parts = [outcomes[name] for name in outcomes.dtype.names or ()] or [outcomes]
    frame = frame.assign(**dict(zip(columns.values(), parts, strict=True)))
    said = [f"Drew {len(frame):,} synthetic rows by {release!r}."]
    if arguments.compare is not None:
        real = read_rows(arguments, note, columns, "compare")
        check_columns(real, release.encoder.names, arguments.compare, "the release")
        note("comparing; what follows is private")
        label = None if about_time else columns["--label"]
        schema = with_columns(release.encoder, columns)
        said += ["", str(compare_tables(real, frame, schema, label=label)), ""]
    write_table(frame, target, overwrite=arguments.force)
    said.append(f"Wrote {str(target)!r}.")
    return "\n".join(said)
