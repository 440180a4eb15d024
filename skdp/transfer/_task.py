"""Input and output of strategies: a target with its releases, and a model of classes.

A target's rows enter the space of a release by its columns, or by an embedding.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from skdp.release import Moments, Release, Subspace, class_medians
from skdp.transfer._classes import sampling_of
from skdp.transfer._columns import unseen_columns
from skdp.utils._linalg import principal_directions

# Number of directions of the target's subspace and of discriminants, as in the source's default
# subspace. Rule of thumb.
N_DIRECTIONS = 60
# Fraction of columns with two values, each in at least this fraction of the rows, from which rows
# are treated as records with indicators, which create clusters independently of the classes; rules
# of thumb.
_MIN_INDICATORS, _MIN_SHARE = 0.1, 0.01


@dataclass(frozen=True)
class Task:
    """A target and its releases.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        All target rows.

    labels : ndarray of shape (n_samples,)
        Class indices among the target's classes, −1 where unlabeled.

    n_classes : int
        Number of classes of the target.

    sources : tuple of (str, Release, list of int)
        Name, release and indices of the target's classes in each release, merged if possible.

    n_shared : int
        Number of columns shared with the releases; they come first.

    n_jobs : int or None
        Number of threads.

    random_state : RandomState
        Source of randomness.

    label_sampling : {"auto", "random", "stratified"}, default="auto"
        How the labeled rows were chosen, see :class:`~skdp.DPTransferClassifier`.

    single_sources : tuple of (str, Release, list of int), default=()
        The individual releases that were merged, likewise.

    is_embedded : bool, default=False
        Whether the target has other columns than the releases, see ``Matching``.
    """

    X: np.ndarray
    labels: np.ndarray
    n_classes: int
    sources: tuple
    n_shared: int
    n_jobs: int | None
    random_state: np.random.RandomState
    label_sampling: str = "auto"
    single_sources: tuple = ()
    is_embedded: bool = False

    @property
    def unlabeled(self):
        """Which rows have no label."""
        return self.labels < 0

    @cached_property
    def sampling(self):
        """How the labeled rows were presumably chosen: "random" or "stratified"."""
        return sampling_of(self.labels, self.label_sampling, self.frequencies)

    @cached_property
    def subspace(self):
        """The leading directions of the target's rows."""
        return Subspace.of_rows(self.X, N_DIRECTIONS)

    @cached_property
    def shared_subspace(self):
        """The leading directions in the columns of the releases."""
        if self.n_shared == self.X.shape[1]:
            return self.subspace
        return Subspace.of_rows(self.X[:, : self.n_shared], N_DIRECTIONS)

    @cached_property
    def has_indicators(self):
        """Whether rows have indicator columns, see :func:`has_indicators`."""
        return has_indicators(self.X)

    @property
    def widths(self):
        """Widths of columns between public bounds, NaN where there are none."""
        widths = np.full(self.X.shape[1], np.nan)
        if self.is_embedded or not self.pairs:
            return widths
        release, shared = self.pairs[0].release, widths[: self.n_shared]
        if release.n_features == len(shared):
            if release.encoder:
                shared[:] = 1.0  # encoded to 0–1
            elif release.bounds is not None:
                shared[:] = np.ptp(release.bounds, 0)
        return widths

    @property
    def pairs(self):
        """The target paired with each release, in the columns of the releases."""
        return [PairedRelease(self, *source) for source in self.sources]

    @property
    def frequencies(self):
        """Class frequencies of the sources, on average; none if unknown."""
        frequencies = [pair.moments.frequencies for pair in self.pairs if pair.moments]
        return np.mean(frequencies, axis=0) if frequencies else np.empty(0)


@dataclass(frozen=True)
class PairedRelease:
    """A release paired with the target: rows in the release's columns, classes of the target.

    Attributes
    ----------
    task : Task

    name : str
        Name of the source.

    release : Release

    class_indices : list of int
        Index of each of the target's classes among those of the release.
    """

    task: Task
    name: str
    release: Release
    class_indices: list

    @property
    def X(self):
        """Target rows in the columns of the releases."""
        return self.task.X[:, : self.task.n_shared]

    @property
    def subspace(self):
        """The leading directions of these rows."""
        return self.task.shared_subspace

    @property
    def moments(self) -> Moments | None:
        """Moments of the target's classes; None if the release has none."""
        moments = self.release.moments
        return moments.select(self.class_indices) if moments else None

    @property
    def same_columns(self):
        """Whether source and target have the same columns."""
        return not self.task.is_embedded and self.release.n_features == self.X.shape[1]

    def paired_directions(self):
        """Return equally many principal directions of the source and of the target."""
        # n = min(⌈p_sr/2⌉, p_tg), or the numerical rank of the target rows if that is smaller.
        # With equal dimensions, both use the directions of the source. Otherwise the sign of each
        # direction of the target is arbitrary, which the papers do not address: here it is chosen
        # such that the class medians of the labeled rows vary like those of the source.
        X, alignment = self.X, self.release.alignment
        V_sr = alignment.components
        if self.same_columns:
            return V_sr, V_sr
        V_tg = principal_directions(X, len(V_sr))
        medians = class_medians(X @ V_tg.T, self.task.labels, self.task.n_classes)
        wanted = alignment.class_medians[self.class_indices][:, : len(V_tg)]
        products = (medians - medians.mean(axis=0)) * (wanted - wanted.mean(axis=0))
        signs = np.where(products.sum(axis=0) < 0, -1.0, 1.0)
        return V_sr[: len(V_tg)], (signs[:, np.newaxis] * V_tg).astype(X.dtype)

    def embedding(self):
        r"""Return the map of target rows that maps their mean to the source's.

        .. math:: y \mapsto s\,(y - a)\,B + b
        """
        # If dimensions differ, principal directions are paired in the order of their variances,
        # and the target is scaled to the source.
        moments, basis, scale = self.moments, None, 1.0
        center = moments.mean if moments else self.release.alignment.mean
        if not self.same_columns:
            V_sr, V_tg = self.paired_directions()
            basis = (V_tg.T @ V_sr).astype(np.float64)
            if moments:
                variance = np.trace(self.release.moments.total_covariance())
                scale = float(np.sqrt(max(variance, 0) / self.subspace.variances.sum())) or 1.0
        return partial(_embed, self.subspace.mean, basis, scale, center)

    def to_source(self):
        """Return the function that maps target rows to the columns of the source."""
        # Shared columns are not changed, unless the target is outside the range of the source:
        # such a column is replaced by the source's mean, as otherwise noise would decide.
        if not self.same_columns:
            return self.embedding()
        moments = self.release.moments
        return partial(_replace_unseen, unseen_columns(moments, self.X), moments.mean)


def _replace_unseen(unseen, mean, X):
    return np.where(unseen, mean.astype(X.dtype), X) if unseen.any() else X


def _embed(center, basis, scale, source_center, X):
    rows = X - center
    if basis is not None:
        rows = rows @ basis
    return (rows * scale + source_center).astype(X.dtype, copy=False)


@dataclass(frozen=True)
class TransferResult:
    """Result of a strategy.

    Attributes
    ----------
    distributions : ndarray of shape (n_samples, n_classes)
        Class probabilities of each row.

    history : dict of list
        One entry for each round of self-training, see :class:`DPTransferClassifier`.

    model : ClassModel or LeastErrorModel
        The fitted model.

    log_posteriors : ndarray of shape (n_samples, n_classes) or None, default=None
        Of the last round of self-training, see :class:`Step`.
    """

    distributions: np.ndarray
    history: dict[str, list[Any]]
    model: Any
    log_posteriors: np.ndarray | None = None

    @property
    def labels(self):
        """Class index of each row, given or predicted."""
        return self.distributions.argmax(axis=1)


def has_indicators(X):
    """Return whether a tenth of the columns or more have just two values, neither of them rare."""
    counts = np.array([(X.min(axis=0) == X).sum(axis=0), (X.max(axis=0) == X).sum(axis=0)])
    two = (counts.sum(axis=0) == len(X)) & (counts.min(axis=0) >= _MIN_SHARE * len(X))
    return bool(two.mean() >= _MIN_INDICATORS)
