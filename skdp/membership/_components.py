"""Choice of the number of principal components of autoencoders."""

import numpy as np

from skdp.utils._linalg import principal_directions
from skdp.utils._parallel import run_tasks

# Largest number of components, as in all experiments of the papers.
MOST_COMPONENTS = 20
# Evenly spaced rows of a set that are used: more hardly change the choice.
_MOST_ROWS = 500
_N_FOLDS = 5


def most_components(n_rows):
    """Return the most components that this many rows support: half of their number."""
    # Along further directions the variance of held-out rows is a multiple of the training rows'
    # variance: they lie outside the range of codes, where the kernel vanishes.
    return max(1, n_rows // 2 - 1)


def likely_components(X, sets, *, n_jobs=None):
    """Return the numbers of components for autoencoders of sets of rows, positions in X.

    They are equal, so that errors can be compared, except that small sets support fewer. They
    maximize the mean held-out log-likelihood of probabilistic principal components (Tipping and
    Bishop, 1999): the directions along which rows vary distinctly more than along the others.
    """
    tasks = ((X[rows[:: -(-len(rows) // _MOST_ROWS)]], MOST_COMPONENTS) for rows in sets)
    curves = run_tasks(_held_out_likelihoods, tasks, len(sets), n_jobs=n_jobs)
    best = 1 + int(np.argmax(np.mean(curves, axis=0)))
    return [min(best, most_components(len(rows))) for rows in sets]


def _held_out_likelihoods(rows, most):
    """Return the mean log-likelihood of held-out rows with 1, …, most components."""
    n_folds, sums = min(_N_FOLDS, len(rows)), np.zeros(most)
    if len(rows) < 3:
        return sums
    for fold in range(n_folds):
        left_out = np.arange(len(rows)) % n_folds == fold
        sums += _log_likelihoods(rows[~left_out], rows[left_out], most)
    return sums / len(rows)


def _log_likelihoods(train, queries, most):
    """Return sums of log-likelihoods of queries, by components of other rows."""
    n_features, mean = train.shape[1], train.mean(axis=0, dtype=np.float64)
    train, queries = train - mean, queries - mean
    most_supported = min(most, n_features, most_components(len(train)))
    directions = principal_directions(train, most_supported)
    total = np.square(train).sum(axis=1).mean()
    least = max(1e-10 * total / n_features, 1e-300)  # of rows in an exact subspace
    variances = np.maximum(np.square(train @ directions.T).mean(axis=0), least)
    n_left = n_features - np.arange(1, len(variances) + 1)
    residual = np.maximum((total - np.cumsum(variances)) / np.maximum(n_left, 1), least)
    squares = np.square(queries @ directions.T).sum(axis=0)
    of_codes = np.cumsum(squares / variances + len(queries) * np.log(variances))
    errors = np.square(queries).sum() - np.cumsum(squares)
    of_residual = np.where(
        n_left > 0, errors / residual + len(queries) * n_left * np.log(residual), 0.0
    )
    likelihoods = -0.5 * (of_codes + of_residual)
    if n_left[-1] == 0 and n_features > 1:
        # All components but one are the same normal distribution as all: none is left out.
        likelihoods[-2] = -np.inf
    # Beyond what the rows support they say nothing.
    return np.pad(likelihoods, (0, most - len(likelihoods)), mode="edge")
