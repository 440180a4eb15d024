"""One flat pool of tasks at a time, never more threads than cores.

BLAS and OpenMP are held to one thread inside the pool. That is faster (two BLAS threads
on a busy core can be slower by far than one) and it makes results independent of
``n_jobs``, since the order of floating-point sums no longer depends on it.
"""

import sys
import time
from contextlib import nullcontext
from functools import cache

import numpy as np
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

# Workspace of each thread of a prediction; benchmarks/bench_predict_memory.py measures what
# a prediction needs with it. Not divided among the threads: blocks must not depend on their
# number, or the last bits of the results would.
_WORKSPACE_BYTES = 16 * 2**20
# Rows beyond which a larger block makes matrix products no faster. A rule of thumb.
_MAX_ROWS = 512
# scikit-learn draws the seeds of its own parallel estimators below the same bound.
_SEED_BOUND = np.iinfo(np.int32).max


@cache
def _controller():
    # To look for thread pools among all loaded libraries takes milliseconds, more than a
    # small task does. NumPy, SciPy and scikit-learn are loaded by now.
    return ThreadpoolController()


def _single_threaded(function, args):
    # Arguments in one tuple, for joblib would store each large one on a worker of Dask before the
    # task is sent, and nobody could compute the task any more when that worker dies.
    with _controller().limit(limits=1):
        return function(*args)


def _large_tasks():
    """Return a context in which Dask does not warn that tasks bring their data."""
    dask = sys.modules.get("dask")  # whoever has a cluster has imported it
    if dask is None:
        return nullcontext()
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})


def run_tasks(function, tasks, n_tasks, *, n_jobs=None, verbose=0, label="", unit="tasks"):
    """Return ``[function(*args) for args in tasks]``, computed in one pool.

    Parameters
    ----------
    function : callable
        Does its heavy work in BLAS, LAPACK or compiled loops, which release the
        interpreter lock: threads are preferred, so that nothing is copied to workers.

    tasks : iterable of tuple
        Arguments of each call; read lazily.

    n_tasks : int
        How many there are.

    n_jobs : int or None, default=None
        As in joblib; another backend can be chosen with :func:`joblib.parallel_config`. Tasks
        of Dask's workers bring their arguments, so that they can be done again elsewhere.

    verbose : int, default=0
        Above 0, print progress as results arrive.

    label, unit : str
        What the progress lines call the caller and the tasks.

    Returns
    -------
    results : list
        In the order of the tasks.
    """
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
                    f"[{label}] {len(results)}/{n_tasks} {unit}, {elapsed:.1f} s gone, "
                    f"about {left:.1f} s to go"
                )
    return results


def map_rows(function, X, *, values_per_row, dtype, n_jobs=None, max_rows=_MAX_ROWS):
    """Return ``function(X)`` computed on blocks of rows in threads, in bounded memory.

    Parameters
    ----------
    function : callable
        Maps an array of shape (n_rows, n_features) to one whose first axis is rows.

    X : ndarray of shape (n_samples, n_features)
        Any numeric dtype; each block is cast to ``dtype`` on its own.

    values_per_row : int
        Numbers that ``function`` holds at once for each row.

    dtype : dtype
        The dtype in which ``function`` computes.

    n_jobs : int or None, default=None
        Number of threads, as in joblib.

    max_rows : int, default=512
        Most rows of a block.

    Returns
    -------
    out : ndarray
        First axis of length n_samples.
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
    """Call a function of each item, which writes to arrays that all calls share.

    In threads, whatever backend the user configured.
    """
    Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(function)(item) for item in items)


def draw_seeds(random_state, size=None):
    """Return integer seeds, drawn before anything runs in parallel.

    Parameters
    ----------
    random_state : RandomState
        Where they come from.

    size : int or None, default=None
        How many; None draws a single one.

    Returns
    -------
    seeds : int or ndarray of shape (size,)
        Non-negative, below 2³¹ − 1.
    """
    return random_state.randint(_SEED_BOUND, size=size)
