"""Seconds of the processor and memory: start-up, fits, sums of many rows, first predictions.

Each case runs in a process of its own, of one thread. ``ratio`` is that to X.T @ X in float64 of
the same encoded rows, without anything around it. Of first predictions, from the file of a release
to the probabilities of 1,000 rows.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import _bench
import numpy as np
from _tasks import mnist

CHUNK, COLUMNS = 50_000, 100
IMPORTS = ("sklearn.linear_model, sklearn.cluster, sklearn.metrics, pandas", "skdp")
TIMED = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"


def plain_product(X, rows=5000):
    """Return the seconds that X.T @ X takes in chunks that are added up."""
    product, total = _bench.processor(), 0.0
    for start in range(0, len(X), rows):
        here = np.asarray(X[start : start + rows])
        with product:
            total = total + here.T @ here
    return product.seconds


def started(names):
    """Return the least seconds of an import in five new processes."""
    command = [sys.executable, "-c", TIMED.format(names)]
    runs = [subprocess.run(command, check=True, capture_output=True) for _ in range(5)]
    return {"rows": 0, "seconds": min(float(run.stdout) for run in runs)}


def fitted(source, X, y, encoded):
    fit = _bench.processor()
    with _bench.PeakMemory() as memory, fit:
        source.fit(X, y)
    return {"rows": len(X), **against(fit.seconds, plain_product(encoded)), "mib": memory.mib}


def against(seconds, plain):
    return {"seconds": seconds, "ratio": seconds / plain}


def adult(model, answer=False):
    from skdp import DPStatisticsSource, Release, TabularEncoder
    from skdp.datasets import load_adult

    data = load_adult(random_state=0)
    source = DPStatisticsSource(1.0, encoder=data.schema, model=model)
    X, y = data.data.iloc[data.source], data.target[data.source]
    if not answer:
        return fitted(source, X, y, np.asarray(TabularEncoder(data.schema).fit_transform(X)))
    with tempfile.TemporaryDirectory() as folder:
        path, timer = Path(folder) / "adult.skdp", _bench.processor()
        source.fit(X, y).release_.save(path)
        with timer:
            Release.load(path).predict_proba(data.data.iloc[data.test[:1000]])
    return {"rows": 1000, "seconds": timer.seconds}


def digits(model):
    from skdp import DPStatisticsSource

    X, y, *_ = mnist()
    X = X.astype(np.float64)
    source = DPStatisticsSource(1.0, classes=range(10), bounds=(0, X.max()), model=model)
    return fitted(source, X, y, X)


def stream(n_rows=2_000_000):
    """Sum chunks of rows of 100 columns, which are 300 basis functions."""
    from skdp import DPStatisticsSource

    source = DPStatisticsSource(1.0, classes=[0, 1], model="linear")
    accumulator, total, plain = source.accumulator(COLUMNS), _bench.processor(), 0.0
    with _bench.PeakMemory() as memory:
        for number in range(n_rows // CHUNK):
            X = np.random.default_rng(number).random((CHUNK, COLUMNS))
            with total:
                accumulator.add(X, (X[:, 0] + X[:, 1] > 1).astype(int))
            plain += plain_product(X)
        with total:
            source.fit_accumulated(accumulator)
    return {"rows": n_rows, **against(total.seconds, plain), "mib": memory.mib}


CASES = {
    **{f"import {names}": lambda names=names: started(names) for names in IMPORTS},
    **{f"fit of adult, {m}": lambda m=m: adult(m) for m in ("linear", "auto", "mixtures")},
    "load and predict": lambda: adult("linear", answer=True),
    "fit of MNIST, 784 pixels, linear": lambda: digits("linear"),
    "fit of MNIST, 784 pixels, mixtures": lambda: digits("mixtures"),
    "stream of 100 columns": stream,
}

if __name__ == "__main__":
    _bench.run_apart(
        "speed",
        lambda options: ((case, {}) for case in CASES),
        lambda case, options: [{"case": case, **CASES[case]()}],
        __doc__,
    )
