"""The command ``skdp``: its arguments, its exit codes, and faults in one line."""

import argparse
import importlib
import warnings
from contextlib import contextmanager

from skdp.commands import _describe, _predict, _release, _schema
from skdp.commands._screen import note
from skdp.privacy import BudgetExceededError

_ABOUT = """Private rows in, a release out, and predictions from it.

The owner of private rows drafts a schema from rows that are no secret, and makes a release; the
release, one file, goes to the target, who describes it and predicts with it."""
_EXIT_CODES = """exit codes: 0 done; 1 refused or failed, no output was written; 2 the command
was not understood. Results go to stdout, progress and errors to stderr.

example:
  skdp schema draft.csv --public --label outcome -o schema.json
  skdp release rows.csv --label outcome --schema schema.json --epsilon 1 -o hospital.skdp
  skdp describe hospital.skdp
  skdp predict hospital.skdp target.csv -o predictions.csv"""


def main(argv=None):
    """Run a command.

    Parameters
    ----------
    argv : list of str or None, default=None
        Its arguments; None: those of the process.

    Returns
    -------
    code : int
        0 done; 1 refused or failed, no output was written; 2 not understood.

    Examples
    --------
    >>> main(["schema", "rows.csv", "--output", "schema.json"])
    1
    """
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as stop:  # after help, or a line about a wrong argument
        return int(stop.code or 0)
    with _warnings_as_notes():
        try:
            arguments.run(arguments)
        except (ValueError, BudgetExceededError) as error:
            note(f"error: {error}")
        except OSError as error:
            known = error.strerror is not None and error.filename is not None
            note(f"error: {error.filename!r}: {error.strerror}" if known else f"error: {error}")
        except KeyboardInterrupt:
            note("error: interrupted")
        except Exception as error:  # its text may quote rows
            note(
                f"error: this failed for a reason that was not foreseen ({type(error).__name__}). "
                "Details are not shown, as they may quote rows. Please report it."
            )
        else:
            return 0
    return 1


def _parser():
    parser = argparse.ArgumentParser(
        prog="skdp",
        description=_ABOUT,
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    version = importlib.import_module("skdp").__version__
    parser.add_argument("--version", action="version", version=f"skdp {version}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in (_schema, _release, _describe, _predict):
        about, _, example = module.HELP.partition("\n\n")
        command = commands.add_parser(
            module.NAME,
            help=about.splitlines()[0],
            description=about,
            epilog=example,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


@contextmanager
def _warnings_as_notes():
    """Show what the package warns of in one line, and what other packages tell programmers not."""
    said = set()  # what fit and predict both warn of is said once

    def show(message, category, filename, lineno, file=None, line=None):
        if issubclass(category, UserWarning) and str(message) not in said:
            said.add(str(message))
            note(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
