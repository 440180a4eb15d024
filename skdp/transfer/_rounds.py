"""Self-training: the rounds of 004, Algorithm 7, and of 003, equations (1.82)–(1.83)."""

import time
from dataclasses import replace
from typing import Any

import numpy as np

from skdp.transfer._schedule import Round


def self_train(fit, schedule, side, X, labels, *, n_folds, random_state, tol, verbose):
    """Label the unlabelled rows round by round.

    An initial classifier of the labelled rows alone guesses first. Each round then guesses
    again, by the lesser of the target's error and that of the source side. When hardly a
    guess changes, the last round comes next.

    With one fold the target's errors are those of a classifier of all rows (004). It has seen
    the very guesses that it is to judge, and confirms most of them. With more folds, guesses
    of each are judged by a classifier of the labelled rows and of the other folds.

    Parameters
    ----------
    fit : callable
        ``fit(settings, rows, labels)`` returns a fitted classifier.

    schedule : list of Round
        What each round does.

    side : SourceSide
        Help from the source.

    X : ndarray of shape (n_samples, n_features)
        All target rows.

    labels : ndarray of shape (n_samples,)
        Class numbers, −1 where unlabelled. Guesses are written in place.

    n_folds : int
        Folds of the unlabelled rows, drawn anew in each round.

    random_state : RandomState
        Draws the folds.

    tol : float
        Largest fraction of guesses that may change when they count as settled.

    verbose : int
        Above 0, print a line for each round.

    Returns
    -------
    classifier : WideCDMMAClassifier
        Of the last round.

    history : dict of list
        One entry for each round, see :class:`DPTransferClassifier`.
    """
    hidden = labels < 0
    n_hidden = int(np.count_nonzero(hidden))
    crossed = n_hidden >= n_folds > 1
    classifier: Any = None
    rows = side.rows(X)
    folds, everyone = np.full(len(labels), -1), np.ones(len(labels), dtype=bool)
    history = History(len(schedule), n_hidden, verbose)
    k = len(schedule)
    if n_hidden:
        k = 1
        settings = first_round(labels[~hidden])
        initial = fit(settings, rows[~hidden], labels[~hidden])
        labels[hidden] = initial.reconstruction_errors(rows[hidden]).argmin(axis=1)
        history.add(0, settings, n_hidden, source_share=0.0)
    side.update(X, labels)
    score = side.scorer(X[hidden])
    while True:
        settings = schedule[k - 1]
        changed, share = 0, 0.0
        if not crossed:
            classifier = fit(settings, rows, labels)
        if n_hidden:
            if crossed:
                folds[hidden] = random_state.permutation(n_hidden) % n_folds
                # Depth is for the model that remains.
                shallow = replace(settings, n_layers=1)
                errors = -crossed_scores(fit, shallow, rows, labels, everyone, folds)[hidden]
            else:
                errors = classifier.reconstruction_errors(rows[hidden])
            others = score()
            share = np.mean(others.min(axis=1) < errors.min(axis=1))
            guesses = np.minimum(errors, others).argmin(axis=1)
            changed = int(np.count_nonzero(labels[hidden] != guesses))
            labels[hidden] = guesses
            side.update(X, labels)
        history.add(k, settings, changed, source_share=float(share))
        if k == len(schedule):
            if crossed:
                classifier = fit(settings, rows, labels)
            side.finish(rows, labels)
            return classifier, history.columns
        k = len(schedule) if changed <= tol * n_hidden else k + 1


def crossed_scores(fit, settings, rows, labels, trusted, folds):
    """Return scores of each row by a classifier of the trusted rows of the other folds.

    Rows of fold −1 are in no fold: every classifier learns from them, and none scores them.
    """
    n_classes = labels.max() + 1
    scores = np.full((len(rows), n_classes), np.nan)
    for k in range(folds.max() + 1):
        train, here = trusted & (folds != k), folds == k
        scores[here] = scores_by(fit, settings, rows[train], labels[train], rows[here], n_classes)
    return scores


def scores_by(fit, settings, rows, labels, queries, n_classes):
    """Return minus the errors of a classifier.

    For a class it has not seen, as far below the worst as the worst is below the best.
    """
    present = np.unique(labels)
    if len(present) < 2:
        return np.zeros((len(queries), n_classes))
    errors = fit(settings, rows, labels).reconstruction_errors(queries)
    best, worst = errors.min(axis=1, keepdims=True), errors.max(axis=1, keepdims=True)
    scores = np.repeat(best - 2 * worst, n_classes, axis=1)
    scores[:, present] = -errors
    return scores


def first_round(labels):
    """Return the settings of the initial classifier: n = min(20, min_c N_c − 1), M = N, L = 1."""
    return Round(int(np.clip(np.bincount(labels).min() - 1, 1, 20)), 1.0, 1)


class History:
    """Columns of what happened, printed as it happens."""

    def __init__(self, n_rounds, n_hidden, verbose):
        self._n_rounds, self._n_hidden, self._verbose = n_rounds, n_hidden, verbose
        self._start = time.perf_counter()
        self.columns: dict = {}

    def add(self, k, settings, changed, **details):
        """Note a round: its settings, how many guesses changed, and fractions of any name."""
        entry = {
            "round": k,
            "n_components": settings.n_components,
            "n_inducing": settings.n_inducing,
            "n_layers": settings.n_layers,
            "changed": changed,
            "agreement": 1 - changed / max(self._n_hidden, 1),
            **details,
        }
        for name, value in entry.items():
            self.columns.setdefault(name, []).append(value)
        if self._verbose:
            fractions = ", ".join(f"{name} {value:.0%}" for name, value in details.items())
            print(
                f"[DPTransferClassifier] round {k} of {self._n_rounds}: {changed} of "
                f"{self._n_hidden} pseudo-labels changed, {fractions}, "
                f"{time.perf_counter() - self._start:.1f} s gone"
            )
