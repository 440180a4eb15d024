"""Shared parts of loaders: the folder of local files, and the choice of shown labels."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skdp.utils._frames import as_column


def local_file(file_name):
    """Return the path of a file in the folder SKDP_DATA, or None."""
    folder = os.environ.get("SKDP_DATA")
    path = Path(folder or "") / file_name
    return path if folder and path.is_file() else None


def missing_file(file_name, remedy):
    """Return the error for a file that is missing in the folder SKDP_DATA."""
    return OSError(
        f"SKDP_DATA={os.environ.get('SKDP_DATA')!r} is not a folder with {file_name}. Set the "
        f"environment variable SKDP_DATA to a folder that holds it{remedy}."
    )


def hide_labels(
    y: ArrayLike,
    n_shown: int,
    *,
    sampling: str = "stratified",
    marker: Any = -1,
    random_state: int | np.random.RandomState | None = None,
) -> np.ndarray:
    """Replace all but a few labels by a marker of unlabeled rows.

    For experiments with few labels.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        All labels.

    n_shown : int
        Number of labels to keep at random, per class or of all rows. If fewer exist, all are kept.

    sampling : {"stratified", "random"}, default="stratified"
        Whether to keep ``n_shown`` labels of each class, or ``n_shown`` of all rows, so
        that some classes may have none. See ``label_sampling`` of
        :class:`~skdp.DPTransferClassifier`.

    marker : int or None, default=-1
        Marker of an unlabeled row. None makes an array of objects.

    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    marked : ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        If the marker is itself a label, or ``sampling`` is unknown.

    Examples
    --------
    >>> from skdp.datasets import hide_labels
    >>> hide_labels([0, 1, 0, 1, 0], n_shown=1, random_state=0)
    array([-1,  1, -1, -1,  0])
    >>> hide_labels([0, 1, 0, 1, 0], n_shown=3, sampling="random", random_state=0)
    array([ 0,  1,  0, -1, -1])
    """
    y, rng = np.asarray(as_column(y)), check_random_state(random_state)
    if marker in y.tolist():
        raise ValueError(
            f"The 'marker' parameter of hide_labels is {marker!r}, which is a label. Use None."
        )
    if sampling not in ("stratified", "random"):
        raise ValueError(
            "The 'sampling' parameter of hide_labels must be 'stratified' or 'random', got "
            f"{sampling!r}."
        )
    whole = y.dtype.kind in "iu" and marker is not None
    marked = np.full(len(y), marker, dtype=np.int64 if whole else object)
    groups = [y == label for label in np.unique(y)]
    for rows in groups if sampling == "stratified" else [np.ones(len(y), dtype=bool)]:
        shown = rng.permutation(np.flatnonzero(rows))[:n_shown]
        marked[shown] = y[shown]
    return marked
