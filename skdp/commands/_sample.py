"""``skdp sample``: draw synthetic rows from a release."""

from skdp.commands._arguments import (
    add_outcome,
    add_output,
    add_release,
    checked_output,
    outcome_columns,
)
from skdp.commands._tables import TABLES, six_digits, write_table
from skdp.release import Release

NAME = "sample"
HELP = """Draw synthetic rows with labels from a release.

example:
  skdp sample hospital.skdp --rows 1000 --label outcome -o synthetic.csv

No budget is spent. The rows describe nobody: they are computed from the release, whose guarantee
covers them. A model trained on them is less accurate than the release itself (skdp predict)."""


def add_arguments(parser):
    """Add the arguments of the command."""
    add_release(parser)
    parser.add_argument(
        "-n", "--rows", type=int, required=True, metavar="N", help="number of rows"
    )
    text = "name of the new column of labels or numbers (default: label)"
    add_outcome(parser, text, "release's")
    parser.add_argument(
        "--seed",
        type=int,
        metavar="S",
        help="draw the same rows again with the same seed",
    )
    add_output(parser, "the rows", " or ".join(TABLES))


def run(arguments, note):
    """Draw rows and write them; return a text about them."""
    target = checked_output(arguments, *TABLES)
    if arguments.rows < 1:
        raise ValueError(f"--rows must be a positive whole number, got {arguments.rows}.")
    if arguments.seed is not None and not 0 <= arguments.seed < 2**32:
        raise ValueError(
            f"--seed must be a whole number from 0 to {2**32 - 1}, got {arguments.seed}."
        )
    release = Release.load(arguments.release)
    if release.encoder is None:
        raise ValueError(
            f"{arguments.release!r} has no schema, which is needed to write a table. "
            "Use Release.sample in Python."
        )
    columns = outcome_columns(arguments, release.outcome, f"the release {arguments.release!r}")
    columns = columns or {"--label": "label"}
    for option, name in columns.items():
        if name in release.encoder.names:
            raise ValueError(
                f"{option} {name!r} is already a column of {arguments.release!r}. Name another."
            )
    frame, outcomes = release.sample(arguments.rows, arguments.seed, as_frame=True)
    parts = [outcomes[name] for name in outcomes.dtype.names or ()] or [outcomes]
    frame = frame.assign(**dict(zip(columns.values(), parts, strict=True)))
    frame = frame.assign(**{name: _shown(frame[name]) for name in frame.select_dtypes("number")})
    write_table(frame, target, overwrite=arguments.force)
    return f"Drew {len(frame):,} synthetic rows from {release!r}.\nWrote {str(target)!r}."


def _shown(values):
    """Return whole numbers as such, and others with six digits."""
    if (values.dropna() % 1 == 0).all():
        return values.astype("Int64")
    return six_digits(values)
