"""Rows in a Dask collection: summed where they are, added up as a tree, and never gathered."""


def is_dask(X):
    """Return whether X is a Dask array or DataFrame."""
    return hasattr(X, "dask") and hasattr(X, "to_delayed")


def sum_dask(X, y, groups, *, prepare, grid):
    """Return exact sums, **without noise**, over the rows of a Dask collection.

    Parameters
    ----------
    X : Dask array or DataFrame
        Private rows.

    y, groups : Dask array or Series of the same chunks
        Their classes and, or None, their persons. All rows of a person are in one chunk.

    prepare : callable
        See :class:`StatisticsAccumulator`; can be pickled.

    grid : RowGrid

    Returns
    -------
    sums : ExactSums
        By the scheduler that Dask is set to use.
    """
    import dask

    chunk = dask.delayed(_chunk_sums, pure=False)
    parts = [_blocks(collection) for collection in (X, y, groups) if collection is not None]
    sums = [chunk(prepare, grid, *blocks) for blocks in zip(*parts, strict=True)]
    join = dask.delayed(_add, pure=False)
    while len(sums) > 1:
        sums = [join(sums[i : i + 2]) for i in range(0, len(sums), 2)]
    return dask.compute(sums[0])[0]


def _blocks(collection):
    """Return the chunks of rows, in order."""
    if hasattr(collection, "rechunk") and collection.ndim == 2:
        collection = collection.rechunk({1: -1})
    blocks = collection.to_delayed()
    return list(blocks.ravel()) if hasattr(blocks, "ravel") else list(blocks)


def _chunk_sums(prepare, grid, X, y, groups=None):
    return prepare(X, y, groups).sums(grid)


def _add(parts):
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]
