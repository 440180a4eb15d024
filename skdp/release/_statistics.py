"""The noisy sums of a release, and the estimates that are computed from them on demand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from skdp.release._basis import BasisFunctions
from skdp.release._linear_discriminant import known_clipping, linear_scores
from skdp.release._linear_scores import LinearScores
from skdp.release._moments import Moments
from skdp.release._noisy_statistics import NoisyStatistics, measure_moments
from skdp.release._parts import (
    LARGEST_MEAN,
    Part,
    check_below,
    check_shape,
    read_only,
    require,
)

# Of an array of a file, by field of the sums: numbers that are one array in the file each.
_ARRAYS = ("counts", "total", "contrast", "frequencies", "count_sd", "total_sd")
_NUMBERS = ("radius", "contrast_sd", "second_sd")
# Largest deviation of the sum of frequencies of a source from 1, due to rounding.
_ROUNDING = 1e-9
# Smallest frequency, and smallest variance of a basis function, so that quotients stay finite
# (rule of thumb).
_LEAST = 1e-9
# Smallest scale of a basis function: that of the widest bounds of a source is 1e-12.
_LEAST_SCALE = 1e-13
# More rows than any table has (rule of thumb). Sums of more, in units of the norm of rows, would
# overflow in estimates.
_MOST_ROWS = 1e15
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

    sums: NoisyStatistics
    basis: BasisFunctions

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
        """Raise ValueError unless these are sums of the classes and columns of a release."""
        sums, basis = self.sums, self.basis
        require(isinstance(sums, NoisyStatistics), f"{name}.sums", "must be NoisyStatistics")
        BasisFunctions.validate(basis, f"{name}.basis", release)
        linear = np.sort(basis.column[basis.order == 1])
        every = np.array_equal(linear, np.arange(release.n_features))
        require(every, f"{name}.basis", "must have a linear function of each column")
        different = len(set(zip(basis.column.tolist(), basis.order.tolist(), strict=True)))
        once = different == len(basis.column)
        require(once, f"{name}.basis", "must have no function of a column twice")
        curved = np.isin(basis.column[basis.order > 1], basis.column[basis.two_valued])
        require(not curved.any(), f"{name}.basis", "must have no cosines of two values")
        divided = np.abs(basis.scale).min() >= _LEAST_SCALE and basis.variances.min() >= _LEAST
        least = f"must have scales of at least {_LEAST_SCALE:g} and variances of {_LEAST:g}"
        require(divided, f"{name}.basis", least)
        ends = np.abs([basis.low - basis.centre, basis.high - basis.centre]).max(axis=0)
        values = np.abs(basis.scale) * np.where(basis.order == 1, ends, 1 + np.abs(basis.centre))
        small = max(values.max(), basis.variances.max()) <= _LARGEST_VALUE
        require(small, f"{name}.basis", f"must have values and variances up to {_LARGEST_VALUE:g}")
        K, t, S = len(release.classes), len(basis.column), len(sums.counts)
        shapes = {
            **{"counts": (S, K), "total": (S, t), "frequencies": (S, K), "second": (t, t)},
            **{"contrast": (K, t), "count_sd": (S,), "total_sd": (S,)},
            **{"radius": (), "contrast_sd": (), "second_sd": (), "of_all_columns": (3,)},
        }
        for key, shape in shapes.items():
            if key == "of_all_columns" and sums.of_all_columns is None:
                continue
            array = np.asarray(getattr(sums, key))
            require(array.dtype.kind == "f", f"{name}.{key}", "must be an array of real numbers")
            check_shape(array, shape, f"{name}.{key}")
            check_below(array, LARGEST_MEAN, f"{name}.{key}")
            positive = array.min() >= 0 or not key.endswith("_sd")
            require(positive, f"{name}.{key}", "must not be negative")
        require(sums.radius > _LEAST, f"{name}.radius", f"must be above {_LEAST:g}")
        for key, array, noise, most in sums.limits(_MOST_ROWS):
            for each in (array, noise):
                check_below(each, most, f"{name}.{key}")
        frequencies = sums.frequencies
        shares = frequencies.min() >= _LEAST
        shares = shares and np.abs(frequencies.sum(axis=1) - 1).max() <= _ROUNDING
        require(shares, f"{name}.frequencies", "must be positive and add up to 1")
        if sums.of_all_columns is not None:
            _, shrinkage, widening = sums.of_all_columns
            known = _LEAST <= shrinkage <= 1 <= widening <= 1 / _LEAST
            require(known, f"{name}.of_all_columns", "must be a bound, a share, and 1 or more")

    def pack(self, name: str, release: Any) -> tuple[Any, dict[str, np.ndarray]]:
        """Return no header, and the arrays: of what is symmetric, the upper triangle."""
        sums = self.sums
        arrays = {f"{name}/{key}": getattr(sums, key) for key in _ARRAYS}
        arrays |= {f"{name}/{key}": np.array([getattr(sums, key)]) for key in _NUMBERS}
        arrays[f"{name}/second"] = sums.second[np.triu_indices(len(sums.second))]
        if sums.of_all_columns is not None:
            arrays[f"{name}/of_all_columns"] = sums.of_all_columns
        return None, arrays | self.basis.pack(f"{name}/basis", release)[1]

    @classmethod
    def unpack(cls, name: str, header: Any, arrays: Mapping[str, np.ndarray]) -> Self | None:
        """Return what :meth:`pack` took apart, or None where a file has nothing of it."""
        if header is not None or f"{name}/counts" not in arrays:
            return super().unpack(name, header, arrays)
        fields: dict[str, Any] = {key: arrays[f"{name}/{key}"] for key in _ARRAYS}
        for key in _NUMBERS:
            [number] = arrays[f"{name}/{key}"].tolist()
            fields[key] = float(number)
        t = fields["total"].shape[-1]
        check_shape(arrays[f"{name}/second"], (t * (t + 1) // 2,), f"{name}.second")
        fields["second"] = np.zeros((t, t))
        fields["second"][np.triu_indices(t)] = arrays[f"{name}/second"]
        fields["second"] += np.triu(fields["second"], 1).T
        fields["of_all_columns"] = arrays.get(f"{name}/of_all_columns")
        basis: Any = BasisFunctions.unpack(f"{name}/basis", None, arrays)
        return cls(NoisyStatistics(**fields), basis)

    def freeze(self, copy: bool) -> Self:
        """Return this with arrays that cannot be written to; itself where none can."""
        parts = [*vars(self.sums).values(), *vars(self.basis).values()]
        if not any(isinstance(array, np.ndarray) and array.flags.writeable for array in parts):
            return self
        sums = {key: read_only(value, copy) for key, value in vars(self.sums).items()}
        return type(self)(NoisyStatistics(**sums), self.basis.freeze(copy))

    def restrict(self, columns: np.ndarray, release: Any) -> Self:
        """Return the sums of functions of some of the columns, exactly as they are."""
        basis, places = self.basis.select(columns)
        fewer = len(columns) < release.n_features
        clipping = known_clipping(self.sums, self.basis) if fewer else None
        return type(self)(self.sums.select(places, clipping), basis)

    def contents(self, name: str, release: Any) -> str:
        """Return what these are, in a few words."""
        of = f" of {self.n_sources} sources" if self.n_sources > 1 else ""
        return f"noisy counts, sums and second moments{of}; means, covariances, scores follow"

    def result_lines(self, release: Any) -> list[str]:
        """Return the lines of the moments and the linear scores."""
        return self.moments.result_lines(release) + self.linear.result_lines(release)
