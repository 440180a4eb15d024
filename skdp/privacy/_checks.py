"""What numbers and texts of a guarantee may be; loading a file goes through the same checks."""

from math import isnan
from numbers import Integral, Real

# Most uses of one mechanism that are accounted for. Numbers of uses are float64 in the arithmetic
# that follows, which holds integers exactly up to here.
MOST_USES = 2**53


def check_real(owner, name, value, low, high, *, open_low=False, open_high=False):
    """Return a number of an interval as a float; NaN is in none.

    Parameters
    ----------
    owner : str
        Name of the class, for the message.

    name : str
        Name of the parameter.

    value : object
        What was given.

    low, high : float
        Ends of the interval.

    open_low, open_high : bool, default=False
        Whether the end itself is left out.

    Returns
    -------
    number : float

    Raises
    ------
    ValueError
        When it is no real number, or outside.
    """
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else None
    except OverflowError:
        number = None
    inside = number is not None and not isnan(number) and low <= number <= high
    if not inside or (open_low and number == low) or (open_high and number == high):
        ends = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
        raise ValueError(
            f"The {name!r} of {owner} must be a number in {ends}, got {_short(value)}. "
            "State what the mechanism guarantees."
        )
    return number


def check_count(owner, name, value):
    """Return a whole number from 1 to 2^53 as an int.

    Raises
    ------
    ValueError
        When it is none.
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not 1 <= value <= MOST_USES:
        raise ValueError(
            f"The {name!r} of {owner} must be a whole number from 1 to 2^53, got {_short(value)}."
        )
    return int(value)


def check_choice(owner, name, value, choices):
    """Return one of several texts.

    Raises
    ------
    ValueError
        When it is none of them.
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(
            f"The {name!r} of {owner} must be one of {', '.join(map(repr, choices))}, got "
            f"{_short(value)}."
        )
    return value


def check_text(owner, name, value):
    """Return a text that shows as it is.

    Raises
    ------
    ValueError
        When it is none, or holds control characters: those of a terminal can hide or overwrite
        the numbers that are printed with it.
    """
    if not isinstance(value, str):
        raise ValueError(f"The {name!r} of {owner} must be a text, got {_short(value)}.")
    if not value.isprintable():
        raise ValueError(
            f"The {name!r} of {owner} must be a text of printable characters, got "
            f"{_short(value)}. Remove control characters and line breaks."
        )
    return value


def _short(value):
    """Return a value for a message; a file may hold very long ones."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return f"a very large {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:60]}…"
