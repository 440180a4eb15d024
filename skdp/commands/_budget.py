"""Arguments of commands that spend a privacy budget: epsilon, delta and the ledger."""

import argparse
from contextlib import contextmanager
from math import inf
from pathlib import Path

from skdp.privacy import PrivacyLedger


def add_budget(parser, unit, *, required=True):
    """Add the privacy loss of a command for a protected unit, and the ledger that is charged."""
    parser.add_argument(
        "--epsilon",
        required=required,
        metavar="NUMBER",
        type=between(0, inf, "1 is a usual choice, smaller is more private"),
        help=f"privacy loss of {unit}; smaller is more private",
    )
    small = between(0, 1, "use 1e-5 or less, far below 1 over the number of records")
    parser.add_argument(
        "--delta", metavar="NUMBER", type=small, default=1e-5, help="slack (default: 1e-5)"
    )
    ledger = parser.add_argument_group("budget", "the account of what these rows have spent")
    ledger.add_argument("--ledger", metavar="FILE", help="charged before noise is drawn (.json)")
    ledger.add_argument(
        "--budget-epsilon",
        metavar="NUMBER",
        type=between(0, inf, "say what all releases of these rows may spend together"),
        help="largest total epsilon; with a new ledger",
    )
    ledger.add_argument(
        "--budget-delta",
        metavar="NUMBER",
        type=small,
        help="largest total delta; with a new ledger",
    )


def between(low, high, remedy):
    """Return a type of arguments: a number between two others, these excluded."""

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
    """Raise ValueError where limits are given for no ledger, before any work is done."""
    stated = {arguments.budget_epsilon, arguments.budget_delta} != {None}
    if stated and arguments.ledger is None:
        raise ValueError(
            "--budget-epsilon and --budget-delta need --ledger, the file that holds the account. "
            "Name one."
        )


@contextmanager
def opened_ledger(arguments, note):
    """Yield the ledger that a command charges, or None; report the budget spent."""
    if arguments.ledger is None:
        note("warning: without --ledger the costs of several releases are not added up")
        note("adding noise")
        yield None
        return
    limits = {"epsilon": arguments.budget_epsilon, "delta": arguments.budget_delta}
    if None in limits.values() and not Path(arguments.ledger).exists():
        raise ValueError(
            f"--ledger {arguments.ledger!r} is no file yet. If these rows have a ledger, name "
            "it; otherwise begin one by stating --budget-epsilon and --budget-delta."
        )
    try:
        ledger = PrivacyLedger(**limits, path=arguments.ledger)
    except ValueError as error:
        raise ValueError(f"--ledger {arguments.ledger!r}, --budget-...: {error}") from None
    before = len(ledger.entries)
    note(f"charging {arguments.ledger!r}, then adding noise")
    try:
        yield ledger
    finally:
        total = ledger.total
        if total is not None and len(ledger.entries) > before:
            note(
                f"spent so far: epsilon {total.epsilon:g} of {_limit(ledger.epsilon)}, delta "
                f"{total.delta:g} of {_limit(ledger.delta)}"
            )


def _limit(value):
    return "any" if value is None else f"{value:g}"
