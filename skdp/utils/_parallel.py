"""Pools of tasks, never with more threads than cores.

BLAS and OpenMP use one thread inside a pool. This is faster (two BLAS threads on a busy core can
be much slower than one), and makes results independent of ``n_jobs``, because the order of
floating-point sums does not depend on it.
"""

import sys
import time
from contextlib import nullcontext
from functools import cache

import numpy as np
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

# Workspace of each thread of a prediction. It is not divided among threads: if blocks depended on
# their number, the last bits of results would too.
_WORKSPACE_BYTES = 16 * 2**20
# Rows of a block from which larger blocks do not speed up matrix products.
_MAX_ROWS = 512


@cache
def _controller():
    # Searching all loaded libraries for thread pools takes milliseconds, longer than a small task.
    # NumPy, SciPy and scikit-learn are loaded at this point.
    return ThreadpoolController()


def _single_threaded(function, args):
    # Arguments are in one tuple, since joblib would store each large one on a worker of Dask
    # before the task is sent, and the task could not be computed any more if that worker dies.
    with _controller().limit(limits=1):
        return function(*args)


def _large_tasks():
    """Return a context in which Dask does not warn about large tasks."""
    dask = sys.modules.get("dask")  # imported if there is a cluster
    if dask is None:
        return nullcontext()
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})


def run_tasks(function, tasks, n_tasks, *, n_jobs=None, verbose=0, label="", unit="tasks"):
    """Return ``[function(*args) for args in tasks]``, read lazily and computed in one pool."""
    # Threads are preferred, so that nothing is copied to workers: functions should do most of
    # their work in BLAS, LAPACK or compiled loops, which release the interpreter lock. Another
    # backend can be chosen with joblib.parallel_config. Tasks of Dask's workers include their
    # arguments, so that they can be repeated elsewhere.
    start = time.perf_counter()
    results = []
    with _controller().limit(limits=1), _large_tasks():
        # Progress needs results as they come, which not every backend can deliver.
        return_as = "generator" if verbose else "list"
        pool = Parallel(n_jobs=n_jobs, prefer="threads", return_as=return_as)
        for result in pool(delayed(_single_threaded)(function, args) for args in tasks):
            results.append(result)
            if verbose:
                elapsed = time.perf_counter() - start
                left = elapsed / len(results) * (n_tasks - len(results))
                print(
                    f"[{label}] {len(results)}/{n_tasks} {unit}, {elapsed:.1f} s elapsed, "
                    f"about {left:.1f} s left"
                )
    return results


def map_rows(function, X, *, values_per_row, dtype, n_jobs=None, max_rows=_MAX_ROWS):
    """Return ``function(X)`` computed on blocks of rows in threads, in bounded memory.

    The function holds ``values_per_row`` numbers for each row; blocks are cast to its dtype.
    """
    row_bytes = values_per_row * np.dtype(dtype).itemsize
    n_rows = int(np.clip(_WORKSPACE_BYTES // row_bytes, 1, max_rows))
    blocks = [slice(i, i + n_rows) for i in range(0, X.shape[0], n_rows)]

    def compute(block):
        return function(X[block].astype(dtype, copy=False))

    with _controller().limit(limits=1):
        first = compute(blocks[0])
        out = np.empty((X.shape[0], *first.shape[1:]), dtype=first.dtype)
        out[blocks[0]] = first

        def fill(block):
            out[block] = compute(block)

        run_in_threads(fill, blocks[1:], n_jobs)
    return out


def run_in_threads(function, items, n_jobs=None):
    """Call a function for each item, in threads whatever the configured backend is.

    The function writes to arrays that all calls share.
    """
    Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(function)(item) for item in items)


def draw_seeds(random_state, size=None):
    """Return integer seeds below 2³¹ − 1, or one, drawn before anything runs in parallel."""
    return random_state.randint(np.iinfo(np.int32).max, size=size)  # as scikit-learn
