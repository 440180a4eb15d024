"""The column with labels, by the public list of classes."""

import numpy as np

from skdp.commands._tables import missing_cells
from skdp.tabular import CategoryColumn


def class_labels(values, classes):
    """Return the class of each cell, None for what is none, and which cells are not empty.

    A cell is compared as a category is, by itself: the text "1", "1.0" and the number 1 are
    the class 1.

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
    column = CategoryColumn("label", tuple(classes))
    codes = column.codes(values)
    labels = np.array([*classes, None], dtype=object)[codes]
    return labels, (codes >= 0) | ~missing_cells(values)
