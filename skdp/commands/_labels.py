"""The column with labels, by the public list of classes."""

import numpy as np

from skdp.tabular import Vocabulary, missing_values


def class_labels(values, classes):
    """Return the class of each cell, None for what is none, and which cells are not empty.

    A cell is compared as labels are everywhere, by itself: the text "1", "1.0" and the number 1
    are the class 1.

    Parameters
    ----------
    values : Series of length n_samples
        A column of a table.

    classes : sequence
        Different labels of one type.

    Returns
    -------
    labels : ndarray of shape (n_samples,), of objects

    given : ndarray of shape (n_samples,), bool
        Whether a cell holds a class, or anything else but an empty cell.

    Examples
    --------
    >>> import pandas as pd
    >>> labels, given = class_labels(pd.Series(["1", "", "0.0", "?"], dtype=object), [0, 1])
    >>> labels.tolist(), given.tolist()
    ([1, None, 0, None], [True, False, True, True])
    """
    codes = Vocabulary(classes).codes(values)
    return np.array([*classes, None], dtype=object)[codes], ~missing_values(values)
