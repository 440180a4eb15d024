"""``skdp release``: a release of noisy statistics, of whole records or people."""

from skdp.commands._arguments import (
    add_budget,
    add_output,
    charged_output,
    check_budget,
    checked_output,
)
from skdp.commands._check import add_accept, add_private_rows, checked_rows, schema_of
from skdp.release import result_lines
from skdp.source import DPStatisticsSource

NAME = "release"
HELP = """Make a release of private rows: noisy sums that protect whole records, or people.

example:
  skdp release rows.csv --label outcome --schema schema.json --epsilon 1 \\
      --ledger budget.json --budget-epsilon 2 --budget-delta 1e-5 -o hospital.skdp

The schema must be public. Where the outcome is a time to an event, its columns are --event and
--time, or as the schema calls them. Rows of unlisted classes are left out silently, as are those
without a number, or an event and a time, where the outcome is one; numbers beyond the bounds count
as the bounds. A cell that
is no number, or no category, counts as missing: a warning would leak information. For the same
reason nothing about the rows is shown, not even their number, with one exception: mistakes that
would ruin the release, as found by skdp check, are refused before anything is charged, by the
names of columns and of kinds of mistakes, until --accept names them. That refusal is for the
owner's screen. Only the .skdp file may be published."""


def add_arguments(parser):
    """Add the arguments of the command."""
    add_private_rows(parser)
    add_accept(parser)
    parser.add_argument(
        "--model",
        choices=("auto", "linear", "gradients"),
        default="auto",
        help="linear: from sums over the rows; gradients, which auto (default) is: by noisy "
        "gradient descent",
    )
    add_budget(parser, "a record, or of a person")
    add_output(parser, "the release", ".skdp")


def run(arguments, note):
    """Check all that can be checked, open the output, charge the ledger, draw noise, and write."""
    check_budget(arguments)
    target = checked_output(arguments, ".skdp")
    schema = schema_of(arguments, label_required=True)
    where = f"--schema {arguments.schema!r}"
    frame, labels, groups = checked_rows(arguments, schema, note, where)
    source = DPStatisticsSource(
        arguments.epsilon,
        arguments.delta,
        encoder=schema,
        model=arguments.model,
        privacy_unit="record" if groups is None else "group",
    )
    with charged_output(arguments, target, note) as (ledger, file):
        if ledger is None:
            source.fit(frame, labels, groups=groups)
        else:
            ledger.release(source, frame, labels, groups=groups, name=target.name)
        source.release_.save(file)
    return _result(source.release_, target)


def _result(release, target):
    """Return what to say of a release."""
    lines = [f"Wrote {str(target)!r}: {release!r}.", *result_lines(release)]
    lines.append(
        f"Only {target.name!r} may be published. Keep the table, the ledger and this output "
        f"private.\nRead the guarantee: skdp describe {target.name}"
    )
    return "\n".join(lines)
