"""Sums over private rows that arrive in parts, kept by their owner until they are released."""

import sys
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add
from threading import Lock

import numpy as np

from skdp.source._integers import ExactSums, refuse_shared_persons
from skdp.source._private_rows import SummationPlan


@dataclass(frozen=True, eq=False, repr=False)
class UnprotectedSums:
    """Sums **without any noise**, and what they are sums of; for other processes of the owner.

    Attributes
    ----------
    plan : SummationPlan

    sums : ExactSums
    """

    plan: SummationPlan
    sums: ExactSums

    def __reduce__(self):
        parts = [getattr(self.sums, field.name) for field in fields(ExactSums)]
        return _unprotected, (self.plan, *parts)


def _unprotected(plan, *parts):
    return UnprotectedSums(plan, ExactSums(*parts))


class StatisticsAccumulator:
    """Exact sums over private rows, **without any noise**: never to leave their owner's hands.

    Made by :meth:`DPStatisticsSource.accumulator`. Rows are added in chunks, here or in other
    processes, and forgotten; the order and the chunks make no difference, bit for bit. Memory
    does not grow with the number of rows, but with that of persons where these are protected.
    Several threads may add chunks at the same time. :meth:`DPStatisticsSource.fit_accumulated`
    makes a release of it, and spends ε and δ; rows may be added afterwards, and each further
    release spends again.

    It refuses to be pickled or copied, because a pickle of it is the private sums themselves.
    Processes that work for the owner exchange them by :meth:`unprotected_sums` and
    :meth:`add_unprotected_sums`, which say what they are.

    Parameters
    ----------
    plan : SummationPlan
        What is public about the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPStatisticsSource
    >>> rng = np.random.RandomState(0)
    >>> source = DPStatisticsSource(epsilon=2.0, classes=["ill", "well"])
    >>> accumulator = source.accumulator(n_features=3)
    >>> for _ in range(4):
    ...     X = rng.rand(250, 3)
    ...     accumulator.add(X, np.where(X[:, 0] > 0.5, "ill", "well"))
    >>> source.fit_accumulated(accumulator).release_
    Release(2 classes, 3 features, (2, 1e-05)-DP per labelled record, add/remove)
    """

    def __init__(self, plan):
        self.plan = plan
        self._sums = ExactSums.zero(len(plan.classes), plan.grid.n_basis)
        # Apart from the sums, as these are replaced with every chunk, and persons may be many.
        self._persons = set()
        # Chunks may be added by several threads: none may be lost, and no person come twice.
        self._lock = Lock()

    def add(self, X, y, groups=None):
        """Add a chunk of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private rows; there may be none.

        y : array-like of shape (n_samples,)
            Their classes.

        groups : array-like of shape (n_samples,), default=None
            Whose row each one is: whole numbers in all chunks, or text in all. All rows of a
            person must come in one chunk.

        Raises
        ------
        ValueError
            When rows are such as :meth:`DPStatisticsSource.fit` refuses, or a person has rows in
            an earlier chunk. Nothing is added then.
        """
        self._take(self.plan.sums(X, y, groups))

    def add_dask(self, X, y, groups=None):
        """Add the rows of Dask collections, which are summed chunk by chunk where they are.

        The chunks' sums are added up as a tree by the scheduler that Dask is set to use, and
        nothing is released. What passes between its workers is **not protected**: sums without
        noise, the list of persons where these are protected, and rows that Dask itself moves.
        Scheduler and workers must be the owner's own, and their connections encrypted where
        others could listen.

        Parameters
        ----------
        X : Dask array or DataFrame
            Private rows.

        y, groups : Dask array or Series
            Of the same chunks; ``groups`` may be None, as in :meth:`add`.

        Raises
        ------
        ValueError
            As for :meth:`add`, or when these are no Dask collections, or chunks at the same
            place hold other rows. Nothing is added then.
        """
        self._take(sum_dask(self.plan, X, y, groups))

    def unprotected_sums(self):
        """Return the sums **without any noise**, for other processes of the same owner.

        Returns
        -------
        sums : UnprotectedSums
            For :meth:`add_unprotected_sums`. Not to be stored or sent to anybody else.
        """
        with self._lock:
            sums = replace(self._sums, persons=frozenset(self._persons))
        return UnprotectedSums(self.plan, sums)

    def add_unprotected_sums(self, sums):
        """Add what another accumulator of the same source has summed, of other rows.

        Parameters
        ----------
        sums : UnprotectedSums
            From :meth:`unprotected_sums`. That they are not added twice is up to the caller,
            unless persons are protected.

        Raises
        ------
        ValueError
            When they are sums of other columns or classes, or of persons who had rows here.
        """
        if not self.plan.is_same(sums.plan):
            raise ValueError(
                "The 'sums' parameter is of an accumulator with other columns, classes or "
                "privacy unit. Make all accumulators by sources of the same parameters."
            )
        self._take(sums.sums)

    def _take(self, sums):
        with self._lock:
            refuse_shared_persons(self._persons, sums.persons)
            self._sums = self._sums + replace(sums, persons=frozenset())
            self._persons |= sums.persons

    def __getstate__(self):
        self.__reduce__()

    def __reduce__(self):
        raise TypeError(
            "A StatisticsAccumulator holds sums of private rows without noise and cannot be "
            "pickled or copied. Release it by DPStatisticsSource.fit_accumulated, or exchange "
            "unprotected_sums() between processes of the rows' owner."
        )

    def __repr__(self):
        return f"StatisticsAccumulator({len(self.plan.classes)} classes, private sums)"


def is_dask(X):
    """Return whether X is a Dask array or DataFrame, or a column of one."""
    dask = sys.modules.get("dask")  # whoever has such a collection has imported it
    return dask is not None and dask.is_dask_collection(X) and hasattr(X, "to_delayed")


def announced_columns(X):
    """Return number, names and dtype of the columns of a Dask array or DataFrame.

    Returns
    -------
    n_features : int

    names : list of str, or None

    dtype : dtype
        float32 where all columns are, otherwise float64.
    """
    if X.ndim != 2:
        raise ValueError(
            f"The 'X' parameter must be a Dask collection of two dimensions, got {X.ndim}."
        )
    names = list(X.columns) if hasattr(X, "columns") else []
    named = bool(names) and all(isinstance(name, str) for name in names)
    dtypes = list(X.dtypes) if names else [X.dtype]
    single = all(dtype == np.float32 for dtype in dtypes)
    return X.shape[1], names if named else None, np.float32 if single else np.float64


def sum_dask(plan, X, y, groups):
    """Return exact sums, **without noise**, over the rows of a Dask collection.

    Parameters
    ----------
    plan : SummationPlan

    X : Dask array or DataFrame
        Private rows.

    y, groups : Dask array or Series of the same chunks
        Their classes and, or None, their persons. All rows of a person are in one chunk.

    Returns
    -------
    sums : ExactSums
        By the scheduler that Dask is set to use.

    Raises
    ------
    ValueError
        When these are no Dask collections, or their chunks differ.
    """
    given = {"X": X, "y": y} if groups is None else {"X": X, "y": y, "groups": groups}
    for name, collection in given.items():
        if not is_dask(collection):
            raise ValueError(
                f"The {name!r} parameter must be a Dask array, DataFrame or Series (they need "
                "Dask: pip install 'skdp[dask]'), as all of X, y and groups are, got "
                f"{type(collection).__name__}. Rows in memory are for fit or add."
            )
    import dask

    parts = [_blocks(collection) for collection in given.values()]
    if len({len(blocks) for blocks in parts}) > 1:
        raise ValueError(
            "The Dask collections X, y and groups differ in their chunks. Repartition or rechunk "
            "them alike."
        )
    # One node of the graph, which all chunks refer to.
    plan = dask.delayed(plan, traverse=False, pure=False)
    chunk = dask.delayed(_chunk_sums, pure=False)
    sums = [chunk(plan, *blocks) for blocks in zip(*parts, strict=True)]
    join = dask.delayed(_add, pure=False)
    while len(sums) > 1:
        sums = [join(sums[i : i + 2]) for i in range(0, len(sums), 2)]
    return ExactSums(*dask.compute(sums[0])[0])


def _blocks(collection):
    """Return the chunks of rows, in order."""
    if hasattr(collection, "rechunk") and collection.ndim == 2:
        collection = collection.rechunk({1: -1})
    return list(np.ravel(collection.to_delayed()))


def _chunk_sums(plan, X, y, groups=None):
    given = (X, y) if groups is None else (X, y, groups)
    indices = [rows.index for rows in given if hasattr(rows, "iloc")]
    same = all(index.equals(indices[0]) for index in indices)
    if len({len(rows) for rows in given}) > 1 or not same:
        raise ValueError(
            "The Dask collections X, y and groups have chunks of other rows at the same place. "
            "Take all of them from one DataFrame, or repartition or rechunk them alike."
        )
    return _parts(plan.sums(*given))


def _add(parts):
    return _parts(reduce(add, (ExactSums(*part) for part in parts)))


def _parts(sums):
    """Return the arrays of exact sums, which themselves refuse to leave a process."""
    return [getattr(sums, field.name) for field in fields(ExactSums)]
