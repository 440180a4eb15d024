"""Arithmetic on integer rows whose result for a row depends on that row alone, bit for bit.

Sums of floats depend on their order, and may change by more than a row's own norm when it is
added (Casacuberta et al., 2022); a linear algebra library may choose another order when other
rows are present. Sums of integers below 2⁵³ are exact in float64 in any order. So rows, maps and
weights are integers here, rounded toward zero, so that rounding makes no norm larger; and what
follows a sum is done element by element: products with powers of two, truncation, and single
operations that IEEE 754 rounds correctly.
"""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np

from skdp.release import BasisFunctions
from skdp.tabular import EventOutcome, Outcome

# Rows are multiples of 2^-16 of their largest norm. Truncation moves no element by more than
# that, 1/65,536 of the most that one row adds.
GRID_BITS = 16
GRID = 2**GRID_BITS
# Weights are multiples of 2^-20: rows of people with more rows than that have weight zero.
WEIGHT_BITS = 20
WEIGHT_GRID = 2**WEIGHT_BITS
# Sums of integers below this magnitude are exact in float64, with one bit to spare.
_EXACT_BITS = 52
# Elements are clipped here, so that squared norms of up to 2^11 elements are exact.
_LARGEST = 2.0**21
# A factor with this relative slack, twice rounded, lifts no norm above its bound.
SLACK = 1 - 2.0**-50
# Rows of one product of matrices: sums stay below 2^11 · 2^16 · 2^20 = 2^47, and the rows in
# the processor's cache (0.06 s for 60,000 rows of 200; 0.13 s with 2^13 at once).
ROWS_AT_ONCE = 2**11
# Steps of the grid of counts: one row.
ROW = 2**30
# Steps of a number between its bounds in sums of its squares, and of a row there: coarse, so that
# products and sums are whole numbers of 64 bits.
SQUARE_BITS, SQUARE_ROW = 10, 2**12
# Most rows: sums of squares, up to 2^32 a row, stay whole numbers of 64 bits.
MAX_ROWS = 2**30
# Bits of finer steps on which the norm of a row is computed before it is clipped; fewer where many
# squares are summed, so that their sum stays below 2^53, hence exact in any order.
_MOST_FINE_BITS = 22
# Keeps a clipped norm below its bound in spite of rounding.
_SAFETY = 1 - 2.0**-40

# exp(−i/2^10) and exp(−i/2^20): the exponent of a probability is a multiple of 2^-20.
_TABLE_BITS = 10
# Logits this far below the largest have probability zero: e^-32 of 2^40 rounds to zero.
_RANGE = 32
# Tables of exp(−x) for the coarse and the fine steps of x.
_COARSE = np.exp(-np.arange(_RANGE << _TABLE_BITS) / 2.0**_TABLE_BITS)
_FINE = np.exp(-np.arange(1 << _TABLE_BITS) / 4.0**_TABLE_BITS)


@dataclass(frozen=True)
class IntegerMap:
    """An affine map of integer rows to integer rows, exact except for one truncation.

    Row q becomes ``trunc(2^-bits · (q @ matrix + offset))``, clipped element by element.

    Attributes
    ----------
    matrix : ndarray of shape (n_features, n_directions)
        Integers in float64.

    offset : ndarray of shape (n_directions,)
        Integers in float64.

    bits : int
    """

    matrix: np.ndarray
    offset: np.ndarray
    bits: int

    @classmethod
    def nearest(cls, matrix, offset):
        """Return the map nearest to ``q @ matrix + offset``, for rows of a norm of at most 2¹⁶."""
        largest = GRID * np.sqrt((matrix**2).sum(axis=0)) + np.abs(offset) + GRID
        bits = _EXACT_BITS - 1 - int(np.ceil(np.log2(largest.max())))
        scale = 2.0**bits
        return cls(np.rint(scale * matrix), np.rint(scale * offset), bits)

    def scaled(self, rows):
        """Return ``2^bits`` times the rows before truncation, integers in float64."""
        # By columns, of which there are few: a fifth faster.
        return (self.matrix.T @ rows.astype(np.float64, copy=False).T).T + self.offset

    def __call__(self, rows):
        """Return the integer rows, in float64."""
        return np.clip(np.trunc(self.scaled(rows) * 2.0**-self.bits), -_LARGEST, _LARGEST)


def squared_norms(rows):
    """Return the squared norms of integer rows with elements of at most 2²¹; exact."""
    return np.einsum("ij,ij->i", rows, rows)


def row_probabilities(scores):
    """Return the softmax of each row of scores; it depends on its row alone, to the last bit."""
    # Sums over the classes are exact.
    exps = np.rint(_decay(scores.max(axis=1, keepdims=True) - scores) * 2.0**40)
    return exps / exps.sum(axis=1, keepdims=True)


def row_logistic(scores):
    """Return 1/(1 + exp(−score)) of each score alone, to the last bit."""
    below = _decay(np.abs(scores))
    return np.where(scores > 0, 1.0, below) / (1.0 + below)


def row_exponentials(scores):
    """Return exp of scores between −16 and 16, of each alone to the last bit."""
    half = _RANGE / 2
    return _decay(half - np.clip(scores, -half, half)) * np.exp(half)


def _decay(x):
    """Return exp(−x) for x of at least 0, which is 0 from 32 on."""
    far = x >= _RANGE
    steps = np.where(far, 0, x * 4.0**_TABLE_BITS).astype(np.int64)
    exps = _COARSE[steps >> _TABLE_BITS] * _FINE[steps & ((1 << _TABLE_BITS) - 1)]
    return np.where(far, 0, exps)


def rescaled(rows, radius):
    """Return rows as whole numbers of radius/2¹⁶, clipped to a squared norm of at most 4¹⁶."""
    norms = np.sqrt(squared_norms(rows))
    factors = GRID / np.maximum(norms, radius) * SLACK
    return np.trunc(rows * factors[:, np.newaxis]).astype(np.int32)


def integer_weights(sizes, n):
    """Return the weights 1/k of n rows in multiples of 2⁻²⁰, truncated; int64.

    The k rows of a person have together no more than 2²⁰. Without sizes k, each weighs 2²⁰.
    """
    return np.full(n, WEIGHT_GRID) if sizes is None else WEIGHT_GRID // np.asarray(sizes)


def weighted(rows, weights):
    """Return integer rows times their weights, truncated toward zero."""
    if (weights == WEIGHT_GRID).all():
        return rows
    return np.trunc(rows * (weights * 2.0**-WEIGHT_BITS)[:, np.newaxis])


def weighted_roots(rows, weights):
    """Return integer rows times the square roots of their weights, truncated toward zero.

    The outer product of such a row with itself has at most weight · norm² as its norm.
    """
    # Row by row: the result for a row must not depend on the others in its block.
    roots = np.sqrt(weights * 2.0**-WEIGHT_BITS) * np.where(weights == WEIGHT_GRID, 1.0, SLACK)
    return np.trunc(rows * roots[:, np.newaxis])


@dataclass(frozen=True)
class RowGrid:
    """A public map from rows to whole numbers of which no row has a norm above 2^16.

    Parameters
    ----------
    basis : BasisFunctions
        Public functions of single columns, which give z.

    center : ndarray of shape (n_basis,)
        Public, or noisy: the origin of z.

    radius : float
        R: rows farther from the center are brought to this distance.

    exits : EventOutcome or None, default=None
        Where the outcome is a time: rows are summed by the cell in which they leave.

    zero : bool, default=False
        Whether the outcome is a number of which zeros are counted.
    """

    basis: BasisFunctions
    center: np.ndarray
    radius: float
    exits: EventOutcome | None = field(default=None, kw_only=True)
    zero: bool = field(default=False, kw_only=True)

    @property
    def step(self) -> float:
        """Return the step of the grid, in units of z."""
        return self.radius / GRID

    @cached_property
    def n_basis(self) -> int:
        """Return the number of elements of a row."""
        return len(self.basis.column)

    def quantise(self, X: np.ndarray) -> np.ndarray:
        """Return q = trunc(2^16 z/R) of each row, with Σq² ≤ 4^16."""
        Q = np.empty((len(X), self.n_basis))
        for rows, fine, norms in self._fine(X):
            factors = GRID / np.maximum(norms, self._steps)
            factors[norms > self._steps] *= _SAFETY
            fine *= factors[:, np.newaxis]
            np.trunc(fine, out=Q[rows])
        return Q

    def is_same(self, other: Self) -> bool:
        """Return whether another grid has the same basis functions, center and radius."""
        names = [field.name for field in fields(BasisFunctions)]
        same = all(
            np.array_equal(getattr(self.basis, name), getattr(other.basis, name)) for name in names
        )
        return same and np.array_equal(self.center, other.center) and self.radius == other.radius

    def to_features(self, Z: np.ndarray) -> np.ndarray:
        """Return rows z around the center as features, of which each function is linear."""
        return self.basis.center + (Z + self.center) / self.basis.scale

    def at(self, center: np.ndarray, radius: float) -> Self:
        """Return the grid around another center."""
        return replace(self, center=center, radius=float(radius))

    def _fine(self, X):
        """Yield rows on a finer grid, each element clipped to the radius, and their norms."""
        for rows, Z in self.basis.encode_blocks(X):
            Z -= self.center
            Z *= self._steps / self.radius
            np.maximum(Z, -self._steps, out=Z)
            np.minimum(Z, self._steps, out=Z)
            np.trunc(Z, out=Z)
            yield rows, Z, np.sqrt(np.einsum("ij,ij->i", Z, Z))

    @cached_property
    def _steps(self):
        """Return the finer steps in the radius."""
        return 2.0 ** min(_MOST_FINE_BITS, (_EXACT_BITS + 1 - self.n_basis.bit_length()) // 2)


@dataclass(frozen=True, eq=False, repr=False)
class ExactSums:
    """Sums without noise: **private**, they must stay with the owner of the rows.

    A numeric outcome is coded as two pseudo-classes, its bounds: each row is split between them by
    its distance from each.

    One row adds at most ``ROW`` to the counts, a vector of norm 2^16 to the sums of its class and
    a matrix of norm 4^16 to the second moment; if rows are weighted, so do all rows of one person
    together. Sums of two sets of rows can be added.

    Attributes
    ----------
    counts : ndarray of shape (n_cells,), dtype int64
        In steps of 2^-30 of a row.

    sums : ndarray of shape (n_classes, n_basis), dtype int64
        In steps R/2^16.

    second : ndarray of shape (n_basis, n_basis), dtype int64
        Of all classes, in steps (R/2^16)².

    persons : frozenset, default=frozenset()
        The people whose rows were summed, where all rows of one person together
        count as one. Empty where each row is a separate record.

    squares : ndarray of shape (3,) or (0,), dtype int64
        Of a number: how many rows there are, in steps of 2^-12, and the sums of its place between
        the bounds, in steps of 2^-10, and of the square of that.
    """

    counts: np.ndarray
    sums: np.ndarray
    second: np.ndarray
    persons: frozenset[Any] = frozenset()
    squares: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def zero(cls, outcome: Outcome, n_basis: int) -> Self:
        """Return the sums of no rows."""
        return cls(
            np.zeros(outcome.n_codes, dtype=np.int64),
            np.zeros((outcome.n_codes, n_basis), dtype=np.int64),
            np.zeros((n_basis, n_basis), dtype=np.int64),
            squares=np.zeros(3 * outcome.has_squares, dtype=np.int64),
        )

    @classmethod
    def of_rows(
        cls,
        Q: np.ndarray,
        codes: np.ndarray,
        sizes: np.ndarray | None,
        outcome: Outcome,
    ) -> Self:
        """Return the sums of rows, by the codes of their outcomes."""
        firsts, rows = divided(Q, sizes)
        seconds = _divided_by_root(Q, sizes)
        second = _whole(seconds.T @ seconds)
        if not outcome.has_squares:
            indicators = np.zeros((len(Q), outcome.n_codes))
            indicators[np.arange(len(Q)), codes] = 1.0
            return cls(_whole(indicators.T @ rows), _whole(indicators.T @ firsts), second)
        # Numbers, in steps of 2^-20 of their range. What is truncated at one end is in the other
        # one, so that a row's parts are opposite about the mean, and no longer than the row of a
        # class is.
        shares = codes * 2.0**-WEIGHT_BITS
        high, high_rows = np.trunc(firsts * shares[:, np.newaxis]), np.trunc(rows * shares)
        weights = np.trunc(rows * (SQUARE_ROW / ROW))
        coarse = (codes >> (WEIGHT_BITS - SQUARE_BITS)).astype(np.float64)
        return cls(
            _whole(np.array([(rows - high_rows).sum(), high_rows.sum()])),
            _whole(np.array([(firsts - high).sum(axis=0), high.sum(axis=0)])),
            second,
            squares=_whole(np.array([(weights * coarse**power).sum() for power in range(3)])),
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "ExactSums are sums of private rows without noise, and cannot be pickled or copied."
        )

    def __add__(self, other: "ExactSums") -> "ExactSums":
        """Return the sums of both sets of rows."""
        refuse_shared_persons(self.persons, other.persons)
        counts = self.counts + other.counts
        if (counts / ROW).sum() > MAX_ROWS:
            raise OverflowError(f"More than {MAX_ROWS} rows cannot be summed exactly.")
        sums, second = self.sums + other.sums, self.second + other.second
        squares = self.squares + other.squares
        return ExactSums(counts, sums, second, self.persons | other.persons, squares)


def refuse_shared_persons(some, others):
    """Raise ValueError if a person is in both sets."""
    if not some.isdisjoint(others):
        raise ValueError(
            "The 'groups' parameter names people who have rows in several chunks, so that what "
            "one person adds is not bounded. Sort the rows by person, and never divide those of "
            "one person between chunks."
        )


def divided(Q, sizes):
    """Return rows and counts for sums, divided by the rows of the person, towards zero.

    The k rows of a person, each of norm 1 and divided by k, add up to a norm of at most 1.
    """
    if sizes is None:
        return Q, np.full(len(Q), float(ROW))
    sizes = np.asarray(sizes, dtype=np.float64)
    return np.trunc(Q / sizes[:, np.newaxis]), np.trunc(ROW / sizes)


def _divided_by_root(Q, sizes):
    """Return rows for second moments: of k rows of norm 1, the squares of those divided by √k."""
    if sizes is None:
        return Q
    by_root = Q / np.sqrt(np.asarray(sizes, dtype=np.float64))[:, np.newaxis]
    # A square root that was rounded down must not lift a norm.
    by_root *= SLACK
    return np.trunc(by_root)


def _whole(sums):
    return sums.astype(np.int64)


def chunk_rows(n_basis):
    """Return how many rows to sum at a time."""
    # 2^20 elements, so that the workspace stays small, but at least two rows for each column, so
    # that the products, not adding them up, take the time (measured); and no more than 2^20 rows,
    # whose sums of products stay below 2^53, hence exact in float64.
    return min(max(2**20 // max(n_basis, 1), 2 * n_basis, 1), 2**20)
