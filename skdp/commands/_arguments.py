"""What the commands' arguments have in common."""

import argparse
from math import inf


def add_output(parser, what, ending):
    """Add where to write, and whether over a file that is there."""
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help=f"{what} ({ending})")
    parser.add_argument("--force", action="store_true", help="replace the output if it exists")


def add_label(parser, text, *, required=False):
    """Add the name of the column with labels."""
    parser.add_argument("--label", metavar="COLUMN", required=required, help=text)


def between(low, high, remedy):
    """Return a type of arguments: a number between two others, these excluded.

    Examples
    --------
    >>> between(0, 1, "use 1e-5")("1e-5")
    1e-05
    """

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
