"""Scores of rows by models that have not seen them, or not their guesses."""

import numpy as np


def out_of_fold_scores(fit, settings, rows, labels, trusted, folds):
    """Return scores of each row by a model of the trusted rows of the other folds.

    Parameters
    ----------
    fit : callable
        ``fit(settings, rows, labels)`` returns a scorer of the classes among the labels.

    settings : Round
        Of the model.

    rows : ndarray of shape (n_samples, n_features)

    labels : ndarray of shape (n_samples,)
        Class indices.

    trusted : ndarray of shape (n_samples,), bool
        Rows to learn from.

    folds : ndarray of shape (n_samples,)
        Fold of each row. Rows of fold −1 are in no fold: every model learns from them, and
        none scores them.

    Returns
    -------
    scores : ndarray of shape (n_samples, n_classes)
        NaN where the fold is −1.
    """
    n_classes = labels.max() + 1
    scores = np.full((len(rows), n_classes), np.nan)
    for k in range(folds.max() + 1):
        train, here = trusted & (folds != k), folds == k
        scores[here] = scores_by(fit, settings, rows[train], labels[train], rows[here], n_classes)
    return scores


def scores_by(fit, settings, rows, labels, queries, n_classes):
    """Return scores of queries by a model of some rows.

    A class that these do not have is scored as far below the worst as that is below the best.
    """
    present = np.unique(labels)
    if len(present) < 2:
        return np.zeros((len(queries), n_classes))
    found = fit(settings, rows, labels).scores(queries)
    best, worst = found.max(axis=1, keepdims=True), found.min(axis=1, keepdims=True)
    scores = np.repeat(2 * worst - best, n_classes, axis=1)
    scores[:, present] = found
    return scores
