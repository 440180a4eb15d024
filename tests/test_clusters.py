"""On a cluster of Dask results are those of one machine, bit for bit; sums also if workers die."""

import os
import signal
from contextlib import contextmanager
from functools import partial

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp import (
    DPSource,
    DPStatisticsSource,
    DPTransferClassifier,
    OptimalDPNoise,
    SelfTrainingSchedule,
    WideCDMMAClassifier,
)
from skdp.datasets import load_digits_domains
from skdp.privacy import PrivacyLedger
from skdp.utils._parallel import run_tasks

dask = pytest.importorskip("dask", reason="needs the extra dask")
da = pytest.importorskip("dask.array", reason="needs the extra dask")
distributed = pytest.importorskip("distributed", reason="needs dask[distributed]")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
    pytest.mark.filterwarnings("ignore:The labelled rows favor"),
]
# Workers of two threads: a single one counts as a cluster too, and tasks of a process overlap.
WORKERS, THREADS = (1, 2, 4), 2
N_CHUNKS, ROWS, COLUMNS = 8, 100, 3


@contextmanager
def local_cluster(n_workers):
    settings = {"threads_per_worker": THREADS, "processes": True, "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=n_workers, **settings) as cluster,
        distributed.Client(cluster),
    ):
        yield cluster


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(1) as cluster:
        yield cluster


@pytest.fixture
def mortal_cluster():
    """Return a new cluster of two workers, of which one may die.

    A local cluster looks for a lost worker again after 15 seconds, and gives up one that is being
    restarted at that moment: on a busy machine, all work would sometimes wait for ever.
    """
    patience = {"distributed.deploy.lost-worker-timeout": "1 hour"}
    with dask.config.set(patience), local_cluster(2) as cluster:
        yield cluster


def digits(n):
    domains = load_digits_domains()
    return domains.source[:n], domains.source_target[:n]


def wide(n_jobs=None):
    X, y = digits(400)
    model = WideCDMMAClassifier(4, n_layers=2, subset_size=20, random_state=0, n_jobs=n_jobs)
    return model.fit(np.asfortranarray(X[:300]), y[:300]).reconstruction_errors(X[300:])


def release():
    noise = OptimalDPNoise(8.0, bounds=(0, 1), random_state=0)
    source = DPSource(noise=noise, parts="all", n_layers=1, subset_size=40, random_state=0)
    return source.fit(*digits(400)).release_


def release_bytes(tmp_path):
    release().save(tmp_path / "release.skdp")
    return np.frombuffer((tmp_path / "release.skdp").read_bytes(), dtype=np.uint8)


def transfer(strategy, known):
    domains = load_digits_domains()
    rows, y = domains.target[:150], domains.target_target[:150].copy()
    y[60:] = -1
    model = DPTransferClassifier(
        known,
        strategy=strategy,
        self_training=SelfTrainingSchedule((2, 3), n_folds=2 if strategy == "noise_aware" else 1),
        random_state=0,
    ).fit(rows, y)
    return np.c_[model.label_distributions_, model.decision_function(rows)]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Return what is computed, and what comes out on this machine."""
    known = release()
    work = {
        "wide": wide,
        "release": partial(release_bytes, tmp_path_factory.mktemp("releases")),
        **{s: partial(transfer, s, known) for s in ("noise_aware", "alignment", "multitask")},
    }
    return work, {name: compute() for name, compute in work.items()}


@pytest.mark.parametrize("n_workers", WORKERS)
def test_fits_are_those_of_one_machine(n_workers, cluster, alone):
    cluster.scale(n_workers)
    distributed.get_client().wait_for_workers(n_workers, timeout=60)
    work, expected = alone
    with joblib.parallel_config("dask"):
        processes = run_tasks(os.getpid, [()] * 20, 20)
        found = {name: compute() for name, compute in work.items()}
    assert os.getpid() not in processes  # the cluster did the work
    for name, result in expected.items():
        assert_array_equal(found[name], result, err_msg=name)


def test_progress_is_printed_here(cluster, capsys):
    with joblib.parallel_config("dask"):
        assert run_tasks(abs, [(-1,), (-2,)], 2, verbose=1, label="Model") == [1, 2]
    assert "[Model] 2/2 tasks" in capsys.readouterr().out


def kill_once(k, flag, always=False):
    """Kill the worker in task or chunk number 3, unless a file says that it was done."""
    if k == 3 and (always or not os.path.exists(flag)):
        with open(flag, "w"):
            pass
        os.kill(os.getpid(), signal.SIGKILL)


def rows_of(k, flag, always=False):
    """Return the rows of a chunk; that of number 3 first kills the worker, once or always."""
    kill_once(k, flag, always)
    return np.random.default_rng(k).random((ROWS, COLUMNS))


def labels_of(k):
    return (rows_of(k, os.devnull)[:, 0] > 0.5).astype(int)


def persons_of(k):
    return k * ROWS + np.arange(ROWS) // 4


def collections(flag, always=False):
    shapes = {rows_of: (ROWS, COLUMNS), labels_of: (ROWS,), persons_of: (ROWS,)}
    arguments = {rows_of: (flag, always), labels_of: (), persons_of: ()}
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
    return accumulator.unprotected_sums().sums


@pytest.mark.parametrize("unit", ["record", "group"])
def test_a_worker_that_dies_loses_no_row_and_counts_none_twice(unit, mortal_cluster, tmp_path):
    by_person = unit == "group"
    together, accumulator = (source(unit).accumulator(COLUMNS) for _ in range(2))
    for k in range(N_CHUNKS):
        rows = rows_of(k, os.devnull), labels_of(k)
        together.add(*rows, persons_of(k) if by_person else None)
    flag = tmp_path / "died"
    X, y, groups = collections(str(flag))
    accumulator.add_dask(X, y, groups if by_person else None)
    assert flag.exists()
    found, expected = sums_of(accumulator), sums_of(together)
    for name in ("counts", "sums", "second"):
        assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.persons == expected.persons
    n_persons = N_CHUNKS * len(np.unique(persons_of(0)))
    assert found.counts.sum() / 2**30 == (n_persons if by_person else N_CHUNKS * ROWS)


def test_workers_that_always_die_add_nothing_and_spend_nothing(
    mortal_cluster, tmp_path, monkeypatch
):
    monkeypatch.setattr(mortal_cluster.scheduler, "allowed_failures", 0)
    X, y, _ = collections(str(tmp_path / "died"), always=True)
    ledger = PrivacyLedger(epsilon=1.0)
    accumulator = source("record").accumulator(COLUMNS)
    fit = partial(source("record", ledger=ledger).fit, X, y)
    for add in (partial(accumulator.add_dask, X, y), fit):
        with pytest.raises(RuntimeError, match=r"died.*nothing was added.*make chunks smaller"):
            add()
    assert not sums_of(accumulator).counts.any()
    assert not ledger.entries
