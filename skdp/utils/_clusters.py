"""k-means, as both model families use it: centres of a set, and its partition."""

from numbers import Integral

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_array

from skdp.utils._sklearn import Interval, RealNotInt

# What :func:`resolve_count` takes, as constraints of a parameter.
COUNT_OR_FRACTION: list = [
    Interval(Integral, 1, None, closed="left"),
    Interval(RealNotInt, 0, 1, closed="right"),
]


def resolve_count(fraction_or_count, n):
    """Return how many of n points are meant by a fraction in (0, 1] or a count."""
    if isinstance(fraction_or_count, float | np.floating):
        return max(1, int(np.ceil(fraction_or_count * n)))
    return min(int(fraction_or_count), n)


def check_points(estimator, name, n_features):
    """Return the points that a parameter gives, checked, or None where it gives none."""
    points = getattr(estimator, name)
    if points is None:
        return None
    points = check_array(points, dtype=np.float64, input_name=name)
    if points.shape[1] != n_features:
        raise ValueError(
            f"The {name!r} parameter of {type(estimator).__name__} must have {n_features} "
            f"columns, one for each coordinate that the model reads, got {points.shape[1]}. "
            "Pass points in that space, or None to let k-means choose."
        )
    return points


def kmeans_centres(x, n_centres, random_state):
    """Return at most n_centres cluster centroids of the rows of x.

    As many centres as distinct rows need no clustering: those rows are returned.

    The start is a random choice of rows. k-means++ spreads its start over outliers, which
    helps when a few centres must find a few clusters; with a centre for every other row it
    was measured to cost six times the time and a little accuracy.
    """
    distinct = np.unique(x, axis=0)
    if n_centres >= len(distinct):
        return x.copy() if len(distinct) == len(x) else distinct
    kmeans = KMeans(n_centres, init="random", n_init=1, random_state=random_state)
    return kmeans.fit(x).cluster_centers_


def kmeans_partition(X, n_subsets, random_state):
    """Return the row indices of each of n_subsets non-empty clusters of X."""
    if n_subsets == 1:
        return [np.arange(len(X))]
    labels = KMeans(n_subsets, n_init=1, random_state=random_state).fit(X).labels_
    subsets = [np.flatnonzero(labels == s) for s in range(n_subsets)]
    return [rows for rows in subsets if rows.size]
