"""Reconstruction errors of groups of autoencoders, and what follows from their size."""

from itertools import chain, repeat

import numpy as np

from skdp.membership._reconstruction import nearest
from skdp.utils._linalg import squared_distances
from skdp.utils._parallel import map_rows

# Temperature of training rows that are all reconstructed exactly: so small that the
# nearest class gets probability one, and no division by zero.
_EXACT_TEMPERATURE = 1e-100


def error_sums(X, fitted):
    """Return what a model keeps of the squared reconstruction errors of its training rows.

    Sums, not the errors of single rows: a model need not carry one number for each.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Training rows.

    fitted : ndarray of shape (n_samples, n_features)
        Their reconstructions.

    Returns
    -------
    sums : ndarray of shape (3,)
        Number of rows, sum of their squared errors, and sum of the squares of these.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.membership import error_sums
    >>> error_sums(np.array([[1.0, 0.0], [0.0, 2.0]]), np.zeros((2, 2)))
    array([ 2.,  5., 17.])
    """
    errors = squared_distances(X, fitted).astype(np.float64)
    return np.array([len(errors), errors.sum(), errors @ errors])


def error_temperature(sums, n_features):
    """Return the temperature T that turns squared errors into log-probabilities −e/T.

    A residual that is Gaussian in k directions of equal variance v has a squared norm of
    mean kv and variance 2kv², and a log-density −e/(2v). Matching both moments gives
    T = 2v = variance/mean. A residual has at most p directions, hence T ≥ 2·mean/p.

    Parameters
    ----------
    sums : array-like of shape (n_classes, 3)
        What :func:`error_sums` returned for each class.

    n_features : int
        Number of features p.

    Returns
    -------
    temperature : float
        Positive; in squared units of the data.
    """
    counts, totals, squares = np.transpose(sums)
    mean = totals.sum() / counts.sum()
    if mean == 0:
        return _EXACT_TEMPERATURE
    within = (squares - totals**2 / counts).sum() / counts.sum()
    return float(max(within / mean, 2 * mean / n_features))


def group_temperature(groups):
    """Return the temperature T that turns the errors of groups into log-probabilities −e/T.

    A residual is taken to be Gaussian in k directions of variance v each, and its squared
    norm, of mean kv and variance 2kv², is matched to the errors of the training rows about
    the mean of their group: T = 2v = variance/mean, and T ≥ 2·mean/p since k ≤ p.

    Parameters
    ----------
    groups : list of list of autoencoders
        Fitted, those of each class.

    Returns
    -------
    temperature : float
        Positive; in squared units of the data.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import CDMMA
    >>> from skdp.membership import group_temperature
    >>> X, y = load_digits(return_X_y=True)
    >>> groups = [[CDMMA(5, n_layers=1, random_state=0).fit(X[y == c] / 16)] for c in (0, 1)]
    >>> 0.1 < group_temperature(groups) < 1
    True
    """
    sums = [np.sum([a.training_error_sums_ for a in group], axis=0) for group in groups]
    return error_temperature(sums, groups[0][0].n_features_in_)


def group_errors(groups, X, *, dtype, n_jobs=None, embed=None, reduce=None):
    """Return the least reconstruction error among the autoencoders of each group.

    Blocks of rows are scored in threads, in memory that does not grow with their number.

    Parameters
    ----------
    groups : list of list of autoencoders
        Fitted, those of each class: objects with ``candidates`` and ``values_per_row``, see
        :mod:`skdp.membership`.

    X : ndarray of shape (n_samples, n_features)
        Validated queries.

    dtype : dtype
        In which to compute.

    n_jobs : int or None, default=None
        Threads. The result does not depend on it.

    embed : callable, default=None
        ``embed(Y)`` gives, group by group, what the autoencoders of that group shall
        reconstruct for the rows Y. By default, Y itself.

    reduce : callable, default=None
        ``reduce(errors)`` replaces the errors of a block of rows.

    Returns
    -------
    errors : ndarray of shape (n_samples, n_groups)
        In squared units of X, finite; or what ``reduce`` made of them.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import CDMMA
    >>> from skdp.membership import group_errors
    >>> X, y = load_digits(return_X_y=True)
    >>> X = X / 16
    >>> groups = [[CDMMA(5, n_layers=1, random_state=0).fit(X[y == c])] for c in (0, 1)]
    >>> errors = group_errors(groups, X[:4], dtype=X.dtype)
    >>> errors.shape, errors.argmin(axis=1)[:2]
    ((4, 2), array([0, 1]))
    """

    def compute(Y):
        views = repeat(Y) if embed is None else embed(Y)
        errors = [
            nearest(chain.from_iterable(a.candidates(Z) for a in group), Z)[0]
            for group, Z in zip(groups, views, strict=False)
        ]
        # Queries so far away that squares overflow stay ordered and finite.
        largest = float(np.finfo(dtype).max)
        errors = np.nan_to_num(np.stack(errors, axis=1), nan=largest, posinf=largest)
        return errors if reduce is None else reduce(errors)

    return map_rows(
        compute,
        X,
        values_per_row=max(a.values_per_row() for group in groups for a in group),
        dtype=dtype,
        n_jobs=n_jobs,
    )
