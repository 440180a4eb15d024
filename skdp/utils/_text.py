"""Text that differs only in how Unicode spells its letters, found to be equal at this one place.

macOS and some spreadsheets write "ö" as two characters, "o" and a mark (NFD), others as one (NFC).
Names of columns, categories and classes that look alike are the same.
"""

import unicodedata

import pandas as pd


def composed(text):
    r"""Return text with each letter in one character where there is one (NFC); others unchanged.

    Examples
    --------
    >>> from skdp.utils._text import composed
    >>> len("Ko\u0308ln"), len(composed("Ko\u0308ln")), composed(3)
    (5, 4, 3)
    """
    if not isinstance(text, str) or text.isascii():
        return text
    return unicodedata.normalize("NFC", text)


def matched(names, known):
    r"""Return names in the spelling of known ones that look alike; others unchanged.

    Parameters
    ----------
    names : iterable

    known : iterable
        Hashable. A name that is one of them stays as it is.

    Returns
    -------
    names : list

    Examples
    --------
    >>> from skdp.utils._text import matched
    >>> matched(["Ko\u0308ln", "Bonn"], ["Köln"]) == ["Köln", "Bonn"]
    True
    """
    exact = dict.fromkeys(known)
    forms = {composed(name): name for name in exact}
    return [
        forms.get(composed(name), name) if isinstance(name, str) and name not in exact else name
        for name in names
    ]


def named_like(frame, names):
    r"""Return a DataFrame with its columns named as known ones that look alike; others unchanged.

    Parameters
    ----------
    frame : DataFrame or object

    names : iterable or None

    Returns
    -------
    frame : DataFrame or object
        Itself where no name differs.

    Examples
    --------
    >>> import pandas as pd
    >>> from skdp.utils._text import named_like
    >>> named_like(pd.DataFrame({"Gro\u0308ße": [1.7]}), ["Größe"])["Größe"].tolist()
    [1.7]
    """
    if names is None or not isinstance(frame, pd.DataFrame):
        return frame
    given = frame.columns.tolist()
    renamed = matched(given, names)
    if all(one is other for one, other in zip(given, renamed, strict=True)):
        return frame
    frame = frame.copy(deep=False)
    frame.columns = pd.Index(renamed, dtype=object)
    return frame
