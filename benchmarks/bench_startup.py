"""Start-up, first prediction and encoding of tables: seconds of the processor.

import: what scripts import; they take turns, and ratios are medians over the turns. first: after
the import, to load a release of adult, to predict 1,000 rows of the raw table, and once more.
encode: a million rows of ten columns. Python's compiled files lie in a folder of their own, which
a first turn that does not count has filled.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import _bench
import numpy as np
import pandas as pd

from skdp import DPSource, DPStatisticsSource, Release, TabularEncoder
from skdp.datasets import load_adult

IMPORTS = {
    "sklearn": "import sklearn",
    "what skdp needs": (
        "import sklearn.cluster, sklearn.discriminant_analysis, sklearn.metrics, "
        "sklearn.model_selection, sklearn.neighbors, cryptography.hazmat.primitives.ciphers"
    ),
    "a user's script": (
        "import pandas, sklearn.cluster, sklearn.compose, sklearn.ensemble, "
        "sklearn.linear_model, sklearn.metrics, sklearn.model_selection, sklearn.preprocessing"
    ),
    "skdp": "import skdp",
}
TIMED = """
import time
start = time.process_time()
{}
print(time.process_time() - start)
"""
MODELS = ("linear", "additive", "mixtures", "perturbed rows")
N_ROWS, N_COLUMNS, QUERIES = 1_000_000, 10, 1_000


def child(environment, *arguments):
    """Return what a process of Python prints, as JSON."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, env=environment)
    return json.loads(done.stdout)


def turns(repeats, cases):
    """Return what each case measured, turn by turn, without the first turn."""
    found = {name: [] for name in cases}
    for _ in range(repeats + 1):
        for name, measure in cases.items():
            found[name].append(measure())
    return {name: np.array(each[1:]) for name, each in found.items()}


def imports(repeats, environment):
    def measure(code):
        return lambda: child(environment, "-c", TIMED.format(code))

    seconds = turns(repeats, {name: measure(code) for name, code in IMPORTS.items()})
    for name, each in seconds.items():
        ratios = {f"ratio_to_{other}": np.median(each / seconds[other]) for other in IMPORTS}
        own = {"seconds": each.min(), "median_seconds": np.median(each)}
        yield {"what": "import", "case": name, "code": IMPORTS[name], **own, **ratios}


def predict_first(path):
    """Print seconds from the file to the first probabilities, and to the same once more."""
    rows = pd.read_pickle(path.with_name("rows.pkl"))
    load, first, again = (_bench.processor() for _ in range(3))
    with load:
        release = Release.load(path)
    for timer in (first, again):
        with timer:
            release.predict_proba(rows)
    print(json.dumps([timer.seconds for timer in (load, first, again)]))


def first_predictions(repeats, environment):
    adult = load_adult(random_state=0)
    X, y = adult.data.iloc[adult.source], adult.target[adult.source]
    with tempfile.TemporaryDirectory() as folder:
        adult.data.iloc[adult.test[:QUERIES]].to_pickle(f"{folder}/rows.pkl")
        cases = {}
        for model in MODELS:
            if model == "perturbed rows":
                source = DPSource(4.0, encoder=adult.schema)
            else:
                source = DPStatisticsSource(1.0, encoder=adult.schema, model=model)
            source.fit(X, y).release_.save(f"{folder}/{model}")
            arguments = (__file__, "first", f"{folder}/{model}")
            cases[model] = lambda arguments=arguments: child(environment, *arguments)
        for model, times in turns(repeats, cases).items():
            load, first, again = times.min(axis=0)
            both = np.median(times[:, 0] + times[:, 1])
            row = {"load": load, "first": first, "again": again, "median_of_both": both}
            yield {"what": "first", "case": model, **row}


def column(kind, rng):
    """Return a column and how a schema describes it."""
    numbers = rng.uniform(1, 100, N_ROWS)
    described = {"type": "numeric", "low": 1, "high": 100}
    if kind == "logarithms":
        return numbers, {**described, "log": True}
    if kind == "missing numbers":
        numbers[rng.random(N_ROWS) < 0.1] = np.nan
        return numbers, {**described, "missing": True}
    if kind == "numbers as text":
        return numbers.round(3).astype(str).astype(object), described
    if kind in ("text", "categories"):
        names = ["north", "east", "south", "west", "center"]
        codes = rng.integers(len(names), size=N_ROWS)
        values = pd.Categorical.from_codes(codes, names)
        column = pd.Series(values if kind == "categories" else np.array(names)[codes])
        return column, {"type": "category", "categories": names}
    return numbers, described


def encodings(repeats):
    kinds = ("numbers", "logarithms", "missing numbers", "numbers as text", "text", "categories")
    for case in (*kinds, "all kinds"):
        rng = np.random.default_rng(0)
        chosen = [kinds[i % len(kinds)] if case == "all kinds" else case for i in range(N_COLUMNS)]
        columns = {f"c{i}": column(kind, rng) for i, kind in enumerate(chosen)}
        frame = pd.DataFrame({name: values for name, (values, _) in columns.items()})
        described = {name: each for name, (_, each) in columns.items()}
        schema = {"version": 1, "columns": described}
        encoder, seconds = TabularEncoder(schema).fit(frame[:1]), []
        for _ in range(repeats):
            with _bench.processor() as timer:
                encoder.transform(frame)
            seconds.append(timer.seconds)
        rate = frame.size / min(seconds) / 1e6
        yield {"what": "encode", "case": case, "million_values_a_second": rate}


def rows(options):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for part in (imports, first_predictions):
            yield from part(options.repeats, environment)
    yield from encodings(repeats=3)


if __name__ == "__main__":
    if sys.argv[1:2] == ["first"]:
        predict_first(Path(sys.argv[2]))
    else:
        _bench.run("startup", rows, __doc__, repeats=15)
