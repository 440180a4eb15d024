"""Positions along an axis."""

import numpy as np


def as_slice(positions):
    """Return positions that follow each other as a slice, by which numpy copies nothing.

    Parameters
    ----------
    positions : ndarray of shape (n,)
        Whole numbers ≥ 0.

    Returns
    -------
    positions : slice or ndarray
        The array itself where they do not.

    Examples
    --------
    >>> import numpy as np
    >>> as_slice(np.array([2, 3, 4])), as_slice(np.array([2, 4]))
    (slice(2, 5, None), array([2, 4]))
    """
    if len(positions) == 0:
        return slice(0, 0)
    first = int(positions[0])
    follow = np.array_equal(positions, np.arange(first, first + len(positions)))
    return slice(first, first + len(positions)) if follow else positions
