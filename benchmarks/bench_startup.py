"""Start-up, first prediction and encoding of tables: seconds of the processor.

    python benchmarks/bench_startup.py [--repeats 9]

import: a process that imports skdp, and one that imports scikit-learn, alone and with what a
user's script would import; the repeats take turns. first: after the import, to load a
release of 303 patients with 13 columns and to predict 1,000 rows, and to predict them again, in
fresh processes. encode: a million rows of ten columns of a kind, or of all kinds, on one thread.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _report import parse, save

from skdp import DPStatisticsSource, Release, TabularEncoder
from skdp.datasets import load_heart_disease

IMPORTS = {
    "sklearn": "import sklearn.base",
    "a user's script": "import sklearn.ensemble, sklearn.linear_model, sklearn.pipeline, pandas",
    "skdp": "import skdp",
}
MODELS = ("linear", "additive", "mixtures")
N_ROWS, N_COLUMNS, QUERIES = 1_000_000, 10, 1_000


def child_seconds(command):
    """Return the processor seconds of a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def imports(repeats):
    seconds = {name: [] for name in IMPORTS}
    for _ in range(repeats):
        for name, code in IMPORTS.items():
            seconds[name].append(child_seconds([sys.executable, "-c", code]))
    for name, each in seconds.items():
        ratios = {f"ratio_to_{other}": min(each) / min(seconds[other]) for other in IMPORTS}
        yield {"what": "import", "case": name, "seconds": min(each), **ratios}


def heart():
    data = load_heart_disease()
    own = data.hospital == "Cleveland"
    return data, data.data[own], data.target[own]


def predict_first(path):
    """Print seconds from the file to the first probabilities, and to the same once more."""
    data, _, _ = heart()
    rows = data.data.iloc[np.arange(QUERIES) % len(data.data)]
    start = time.process_time()
    release = Release.load(path)
    loaded = time.process_time()
    release.predict_proba(rows)
    first = time.process_time()
    release.predict_proba(rows)
    again = time.process_time()
    print(json.dumps([loaded - start, first - loaded, again - first]))


def first_predictions(repeats):
    data, X, y = heart()
    for model in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/release.skdp"
            source = DPStatisticsSource(4.0, encoder=data.schema, model=model)
            source.set_params(random_state=np.random.RandomState(0)).fit(X, y).release_.save(path)
            command = [sys.executable, __file__, f"--first={path}"]
            runs = [
                json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                for _ in range(repeats)
            ]
        load, first, again = np.min(runs, axis=0)
        yield {"what": "first", "case": model, "load": load, "first": first, "again": again}


def column(kind, rng):
    """Return a column and how a schema describes it."""
    numbers = rng.uniform(1, 100, N_ROWS)
    described = {"type": "numeric", "low": 1, "high": 100}
    if kind == "logarithms":
        return numbers, {**described, "log": True}
    if kind == "missing numbers":
        numbers[rng.random(N_ROWS) < 0.1] = np.nan
        return numbers, {**described, "missing": True}
    if kind in ("text", "categories"):
        names = ["north", "east", "south", "west", "center"]
        codes = rng.integers(len(names), size=N_ROWS)
        values = pd.Categorical.from_codes(codes, names)
        column = pd.Series(values if kind == "categories" else np.array(names)[codes])
        return column, {"type": "category", "categories": names}
    return numbers, described


def encodings(repeats):
    kinds = ("numbers", "logarithms", "missing numbers", "text", "categories")
    for case in (*kinds, "all kinds"):
        rng = np.random.default_rng(0)
        chosen = [kinds[i % len(kinds)] if case == "all kinds" else case for i in range(N_COLUMNS)]
        columns = {f"c{i}": column(kind, rng) for i, kind in enumerate(chosen)}
        frame = pd.DataFrame({name: values for name, (values, _) in columns.items()})
        schema = {
            "version": 1,
            "columns": {name: described for name, (_, described) in columns.items()},
        }
        encoder, seconds = TabularEncoder(schema).fit(frame[:1]), []
        for _ in range(repeats):
            start = time.process_time()
            encoder.transform(frame)
            seconds.append(time.process_time() - start)
        rate = frame.size / min(seconds) / 1e6
        yield {"what": "encode", "case": case, "million_values_a_second": rate}


def main():
    options = parse(__doc__, repeats=9, first="")
    if options.first:
        predict_first(Path(options.first))
        return
    warnings.simplefilter("ignore")
    rows = []
    for part, repeats in ((imports, options.repeats), (first_predictions, 5), (encodings, 3)):
        for row in part(repeats):
            rows.append(row)
            print(row, flush=True)
    save("startup", {"repeats": options.repeats}, rows)


if __name__ == "__main__":
    main()
