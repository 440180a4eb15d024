"""Which rows of a target to label: those in the middle of its clusters."""

import warnings
from numbers import Integral

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state

from skdp.utils._sklearn import Interval, validate_params
from skdp.utils._validation import check_array, check_magnitude


@validate_params(
    {
        "n_rows": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def representative_rows(
    X: ArrayLike | pd.DataFrame,
    n_rows: int,
    *,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> np.ndarray:
    """Choose which rows of a target to label, before any label is known.

    k-means divides the rows into ``n_rows`` clusters, and the row nearest to the mean of each
    cluster is chosen. So the labeled rows are typical and cover the whole target.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numeric rows of the target, such as :meth:`Release.encode` returns for a table. Clusters
        depend on the units of the columns: scale them alike.

    n_rows : int
        Number of rows to choose.

    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row in k-means. With p(1 − p), where p is a release's probability of one of
        two classes, more rows are chosen where the release is uncertain.

    random_state : int, RandomState instance or None, default=None
        Seeds k-means. Pass an int for reproducible results.

    Returns
    -------
    rows : ndarray of shape (n_rows,)
        Positions of the chosen rows in X, those of large clusters first.

    Raises
    ------
    ValueError
        If X has fewer than ``n_rows`` rows or values that are not finite, or if weights are
        invalid.

    See Also
    --------
    DPTransferClassifier : Learns from the labels; pass ``label_sampling="random"``.

    Notes
    -----
    This is active learning with typical rows (Hacohen, Dekel and Weinshall, 2022). It helps
    without a release, in particular with few labels per class, as for images. With a release, a
    random sample is usually as good. See :doc:`/howto/transfer`.

    References
    ----------
    Hacohen, Dekel and Weinshall (2022), "Active learning on a budget: opposite strategies suit
    high and low budgets".

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import representative_rows
    >>> X = np.array([[0.0], [0.1], [0.2], [0.9], [1.0]])  # two clusters
    >>> representative_rows(X, 2, random_state=0)
    array([1, 3])
    """
    X = check_array(X, dtype=[np.float64, np.float32])
    check_magnitude(X, "X")
    if n_rows > len(X):
        raise ValueError(
            f"The 'n_rows' parameter of representative_rows is {n_rows}, and X has {len(X)} rows. "
            "Choose fewer."
        )
    if sample_weight is not None and not (np.asarray(sample_weight, dtype=float) >= 0).all():
        raise ValueError(
            "The 'sample_weight' parameter of representative_rows must be numbers from 0 on."
        )
    rng = check_random_state(random_state)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        # Of fewer distinct rows than clusters, see below.
        clusters = KMeans(n_rows, random_state=rng).fit(X, sample_weight=sample_weight)
    sizes = np.bincount(clusters.labels_, minlength=n_rows)
    order = np.argsort(-sizes, kind="stable")
    chosen = [_nearest_to_mean(X, clusters, k) for k in order if sizes[k]]
    # Where there are fewer distinct rows than clusters, some clusters are empty.
    others = rng.permutation(np.setdiff1d(np.arange(len(X)), chosen))
    return np.append(chosen, others[: n_rows - len(chosen)]).astype(int)


def _nearest_to_mean(X, clusters, k):
    """Return the position of the row of a cluster that is nearest to its mean."""
    members = np.flatnonzero(clusters.labels_ == k)
    nearest = pairwise_distances_argmin(clusters.cluster_centers_[[k]], X[members])
    return members[nearest[0]]
