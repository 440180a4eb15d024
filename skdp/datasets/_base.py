"""What loaders share: where local files are, and how few labels are shown."""

import os
from pathlib import Path

import numpy as np
from sklearn.utils import check_random_state


def local_file(file_name):
    """Return the path of a file in the folder that SKDP_DATA names, None where there is none."""
    folder = os.environ.get("SKDP_DATA")
    path = Path(folder or "") / file_name
    return path if folder and path.is_file() else None


def missing_file(file_name, remedy):
    """Return the error for a file that is not in the folder that SKDP_DATA names."""
    return OSError(
        f"SKDP_DATA={os.environ.get('SKDP_DATA')!r} names no folder with {file_name}. Set the "
        f"environment variable SKDP_DATA to a folder that holds it{remedy}."
    )


def hide_labels(y, n_shown, *, marker=-1, random_state=None):
    """Return labels of which all but a few of each class are replaced by a mark.

    For experiments: what would be known if only so many rows of each class had been labelled?

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        All labels.

    n_shown : int
        Labels of each class to be kept, drawn at random; all where a class has no more.

    marker : int or None, default=-1
        What stands for an unlabelled row. None makes an array of objects.

    random_state : int, RandomState instance or None, default=None
        Draws the labels to be kept.

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
