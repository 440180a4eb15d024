"""Exact sums over private rows that arrive in parts."""

import os
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from threading import Lock
from typing import Any, NoReturn

import pandas as pd
from numpy.typing import ArrayLike

from skdp.source._chunked_rows import parquet_batches, sum_dask
from skdp.source._integers import refuse_shared_persons
from skdp.source._private_rows import SummationPlan


class StatisticsAccumulator:
    """Exact sums over private rows, **without any noise**: never give them to anybody else.

    :meth:`DPStatisticsSource.accumulator` makes an accumulator. Add rows in chunks; rows are not
    stored, and neither their order nor the chunks change a bit of the result. Memory does not grow
    with the number of rows, only with the number of people if people are protected. Several
    threads may add chunks at the same time. :meth:`DPStatisticsSource.fit_accumulated` makes a
    release of the sums and spends ε and δ. Rows may be added afterwards; each further release
    spends ε and δ again.

    An accumulator cannot be pickled or copied, because the pickle would contain private sums.

    Parameters
    ----------
    plan : SummationPlan
        The public properties of the rows.

    See Also
    --------
    DPStatisticsSource : Makes accumulators, and releases of them.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPStatisticsSource
    >>> source = DPStatisticsSource(epsilon=8.0, classes=["ill", "well"])
    >>> X = np.random.RandomState(0).rand(400, 2)
    >>> y = np.where(X[:, 0] > 0.5, "ill", "well")
    >>> accumulator = source.accumulator(n_features=2)
    >>> for start in range(0, 400, 100):
    ...     chunk = slice(start, start + 100)
    ...     accumulator.add(X[chunk], y[chunk])
    >>> source.fit_accumulated(accumulator).release_
    Release(... rows, 2 classes, 2 features, epsilon 8, delta 1e-05 per labeled record, ...)
    """

    def __init__(self, plan: SummationPlan) -> None:
        self.plan = plan
        self._sums = plan.no_sums
        # Stored separately from the sums, which each chunk replaces, as there may be many people.
        self._persons: set[Any] = set()
        # Whether a chunk was added, even an empty one, so that this reveals nothing about rows.
        self._was_added_to = False
        # Several threads may add chunks: none may get lost, and no person may be added twice.
        self._lock = Lock()

    def add(
        self, X: ArrayLike | pd.DataFrame, y: ArrayLike, groups: ArrayLike | None = None
    ) -> None:
        """Add a chunk of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private rows, possibly none. Besides arrays and pandas DataFrames, tables in Arrow's
            format, such as from pyarrow or polars, are read without a copy.

        y : array-like of shape (n_samples,)
            Classes of the rows; may be a column in Arrow's format too.

        groups : array-like of shape (n_samples,), default=None
            The person whom each row belongs to: whole numbers in all chunks, or text in all. All
            rows of a person must be in one chunk.

        Raises
        ------
        ValueError
            When :meth:`DPStatisticsSource.fit` would refuse the rows, or a person has rows in
            an earlier chunk. Nothing is added then.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import DPStatisticsSource
        >>> source = DPStatisticsSource(epsilon=8.0, classes=["ill", "well"])
        >>> X = np.random.RandomState(0).rand(400, 2)
        >>> y = np.where(X[:, 0] > 0.5, "ill", "well")
        >>> accumulator = source.accumulator(n_features=2)
        >>> accumulator.add(X, y)
        >>> accumulator
        StatisticsAccumulator(2 classes, private sums)
        """
        self._take(self.plan.sums(X, y, groups))

    def add_parquet(
        self,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        label: str | None = None,
        group: str | None = None,
        *,
        batch_size: int = 65_536,
    ) -> None:
        """Add the rows of Parquet files, batch by batch in bounded memory; all of them or none.

        Each file is read with its own types, and only the announced columns are read.

        Parameters
        ----------
        path : str, path-like or list of these
            A file, a folder of files, or several files. Folder names such as ``year=2020`` become
            a column.

        label : str or None, default=None
            Name of the column of classes or numbers. None if the outcome is a time to an event,
            which names its two columns.

        group : str or None, default=None
            Name of the column of people's IDs, as ``groups`` in :meth:`add`. All
            rows of a person must be adjacent; batches never split them.

        batch_size : int, default=65536
            Number of rows read at a time.

        Raises
        ------
        ValueError
            As for :meth:`add`, or when files lack columns or cannot be read. Nothing is added
            then, so that no row counts twice when you try again.

        Examples
        --------
        >>> from skdp import DPStatisticsSource, TabularEncoder
        >>> schema = {"age": {"type": "numeric", "low": 0, "high": 100}}
        >>> source = DPStatisticsSource(encoder=TabularEncoder(schema), classes=["ill", "well"])
        >>> accumulator = source.accumulator()
        >>> accumulator.add_parquet("visits", label="outcome")  # doctest: +SKIP
        """
        if not isinstance(batch_size, Integral) or batch_size < 1:
            raise ValueError(
                "The 'batch_size' parameter of StatisticsAccumulator.add_parquet must be a whole "
                f"number above 0, got {batch_size!r:.100}."
            )
        labels = self.plan.outcome.label_columns(label, "StatisticsAccumulator.add_parquet")
        if not labels:
            raise ValueError(
                "The 'label' parameter of StatisticsAccumulator.add_parquet must name the column "
                "of the labels, got None."
            )
        batches = StatisticsAccumulator(self.plan)
        columns = self.plan.columns
        for batch in parquet_batches(columns, path, labels, group, int(batch_size)):
            batches.add(*batch)
        self._take(batches._exact())

    def add_dask(self, X: Any, y: Any, groups: Any = None) -> None:
        """Add the rows of Dask collections; each worker sums its own chunks.

        The Dask scheduler adds the sums of the chunks as a tree; nothing is released. If a worker
        dies, another one sums its chunks again. Each chunk counts once, because sums are added to
        the accumulator only when the sums of all chunks have arrived. Data that pass between
        workers are **not protected**: sums without noise, IDs of people if these are protected,
        and rows that Dask itself moves.
        Scheduler and workers must belong to the owner, and their connections must be encrypted
        where others could listen.

        Parameters
        ----------
        X : Dask array or DataFrame
            Private rows.

        y, groups : Dask array or Series
            With the same chunks; ``groups`` may be None, as in :meth:`add`.

        Raises
        ------
        ValueError
            As for :meth:`add`, or when the arguments are not Dask collections with equal chunks.
            Nothing is added then.

        RuntimeError
            When the workers of a chunk died repeatedly. Nothing is added then.
        """
        self._take(sum_dask(self.plan, X, y, groups))

    def _exact(self):
        """Return the sums **without any noise**."""
        with self._lock:
            return replace(self._sums, persons=frozenset(self._persons))

    def _take(self, sums):
        with self._lock:
            refuse_shared_persons(self._persons, sums.persons)
            self._sums = self._sums + replace(sums, persons=frozenset())
            self._persons |= sums.persons
            self._was_added_to = True

    def _refuse_untouched(self):
        """Raise ValueError if nothing was added, for example because a call failed."""
        if not self._was_added_to:
            raise ValueError(
                "Nothing was added to the 'accumulator' parameter, and a release of it would be "
                "noise alone. Add rows by its add, add_parquet or add_dask, and see that they "
                "do not fail."
            )

    def __getstate__(self) -> NoReturn:
        self.__reduce__()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "A StatisticsAccumulator holds sums of private rows without noise and cannot be "
            "pickled or copied. Release it by DPStatisticsSource.fit_accumulated. Several "
            "processes sum chunks of Dask, see add_dask."
        )

    def __repr__(self) -> str:
        return f"StatisticsAccumulator({self.plan.outcome.about}, private sums)"
