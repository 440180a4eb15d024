"""``skdp report``: write one page about a release for the data-protection officer."""

from pathlib import Path

from skdp.commands._arguments import add_output, add_release, checked_output
from skdp.release import report_page

NAME = "report"
HELP = """Write a page about a release: guarantee, columns and cost.

example:
  skdp report hospital.skdp --owner "North hospital" --ledger budget.json -o report.html"""


def add_arguments(parser):
    """Add the arguments of the command."""
    add_release(parser)
    parser.add_argument("--owner", metavar="TEXT", help="name of the owner of the rows")
    parser.add_argument("--ledger", metavar="FILE", help="privacy ledger of these rows (.json)")
    parser.add_argument(
        "--audit",
        metavar="FILE",
        action="append",
        default=[],
        help="text that an audit printed; repeatable",
    )
    add_output(parser, "the page", ".html")


def run(arguments, note):
    """Read a release and write a page about it."""
    target = checked_output(arguments, ".html")
    audits = [_text(path) for path in arguments.audit]
    note(f"reading {arguments.release!r}")
    page = report_page(
        arguments.release, owner=arguments.owner, ledger=arguments.ledger, audits=audits
    )
    page.save(target, overwrite=arguments.force)
    also = " It shows the owner's private ledger." if arguments.ledger else ""
    return f"Wrote {str(target)!r}, a page for the browser or the printer, without scripts.{also}"


def _text(path):
    """Return the text of a file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"--audit {path!r} is not text. Save what print(audit) wrote.") from None
