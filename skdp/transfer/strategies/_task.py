"""What every strategy is given, and the protocol of whatever scores rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from skdp.release import Release, Subspace

# Directions of the target's subspace, and of discriminants in its place; the source's default
# subspace has as many. Rule of thumb.
N_DIRECTIONS = 60


class Scorer(Protocol):
    """Whatever scores rows: a classifier of source or target, or a part of a release."""

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return one score for each row and class; larger is likelier."""


class FirstColumns:
    """A scorer of the first columns, where the target has others besides.

    Parameters
    ----------
    scorer : Scorer

    n_columns : int
    """

    def __init__(self, scorer, n_columns):
        self._scorer, self._n_columns = scorer, n_columns

    def scores(self, X):
        """Return what the scorer says."""
        return self._scorer.scores(X[:, : self._n_columns])


@dataclass(frozen=True)
class Task:
    """A target, the release that is to help, and how target models are fitted.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        All target rows.

    labels : ndarray of shape (n_samples,)
        Class indices among the target's classes, −1 where unlabelled.

    release : Release or None
        None where the target is alone.

    class_indices : list of int
        Index of each of the target's classes among those of the release.

    fit : callable
        ``fit(settings, rows, labels)`` returns a :class:`ReconstructionScorer`.

    n_folds : int
        Folds in which rows are left out in each round.

    n_jobs : int or None
        Threads.

    random_state : RandomState
        For whatever is random.

    others : tuple of (Release, list of int)
        Further releases, each with its class indices.

    n_shared : int or None, default=None
        How many columns, the first ones, are those of the releases; None for all of them, or none.
    """

    X: np.ndarray
    labels: np.ndarray
    release: Release | None
    class_indices: list
    fit: Callable
    n_folds: int
    n_jobs: int | None
    random_state: np.random.RandomState
    others: tuple = ()
    n_shared: int | None = None

    @cached_property
    def subspace(self):
        """The leading directions of the target's rows."""
        return Subspace.of_rows(self.X, N_DIRECTIONS)

    @property
    def unlabelled(self):
        """Which rows have no label."""
        return self.labels < 0

    @property
    def is_calibrated(self):
        """Whether a release has log-posteriors as they are: of noisy statistics, or of a table."""
        releases = [part.release for part in self.parts]
        statistics = (each.moments is not None and each.moments.of_statistics for each in releases)
        return any(statistics) or any(each.linear is not None for each in releases)

    @property
    def parts(self):
        """A task for each release, which has no other, in the columns of the releases."""
        if self.release is None:
            return []
        pairs = [(self.release, self.class_indices), *self.others]
        part = self if self.n_shared is None else replace(self, X=self.X[:, : self.n_shared])
        return [
            replace(part, release=release, class_indices=class_indices, others=(), n_shared=None)
            for release, class_indices in pairs
        ]

    def of_all_columns(self, scorer):
        """Return a scorer of the releases' columns as one of all columns of the target."""
        return scorer if self.n_shared is None else FirstColumns(scorer, self.n_shared)

    @property
    def frequencies(self):
        """Class frequencies as the sources have them, on average; None where they do not say."""
        found = [
            task.release.moments.select(task.class_indices).frequencies
            for task in self.parts
            if task.release.moments is not None
        ]
        return np.mean(found, axis=0) if found else None
