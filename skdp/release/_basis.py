"""Smooth public functions of single columns, whose weighted sums are scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from skdp.release._parts import LARGEST_MEAN, Part, array, require
from skdp.utils._linalg import as_slice

# Orders of the cosines of a numeric column. On six tables at ε = 1 the AUC is .7588 with them,
# .7526 without, .7550 with order 2 alone, .7581 with order 4 too.
COSINE_ORDERS = (2, 3)
# Steps of a column between its bounds at which cosines are computed. They come from a table, so
# that the contribution of a row to a sum depends on that row alone, to the last bit.
_STEPS = 2**16
_PERIOD = 2 * _STEPS
_MINUS_COSINES = -np.cos(np.pi * np.arange(_PERIOD) / _STEPS)
# Elements of rows that are encoded together (measured: 2^14 to 2^17 take equally long).
_BLOCK_ELEMENTS = 2**15
# Size of an indicator of one of k categories: the AUC at ε = 1 is .7588, and .7553 with size 1.
_INDICATOR_SCALE = 0.7
# Variance of a column that is uniform over its bounds, in units of their squared difference.
_UNIFORM_VARIANCE = 1 / 12
# Values of a column between its bounds at which its functions are tabulated: finer than the bins
# of any result.
PLACES = (np.arange(256) + 0.5) / 256
# Bounds of the mean of a column between 0 and 1, of its variance, and of that in units of the
# largest there is with this mean: beta distributions beyond are narrower than the grid, or two
# points.
_LEAST_COLUMN_MEAN = 0.02
_LEAST_COLUMN_VARIANCE = 2e-3
_MOST_COLUMN_VARIANCE = 0.95
# Ridge penalty of a regression on functions of one column, so that a constant column has one.
_SLOPE_RIDGE = 1e-4
# Largest order of a cosine that a release may have: some above 255 are constant at the places.
_LARGEST_ORDER = 100


@dataclass(frozen=True)
class BasisFunctions(Part):
    """Public functions of single columns: linear ones and cosines.

    Each function of a row x is scale·(f(x) − center) with f(x) = x clipped to [low, high] for
    order 1, and f(x) = −cos(jπu), u = (x − low)/(high − low), for order j ≥ 2, with u rounded to
    2^-16.

    Attributes
    ----------
    column : ndarray of shape (n_basis,)
        Index of the column of each function.

    order : ndarray of shape (n_basis,)
        1 for a linear function, j for a cosine.

    center, scale : ndarray of shape (n_basis,)

    low, high : ndarray of shape (n_basis,)
        Public bounds of the column, low < high.

    variances : ndarray of shape (n_basis,)
        Public guesses of the variance, also used as expected squares; independent of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import BasisFunctions
    >>> basis = BasisFunctions.of_columns([0, 1])  # one numeric column, one binary column
    >>> basis.encode(np.array([[0.0, 1.0], [0.5, 0.0]])).round(2)
    array([[-1.  ,  0.5 , -0.71, -0.58],
           [ 0.  , -0.5 ,  0.71,  0.  ]])
    """

    column: np.ndarray = array("t", "i", least=0)
    order: np.ndarray = array("t", "i", least=1, below=_LARGEST_ORDER + 1)
    center: np.ndarray = array("t", below=LARGEST_MEAN)
    scale: np.ndarray = array("t", below=LARGEST_MEAN)
    low: np.ndarray = array("t", below=LARGEST_MEAN)
    high: np.ndarray = array("t", below=LARGEST_MEAN)
    variances: np.ndarray = array("t", below=LARGEST_MEAN)

    @classmethod
    def of_columns(
        cls,
        group_sizes: ArrayLike,
        low: ArrayLike = 0.0,
        high: ArrayLike = 1.0,
        orders: Sequence[int] = COSINE_ORDERS,
    ) -> Self:
        """Return a linear function of every column, and cosines of the numeric ones after them.

        Parameters
        ----------
        group_sizes : array-like of shape (n_columns,)
            0 for a numeric column, 1 for one of two values (low and high), k ≥ 2 for the
            indicator of one of k categories.

        low, high : float or array-like of shape (n_columns,), default=0.0 and 1.0
            Public bounds of the columns.

        orders : sequence of int, default=(2, 3)
            Orders of the cosines.

        Returns
        -------
        basis : BasisFunctions
            With u = (x − low)/(high − low): 2u − 1 and −cos(jπu)/√j of a numeric column, u − 1/2
            of one of two values, 0.7(u − 1/k) of an indicator.
        """
        sizes = np.asarray(group_sizes)
        low, high = (
            np.broadcast_to(np.asarray(b, dtype=np.float64), sizes.shape) for b in (low, high)
        )
        numeric = np.flatnonzero(sizes == 0)
        middle = 1 / np.where(sizes < 2, 2, sizes)
        scale = np.choose(np.minimum(sizes, 2), [2.0, 1.0, _INDICATOR_SCALE])
        spread = np.where(sizes == 0, _UNIFORM_VARIANCE, middle * (1 - middle))
        column = np.concatenate([np.arange(len(sizes)), *([numeric] * len(orders))])
        order = np.repeat([1, *orders], [len(sizes), *([len(numeric)] * len(orders))])
        cosine = order > 1
        return cls(
            column,
            order,
            np.where(cosine, 0.0, (low + middle * (high - low))[column]),
            np.where(cosine, 1 / np.sqrt(order), (scale / (high - low))[column]),
            low[column],
            high[column],
            np.where(cosine, 1 / (2 * order), (scale**2 * spread)[column]),
        )

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless these are functions of the columns of a release."""
        in_range = self.column.max() < release.n_features
        require(in_range, f"{name}.column", f"must be from 0 to {release.n_features - 1}")
        require((self.low < self.high).all(), f"{name}.low", f"must be below {name}.high")

    def places_in(self, other: "BasisFunctions") -> np.ndarray:
        """Return the indices, among others, of the functions that both have."""
        numbers = zip(other.column.tolist(), other.order.tolist(), strict=True)
        place = {function: k for k, function in enumerate(numbers)}
        functions = zip(self.column.tolist(), self.order.tolist(), strict=True)
        return np.array([place[f] for f in functions if f in place], dtype=int)

    def select(self, columns: np.ndarray) -> "tuple[BasisFunctions, np.ndarray]":
        """Return the functions of some of the columns, renumbered, and their positions.

        Parameters
        ----------
        columns : ndarray of shape (n_remaining,)
            Indices of the remaining columns, each once, in their new order.

        Returns
        -------
        basis : BasisFunctions
            Sorted by order, then by column.

        places : ndarray of shape (n_basis,)
            Indices of the selected functions in this basis.
        """
        new = np.full(max(self.column.max(), columns.max()) + 1, -1)
        new[columns] = np.arange(len(columns))
        places = np.flatnonzero(new[self.column] >= 0)
        places = places[np.lexsort((new[self.column[places]], self.order[places]))]
        parts = {name: array[places] for name, array in vars(self).items()}
        return BasisFunctions(**{**parts, "column": new[parts["column"]]}), places

    @property
    def linear(self) -> np.ndarray:
        """Indices of the linear functions, in the order of their columns."""
        linear = np.flatnonzero(self.order == 1)
        return linear[np.argsort(self.column[linear])]

    @property
    def two_valued(self) -> np.ndarray:
        """Indices of functions of two values, with the variance of a Bernoulli variable."""
        ends = (self.center - self.low) * (self.high - self.center) * self.scale**2
        return np.flatnonzero((self.order == 1) & np.isclose(self.variances, ends))

    def numeric_tables(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield indices of the functions of each numeric column, the linear first, and a table.

        The table has the values of these functions at ``PLACES`` between the bounds.
        """
        order = np.lexsort((self.order, self.column))
        starts = np.flatnonzero(np.diff(self.column[order], prepend=-1))
        low, high = self.low[order[starts]], self.high[order[starts]]
        table = self.encode(low + PLACES[:, None] * (high - low))
        single = set(self.two_valued.tolist())
        for at in np.split(order, starts[1:]):
            if at[0] not in single:
                yield at, table[:, at]

    def encode(self, X: np.ndarray) -> np.ndarray:
        """Return the functions of rows, of shape (n_samples, n_basis)."""
        Z = np.empty((len(X), len(self.column)))
        for rows, block in self.encode_blocks(X):
            Z[rows] = block
        return Z

    def encode_blocks(self, X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of rows, and the functions of these, that stay in the cache of a core.

        Each block overwrites the previous one: workers of Dask return freed memory to the
        system, and new memory for each block would nearly double their time.
        """
        orders = [(order, np.flatnonzero(self.order == order)) for order in np.unique(self.order)]
        places = [(order, as_slice(at), as_slice(self.column[at])) for order, at in orders]
        n = max(_BLOCK_ELEMENTS // max(len(self.column), 1), 1)
        Z, x = np.empty((2, min(n, len(X)), len(self.column)))
        steps = np.empty(Z.size, dtype=np.int64)
        for start in range(0, len(X), n):
            rows = slice(start, min(start + n, len(X)))
            block = Z[: rows.stop - start]
            self._encode(X[rows], places, block, x.ravel(), steps)
            yield rows, block

    def _encode(self, X, places, Z, numbers, whole):
        """Write functions of a few rows to Z; ``places`` has their numbers and columns by order.

        ``numbers`` and ``whole`` are memory for as many elements as Z has.
        """
        for order, functions, columns in places:
            low, high = self.low[functions], self.high[functions]
            shape = len(X), len(low)
            x = numbers[: shape[0] * shape[1]].reshape(shape)
            np.maximum(X[:, columns], low, out=x, dtype=np.float64)
            np.minimum(x, high, out=x)
            if order > 1:
                x -= low
                x /= high - low
                x *= _STEPS
                steps = whole[: x.size].reshape(shape)
                np.rint(x, out=x)
                np.copyto(steps, x, casting="unsafe")
                steps *= order
                steps &= _PERIOD - 1  # the remainder, as the period is a power of two
                np.take(_MINUS_COSINES, steps, out=x, mode="clip")
            x -= self.center[functions]
            x *= self.scale[functions]
            Z[:, functions] = x


def column_density(values, mean, variance):
    """Return probabilities of the values of a linear function, of a beta distribution."""
    low, high = values[0], values[-1]
    mean = np.clip((mean - low) / (high - low), _LEAST_COLUMN_MEAN, 1 - _LEAST_COLUMN_MEAN)
    most = mean * (1 - mean)
    largest = _MOST_COLUMN_VARIANCE * most
    variance = np.clip(variance / (high - low) ** 2, _LEAST_COLUMN_VARIANCE, largest)
    size = most / variance - 1
    density = beta.pdf(PLACES, mean * size, (1 - mean) * size)
    return density / density.sum()


def regression(table, target, probabilities):
    """Return the slopes of the linear regression of a target on a table's columns."""
    centered = table - probabilities @ table
    weighted = centered * probabilities[:, np.newaxis]
    return np.linalg.solve(
        weighted.T @ centered + _SLOPE_RIDGE * np.eye(table.shape[1]), weighted.T @ target
    )
