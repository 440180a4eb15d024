"""What every strategy is given, and the protocol of whatever scores rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from skdp.release import Release


class Scorer(Protocol):
    """Whatever scores rows: a classifier of source or target, or a part of a release."""

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return one score for each row and class; larger is likelier."""


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
        """A task for each release, which has no other."""
        if self.release is None:
            return []
        pairs = [(self.release, self.class_indices), *self.others]
        return [
            replace(self, release=release, class_indices=class_indices, others=())
            for release, class_indices in pairs
        ]

    @property
    def frequencies(self):
        """Class frequencies as the sources have them, on average; None where they do not say."""
        found = [
            task.release.moments.select(task.class_indices).frequencies
            for task in self.parts
            if task.release.moments is not None
        ]
        return np.mean(found, axis=0) if found else None
