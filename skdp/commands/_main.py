"""The command ``skdp``: arguments, exit codes and screen output."""

import argparse
import importlib
import os
import sys
import warnings
from contextlib import contextmanager, suppress

from skdp.commands import (
    _bounds,
    _check,
    _describe,
    _evaluate,
    _merge,
    _plan,
    _predict,
    _release,
    _report,
    _sample,
    _schema,
    _score,
)
from skdp.commands._arguments import UnsavedError, add_commands
from skdp.privacy import BudgetExceededError
from skdp.utils._validation import inline

# In the order in which an owner and then a target need them.
_COMMANDS = (
    *(_schema, _bounds, _check, _plan, _release, _describe, _report, _evaluate, _merge),
    *(_predict, _score, _sample),
)
# Options of which one is required.
_CHOICES = ("disjoint", "overlapping")
_ABOUT = """Make differentially private releases of tables and predict from them.

Owners draft a schema from public rows, check their private rows and make a release. They send
this file to the target, who describes it and predicts with it."""
_EXIT_CODES = """exit codes: 0 done; 1 refused or failed without output, or skdp check found
stops; 2 invalid arguments. Results go to stdout, progress and errors to stderr.

example:
  skdp schema draft.csv --public --label outcome -o schema.json
  skdp check rows.csv --label outcome --schema schema.json
  skdp release rows.csv --label outcome --schema schema.json --epsilon 1 -o hospital.skdp
  skdp describe hospital.skdp
  skdp predict hospital.skdp target.csv -o predictions.csv
  skdp score predictions.csv truth.csv --label outcome"""


def main(argv=None):
    """Run a command, by default with the arguments of the process; return the exit code."""
    # 0 done; 1 refused or failed, no output was written, or stops were found; 2 not understood.
    try:
        arguments, unknown = _parser().parse_known_args(argv)
        if unknown:  # the command's own parser gives a better message
            arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    except SystemExit as stop:  # after help, or a line about a wrong argument
        return int(stop.code or 0)
    with _warnings_as_notes():
        try:
            result = arguments.run(arguments, note)
        except (ValueError, BudgetExceededError) as error:
            note(f"error: {error}")
            if isinstance(error, UnsavedError):
                _tell(error.result)
        except OSError as error:
            named = error.strerror is not None and error.filename is not None
            note(f"error: {error.filename!r}: {error.strerror}" if named else f"error: {error}")
        except KeyboardInterrupt:
            note("error: interrupted")
        except Exception as error:  # its text may quote rows
            note(
                f"error: unexpected failure ({type(error).__name__}). Details could quote rows "
                "and are not shown. Please report it."
            )
        else:
            said, code = result if isinstance(result, tuple) else (result, 0)
            # A written file stays written and charged whatever happens to stdout.
            return code if _tell(said) or "output" in arguments else 1
    return 1


def note(text):
    """Write a line about progress or an error to stderr if possible."""
    _write(f"skdp: {text}", sys.stderr)


def _tell(text):
    """Write a result to stdout; return whether that succeeded, with a note if it did not."""
    try:
        failure = _write(text, sys.stdout)
    except KeyboardInterrupt as error:
        failure = error
    # A reader that leaves, such as head, has seen enough.
    if failure and not isinstance(failure, BrokenPipeError):
        note("error: the result could not be written to stdout, which is closed or full")
    return not failure


def _write(text, stream):
    """Write lines, escaping characters that the screen lacks; return what went wrong, if any."""
    if stream is None:
        return ValueError("closed before the process began")
    encoding = getattr(stream, "encoding", None) or "utf-8"
    lines = "\n".join(map(inline, text.split("\n")))
    try:
        print(lines.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
    except (OSError, ValueError) as failure:  # full, or closed meanwhile
        # The rest of the buffer would fail again when the process ends, with exit code 120.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return failure
    return None


class _Layout(argparse.RawDescriptionHelpFormatter):
    """Help whose usage line shows required arguments only."""

    def __init__(self, prog, **settings):
        super().__init__(prog, **settings | {"max_help_position": 29})

    def add_usage(self, usage, actions, groups, prefix=None):
        """Replace optional arguments with ``[options]``."""
        options = [action for action in actions if action.option_strings]
        needed = [action for action in options if action.required or action.dest in _CHOICES]
        others = [action for action in actions if not action.option_strings]
        rest = argparse.Action([], "options", metavar="[options]")
        super().add_usage(usage, [*needed, rest, *others], groups, prefix)


class _Parser(argparse.ArgumentParser):
    """Parser shared by all subcommands."""

    def __init__(self, **settings):
        super().__init__(formatter_class=_Layout, allow_abbrev=False, **settings)

    def error(self, message):
        """Show the usage and exit; escapes what was typed."""
        _write(f"{self.format_usage().rstrip()}\nskdp: error: {message}", sys.stderr)
        raise SystemExit(2)


def _parser():
    parser = _Parser(prog="skdp", description=_ABOUT, epilog=_EXIT_CODES)
    version = importlib.import_module("skdp").__version__
    parser.add_argument("--version", action="version", version=f"skdp {version}")
    add_commands(parser, _COMMANDS)
    return parser


@contextmanager
def _warnings_as_notes():
    """Show this package's warnings as notes; suppress other packages' developer warnings."""
    said = set()  # what fit and predict both warn of is said once

    def show(message, category, filename, lineno, file=None, line=None):
        if issubclass(category, UserWarning) and str(message) not in said:
            said.add(str(message))
            note(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
