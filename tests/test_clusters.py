"""On a cluster of Dask results are those of one machine, bit for bit; sums also if workers die."""

import os
import subprocess
import sys
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp import (
    DeepFuzzyClassifier,
    DPSource,
    DPTransferClassifier,
    OptimalDPNoise,
    SelfTrainingSchedule,
    WideCDMMAClassifier,
)
from skdp.datasets import load_digits_domains
from skdp.utils._parallel import run_tasks

dask = pytest.importorskip("dask", reason="needs the extra dask")
pytest.importorskip("dask.array", reason="needs the extra dask")
distributed = pytest.importorskip("distributed", reason="needs dask[distributed]")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
    pytest.mark.filterwarnings("ignore:The labeled rows favor"),
]
# Workers of two threads: a single one counts as a cluster too, and tasks of a process overlap.
WORKERS, THREADS = (1, 3), 2


@pytest.fixture(scope="module")
def cluster():
    settings = {"threads_per_worker": THREADS, "processes": True, "dashboard_address": None}
    # Workers are forked from a process that has imported what takes most of their start.
    get_context("forkserver").set_forkserver_preload(["distributed", "skdp"])
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        distributed.LocalCluster(n_workers=1, **settings) as cluster,
        distributed.Client(cluster),
    ):
        yield cluster


def digits(n):
    domains = load_digits_domains()
    return domains.source[:n], domains.source_target[:n]


def wide(n_jobs=None):
    X, y = digits(400)
    model = WideCDMMAClassifier(4, n_layers=2, subset_size=20, random_state=0, n_jobs=n_jobs)
    return model.fit(np.asfortranarray(X[:300]), y[:300]).reconstruction_errors(X[300:])


def rules():
    X, y = digits(400)
    model = DeepFuzzyClassifier(max_layers=1, random_state=0)
    return model.fit(X[:300], y[:300], groups=np.arange(300) % 3).decision_function(X[300:])


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
        self_training=SelfTrainingSchedule((2, 3), n_folds=2),
        random_state=0,
    ).fit(rows, y)
    return np.c_[model.label_distributions_, model.decision_function(rows)]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Return what is computed, and what comes out on this machine."""
    known = release()
    work = {
        "wide": wide,
        "rules": rules,
        "release": partial(release_bytes, tmp_path_factory.mktemp("releases")),
        **{s: partial(transfer, s, known) for s in ("noise_aware", "alignment", "multitask")},
    }
    return work, {name: compute() for name, compute in work.items()}


@pytest.mark.slow
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


def test_sums_where_workers_die():
    script = Path(__file__).with_name("lost_workers.py")
    # In a process of its own, which ends: a cluster that waits for ever must not stop all tests.
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.splitlines()[-1:] == ["as it should be"], done.stderr[-3000:]
