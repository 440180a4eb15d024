"""Columns that are chosen by their names."""

from collections.abc import Iterable


def checked_subset(caller, names, known):
    """Return chosen names as a tuple.

    Parameters
    ----------
    caller : str
        Whose parameter ``names`` is, for the messages.

    names : iterable of str
        One name or more, each once.

    known : sequence of str
        Of which they are.

    Returns
    -------
    names : tuple of str

    Raises
    ------
    ValueError
        Naming those that are unknown or repeated.

    Examples
    --------
    >>> from skdp.utils._names import checked_subset
    >>> checked_subset("f", ["b", "a"], ["a", "b", "c"])
    ('b', 'a')
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ValueError(
            f"The 'names' parameter of {caller} must be a list of names, got {names!r:.100}. "
            f"Pass [{names!r:.100}]."
        )
    chosen = tuple(names)
    if not chosen:
        raise ValueError(
            f"The 'names' parameter of {caller} is empty. Name one column or more that remains."
        )
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise ValueError(
            f"The 'names' parameter of {caller} has unknown columns, {unknown!r:.300}. Use some "
            f"of {list(known)!r:.1000}."
        )
    twice = [name for name in dict.fromkeys(chosen) if chosen.count(name) > 1]
    if twice:
        raise ValueError(
            f"The 'names' parameter of {caller} has the columns {twice!r:.300} more than once. "
            "Name each column once."
        )
    return chosen
