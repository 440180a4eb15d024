"""What the scripts share: one core, the command line, result files, timing and memory.

It is imported before NumPy, whose threads are limited here. A result file has its rows, and
``runs`` that say how rows were made: command, commit and versions; ``run`` of a row is its place
among these.
"""

import argparse
import functools
import importlib
import json
import os
import platform
import shlex
import subprocess
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", os.environ["OMP_NUM_THREADS"])

HERE = Path(__file__).parent
RESULTS = HERE / "results"
# What tells one measurement of a file that is filled from all others.
KEY = ("case", "level", "model", "variant", "draw", "labels")
# What differs when benchmarks ran, which makes no other code run.
OUTPUTS = (
    ":(exclude)benchmarks/results",
    ":(exclude)benchmarks/README.md",
    ":(exclude)doc/benchmarks/*.md",
)
PACKAGES = ("skdp", "numpy", "scipy", "sklearn", "joblib")


# Settings of the papers: of classifiers by autoencoders, and components in rounds of strategies.
PAPERS = {"n_components": 20, "error_scale": "shared"}
SIZES = {"alignment": (4, 6, 8, 10), "multitask": (5, 10, 15, 20)}


def key_of(row):
    return tuple(row.get(name) for name in KEY)


def cell_of(*key):
    """Return a row without results."""
    return dict(zip(KEY, key, strict=True))


def epsilon_of(level):
    """Return the ε of a level, which may name what it protects; of no privacy infinity."""
    return float(level.rpartition(" ")[2].replace("clear", "inf"))


@functools.cache
def commit():
    """Return the short commit of this code, with "-dirty" where tracked files differ from it."""
    git = ["git", "-C", str(HERE.parent)]
    status = [*git, "status", "--porcelain", "--untracked-files=no", "--", ".", *OUTPUTS]
    try:
        head = _output([*git, "rev-parse", "--short", "HEAD"])
        return head + ("-dirty" if _output(status) else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _output(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def circumstances():
    """Return what a result depends on and its settings do not say."""
    import joblib

    versions = {name: importlib.import_module(name).__version__ for name in PACKAGES}
    return {
        "command": shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "commit": commit(),
        "versions": {"python": platform.python_version(), **versions},
        "cores": joblib.cpu_count(),
    }


def write(path, record):
    """Replace a file by a record, one row a line; it is never seen half written."""
    temporary = path.with_suffix(".tmp")
    columns = list(dict.fromkeys(name for row in record["rows"] for name in row))
    rows = [[row.get(name) for name in columns] for row in record["rows"]]
    head = {**record, "columns": columns}
    del head["rows"]
    lines = [f"{json.dumps(key)}: {_text(value)}" for key, value in head.items()]
    lines.append('"rows": [\n' + ",\n".join(map(_text, rows)) + "\n]")
    try:
        temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path):
    """Return the record of a file; each row has all columns, None where it has no value."""
    record = json.loads(path.read_text())
    columns = record.pop("columns")
    return {**record, "rows": [dict(zip(columns, row, strict=True)) for row in record["rows"]]}


def _text(value):
    return json.dumps(_rounded(value), default=float, ensure_ascii=False, separators=(",", ":"))


def _rounded(value):
    """Keep six digits of numbers, which is more than any page shows."""
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def fill(name, groups, measure, settings=None, again=False):
    """Write the rows that a file lacks, group by group; return how many were made.

    ``measure(cells)`` returns the rows of a group of cells, which are made together if any of them
    is missing. ``again`` makes all rows again.
    """
    warnings.simplefilter("ignore")
    path, run, made = RESULTS / f"{name}.json", circumstances(), 0
    record = {"runs": [], "rows": []} if again or not path.exists() else read(path)
    record["settings"] = record.get("settings", {}) | (settings or {})
    rows = {key_of(row): row for row in record["rows"]}
    for group in groups:
        if all(key_of(cell) in rows for cell in group):
            continue
        if run not in record["runs"]:
            record["runs"].append(run)
        for row in measure(group):
            print({k: v for k, v in row.items() if not isinstance(v, dict)}, flush=True)
            rows[key_of(row)] = {**row, "run": record["runs"].index(run)}
            made += 1
        write(path, {**record, "rows": [*rows.values()]})
    print(made, "rows")
    return made


def save(name, rows, settings):
    """Write a file whose rows are all made now, and return these."""
    warnings.simplefilter("ignore")
    run, found = circumstances(), []
    for row in rows:
        found.append(row)
        print(row, flush=True)
    write(RESULTS / f"{name}.json", {"runs": [run], "settings": settings, "rows": found})
    return found


def main(doc, **tasks):
    """Run one of the tasks of a script, which get the options of the command line."""
    as_it_is = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=doc, formatter_class=as_it_is)
    parser.add_argument("task", choices=tasks)
    parser.add_argument("--draws", type=int, help="so many instead of the default")
    parser.add_argument("--again", action="store_true", help="make rows that are there, too")
    parser.add_argument("--peers", nargs="*", default=[], metavar="NAME=PYTHON")
    options = parser.parse_args()
    options.peers = dict(each.split("=", 1) for each in options.peers)
    tasks[options.task](options)


class Timer:
    """``with Timer() as t: ...`` leaves the seconds in ``t.seconds``; of several blocks, all."""

    def __init__(self, clock=time.perf_counter):
        self.clock, self.seconds = clock, 0.0

    def __enter__(self):
        self.start = self.clock()
        return self

    def __exit__(self, *exc):
        self.seconds += self.clock() - self.start


def processor():
    """Return a timer of the processor."""
    return Timer(time.process_time)


class PeakMemory:
    """``with PeakMemory() as m: ...`` leaves in ``m.mib`` by how much memory rose (Linux)."""

    def __enter__(self):
        Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
        self.start = _memory("VmRSS")
        return self

    def __exit__(self, *exc):
        self.mib = _memory("VmHWM") - self.start


def _memory(field):
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) / 1024


def quick_noise(factor=1.0, names=(), same=()):
    """Return what takes the place of GaussianQueries.add, in a tenth of its time: noise by NumPy.

    Queries whose names begin with one of ``names`` have so much of their noise, those in ``same``
    begin with the same noise.
    """
    import numpy as np

    def add(queries, name, values, sensitivity, scales=1.0):
        seed = queries._bits.draw(2)
        if name in same:
            queries.kept = seed = getattr(queries, "kept", seed)
        numbers = np.random.default_rng(seed).normal(size=values.shape) * scales
        numbers *= queries.deviation(name, sensitivity)
        if name.startswith(names):
            numbers *= factor
        return values + np.rint(numbers).astype(np.int64)

    return add
