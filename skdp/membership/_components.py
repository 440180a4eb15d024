"""The number of principal components that autoencoders of rows should have."""

import numpy as np

from skdp.utils._linalg import principal_directions

# Largest number of components, as in all experiments of the papers.
MOST_COMPONENTS = 20
# Evenly spaced rows of a set that are looked at: with 500 the choice is settled.
_MOST_ROWS = 500
_N_FOLDS = 5


def likely_components(sets, most=MOST_COMPONENTS):
    """Return one number of components for autoencoders of several sets of rows, at least one.

    It has the largest mean held-out log-likelihood, over sets, of probabilistic principal
    components (Tipping and Bishop, 1999): one more component is worth it as long as the variance
    along it is distinct in rows that it was not learned from.
    """
    curves = [_held_out_likelihoods(rows, most) for rows in sets]
    return 1 + int(np.argmax(np.mean(curves, axis=0)))


def _held_out_likelihoods(rows, most):
    """Return the mean log-likelihood of held-out rows with 1, …, most components."""
    rows = rows[:: -(-len(rows) // _MOST_ROWS)].astype(np.float64, copy=False)
    n_folds, sums = min(_N_FOLDS, len(rows)), np.zeros(most)
    if len(rows) < 3:
        return sums  # they say nothing
    for fold in range(n_folds):
        left_out = np.arange(len(rows)) % n_folds == fold
        sums += _log_likelihoods(rows[~left_out], rows[left_out], most)
    return sums / len(rows)


def _log_likelihoods(train, queries, most):
    """Return sums of log-likelihoods of queries, by components of other rows."""
    n_features, mean = train.shape[1], train.mean(axis=0)
    train, queries = train - mean, queries - mean
    # More components than rows or columns leave no residual whose variance could be estimated.
    limit = max(1, min(most, len(train) - 2, n_features - 1))
    directions = principal_directions(train, limit)
    total = np.square(train).sum(axis=1).mean()
    floor = 1e-10 * max(total, 1e-300) / n_features  # of exact subspaces
    variances = np.maximum(np.square(train @ directions.T).mean(axis=0), floor)
    n = np.arange(1, len(variances) + 1)
    residual = np.maximum((total - np.cumsum(variances)) / np.maximum(n_features - n, 1), floor)
    squares = np.square(queries @ directions.T)
    errors = np.square(queries).sum() - np.cumsum(squares.sum(axis=0))
    of_codes = np.cumsum(squares.sum(axis=0) / variances + len(queries) * np.log(variances))
    of_residuals = errors / residual + len(queries) * (n_features - n) * np.log(residual)
    likelihoods = -0.5 * (of_codes + of_residuals)
    return np.pad(likelihoods, (0, most - len(n)), mode="edge")
