"""Time and memory of exact sums over many rows, beside the plain float64 product of the same rows.

    python benchmarks/bench_statistics_scale.py [--model auto] [--rows 10000000]

digits: a fit to 60,000 digits of 784 pixels (SKDP_DATA), and the size of the file of its release.
sums: what one pass over these digits takes where the columns themselves are summed.
stream: rows of 100 columns (300 terms) from a generator, in chunks of 50,000. persons: fewer
of them, of persons with five rows each. dask: as few on local clusters of 1, 2 and 4 workers of
one thread each, which must give the sums of one process (dask-0). Each case runs in a process of
its own, with one thread of BLAS. Seconds are of the processor, except on clusters; ``ratio`` is
that to X.T @ X, chunk by chunk.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hashlib
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from _report import PeakMemory, Timer, parse, save

from skdp import DPStatisticsSource
from skdp.datasets import fetch_mnist
from skdp.release import BasisFunctions
from skdp.source import MODELS, PrivateRows, RowGrid

CHUNK, COLUMNS, PERSON = 50_000, 100, 5
WORKERS = (1, 2, 4)


class Processor:
    """Adds up processor seconds over several ``with`` blocks."""

    seconds = 0.0

    def __enter__(self):
        self.start = time.process_time()

    def __exit__(self, *exc):
        self.seconds += time.process_time() - self.start


def chunk_of_rows(number):
    """Return rows, labels and persons of one chunk, the same each time."""
    rng = np.random.default_rng(number)
    X = rng.random((CHUNK, COLUMNS))
    persons = number * CHUNK + np.arange(CHUNK) // PERSON
    return X, (X[:, 0] + X[:, 1] > 1).astype(int), persons


def plain_product(X, rows=5000):
    """Return the seconds that X.T @ X takes in chunks that are added up."""
    product, total = Processor(), 0.0
    for start in range(0, len(X), rows):
        here = X[start : start + rows]
        with product:
            total = total + here.T @ here
    return product.seconds


def digits():
    X, y = fetch_mnist(subset="train", return_X_y=True)
    return np.asarray(X, dtype=np.float64), y


def fit_digits(options):
    X, y = digits()
    source = DPStatisticsSource(1.0, classes=range(10), bounds=(0, X.max()), model=options.model)
    source.set_params(random_state=0)
    plain, fit = plain_product(X), Processor()
    with PeakMemory() as memory, fit:
        source.fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.skdp"
        source.release_.save(path)
        size = path.stat().st_size / 2**20
    return {
        "model": options.model,
        "rows": len(X),
        "seconds": fit.seconds,
        "plain_seconds": plain,
        "ratio": fit.seconds / plain,
        "peak_above_rows_mib": memory.mib,
        "file_mib": size,
    }


def sum_digits(options):
    X, y = digits()
    terms = BasisFunctions.of_columns(np.zeros(X.shape[1], dtype=int), 0, X.max(), orders=())
    grid = RowGrid(terms, np.zeros(X.shape[1]), float(np.sqrt(terms.variances.sum())))
    plain, total = plain_product(X), Processor()
    with PeakMemory() as memory, total:
        PrivateRows.of_labels(X, y, np.arange(10)).sums(grid)
    return {
        "rows": len(X),
        "seconds": total.seconds,
        "plain_seconds": plain,
        "ratio": total.seconds / plain,
        "peak_above_rows_mib": memory.mib,
    }


def stream(options, by_person):
    unit = "group" if by_person else "record"
    source = DPStatisticsSource(1.0, classes=[0, 1], model="linear", privacy_unit=unit)
    accumulator, total, plain = source.accumulator(COLUMNS), Processor(), 0.0
    with PeakMemory() as memory:
        for number in range(options.rows // CHUNK):
            X, y, persons = chunk_of_rows(number)
            with total:
                accumulator.add(X, y, persons if by_person else None)
            plain += plain_product(X)
        with total:
            source.fit_accumulated(accumulator)
    return {
        "persons": by_person,
        "rows": options.rows,
        "columns": COLUMNS,
        "terms": accumulator.layout.grid.n_basis,
        "seconds": total.seconds,
        "plain_seconds": plain,
        "ratio": total.seconds / plain,
        "peak_mib": memory.start + memory.mib,
        "start_mib": memory.start,
        "sums": digest(accumulator),
    }


def digest(accumulator):
    """Return a short fingerprint of sums of synthetic rows."""
    sums = accumulator.unprotected_sums().sums
    content = b"".join(a.tobytes() for a in (sums.counts, sums.sums, sums.second))
    return hashlib.sha256(content).hexdigest()[:16]


def on_workers(options, workers):
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    n = options.dask_rows // CHUNK
    chunks = [dask.delayed(chunk_of_rows, nout=3, pure=False)(k) for k in range(n)]
    X = da.concatenate([da.from_delayed(c[0], (CHUNK, COLUMNS), float) for c in chunks])
    y = da.concatenate([da.from_delayed(c[1], (CHUNK,), int) for c in chunks])
    source = DPStatisticsSource(1.0, classes=[0, 1], model="linear")
    accumulator = source.accumulator(COLUMNS)
    settings = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster), Timer() as timer:
        accumulator.add_dask(X, y)
    return {
        "workers": workers,
        "rows": n * CHUNK,
        "columns": COLUMNS,
        "wall_seconds_with_start": timer.seconds,
        "cores": os.cpu_count(),
        "sums": digest(accumulator),
    }


CASES = {
    "digits": fit_digits,
    "sums": sum_digits,
    "stream": lambda options: stream(options, by_person=False),
    "persons": lambda options: stream(options, by_person=True),
    "dask-0": lambda options: stream(options, by_person=False),
    **{f"dask-{n}": lambda options, n=n: on_workers(options, n) for n in WORKERS},
}


def main():
    options = parse(__doc__, model="auto", rows=10_000_000, dask_rows=2_000_000, case="")
    if options.model not in {"auto", *MODELS}:
        sys.exit(f"There is no model {options.model!r}; there are {', '.join(MODELS)}.")
    warnings.simplefilter("ignore")
    if options.case:
        print(json.dumps(CASES[options.case](options)))
        return
    rows = []
    for case in CASES:
        n = options.dask_rows if case in {"persons", "dask-0"} else options.rows
        command = [sys.executable, __file__, f"--case={case}", f"--model={options.model}"]
        command += [f"--rows={n}", f"--dask-rows={options.dask_rows}"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append({"case": case, **json.loads(done.stdout.splitlines()[-1])})
        print(rows[-1], flush=True)
    same = {row["sums"] for row in rows if row["case"].startswith("dask")}
    if len(same) != 1:
        sys.exit("Clusters of different sizes gave different sums.")
    settings = {name: value for name, value in vars(options).items() if name != "case"}
    save("statistics_scale", settings, rows)


if __name__ == "__main__":
    main()
