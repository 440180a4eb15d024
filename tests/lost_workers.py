"""Sums on a cluster of Dask whose workers die, which test_clusters.py runs in another process."""

import os
import signal
import tempfile
import warnings
from functools import partial
from multiprocessing import get_context

import numpy as np

from skdp import DPStatisticsSource
from skdp.privacy import PrivacyLedger

N_CHUNKS, ROWS, COLUMNS = 8, 100, 3


def rows_of(k, flag, always=False):
    """Return the rows of a chunk; that of number 3 first kills its worker, once or always."""
    if k == 3 and (always or not os.path.exists(flag)):
        with open(flag, "w"):
            pass
        os.kill(os.getpid(), signal.SIGKILL)
    return np.random.default_rng(k).random((ROWS, COLUMNS))


def labels_of(k):
    return (rows_of(k, os.devnull)[:, 0] > 0.5).astype(int)


def people_of(k):
    return k * ROWS + np.arange(ROWS) // 4


def collections(flag, always=False):
    """Return rows, labels and people in chunks that are made on the workers."""
    import dask
    import dask.array as da

    shapes = {rows_of: (ROWS, COLUMNS), labels_of: (ROWS,), people_of: (ROWS,)}
    arguments = {rows_of: (flag, always), labels_of: (), people_of: ()}
    return [
        da.concatenate(
            [
                da.from_delayed(dask.delayed(make)(k, *arguments[make]), shape, dtype=float)
                for k in range(N_CHUNKS)
            ]
        )
        for make, shape in shapes.items()
    ]


def source(unit, **settings):
    settings = {"classes": [0, 1], "model": "linear", "privacy_unit": unit, **settings}
    return DPStatisticsSource(1.0, random_state=0, **settings)


def sums_of(accumulator):
    return accumulator._exact()


def lose_no_row(unit, flag):
    """Kill a worker in the middle: no row may be lost, and none count twice."""
    by_person = unit == "group"
    together, accumulator = (source(unit).accumulator(COLUMNS) for _ in range(2))
    for k in range(N_CHUNKS):
        rows = rows_of(k, os.devnull), labels_of(k)
        together.add(*rows, people_of(k) if by_person else None)
    X, y, groups = collections(flag)
    accumulator.add_dask(X, y, groups if by_person else None)
    assert os.path.exists(flag)
    found, expected = sums_of(accumulator), sums_of(together)
    for name in ("counts", "sums", "second"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.persons == expected.persons
    n_people = N_CHUNKS * len(np.unique(people_of(0)))
    assert found.counts.sum() / 2**30 == (n_people if by_person else N_CHUNKS * ROWS)


def add_and_spend_nothing(cluster, flag):
    """Kill each worker that takes a chunk: nothing may be added, and nothing be spent."""
    cluster.scheduler.allowed_failures = 0
    X, y, _ = collections(flag, always=True)
    ledger = PrivacyLedger(epsilon=1.0)
    accumulator = source("record").accumulator(COLUMNS)
    fit = partial(source("record", ledger=ledger).fit, X, y)
    for add in (partial(accumulator.add_dask, X, y), fit):
        message = message_of(add)
        assert "nothing was added" in message
        assert "make chunks smaller" in message
    assert not sums_of(accumulator).counts.any()
    assert not ledger.entries


def message_of(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return ""


def main():
    import dask

    warnings.simplefilter("ignore")
    # Of two workers one goes on. A local cluster gives up a worker that is being restarted when
    # it looks for it, by default after 15 seconds. Workers are forked from a process that has
    # imported all that they need.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    import distributed

    get_context("forkserver").set_forkserver_preload(["distributed", "dask.array", "skdp"])
    settings = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": None}
    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(**settings) as cluster,
        distributed.Client(cluster),
    ):
        lose_no_row("record", f"{folder}/record")
        lose_no_row("group", f"{folder}/group")
        add_and_spend_nothing(cluster, f"{folder}/always")
        print("as it should be", flush=True)


if __name__ == "__main__":
    main()
