"""Text of anybody's making, shown so that it does nothing to a terminal."""


def inline(text):
    r"""Return text that may come from anybody's file as one line without control characters.

    Examples
    --------
    >>> print(inline("one line\n\x1b[2Jtwo"))
    one line\n\x1b[2Jtwo
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
