"""What is said on the screen: progress on stderr, results on stdout."""

import sys

from skdp.utils._validation import inline


def tell(text):
    """Write a line of a result to stdout."""
    _write(text, sys.stdout)


def note(text):
    """Write a line about progress, or a fault, to stderr."""
    _write(f"skdp: {text}", sys.stderr)


def _write(text, stream):
    """Write a line, with what the screen has no characters for as escapes."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    lines = "\n".join(map(inline, text.split("\n")))
    print(lines.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
