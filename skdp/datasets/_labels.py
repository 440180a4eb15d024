"""Few labels, as a target owner has them."""

import numpy as np
from sklearn.utils import check_random_state


def hide_labels(y, n_shown, random_state=None, marker=-1):
    """Return labels of which all but a few of each class are replaced by a mark.

    For experiments: what would be known if only so many rows of each class had been labelled?

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        All labels.

    n_shown : int
        Labels of each class to be kept, drawn at random; all where a class has no more.

    random_state : int, RandomState instance or None, default=None
        Draws them.

    marker : int or None, default=-1
        What stands for an unlabelled row. None makes an array of objects.

    Returns
    -------
    marked : ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        When the mark is itself a label.

    Examples
    --------
    >>> from skdp.datasets import hide_labels
    >>> hide_labels([0, 1, 0, 1, 0], n_shown=1, random_state=0)
    array([-1,  1, -1, -1,  0])
    """
    y, rng = np.asarray(y), check_random_state(random_state)
    if marker in y.tolist():
        raise ValueError(
            f"The 'marker' parameter of hide_labels is {marker!r}, which is a label. Use None."
        )
    whole = y.dtype.kind in "iu" and marker is not None
    marked = np.full(len(y), marker, dtype=np.int64 if whole else object)
    for label in np.unique(y):
        shown = rng.permutation(np.flatnonzero(y == label))[:n_shown]
        marked[shown] = y[shown]
    return marked
