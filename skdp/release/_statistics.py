"""The noisy sums of a release, and the estimates that are computed from them on demand."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from skdp.release._basis import BasisFunctions
from skdp.release._linear_discriminant import known_clipping, linear_scores
from skdp.release._linear_scores import LinearScores
from skdp.release._moments import Moments
from skdp.release._noisy_statistics import NoisyStatistics, measure_moments
from skdp.release._parts import Part, part, require

# Smallest variance, and range, of a basis function, so that quotients stay finite (rule of thumb).
_LEAST = 1e-9
# Smallest scale of a basis function: that of the widest bounds of a source is 1e-12.
_LEAST_SCALE = 1e-13
# Largest magnitude of a basis function between its bounds, and of its variance, where 1 is usual
# (rule of thumb).
_LARGEST_VALUE = 1e3


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
    def effective_rows(self) -> float:
        """Number of rows whose sums would be as informative without noise, approximately.

        The noise in the mean of N rows of p columns has p v/N times the variance of sampling,
        where v is the variance of the noise in the contrasts in units of the squared radius.
        """
        n_rows = self.sums.row_counts.sum()
        n_columns = np.count_nonzero(self.basis.order == 1)
        noise = n_columns * (self.sums.contrast_sd / self.sums.radius) ** 2
        return float(n_rows / (1 + noise / n_rows))

    @cached_property
    def moments(self) -> Moments:
        """Moments of the columns, see ``measure_moments``."""
        with np.errstate(all="ignore"):  # what overflows is bounded
            shrinkage, _ = known_clipping(self.sums, self.basis)
            moments = measure_moments(self.sums, self.basis, shrinkage=shrinkage)
        return moments.freeze(copy=False)

    @cached_property
    def linear(self) -> LinearScores:
        """Linear scores of the classes, see ``linear_scores``."""
        with np.errstate(all="ignore"):
            return linear_scores(self.sums, self.basis).freeze(copy=False)

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self:
        """Return the sums over the rows of all of them, which have the same basis functions."""
        return cls(NoisyStatistics.added([part.sums for part in parts]), parts[0].basis)

    def gains_by(self, other: Self) -> bool:
        """Return whether adding the others makes these more informative, in any column order."""
        return self.merge([self, other]).effective_rows > self.effective_rows

    def is_like(self, other: Self) -> bool:
        """Return whether the other has the same basis functions and radius, so that sums add."""
        alike = self.sums.radius == other.sums.radius
        alike = alike and (self.sums.of_all_columns is None) == (other.sums.of_all_columns is None)
        mine, others = vars(self.basis), vars(other.basis)
        return alike and all(np.array_equal(mine[key], others[key]) for key in mine)

    def shares_noise(self, other: Self) -> bool:
        """Return whether some source is in both, with the same noise."""
        mine, others = (np.sort(part.sums.total)[:, np.newaxis] for part in (self, other))
        return bool((mine == others.swapaxes(0, 1)).all(axis=2).any())

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless there is a sound linear function of each column."""
        basis = self.basis
        linear = np.sort(basis.column[basis.order == 1])
        every = np.array_equal(linear, np.arange(release.n_features))
        require(every, f"{name}.basis", "must have a linear function of each column")
        different = len(set(zip(basis.column.tolist(), basis.order.tolist(), strict=True)))
        once = different == len(basis.column)
        require(once, f"{name}.basis", "must have no function of a column twice")
        curved = np.isin(basis.column[basis.order > 1], basis.column[basis.two_valued])
        require(not curved.any(), f"{name}.basis", "must have no cosines of two values")
        divided = np.abs(basis.scale).min() >= _LEAST_SCALE and basis.variances.min() >= _LEAST
        ends = np.stack([basis.low, basis.high])
        of_column = ends[:, basis.linear][:, basis.column]
        require(
            (ends == of_column).all(), f"{name}.basis", "must have one pair of bounds a column"
        )
        ranges = (np.abs(basis.scale) * (basis.high - basis.low))[basis.order == 1]
        require(ranges.min() >= _LEAST, f"{name}.basis", "must vary between the bounds")
        least = f"must have scales of at least {_LEAST_SCALE:g} and variances of {_LEAST:g}"
        require(divided, f"{name}.basis", least)
        ends = np.abs([basis.low - basis.centre, basis.high - basis.centre]).max(axis=0)
        values = np.abs(basis.scale) * np.where(basis.order == 1, ends, 1 + np.abs(basis.centre))
        small = max(values.max(), basis.variances.max()) <= _LARGEST_VALUE
        require(small, f"{name}.basis", f"must have values and variances up to {_LARGEST_VALUE:g}")

    def restrict(self, columns: np.ndarray) -> Self:
        """Return the sums of functions of some of the columns, exactly as they are."""
        basis, places = self.basis.select(columns)
        fewer = len(columns) < np.count_nonzero(self.basis.order == 1)
        clipping = known_clipping(self.sums, self.basis) if fewer else None
        return type(self)(self.sums.select(places, clipping), basis)
