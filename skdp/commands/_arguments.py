"""Arguments shared by several commands: tables, budgets and outputs."""

import argparse
import importlib
import secrets
import shlex
from base64 import encodebytes
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from io import BytesIO
from math import inf
from pathlib import Path
from tempfile import gettempdir

from skdp.commands._tables import (
    add_column,
    add_table_options,
    check_columns,
    check_output,
    read_table,
    table_options,
)
from skdp.privacy import PrivacyLedger, below_sum
from skdp.release import Release
from skdp.tabular import (
    MANY,
    Schema,
    missing_marks,
    missing_option,
    missing_values,
    number_forms,
    odd_rows,
    schema_from,
    unfit_columns,
)
from skdp.utils._files import write_whole
from skdp.utils._validation import listed

# Arguments that name files to be read.
_INPUTS = ("release", "table", "predictions", "schema", "common", "compare", "ledger", "audit")


def add_commands(parser, commands):
    """Add commands: each has NAME, HELP, add_arguments and run."""
    choices = parser.add_subparsers(prog="skdp", metavar="COMMAND", required=True)
    for command in commands:
        about, _, example = command.HELP.partition("\n\n")
        texts = {"help": about.splitlines()[0], "description": about, "epilog": example}
        added = choices.add_parser(command.NAME, add_help=False, **texts)
        # Without a line in the help: whoever reads it has found it.
        added.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)
        added.set_defaults(run=command.run, parser=added)
        command.add_arguments(added)


def add_release(parser, text="file of a release (.skdp)", **settings):
    """Add the release or releases that a command reads."""
    parser.add_argument("release", metavar="RELEASE", help=text, **settings)


def add_table(parser, rows="private rows", name="table", metavar="TABLE", **settings):
    """Add a table of rows that a command reads."""
    text = f"{rows} (.csv, .parquet or .xlsx)"
    parser.add_argument(name, metavar=metavar, help=text, **settings)


def add_outcome(parser, text, default="schema's"):
    """Add the columns of labels, or of events and times."""
    add_column(parser, "--label", text)
    about = {
        "event": "times: event, 0/1 or no/yes",
        "time": "times: of event or exit",
    }
    for name, what in about.items():
        add_column(parser, f"--{name}", f"{what} (default: {default})" if default else what)


def outcome_columns(arguments, outcome, where, *, required=False):
    """Return the columns of the outcome by option; empty without a label.

    ``where`` names the schema or release. Column names of times default to the outcome's own.
    """
    given = {name: getattr(arguments, name) for name in ("label", "event", "time")}
    named = [name for name in ("event", "time") if given[name] is not None]
    if not outcome.columns:
        if named:
            raise ValueError(
                f"--{named[0]} {given[named[0]]!r} is for times to an event, but the outcome of "
                f"{where} is not a time. Name the column of labels with --label."
            )
        if required and given["label"] is None:
            raise ValueError("--label is missing. Name the column of labels.")
        return {} if given["label"] is None else {"--label": given["label"]}
    own = dict(zip(("event", "time"), outcome.columns, strict=True))
    if given["label"] is not None:
        raise ValueError(
            f"--label {given['label']!r} is for classes and numbers, but the outcome of {where} "
            "is a time to an event. Name its columns with --event and --time, or omit both for "
            f"{own['event']!r} and {own['time']!r}."
        )
    if not named:
        return {
            f"--{name} (default: as in {where}; name another with --{name})": column
            for name, column in own.items()
        }
    check_pair(given["event"], given["time"])
    return {"--event": given["event"], "--time": given["time"]}


def check_pair(event, time):
    """Raise ValueError unless ``--event`` and ``--time`` name two different columns or none."""
    if (event is None) != (time is None):
        one, other = ("event", "time") if time is None else ("time", "event")
        raise ValueError(
            f"--{one} {event or time!r} needs --{other}: a time to an event has two columns. "
            "Name both."
        )
    if event is not None and event == time:
        raise ValueError(f"--event and --time are both {event!r}. Name two different columns.")


def with_columns(schema, columns):
    """Return a schema that names these columns of a table as its event and time."""
    return replace(schema, outcome=schema.outcome.with_columns(*columns.values()))


def outcome_values(frame, columns, outcome):
    """Return labels, or a table of events and times, in ``columns`` of ``outcome_columns``."""
    return outcome.values(frame[list(columns.values())])


def add_people(parser):
    """Add the column of people and the options for reading the table."""
    add_column(parser, "--group", "IDs of people: protect people instead of rows")
    add_table_options(parser)


def add_output(parser, what, ending, *, required=True):
    """Add the output file and ``--force``."""
    text = f"{what} ({ending})"
    parser.add_argument("-o", "--output", required=required, metavar="FILE", help=text)
    parser.add_argument("--force", action="store_true", help="replace the output if it exists")


def add_plot(parser, what):
    """Add the plot file and ``--force``."""
    parser.add_argument("--plot", metavar="FILE", help=f"plot {what} (.png, .svg or .pdf)")
    parser.add_argument("--force", action="store_true", help="replace the plot if it exists")


def checked_plot(arguments):
    """Return the checked path of the plot, None without ``--plot``."""
    if arguments.plot is None:
        return None
    return checked_output(arguments, ".png", ".svg", ".pdf", argument="plot")


def checked_output(arguments, *endings, argument="output"):
    """Return the checked path of the output; it differs from all inputs."""
    inputs: list = []
    for name in _INPUTS:
        given = vars(arguments).get(name)
        inputs += given if isinstance(given, list) else [given]
    return check_output(
        getattr(arguments, argument),
        endings,
        force=arguments.force,
        inputs=[path for path in inputs if path is not None],
        argument=f"--{argument}",
    )


def read_rows(arguments, note, columns=None, argument="table"):
    """Return the table that an argument names, with the columns that the options name."""
    path = getattr(arguments, argument)
    note(f"reading {path!r}")
    frame = read_table(path, **table_options(arguments), note=note)
    for option, column in (columns or {}).items():
        check_columns(frame, [column] if column else [], path, option)
    return frame


def drafted(frame, note, **settings):
    """Return a draft schema from public rows; an error names all columns that need repair."""
    signs: dict = {}
    marks: dict = {}
    for name in frame.columns:
        count, _, advice = number_forms(frame[name])
        if count > MANY * frame[name].notna().sum():
            signs.setdefault(advice, []).append(name)
        elif of_column := missing_marks(frame[name]):
            marks[name] = of_column
    if marks:
        texts = dict.fromkeys(text for of_column in marks.values() for text in of_column)
        note(
            f"warning: {listed(list(texts))} in {listed(list(marks))} may mark missing cells. If "
            f"so, add {missing_option(marks)}"
        )
    passed = {settings.get(name) for name in ("label", "event", "time")}.union(
        marks, *signs.values()
    )
    faults = unfit_columns(frame[[name for name in frame.columns if name not in passed]])
    lines = [
        f"Numbers in {listed(names)} have decimal commas, thousands separators, currencies or a "
        f"minus sign behind: add {advice}."
        for advice, names in signs.items()
    ]
    lines += faults.values()
    if faults:
        drop = " ".join(f"--drop {shlex.quote(str(name))}" for name in faults)
        lines.append(f"Leave out columns you do not need: {drop}")
    if lines:
        raise ValueError("\n".join(filter(None, [*lines, odd_rows(frame)[0]])))
    return schema_from(frame, public=True, **settings)


def read_schema(path, argument="", *, with_outcome=False):
    """Return the schema of a file or release; errors name the file and the argument.

    ``with_outcome`` refuses a schema without classes or another outcome.
    """
    try:
        schema = _released_schema(path) if is_release(path) else Schema.read(path)
    except ValueError as error:
        raise ValueError(f"{argument}{path!r}: {error}") from None
    if with_outcome and not schema.outcome.is_complete:
        raise ValueError(
            f"{argument}{path!r} lists no classes. Draft it with --label or add by hand "
            '"classes": ["alive", "dead"]; for numbers '
            '"outcome": {"type": "number", "low": 0, "high": 80}, for times '
            '{"type": "event", "horizon": 365}.'
        )
    return schema


def drawn(plot, target, arguments):
    """Save the axes that ``plot`` returns; return lines that say so."""
    if target is None:
        return []
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise ValueError(
            "--plot needs matplotlib, which is not installed. Install it (pip install "
            "'skdp[plot]') or omit --plot."
        ) from None
    pyplot.switch_backend("agg")
    axes = plot()
    with write_whole(target, overwrite=arguments.force) as file:
        axes.figure.savefig(file, format=target.suffix[1:].lower())
    pyplot.close(axes.figure)
    return [f"Wrote {str(target)!r}."]


def is_release(path):
    """Return whether a file is named like a release."""
    return str(path).lower().endswith(".skdp")


def _released_schema(path):
    """Return the schema of a release, with its outcome."""
    release = Release.load(path)
    if release.encoder is None:
        raise ValueError("This release has no schema. Name a schema (.json).")
    return replace(release.encoder, outcome=release.outcome)


def write_schema(schema, target, arguments):
    """Write a schema as JSON to a path or an open file."""
    with write_whole(target, overwrite=arguments.force) as file:
        file.write(f"{schema.to_json()}\n".encode())


def people(frame, arguments):
    """Return the person of each row from the column of ``--group``, None without it."""
    if arguments.group is None:
        return None
    check_columns(frame, [arguments.group], arguments.table, "--group")
    if missing_values(frame[arguments.group]).any():
        raise ValueError(
            f"--group {arguments.group!r} has empty cells. Fill in the person's ID or delete "
            "these rows."
        )
    return frame[arguments.group]


def add_budget(parser, unit, *, required=True):
    """Add epsilon, delta and the ledger."""
    parser.add_argument(
        "--epsilon",
        required=required,
        metavar="NUMBER",
        type=between(0, inf, "1 is usual, smaller is more private"),
        help=f"privacy loss of {unit}",
    )
    parser.add_argument(
        "--delta", metavar="NUMBER", type=_small(), default=1e-5, help="default: 1e-5"
    )
    text = "ledger (.json), charged before noise is drawn"
    parser.add_argument("--ledger", metavar="FILE", help=text)
    parser.add_argument(
        "--budget-epsilon",
        metavar="NUMBER",
        type=between(0, inf, "state what all releases of these rows may spend together"),
        help="new ledger: limit of the rows' total epsilon",
    )
    parser.add_argument(
        "--budget-delta",
        metavar="NUMBER",
        type=_small(),
        help="new ledger: limit of the rows' total delta",
    )


def _small():
    return between(0, 1, "use at most 1e-5, far below 1 / number of records")


def between(low, high, remedy):
    """Return an argument type: a number strictly between ``low`` and ``high``."""

    def number(text):
        try:
            value = float(text)
        except ValueError:
            value = low
        if not low < value < high:
            above = f"above {low:g}" + ("" if high == inf else f" and below {high:g}")
            raise argparse.ArgumentTypeError(f"must be a number {above}, got {text!r}; {remedy}")
        return value

    return number


def check_budget(arguments):
    """Raise ValueError if limits are given without a ledger."""
    stated = {arguments.budget_epsilon, arguments.budget_delta} != {None}
    if stated and arguments.ledger is None:
        raise ValueError(
            "--budget-epsilon and --budget-delta need --ledger. Name the file of the ledger."
        )


class UnsavedError(ValueError):
    """Error of an output that could not be saved anywhere; holds the result as text."""

    def __init__(self, failure, content, target):
        is_text = target.suffix == ".json"
        self.result = (content if is_text else encodebytes(content)).decode().rstrip()
        super().__init__(f"{failure}{'as it is' if is_text else 'decode it by base64'}.")


@contextmanager
def charged_output(arguments, target, note):
    """Yield the ledger to charge, or None, and a file for the result.

    The output is opened before the charge.
    """
    with ExitStack() as last, _kept(target, arguments.force) as file:
        if arguments.ledger is None:
            note("warning: without --ledger, nothing adds up the cost of several releases")
            note("adding noise")
            yield None, file
            return
        ledger = _ledger_of(arguments)
        note(f"checking the budget in {arguments.ledger!r}, then adding noise")
        last.enter_context(_spending_shown(ledger, note))
        yield ledger, file


@contextmanager
def _kept(target, overwrite):
    """Yield a file that is saved to ``target``, or elsewhere if that fails."""
    file = BytesIO()
    try:
        with write_whole(target, overwrite=overwrite) as output:
            yield file
            output.write(file.getvalue())
    except BaseException as error:
        result = file.getvalue()
        if not result:
            raise
        why = getattr(error, "strerror", None) or type(error).__name__
        failure = f"--output {str(target)!r} could not be written ({why}). The result, which is"
        other = _saved_elsewhere(result, target)
        if other is not None:
            raise ValueError(f"{failure} charged, was saved as {str(other)!r}.") from None
        raise UnsavedError(f"{failure} charged, is on the screen: ", result, target) from None


def _saved_elsewhere(content, target):
    """Return the path of a copy near the target or in the temporary folder, None if both fail."""
    name = f"{target.stem[:40]}-{secrets.token_hex(4)}{target.suffix}"
    for folder in (lambda: target.parent, gettempdir):
        with suppress(OSError):
            other = Path(folder(), name)
            with write_whole(other, overwrite=False) as file:
                file.write(content)
            return other
    return None


def _ledger_of(arguments):
    """Return the ledger of a file; create it if its limits are given."""
    limits = {"epsilon": arguments.budget_epsilon, "delta": arguments.budget_delta}
    unstated = [f"--budget-{name}" for name, limit in limits.items() if limit is None]
    if unstated and not Path(arguments.ledger).exists():
        raise ValueError(
            f"--ledger {arguments.ledger!r} does not exist. Name the ledger of these rows, or "
            f"start one with {' and '.join(unstated)}, the most that all releases of these rows "
            "may spend together, such as 2 and 1e-5."
        )
    try:
        return PrivacyLedger(**limits, path=arguments.ledger)
    except ValueError as error:
        raise ValueError(f"--ledger {arguments.ledger!r}, --budget-...: {error}") from None


@contextmanager
def _spending_shown(ledger, note):
    """Report the budget spent if a block charges the ledger."""
    before = len(ledger.entries)
    try:
        yield
    finally:
        with suppress(OSError, ValueError):  # whatever became of the file, the result is there
            total = ledger.total
            if total is not None and len(ledger.entries) > before:
                why = below_sum(total, [guarantee for _, guarantee in ledger.entries])
                note(
                    f"spent so far: epsilon {total.epsilon:g} of {_limit(ledger.epsilon)}"
                    f"{f' ({why})' if why else ''}, delta {total.delta:g} of "
                    f"{_limit(ledger.delta)}"
                )


def _limit(value):
    return "any" if value is None else f"{value:g}"
