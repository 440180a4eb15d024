"""Text that differs only in how Unicode spells its letters, and the width of the terminal.

macOS and some spreadsheets write "ö" as two characters, "o" and a mark (NFD), others as one (NFC).
Names of columns, categories and classes that look alike are the same.
"""

import unicodedata
from shutil import get_terminal_size

import pandas as pd


def text_width(most):
    """Return the width of the terminal in characters, or 80 without one; ``most`` at most."""
    return min(most, get_terminal_size().columns)


def composed(text):
    """Return text with each letter in one character if possible (NFC); others unchanged."""
    if not isinstance(text, str) or text.isascii():
        return text
    return unicodedata.normalize("NFC", text)


def matched(names, spellings):
    """Return names in those spellings that look alike; others unchanged."""
    exact = dict.fromkeys(spellings)
    forms = {composed(name): name for name in exact}
    return [
        forms.get(composed(name), name) if isinstance(name, str) and name not in exact else name
        for name in names
    ]


def named_like(frame, names):
    """Return a DataFrame with its columns named as those that look alike; others unchanged."""
    if names is None or not isinstance(frame, pd.DataFrame):
        return frame
    given = frame.columns.tolist()
    renamed = matched(given, names)
    if all(one is other for one, other in zip(given, renamed, strict=True)):
        return frame
    frame = frame.copy(deep=False)
    frame.columns = pd.Index(renamed, dtype=object)
    return frame
