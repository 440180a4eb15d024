"""Sums over private rows that arrive in parts, kept by their owner until they are released."""

from skdp.release.statistics._dask import sum_dask
from skdp.release.statistics._sums import ExactSums


class StatisticsAccumulator:
    """Exact sums over private rows, **without any noise**: never to leave their owner's hands.

    Made by :meth:`DPStatisticsSource.accumulator`. Rows are added in chunks, here or in other
    processes, and forgotten; the order and the chunks make no difference, bit for bit. Memory
    does not grow with the number of rows, but with that of persons where these are protected.
    :meth:`DPStatisticsSource.fit_accumulated` makes a release of it, and spends ε and δ; rows
    may be added afterwards, and each further release spends again.

    It refuses to be pickled or copied, because a pickle of it is the private sums themselves.
    Processes that work for the owner exchange them by :meth:`unprotected_sums` and
    :meth:`add_unprotected_sums`, which say what they are.

    Parameters
    ----------
    prepare : callable
        ``prepare(X, y, groups)`` returns validated :class:`PrivateRows`.

    grid : RowGrid
        Public.

    columns : PublicColumns

    classes : ndarray of shape (n_classes,)

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
    Release(2 classes, 3 features, (2, 1e-05)-DP per labelled record)
    """

    def __init__(self, prepare, grid, columns, classes):
        self.columns, self.classes = columns, classes
        self._prepare, self._grid = prepare, grid
        self._sums = ExactSums.zero(len(classes), grid.n_terms)

    def add(self, X, y, groups=None):
        """Add a chunk of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private rows.

        y : array-like of shape (n_samples,)
            Their classes.

        groups : array-like of shape (n_samples,), default=None
            Whose row each one is. All rows of a person must come in one chunk.

        Raises
        ------
        ValueError
            When rows are such as :meth:`DPStatisticsSource.fit` refuses, or a person has rows in
            an earlier chunk. Nothing is added then.
        """
        self._sums = self._sums + self._prepare(X, y, groups).sums(self._grid)

    def add_dask(self, X, y, groups=None):
        """Add the rows of Dask collections, which are summed chunk by chunk where they are.

        The chunks' sums are added up as a tree by the scheduler that Dask is set to use; no row
        leaves its worker, and nothing is released.

        Parameters
        ----------
        X : Dask array or DataFrame
            Private rows.

        y, groups : Dask array or Series
            Of the same chunks; ``groups`` may be None, as in :meth:`add`.
        """
        sums = sum_dask(X, y, groups, prepare=self._prepare, grid=self._grid)
        self._sums = self._sums + sums

    def unprotected_sums(self):
        """Return the sums **without any noise**, for other processes of the same owner.

        Returns
        -------
        sums : ExactSums
            For :meth:`add_unprotected_sums`. Not to be stored or sent to anybody else.
        """
        return self._sums

    def add_unprotected_sums(self, sums):
        """Add what another accumulator of the same source has summed, of other rows.

        Parameters
        ----------
        sums : ExactSums
            From :meth:`unprotected_sums`.

        Raises
        ------
        ValueError
            When they are sums of other columns or classes, or of persons who had rows here.
        """
        if sums.sums.shape != self._sums.sums.shape:
            raise ValueError(
                "The 'sums' parameter holds sums of other columns or classes. Make all "
                "accumulators by sources of the same parameters."
            )
        self._sums = self._sums + sums

    def exact_sums(self, grid):
        """Return the sums for a release on the same grid; **private**.

        Raises
        ------
        ValueError
            When they were computed on another grid.
        """
        if not grid.is_same(self._grid):
            raise ValueError(
                "The 'accumulator' parameter was made by a source of other parameters. Make it "
                "by accumulator() of the source that is to release it."
            )
        return self._sums

    def __reduce__(self):
        raise TypeError(
            "A StatisticsAccumulator holds sums of private rows without noise and cannot be "
            "pickled or copied. Release it by DPStatisticsSource.fit_accumulated, or exchange "
            "unprotected_sums() between processes of the rows' owner."
        )

    def __repr__(self):
        return f"StatisticsAccumulator({len(self.classes)} classes, private sums)"
