"""Noisy sums over private rows, the size of their noise, and estimates from them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, Self

import numpy as np

from skdp.release._basis import BasisFunctions
from skdp.release._clipping import clipping_effect
from skdp.release._exits import Exits
from skdp.release._linear_discriminant import linear_scores
from skdp.release._linear_regression import LinearRegression, linear_regression
from skdp.release._linear_scores import LinearScores
from skdp.release._moments import Moments
from skdp.release._parts import (
    LARGEST_MEAN,
    Part,
    array,
    check_below,
    declarations,
    part,
    require,
)
from skdp.release._posterior import positive_mean
from skdp.utils._linalg import NEGLIGIBLE, TINY

# Pseudocount: an absent class keeps a positive frequency.
_HALF = 0.5
# More rows than any table has; estimates from sums of more rows could overflow.
_MOST_ROWS = 1e15
# For each sum, the field of its noise, and the power of a row's norm.
_SUMS = {
    "counts": ("count_sd", 0),
    "total": ("total_sd", 1),
    "contrast": ("contrast_sd", 1),
    "second": ("second_sd", 2),
    "squares": ("square_sd", 0),
    "exits": ("exit_sd", 0),
    "competing": ("exit_sd", 0),
}
# How sums of several sources are added that have no axis of sources.
_ADDED = {
    **dict.fromkeys(("contrast", "second", "squares"), partial(np.sum, axis=0)),
    **dict.fromkeys(("contrast_sd", "second_sd"), lambda sds: float(np.linalg.norm(sds))),
    "square_sd": partial(np.linalg.norm, axis=0),
}
# Smallest scale of a basis function; the widest bounds of a source have the scale 1e-12.
_LEAST_SCALE = 1e-13
# Largest magnitude of a basis function between its bounds, and of its variance: those of this
# package are 1 at most, and squares of sums of others could overflow.
_LARGEST_VALUE = 1e3


@dataclass(frozen=True)
class NoisyStatistics(Part):
    """Sums over rows z (encoded, centered, clipped to ‖z‖ ≤ R) of class y, with their noise.

    The rows may come from several sources. Counts and totals are separate for each source, because
    sites differ in both and classes are separated within sites. Arrays of a single source may
    lack the axis of sources.

    Noise is normal with mean zero and independent in each number, except that ``second`` is
    symmetric. The number of rows is always computed from ``counts``.

    Attributes
    ----------
    counts : ndarray of shape (n_sources, n_classes)
        Noisy number of rows of each class; may be negative.

    total : ndarray of shape (n_sources, n_basis)
        Σ z.

    contrast : ndarray of shape (n_classes, n_basis)
        Σ (e_y − π) zᵀ over all rows, e_y the indicator of the row's class and π the frequencies
        of its source, so that Σ z of class c is ``contrast[c] + frequencies[:, c] @ total``. Its
        rows sum to zero except for the noise.

    frequencies : ndarray of shape (n_sources, n_classes)
        The public π in ``contrast``: positive, of sum 1.

    second : ndarray of shape (n_basis, n_basis)
        Σ z zᵀ over all rows.

    radius : float
        R.

    count_sd, total_sd : ndarray of shape (n_sources,)
        Standard deviations of the noise in each number; 0 without noise.

    contrast_sd : float
        Standard deviation of the noise in each number of ``contrast``.

    second_sd : float
        Standard deviation of the noise on the diagonal of ``second``; off it, second_sd/√2.

    of_all_columns : ndarray of shape (2,) or None, default=None
        For sums of some of the columns, two values computed from the sums of all columns: a lower
        bound of the number of rows, and the result of ``clipping_effect``. None for all columns.

    exits, exit_sd, exit_places : ndarray of shape (n_sources, n_cells), (n_sources,) and \
            (n_sources, n_cells), or None, default=None
        If the outcome is a time: rows by kind of exit, see
        :class:`~skdp.tabular.EventOutcome`; the standard deviation of the noise in each count;
        and the residual of each kind of exit, rescaled from between −1 and 1 to 0–1. Rows are
        summed with these residuals as numbers.

    competing : ndarray of shape (n_sources,) or None, default=None
        If the outcome is a time with competing events: the rows with one of them, which are
        censored, with the noise of one exit.

    squares, square_sd : ndarray of shape (1,) or None, default=None
        If the outcome is a number, rescaled to 0–1: the sum of squared deviations from the mean of
        its source. The two classes are then pseudo-classes, one per bound, and each row is split
        between them.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import NoisyStatistics
    >>> z, y = np.array([[-1.0], [0.5], [1.0]]), np.array([0, 1, 1])
    >>> pi = np.array([0.5, 0.5])
    >>> statistics = NoisyStatistics(
    ...     counts=np.bincount(y), total=z.sum(axis=0), contrast=(np.eye(2)[y] - pi).T @ z,
    ...     frequencies=pi, second=z.T @ z, radius=1.0,
    ...     count_sd=0.0, total_sd=0.0, contrast_sd=0.0, second_sd=0.0,
    ... )
    >>> statistics.class_sums
    array([[-1. ],
           [ 1.5]])
    >>> NoisyStatistics.added([statistics, statistics]).row_counts
    array([2.5, 4.5])
    """

    counts: np.ndarray = array("S K", "f", below=LARGEST_MEAN)
    total: np.ndarray = array("S t", "f", below=LARGEST_MEAN)
    contrast: np.ndarray = array("K t", "f", below=LARGEST_MEAN)
    frequencies: np.ndarray = array("S K", "f", least=NEGLIGIBLE, below=LARGEST_MEAN)
    second: np.ndarray = array("t t", "f", below=LARGEST_MEAN, symmetric=True)
    radius: float = array("", "f", least=NEGLIGIBLE, below=LARGEST_MEAN)
    count_sd: np.ndarray = array("S", "f", least=0, below=LARGEST_MEAN)
    total_sd: np.ndarray = array("S", "f", least=0, below=LARGEST_MEAN)
    contrast_sd: float = array("", "f", least=0, below=LARGEST_MEAN)
    second_sd: float = array("", "f", least=0, below=LARGEST_MEAN)
    of_all_columns: Any = array("2", "f", below=LARGEST_MEAN, optional=True)
    exits: Any = array("S x", "f", below=LARGEST_MEAN, optional=True)
    exit_sd: Any = array("S", "f", least=0, below=LARGEST_MEAN, optional=True)
    exit_places: Any = array("S x", "f", least=0, below=1.0, optional=True)
    competing: Any = array("S", "f", below=LARGEST_MEAN, optional=True)
    squares: Any = array("1", "f", below=LARGEST_MEAN, optional=True)
    square_sd: Any = array("1", "f", least=0, below=LARGEST_MEAN, optional=True)

    def __post_init__(self) -> None:
        present = self.present()
        for name in _by_source().keys() & present.keys():
            array, axes = np.asarray(present[name], dtype=np.float64), _by_source()[name]
            array = array.reshape((1,) * (axes - array.ndim) + array.shape)
            object.__setattr__(self, name, array)

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError if sums are of too many rows, or shares are invalid."""
        present = self.present().keys()
        for group in {"exits", "exit_sd", "exit_places"}, {"squares", "square_sd"}:
            whole = group <= present or not group & present
            require(whole, f"{name}.{min(group)}", f"must have {' and '.join(sorted(group))}")
        alone = "competing" in present and "exits" not in present
        require(not alone, f"{name}.competing", "must be there beside exits alone")
        two = "squares" not in present or self.counts.shape[1] == 2
        require(two, f"{name}.squares", "must have two classes")
        for key, content, noise, most in self.limits(_MOST_ROWS):
            for numbers in (content, noise):
                check_below(numbers, most, f"{name}.{key}")
        whole = np.abs(self.frequencies.sum(axis=1) - 1).max() <= NEGLIGIBLE
        require(whole, f"{name}.frequencies", "must be positive and add up to 1")
        if "of_all_columns" in present:
            in_range = NEGLIGIBLE <= self.of_all_columns[1] <= 1
            require(in_range, f"{name}.of_all_columns", "must be a bound and a share")

    @classmethod
    def added(cls, parts: Sequence[Self]) -> Self:
        """Return the sums over the rows of all parts: sums and variances of noise are added.

        Parameters
        ----------
        parts : sequence of NoisyStatistics
            Sums of the same basis functions and radius; either all or none are of all columns.
        """
        added = parts[0].present()
        rules = _ADDED | dict.fromkeys(_by_source(), np.concatenate)
        for name in added.keys() & rules.keys():
            added[name] = rules[name]([getattr(part, name) for part in parts])
        if "of_all_columns" in added:
            sizes = [part.row_counts.sum() for part in parts]
            by_part = np.array([part.of_all_columns for part in parts])
            shares = np.average(by_part, axis=0, weights=sizes)
            added["of_all_columns"] = np.array([by_part[:, 0].sum(), shares[1]])
        return cls(**added)

    def select(self, places: np.ndarray, **of_all_columns: Any) -> Self:
        """Return the sums of the basis functions with these indices, perhaps of fewer columns."""
        return replace(
            self,
            total=self.total[:, places],
            contrast=self.contrast[:, places],
            second=self.second[np.ix_(places, places)],
            **of_all_columns,
        )

    def limits(self, n_rows: float) -> Iterator[tuple[str, np.ndarray, np.ndarray, float]]:
        """Yield name, sum, noise, and the largest possible sum over rows.

        Parameters
        ----------
        n_rows : float
            Number of the rows, each of a norm up to the radius.
        """
        present = self.present()
        for name, (noise, power) in _SUMS.items():
            if name not in present:
                continue
            array, deviation = (np.asarray(getattr(self, key)) for key in (name, noise))
            yield name, array, deviation, n_rows * self.radius**power

    @property
    def centered_contrast(self) -> np.ndarray:
        """Return ``contrast`` minus its mean over the classes, which is pure noise."""
        return self.contrast - self.contrast.mean(axis=0)

    @property
    def class_sums(self) -> np.ndarray:
        """Return Σ z of each class, ndarray of shape (n_classes, n_basis)."""
        return self.centered_contrast + self.frequencies.T @ self.total

    @property
    def class_sum_noise(self) -> np.ndarray:
        """Return variances of the noise in sums of classes, ndarray of shape (n_classes,)."""
        noise = self.contrast_sd**2 * (1 - 1 / len(self.contrast))
        return noise + self.frequencies.T**2 @ self.total_sd**2

    @property
    def pooled_counts(self) -> tuple[np.ndarray, float]:
        """Return rows of each class and the deviation of their noise, (n_classes,) and float."""
        return self.counts.sum(axis=0), float(np.linalg.norm(self.count_sd))

    @property
    def pooled_exits(self) -> tuple[np.ndarray, float]:
        """Return rows by how they leave, and the deviation of their noise, of all sources."""
        return self.exits.sum(axis=0), float(np.linalg.norm(self.exit_sd))

    @property
    def row_counts(self) -> np.ndarray:
        """Return positive rows of each class, ndarray of shape (n_classes,).

        No row has a square above R². Therefore the number of rows is at least the trace of
        ``second`` over R², minus two standard deviations of its noise.
        """
        counts = positive_counts(*self.pooled_counts)
        return counts * max(1.0, self._least_rows / counts.sum())

    @property
    def row_counts_by_source(self) -> np.ndarray:
        """Return positive rows of each class in each source, of the same sum for each class."""
        counts = positive_counts(self.counts, self.count_sd[:, np.newaxis])
        return np.maximum(counts * (self.row_counts / counts.sum(axis=0)), _HALF)

    @property
    def _least_rows(self):
        if self.of_all_columns is not None:
            return float(self.of_all_columns[0])
        certain = self.second.trace() - 2 * self.second_sd * np.sqrt(len(self.second))
        return certain / self.radius**2


@cache
def _by_source():
    """Return the names of arrays with an axis of sources, and the number of their axes."""
    axes = {inner.name: statement.shape for inner, statement in declarations(NoisyStatistics)}
    return {name: len(shape) for name, shape in axes.items() if "S" in shape}


def positive_counts(counts, deviation):
    """Return positive numbers of rows from noisy ones, see :func:`positive_mean`."""
    return positive_mean(counts, deviation) + _HALF


def measure_moments(statistics, basis, center=0.0, shrinkage=1.0):
    """Return class counts, means and the covariance within classes, with their noise.

    With the sums :math:`s_c` of the classes and noisy counts :math:`n_c` of sum N,
    """
    # μ_c = s_c/n_c, \qquad W = \frac{1}{N} \sum z z^T - \sum_c \frac{n_c}{N}
    # (μ_c μ_c^T - V_c),
    # where V_c, the variance of the noise of a mean, is a known one of the sums and of the counts.
    # A mean beyond the radius R, which no mean of rows can exceed, is shortened to R.
    # Rows became cz when they were clipped; columns are rescaled by the root of 1/E[c²] to undo
    # this. On two tables (adult, flchain) at ε = 1 means are off by .004 and .009 (by .045 and
    # .051 without this), and the median variance is .99 and .95 of the true one (.52 and .66).
    linear = basis.linear
    unclipped = basis.scale[linear]
    scale = unclipped * np.sqrt(shrinkage)
    counts = statistics.row_counts
    n_rows, shares = counts.sum(), counts / counts.sum()
    means = _within(statistics.class_sums / counts[:, np.newaxis], statistics.radius)
    noise = statistics.class_sum_noise[:, np.newaxis] + (means * statistics.pooled_counts[1]) ** 2
    noise /= counts[:, np.newaxis] ** 2
    noise = np.minimum(noise, statistics.radius**2)
    within = statistics.second / n_rows - (means.T * shares) @ means + np.diag(shares @ noise)
    within = within[np.ix_(linear, linear)] / np.outer(scale, scale)
    deviation = statistics.second_sd / n_rows / scale**2
    p = len(linear)
    return Moments(
        class_counts=counts,
        effective_sizes=counts.copy(),
        means=basis.center[linear]
        + np.broadcast_to(center, basis.scale.shape)[linear] / unclipped
        + means[:, linear] / scale,
        covariances=within[np.triu_indices(p)][np.newaxis].astype(np.float32),
        noise=np.zeros(p),
        mean_noise=noise[:, linear] / scale**2,
        covariance_noise=deviation[np.newaxis] ** 2,
    )


def _within(means, radius):
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    return means * np.minimum(1.0, radius / np.maximum(norms, TINY))


@dataclass(frozen=True)
class Statistics(Part):
    """Noisy sums over the rows of one source or of several, and their public basis functions.

    Moments and linear scores are estimated from these sums when they are first accessed, with the
    same result everywhere except for rounding.

    Attributes
    ----------
    sums : NoisyStatistics

    basis : BasisFunctions
        A linear function of each column, and cosines.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPStatisticsSource
    >>> rng = np.random.RandomState(0)
    >>> X, y = rng.rand(500, 2), rng.randint(2, size=500)
    >>> release = DPStatisticsSource(bounds=(0, 1), classes=[0, 1]).fit(X, y).release_
    >>> release.statistics.n_sources
    1
    >>> release.statistics.sums.second.shape  # a linear function and two cosines of each column
    (6, 6)
    """

    sums: NoisyStatistics = part(NoisyStatistics, inline=True)
    basis: BasisFunctions = part(BasisFunctions)

    @property
    def n_sources(self) -> int:
        """Number of sources whose rows were summed."""
        return len(self.sums.counts)

    @property
    def kind(self) -> str:
        """Kind of the outcome that the sums are about: "class", "number" or "event"."""
        present = self.sums.present()
        return "event" if "exits" in present else "number" if "squares" in present else "class"

    @property
    def effective_rows(self) -> float:
        """Approximate number of rows whose sums would be as informative without noise.

        The noise in the mean of N rows of p columns has p v/N times the variance of sampling,
        where v is the variance of the noise in the contrasts in units of the squared radius.
        """
        n_rows = self.sums.row_counts.sum()
        n_columns = np.count_nonzero(self.basis.order == 1)
        noise = n_columns * (self.sums.contrast_sd / self.sums.radius) ** 2
        return float(n_rows / (1 + noise / n_rows))

    @property
    def variances(self) -> np.ndarray:
        """Return variances of the basis functions, shrunk to their public guesses by the noise."""
        sums, guesses = self.sums, self.basis.variances
        n_rows = sums.row_counts.sum()
        squares = sums.second.diagonal() - sums.class_sums.sum(axis=0) ** 2 / n_rows
        n_whole = n_rows * clipping_effect(sums, self.basis)  # clipping shortens rows
        measured = squares / n_whole
        reliable = 1 / (1 + (sums.second_sd / n_whole / guesses) ** 2)
        return np.maximum(guesses + reliable * (measured - guesses), 0.0)

    @cached_property
    def moments(self) -> Moments:
        """Moments of the columns, see ``measure_moments``."""
        with np.errstate(all="ignore"):  # what overflows is bounded
            shrinkage = clipping_effect(self.sums, self.basis)
            moments = measure_moments(self.sums, self.basis, shrinkage=shrinkage)
        return moments.freeze(copy=False)

    @cached_property
    def linear(self) -> LinearScores | None:
        """Linear scores of the classes, see ``linear_scores``; None for a number."""
        if self.kind != "class":
            return None
        with np.errstate(all="ignore"):
            return linear_scores(self.sums, self.basis).freeze(copy=False)

    @cached_property
    def exits(self) -> Exits:
        """Exits of the rows of all sources, if the outcome is a time."""
        return Exits.of(*self.sums.pooled_exits)

    @cached_property
    def regression(self) -> LinearRegression | None:
        """Linear regression of a number, see ``linear_regression``; None for classes."""
        if self.kind == "class":
            return None
        with np.errstate(all="ignore"):
            return linear_regression(self.sums, self.basis).freeze(copy=False)

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self:
        """Return the sums over the rows of several sources with the same basis functions."""
        return cls(NoisyStatistics.added([part.sums for part in parts]), parts[0].basis)

    def gains_by(self, other: Self) -> bool:
        """Return whether merging with the others makes these more informative."""
        return self.merge([self, other]).effective_rows > self.effective_rows

    def is_like(self, other: Self) -> bool:
        """Return whether the other has the same basis functions and radius, so that sums add."""
        alike = self.sums.radius == other.sums.radius
        alike = alike and self.sums.present().keys() == other.sums.present().keys()
        mine, others = vars(self.basis), vars(other.basis)
        return alike and all(np.array_equal(mine[key], others[key]) for key in mine)

    def shares_noise(self, other: Self) -> bool:
        """Return whether some source is in both, with the same noise."""
        mine, others = (np.sort(part.sums.total)[:, np.newaxis] for part in (self, other))
        return bool((mine == others.swapaxes(0, 1)).all(axis=2).any())

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless each column has a valid linear function."""
        basis = self.basis
        linear = np.sort(basis.column[basis.order == 1])
        every = np.array_equal(linear, np.arange(release.n_features))
        require(every, f"{name}.basis", "must have a linear function of each column")
        different = len(set(zip(basis.column.tolist(), basis.order.tolist(), strict=True)))
        once = different == len(basis.column)
        require(once, f"{name}.basis", "must have no function of a column twice")
        curved = np.isin(basis.column[basis.order > 1], basis.column[basis.two_valued])
        require(not curved.any(), f"{name}.basis", "must have no cosines of two values")
        divided = np.abs(basis.scale).min() >= _LEAST_SCALE and basis.variances.min() >= NEGLIGIBLE
        ends = np.stack([basis.low, basis.high])
        of_column = ends[:, basis.linear][:, basis.column]
        require(
            (ends == of_column).all(), f"{name}.basis", "must have one pair of bounds a column"
        )
        least = f"must have scales of at least {_LEAST_SCALE:g} and variances of {NEGLIGIBLE:g}"
        require(divided, f"{name}.basis", least)
        ranges = (np.abs(basis.scale) * (basis.high - basis.low))[basis.order == 1]
        require(ranges.min() >= NEGLIGIBLE, f"{name}.basis", "must vary between the bounds")
        if release.bounds is not None:
            same = np.array_equal(release.bounds, ends[:, basis.linear])
            require(same, "bounds", f"must be those of {name}.basis")
        ends = np.abs([basis.low - basis.center, basis.high - basis.center]).max(axis=0)
        values = np.abs(basis.scale) * np.where(basis.order == 1, ends, 1 + np.abs(basis.center))
        small = max(values.max(), basis.variances.max()) <= _LARGEST_VALUE
        require(small, f"{name}.basis", f"must have values and variances up to {_LARGEST_VALUE:g}")

    def restrict(self, columns: np.ndarray) -> Self:
        """Return the unchanged sums of functions of some of the columns."""
        basis, places = self.basis.select(columns)
        known = {}
        if len(columns) < np.count_nonzero(self.basis.order == 1):
            shrinkage = clipping_effect(self.sums, self.basis)
            known["of_all_columns"] = np.array([self.sums._least_rows, shrinkage])
        return type(self)(self.sums.select(places, **known), basis)
