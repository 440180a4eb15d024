"""Private rows in collections of Dask.

Chunks are summed by the workers that hold them, each once, or fetched one after another.
"""

import sys
from dataclasses import fields
from functools import reduce
from operator import add
from uuid import uuid4

import numpy as np

from skdp.source._integers import ExactSums


def is_dask(X):
    """Return whether X is a Dask array or DataFrame, or a column of one."""
    dask = sys.modules.get("dask")  # it has been imported where such a collection exists
    return dask is not None and dask.is_dask_collection(X) and hasattr(X, "to_delayed")


def announced_columns(X):
    """Return number, names and dtype of the columns of a Dask array or DataFrame."""
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
    """Return exact sums, **without noise**, over the rows of a Dask collection."""
    parts = _aligned_blocks(X, y, groups)
    return ExactSums(*_computed(_sum_of_chunks(plan, parts)))


def chunks_in_turn(X, y, groups):
    """Yield the chunks of X, y and, if given, groups, computed one after another."""
    for blocks in zip(*_aligned_blocks(X, y, groups), strict=True):
        yield _checked(*_computed(*blocks))


def _aligned_blocks(X, y, groups):
    """Return the chunks of X, y and groups; raise ValueError unless they correspond."""
    given = {"X": X, "y": y} if groups is None else {"X": X, "y": y, "groups": groups}
    for name, collection in given.items():
        if not is_dask(collection):
            raise ValueError(
                f"The {name!r} parameter must be a Dask array, DataFrame or Series (they need "
                "Dask: pip install 'skdp[dask]'), as all of X, y and groups are, got "
                f"{type(collection).__name__}. Pass rows in memory to fit or add."
            )
    parts = [_blocks(collection) for collection in given.values()]
    if len({len(blocks) for blocks in parts}) > 1:
        raise ValueError(
            "The Dask collections X, y and groups differ in their chunks. Repartition or rechunk "
            "them alike."
        )
    return parts


def _sum_of_chunks(plan, parts):
    """Return the Dask node that adds the sums of all chunks, as a tree."""
    # A single graph for all of it: delayed objects would merge theirs for each chunk, which takes
    # time with the square of their number.
    from dask.delayed import Delayed
    from dask.utils import ensure_dict

    name = uuid4().hex
    graph: dict = {}
    for blocks in parts:
        graph |= ensure_dict(blocks[0].dask)  # that of all of them
    graph[f"plan-{name}"] = plan
    keys = []
    for k, blocks in enumerate(zip(*parts, strict=True)):
        keys.append((f"sums-{name}", 0, k))
        graph[keys[-1]] = (_chunk_sums, f"plan-{name}", *(block.key for block in blocks))
    level = 0
    while len(keys) > 1:
        level, pairs = level + 1, [keys[i : i + 2] for i in range(0, len(keys), 2)]
        keys = [(f"sums-{name}", level, k) for k in range(len(pairs))]
        graph |= {key: (_add, pair) for key, pair in zip(keys, pairs, strict=True)}
    return Delayed(keys[0], graph)


def _computed(*nodes):
    import dask

    try:
        values = dask.compute(*nodes)
        return values if len(nodes) > 1 else values[0]
    except Exception as error:
        distributed = sys.modules.get("distributed")  # it has been imported where workers exist
        if distributed is None or not isinstance(error, distributed.KilledWorker):
            raise
    raise RuntimeError(
        "Workers of Dask died while they computed a chunk of 'X', repeatedly; nothing was added "
        "and no budget was spent. Mostly they ran out of memory: make chunks smaller, or give "
        "workers more memory. The workers' logs say more."
    )


def _blocks(collection):
    """Return the chunks of rows, in order."""
    is_array = hasattr(collection, "rechunk")
    if is_array and collection.ndim == 2:
        collection = collection.rechunk({1: -1})
    # Frames are optimized, each to read only its own columns of files; arrays are not, because
    # the common input of X and y would become part of both and be computed twice.
    blocks = np.ravel(collection.to_delayed(optimize_graph=not is_array))
    if len(blocks) != collection.npartitions:  # small files were joined, more of y than of X
        blocks = np.ravel(collection.to_delayed(optimize_graph=False))
    return list(blocks)


def _chunk_sums(plan, *given):
    return _parts(plan.sums(*_checked(*given)))


def _checked(*given):
    """Return the corresponding chunks; raise ValueError if their rows differ."""
    indices = [rows.index for rows in given if hasattr(rows, "iloc")]
    same = all(index.equals(indices[0]) for index in indices)
    if len({len(rows) for rows in given}) > 1 or not same:
        raise ValueError(
            "The Dask collections X, y and groups have different rows in corresponding chunks. "
            "Take all of them from one DataFrame, or repartition or rechunk them alike."
        )
    return given


def _add(parts):
    return _parts(reduce(add, (ExactSums(*part) for part in parts)))


def _parts(sums):
    """Return the arrays of exact sums; :class:`ExactSums` itself refuses to leave a process."""
    return [getattr(sums, field.name) for field in fields(ExactSums)]
