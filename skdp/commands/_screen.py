"""What is said on the screen: progress on stderr, results on stdout."""

import sys


def tell(text):
    """Write a line of a result to stdout."""
    _write(text, sys.stdout)


def note(text):
    """Write a line about progress, or a fault, to stderr."""
    _write(f"skdp: {text}", sys.stderr)


def inline(text):
    r"""Return text that may come from anybody's file as one line without control characters.

    Examples
    --------
    >>> print(inline("one line\n\x1b[2Jtwo"))
    one line\n\x1b[2Jtwo
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _write(text, stream):
    """Write a line, with what the screen has no characters for as escapes."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    lines = "\n".join(map(inline, text.split("\n")))
    print(lines.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
