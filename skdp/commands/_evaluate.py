"""``skdp evaluate``: measure with noise how accurate a release is on private rows."""

from skdp.commands._arguments import (
    add_budget,
    add_outcome,
    add_output,
    add_people,
    add_release,
    add_table,
    charged_output,
    check_budget,
    checked_output,
    outcome_columns,
    outcome_values,
    people,
    read_rows,
)
from skdp.commands._tables import check_columns
from skdp.release import PrivateEvaluation, Release
from skdp.source import evaluate_privately

NAME = "evaluate"
HELP = """Evaluate a release on private rows, or show an evaluation.

example:
  skdp evaluate hospital.skdp test.csv --label outcome --epsilon 0.5 \\
      --ledger budget.json -o evaluation.json
  skdp evaluate --show evaluation.json

Use private rows that the release was not made from. The noise protects whole records, or people
with --group. The .json file and the text computed from it may be published. Rows with unlisted
classes or unreadable outcomes are left out silently."""


def add_arguments(parser):
    """Add the arguments of the command."""
    add_release(parser, nargs="?")
    add_table(parser, nargs="?")
    parser.add_argument("--show", metavar="FILE", help="only show this evaluation (.json)")
    add_outcome(parser, "column of labels", "release's")
    add_people(parser)
    add_budget(parser, "a record, or a person", required=False)
    add_output(parser, "the evaluation", ".json", required=False)


def run(arguments, note):
    """Evaluate, or show an evaluation."""
    if arguments.show is not None:
        return PrivateEvaluation.load(arguments.show).summary()
    for name in ("release", "table", "epsilon", "output"):
        if getattr(arguments, name) is None:
            spelled = name.upper() if name in ("release", "table") else f"--{name}"
            raise ValueError(
                f"{spelled} is missing. Name the release, the table, the outcome (--label, or "
                "--event and --time), --epsilon and --output; or name an evaluation with --show."
            )
    check_budget(arguments)
    target = checked_output(arguments, ".json")
    release = Release.load(arguments.release)
    where = f"the release {arguments.release!r}"
    columns = outcome_columns(arguments, release.outcome, where, required=True)
    frame = read_rows(arguments, note, columns)
    rows = _rows(frame, release, arguments)
    groups = people(frame, arguments)
    with charged_output(arguments, target, note) as (ledger, file):
        evaluation = evaluate_privately(
            release,
            rows,
            outcome_values(frame, columns, release.outcome),
            arguments.epsilon,
            arguments.delta,
            groups=groups,
            ledger=ledger,
            name=target.name,
        )
        evaluation.save(file)
    return f"{evaluation.summary()}\nWrote {str(target)!r}. Only this file may be published."


def _rows(frame, release, arguments):
    """Return the release's columns of a table whose cells its schema can read."""
    if release.encoder is None:
        raise ValueError(
            f"{arguments.release!r} has no schema, so tables cannot be read for it. Use "
            "evaluate_privately in Python."
        )
    names = list(release.encoder.names)
    check_columns(frame, names, arguments.table, f"the release {arguments.release!r}")
    return frame[names]
