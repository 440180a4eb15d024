"""Time and memory of exact sums over many rows, beside the plain float64 product of the same rows.

digits: a fit to 60,000 digits. sums: one pass over these. stream: rows of 100 columns (300 terms)
from a generator. persons: of persons with five rows each. file: from Parquet files. dask: on local
clusters, which must give the sums of one process (dask-0); many: 1,000 chunks of 20 rows and two
columns, which is what scheduling takes. feed: Parquet files of mixed columns, read and summed in
four ways, which must give the same sums. Each case runs in a process of its own. Seconds are of
the processor, except on clusters; ``ratio`` is that to X.T @ X.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import _bench
import numpy as np
from _tasks import mnist

from skdp import DPStatisticsSource, TabularEncoder
from skdp.release import BasisFunctions
from skdp.source import MODELS, PrivateRows, RowGrid

CHUNK, COLUMNS, PERSON = 50_000, 100, 5
WORKERS = (1, 2, 4)
MANY_CHUNKS, FEW_ROWS, FEW_COLUMNS = 1000, 20, 2


def chunk_of_rows(number, rows=CHUNK, columns=COLUMNS):
    """Return rows, labels and persons of one chunk, the same each time."""
    rng = np.random.default_rng(number)
    X = rng.random((rows, columns))
    persons = number * rows + np.arange(rows) // PERSON
    return X, (X[:, 0] + X[:, 1] > 1).astype(int), persons


def plain_product(X, rows=5000):
    """Return the seconds that X.T @ X takes in chunks that are added up."""
    product, total = _bench.processor(), 0.0
    for start in range(0, len(X), rows):
        here = X[start : start + rows]
        with product:
            total = total + here.T @ here
    return product.seconds


def ratio(timer, plain):
    """Return seconds, those of the plain product, and their ratio."""
    return {"seconds": timer.seconds, "plain_seconds": plain, "ratio": timer.seconds / plain}


def fit_digits(options):
    X, y, *_ = mnist()
    X = X.astype(np.float64)
    source = DPStatisticsSource(1.0, classes=range(10), bounds=(0, X.max()), model=options.model)
    source.set_params(random_state=0)
    plain, fit = plain_product(X), _bench.processor()
    with _bench.PeakMemory() as memory, fit:
        source.fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        source.release_.save(Path(folder) / "digits.skdp")
        size = mib_of_files(folder)
    sizes = {"peak_above_rows_mib": memory.mib, "file_mib": size}
    return {"model": options.model, "rows": len(X), **ratio(fit, plain), **sizes}


def sum_digits(options):
    X, y, *_ = mnist()
    X = X.astype(np.float64)
    terms = BasisFunctions.of_columns(np.zeros(X.shape[1], dtype=int), 0, X.max(), orders=())
    grid = RowGrid(terms, np.zeros(X.shape[1]), float(np.sqrt(terms.variances.sum())))
    plain, total = plain_product(X), _bench.processor()
    with _bench.PeakMemory() as memory, total:
        PrivateRows.of_labels(X, y, np.arange(10)).sums(grid)
    return {"rows": len(X), **ratio(total, plain), "peak_above_rows_mib": memory.mib}


def stream(options, by_person=False):
    unit = "group" if by_person else "record"
    source = DPStatisticsSource(1.0, classes=[0, 1], model="linear", privacy_unit=unit)
    accumulator, total, plain = source.accumulator(COLUMNS), _bench.processor(), 0.0
    with _bench.PeakMemory() as memory:
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
        "terms": accumulator.plan.grid.n_basis,
        **ratio(total, plain),
        "peak_mib": memory.start + memory.mib,
        "start_mib": memory.start,
        "sums": digest(accumulator),
    }


def digest(accumulator):
    """Return a short fingerprint of sums of synthetic rows."""
    sums = accumulator.unprotected_sums().sums
    content = b"".join(a.tobytes() for a in (sums.counts, sums.sums, sums.second))
    return hashlib.sha256(content).hexdigest()[:16]


def mib_of_files(folder):
    return sum(file.stat().st_size for file in Path(folder).iterdir()) / 2**20


def from_files(options):
    """Sum rows of numbers in Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{i}" for i in range(COLUMNS)]
    source = DPStatisticsSource(1.0, classes=[0, 1], model="linear")
    accumulator, total = source.accumulator(feature_names=names), _bench.processor()
    n_chunks, plain = options.file_rows // CHUNK, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(n_chunks):
            X, y, _ = chunk_of_rows(number)
            plain += plain_product(X)
            file = Path(folder) / f"{number:05d}.parquet"
            pq.write_table(pa.table([*X.T, y], names=[*names, "y"]), file)
        size = mib_of_files(folder)
        with _bench.PeakMemory() as memory, total:
            accumulator.add_parquet(folder, "y")
    return {
        "rows": n_chunks * CHUNK,
        "columns": COLUMNS,
        **ratio(total, plain),
        "peak_above_start_mib": memory.mib,
        "file_mib": size,
        "sums": digest(accumulator),
    }


NUMBERS, TEXTS, TRUTHS, COUNTS = (
    [f"{kind}{i}" for i in range(n)]
    for kind, n in (("number", 20), ("text", 10), ("truth", 5), ("count", 5))
)
REGIONS = ["north", "south", "east", "west", "center"]
MIXED = {
    **{name: {"type": "numeric", "low": 0, "high": 1} for name in NUMBERS},
    **{name: {"type": "category", "categories": REGIONS} for name in TEXTS},
    **{name: {"type": "category", "categories": [False, True]} for name in TRUTHS},
    **{name: {"type": "numeric", "low": 0, "high": 9, "missing": True} for name in COUNTS},
}


def write_mixed(folder, n_rows):
    """Write files of 250,000 rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for part in range(max(n_rows // 250_000, 1)):
        rng, n = np.random.default_rng(part), min(n_rows, 250_000)
        table = {name: rng.random(n) for name in NUMBERS}
        regions = pa.array(REGIONS)
        table |= {name: regions.take(pa.array(rng.integers(5, size=n))) for name in TEXTS}
        table |= {name: rng.random(n) < 0.5 for name in TRUTHS}
        for name in COUNTS:
            table[name] = pa.array(rng.integers(10, size=n), mask=rng.random(n) < 0.1)
        table["outcome"] = np.where(table["number0"] > 0.5, "ill", "well")
        pq.write_table(pa.table(table), Path(folder) / f"{part:05d}.parquet")


def feed_pandas(accumulator, folder):
    import pandas as pd

    frame = pd.read_parquet(folder)
    accumulator.add(frame[[*MIXED]], frame["outcome"])


def feed_polars(accumulator, folder):
    import polars as pl

    frame = pl.read_parquet(f"{folder}/*.parquet")
    accumulator.add(frame.select([*MIXED]), frame["outcome"])


def feed_batches(accumulator, folder):
    import pyarrow.dataset as ds

    for batch in ds.dataset(folder).to_batches(batch_size=65_536):
        accumulator.add(batch.select([*MIXED]), batch["outcome"])


FEEDS = {
    "pandas": feed_pandas,
    "polars": feed_polars,
    "batches": feed_batches,
    "parquet": lambda accumulator, folder: accumulator.add_parquet(folder, "outcome"),
}


def feed(options, name):
    import pandas
    import polars
    import pyarrow.dataset
    import pyarrow.parquet

    libraries = (pandas, polars, pyarrow)  # whose start is none of the feeding
    encoder = TabularEncoder(MIXED)
    source = DPStatisticsSource(1.0, encoder=encoder, classes=["ill", "well"], model="linear")
    accumulator, total = source.accumulator(), _bench.processor()
    with tempfile.TemporaryDirectory() as folder:
        # By another process, whose memory is not counted.
        command = [sys.executable, __file__, f"--case=write:{folder}", f"--rows={options.rows}"]
        subprocess.run(command, check=True)
        with _bench.PeakMemory() as memory, _bench.Timer() as timer, total:
            FEEDS[name](accumulator, folder)
        size = mib_of_files(folder)
    return {
        "rows": options.rows,
        "columns": len(MIXED),
        "terms": accumulator.plan.grid.n_basis,
        "seconds": total.seconds,
        "wall_seconds": timer.seconds,
        "peak_above_start_mib": memory.mib,
        "file_mib": size,
        "versions": {each.__name__: each.__version__ for each in libraries},
        "sums": digest(accumulator),
    }


def state_of_worker(dask_worker):
    """Return processor seconds, peak memory in MiB, and bytes sent to other processes."""
    sent = dask_worker.transfer_outgoing_bytes_total
    return time.process_time(), _bench.memory_mib("VmHWM"), sent


def on_workers(n, workers, rows=CHUNK, columns=COLUMNS):
    """Sum n chunks of rows."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    make = dask.delayed(chunk_of_rows, nout=3, pure=False)
    chunks = [make(k, rows, columns) for k in range(n)]
    X = da.concatenate([da.from_delayed(c[0], (rows, columns), float) for c in chunks])
    y = da.concatenate([da.from_delayed(c[1], (rows,), int) for c in chunks])
    source = DPStatisticsSource(1.0, classes=[0, 1], model="linear")
    accumulator = source.accumulator(columns)
    settings = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        client.run(digest_of_nothing)  # imports what a worker needs
        before = client.run(state_of_worker)
        with _bench.Timer() as timer:
            accumulator.add_dask(X, y)
        after = client.run(state_of_worker)
    sums = accumulator.unprotected_sums().sums
    return {
        "workers": workers,
        "rows": n * rows,
        "chunks": n,
        "columns": columns,
        "wall_seconds": timer.seconds,
        "worker_seconds": sum(after[w][0] - before[w][0] for w in after),
        "peak_mib": max(peak for _, peak, _ in after.values()),
        "start_mib": max(peak for _, peak, _ in before.values()),
        "sent_mib": sum(after[w][2] - before[w][2] for w in after) / 2**20,
        "sums_mib": sum(a.nbytes for a in (sums.counts, sums.sums, sums.second)) / 2**20,
        "cores": os.cpu_count(),
        "sums": digest(accumulator),
    }


def digest_of_nothing():
    return digest(DPStatisticsSource(classes=[0, 1]).accumulator(1))


CASES = {
    "digits": fit_digits,
    "sums": sum_digits,
    "stream": stream,
    "persons": lambda options: stream(options, by_person=True),
    "file": from_files,
    "dask-0": stream,
    **{f"dask-{n}": lambda o, n=n: on_workers(o.dask_rows // CHUNK, n) for n in WORKERS},
    "many": lambda options: on_workers(MANY_CHUNKS, 2, FEW_ROWS, FEW_COLUMNS),
    **{f"feed-{name}": lambda options, name=name: feed(options, name) for name in FEEDS},
}
# Rows of cases that are not as long as the others.
SHORTER = {"persons": "dask_rows", "dask": "dask_rows", "file": "file_rows", "feed": "feed_rows"}


def measure(case, options):
    if case.startswith("write:"):
        return write_mixed(case.removeprefix("write:"), options.rows)
    return [{"case": case, **CASES[case](options)}]


def cases(options):
    if options.model not in {"auto", *MODELS}:
        sys.exit(f"There is no model {options.model!r}; there are {', '.join(MODELS)}.")
    for case in CASES:
        n = vars(options)[SHORTER.get(case.split("-")[0], "rows")]
        yield case, {"rows": n, "dask_rows": n, "file_rows": n}


def check(rows):
    """Stop where cases gave different sums."""
    for kind in ("dask", "feed"):
        if len({row["sums"] for row in rows if row["case"].startswith(kind)}) != 1:
            sys.exit(f"The cases of {kind} gave different sums.")
    return {}


if __name__ == "__main__":
    sizes = {"rows": 10_000_000, "dask_rows": 2_000_000, "file_rows": 1_000_000}
    settings = {"model": "auto", **sizes, "feed_rows": 1_000_000}
    _bench.run_apart("statistics_scale", cases, measure, __doc__, check, **settings)
