"""Exact sums over private rows: the same whole numbers whatever the order or the chunks."""

from dataclasses import dataclass

import numpy as np

# Steps of the grid of counts: one row.
ROW = 2**30
# Most rows: sums of squares, up to 2^32 a row, stay whole numbers of 64 bits.
MAX_ROWS = 2**30
# Rows of one matrix product, whose sums stay below 2^53, hence exact in float64 ...
_MAX_CHUNK = 2**20
# ... and elements of one, so that the workspace stays small; but at least this many rows for each
# column, so that the products, not adding them up, take the time (measured).
_CHUNK_ELEMENTS = 2**20
_CHUNK_ROWS_PER_TERM = 2


@dataclass(frozen=True, eq=False, repr=False)
class ExactSums:
    """Sums without noise: **private**, never to leave the hands of the rows' owner.

    One row adds at most ``ROW`` to the counts, a vector of norm 2^16 to the sums of its class and
    a matrix of norm 4^16 to the second moment; so do all rows of one person together, where rows
    are weighed. Adding two of these gives those of both sets of rows.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,), dtype int64
        In steps of 2^-30 of a row.

    sums : ndarray of shape (n_classes, n_basis), dtype int64
        In steps R/2^16.

    second : ndarray of shape (n_basis, n_basis), dtype int64
        Of all classes, in steps (R/2^16)².

    persons : frozenset, default=frozenset()
        Whose rows were summed, where they were weighed so that all rows of one person together
        count as one. Empty where each row is a record of its own.
    """

    counts: np.ndarray
    sums: np.ndarray
    second: np.ndarray
    persons: frozenset = frozenset()

    @classmethod
    def zero(cls, n_classes, n_basis):
        """Return the sums of no rows."""
        return cls(
            np.zeros(n_classes, dtype=np.int64),
            np.zeros((n_classes, n_basis), dtype=np.int64),
            np.zeros((n_basis, n_basis), dtype=np.int64),
        )

    @classmethod
    def of_rows(cls, Q, class_indices, n_classes, sizes=None):
        """Return the sums of rows.

        Parameters
        ----------
        Q : ndarray of shape (n_samples, n_basis)
            From :meth:`RowGrid.quantise`.

        class_indices : ndarray of shape (n_samples,)

        n_classes : int

        sizes : ndarray of shape (n_samples,) or None, default=None
            Rows of the person whose row this is; each counts by one over it.
        """
        firsts, rows = weighed(Q, sizes)
        seconds = _weighed_by_root(Q, sizes)
        indicators = np.zeros((len(Q), n_classes))
        indicators[np.arange(len(Q)), class_indices] = 1.0
        return cls(
            _whole(indicators.T @ rows),
            _whole(indicators.T @ firsts),
            _whole(seconds.T @ seconds),
        )

    def __reduce__(self):
        raise TypeError(
            "ExactSums are sums of private rows without noise, and cannot be pickled or copied. "
            "Exchange StatisticsAccumulator.unprotected_sums() between processes of the rows' "
            "owner."
        )

    def __add__(self, other):
        """Return the sums of both sets of rows.

        Raises
        ------
        OverflowError
            When there are more rows than whole numbers of 64 bits can sum.

        ValueError
            When both have rows of one person.
        """
        refuse_shared_persons(self.persons, other.persons)
        counts = self.counts + other.counts
        if (counts / ROW).sum() > MAX_ROWS:
            raise OverflowError(f"More than {MAX_ROWS} rows cannot be summed exactly.")
        sums, second = self.sums + other.sums, self.second + other.second
        return ExactSums(counts, sums, second, self.persons | other.persons)


def refuse_shared_persons(some, others):
    """Raise ValueError where a person is in both sets."""
    if not some.isdisjoint(others):
        raise ValueError(
            "The 'groups' parameter names persons who have rows in several chunks, so that what "
            "one person adds is not bounded. Sort the rows by person, and never divide those of "
            "one person between chunks."
        )


def weighed(Q, sizes):
    """Return rows for sums, and counts in steps of ``ROW``, each weighed towards zero.

    Of k rows of norm 1, those divided by k add up to a norm of at most 1.

    Parameters
    ----------
    Q : ndarray of shape (n_samples, n_basis)
        From :meth:`RowGrid.quantise`.

    sizes : ndarray of shape (n_samples,) or None
        Rows of the person whose row this is.
    """
    if sizes is None:
        return Q, np.full(len(Q), float(ROW))
    sizes = np.asarray(sizes, dtype=np.float64)
    return np.trunc(Q / sizes[:, np.newaxis]), np.trunc(ROW / sizes)


def _weighed_by_root(Q, sizes):
    """Return rows for second moments: of k rows of norm 1, the squares of those divided by √k."""
    if sizes is None:
        return Q
    by_root = Q / np.sqrt(np.asarray(sizes, dtype=np.float64))[:, np.newaxis]
    # A square root that was rounded down must not lift a norm.
    by_root *= 1 - 2.0**-50
    return np.trunc(by_root)


def _whole(sums):
    return sums.astype(np.int64)


def chunk_rows(n_basis):
    """Return how many rows to sum at a time."""
    least = _CHUNK_ROWS_PER_TERM * n_basis
    return min(max(_CHUNK_ELEMENTS // max(n_basis, 1), least, 1), _MAX_CHUNK)
