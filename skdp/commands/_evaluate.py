"""``skdp evaluate``: what a release is worth on private rows, behind noise."""

from skdp.commands._budget import add_budget, check_budget, opened_ledger
from skdp.commands._tables import (
    add_table_options,
    check_columns,
    check_output,
    people,
    read_table,
    table_options,
)
from skdp.release import PrivateEvaluation, Release
from skdp.source import evaluate_privately
from skdp.utils._text import composed

NAME = "evaluate"
HELP = """Evaluate a release on private rows, or show an evaluation.

example:
  skdp evaluate hospital.skdp test.csv --label outcome --epsilon 0.5 \\
      --ledger budget.json -o evaluation.json
  skdp evaluate --show evaluation.json

Rows are counted by class and by the probabilities of the release, with noise that protects
whole records, or people with --group. Use rows that the release was not made from. The .json file
may be published; the text on the screen is computed from it, and may be shown. Rows of other
classes than those of the release are left out silently."""


def add_arguments(parser):
    """Add the arguments of the command."""
    parser.add_argument("release", metavar="RELEASE", nargs="?", help="file of a release (.skdp)")
    parser.add_argument(
        "table", metavar="TABLE", nargs="?", help="private rows (.csv, .parquet or .xlsx)"
    )
    parser.add_argument("--show", metavar="FILE", help="show this evaluation (.json)")
    parser.add_label("column with the labels")
    parser.add_argument(
        "--group",
        metavar="COLUMN",
        type=composed,
        help="column with IDs of people: protects people instead of rows",
    )
    add_table_options(parser)
    add_budget(parser, "a record, or of a person", required=False)
    parser.add_output("the evaluation", ".json", required=False)


def run(arguments, note):
    """Evaluate, or show what was evaluated."""
    if arguments.show is not None:
        return PrivateEvaluation.load(arguments.show).summary()
    for name in ("release", "table", "label", "epsilon", "output"):
        if getattr(arguments, name) is None:
            spelled = name.upper() if name in ("release", "table") else f"--{name}"
            raise ValueError(
                f"{spelled} is missing. Name the release, the table, --label, --epsilon and "
                "--output; or an evaluation by --show."
            )
    check_budget(arguments)
    inputs = [arguments.release, arguments.table, *filter(None, [arguments.ledger])]
    target = check_output(arguments.output, (".json",), force=arguments.force, inputs=inputs)
    release = Release.load(arguments.release)
    note(f"reading {arguments.table!r}")
    frame = read_table(arguments.table, **table_options(arguments))
    check_columns(frame, [arguments.label], arguments.table, "--label")
    rows = _rows(frame, release, arguments)
    with opened_ledger(arguments, note) as ledger:
        evaluation = evaluate_privately(
            release,
            rows,
            frame[arguments.label],
            arguments.epsilon,
            arguments.delta,
            groups=people(frame, arguments),
            ledger=ledger,
            name=target.name,
        )
    evaluation.save(target, overwrite=arguments.force)
    return f"{evaluation.summary()}\nWrote {str(target)!r}. Only this file may be published."


def _rows(frame, release, arguments):
    """Return the columns of the release, of which a table with a schema may have any cells."""
    if release.encoder is None:
        raise ValueError(
            f"{arguments.release!r} has no schema, so that rows of a table cannot be read for it. "
            "Use evaluate_privately in Python."
        )
    names = list(release.encoder.names)
    check_columns(frame, names, arguments.table, f"the release {arguments.release!r}")
    return frame[names]
