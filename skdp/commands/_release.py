"""``skdp release``: make a release of noisy statistics that protects records or people."""

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
HELP = """Make a differentially private release of private rows.

example:
  skdp release rows.csv --label outcome --schema schema.json --epsilon 1 \\
      --ledger budget.json --budget-epsilon 2 --budget-delta 1e-5 -o hospital.skdp

The schema must be public. Publish only the .skdp file. Unlisted cells count as missing, rows
without a listed outcome are left out, and numbers beyond the bounds are clipped: silently, because
a warning would leak information. Run skdp check first."""


def add_arguments(parser):
    """Add the arguments of the command."""
    add_private_rows(parser)
    add_accept(parser)
    parser.add_argument(
        "--model",
        choices=("auto", "linear", "gradients"),
        default="auto",
        metavar="MODEL",
        help="auto (default), gradients (auto's), or linear",
    )
    add_budget(parser, "a record, or a person")
    add_output(parser, "the release", ".skdp")


def run(arguments, note):
    """Check everything, open the output, charge the ledger, add noise and write."""
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
    """Return what to print about a release."""
    lines = [f"Wrote {str(target)!r}: {release!r}.", *result_lines(release)]
    lines.append(
        f"Only {target.name!r} may be published. Keep the table, the ledger and this output "
        f"private.\nRead the guarantee: skdp describe {target.name}"
    )
    return "\n".join(lines)
