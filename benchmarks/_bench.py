"""What the benchmark scripts share: one core, options, timing, peak memory, result files.

It is imported before NumPy, whose threads are limited here.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

from _store import RESULTS, Results, circumstances, locked, write
from _table import Values

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", os.environ["OMP_NUM_THREADS"])
_START = time.perf_counter()


# What the papers' tables have of CDMMA's classifiers.
PAPERS = {"n_components": 20, "error_scale": "shared"}
# What --help says of options that several scripts have.
HELP = {
    "draws": "the first so many",
    "seeds": "the first so many",
    "redo": "compute rows that are there, too",
}


def parser_of(doc, **defaults):
    """Return a parser with an option for each default.

    False stands for a switch, and a tuple for an option with several values, some of these.
    """
    as_it_is = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=doc, formatter_class=as_it_is)
    for name, value in defaults.items():
        kind = {"type": type(value)}
        if value is False:
            kind = {"action": "store_true"}
        elif isinstance(value, tuple):
            kind = {"nargs": "+", "choices": value}
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, default=value, help=HELP.get(name), **kind)
    return parser


def options_of(doc, **defaults):
    """Read the command line, with one option for each default."""
    return parser_of(doc, **defaults).parse_args()


def names(text):
    """Split an option at its commas."""
    return text.split(",")


def save(name, settings, rows, folder=RESULTS):
    """Write one small JSON file that says how it was made, and how long that took so far."""
    path = folder / f"{name}.json"
    seconds = time.perf_counter() - _START
    record = {**circumstances(), "settings": settings, "seconds": seconds, "rows": rows}
    with locked(folder):
        write(path, record)
    print(f"wrote {path}")


def collected(rows):
    """Return a list of rows, each of which is printed when it comes."""
    found = []
    for row in rows:
        found.append(row)
        print(row, flush=True)
    return found


def mean_and_sd(scores):
    values = Values(scores)
    return {"mean": float(values.mean), "sd": float(values.sd)}


def run(name, measure, doc, more=None, over=((),), **defaults):
    """Write the rows that ``measure`` yields; settings are options of the command line, and more.

    ``defaults`` are these options, and ``doc`` is what --help says. ``over`` are cells:
    ``measure(options, *cell)`` yields the rows of each.
    """
    options = options_of(doc, **defaults)
    warnings.simplefilter("ignore")
    rows = collected(row for cell in over for row in measure(options, *cell))
    save(name, vars(options) | (more or {}), rows)
    return rows


def run_apart(name, cases, measure, doc, settings=lambda rows: {}, **defaults):
    """Do so with each case in a process of its own, so that memory and caches do not mix.

    ``cases(options)`` yields the name of each case and its options, ``measure(case, options)``
    returns the rows of a case, and ``settings`` adds what follows from all rows.
    """
    options = options_of(doc, **defaults, case="")
    warnings.simplefilter("ignore")
    if options.case:
        print(json.dumps(measure(options.case, options)))
        return
    given = {name: value for name, value in vars(options).items() if name != "case"}
    rows = collected(
        row
        for case, changed in cases(options)
        for row in _printed_by([sys.argv[0]], case=case, **{**given, **changed})
    )
    save(name, {**given, **settings(rows)}, rows)


def _printed_by(script, **options):
    arguments = (f"--{name.replace('_', '-')}={value}" for name, value in options.items())
    command = [sys.executable, *script, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


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


def memory_mib(field):
    """Return a field of the memory of this process (Linux)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) / 1024


class PeakMemory:
    """``with PeakMemory() as m: ...`` leaves in ``m.mib`` by how much memory rose (Linux)."""

    def __enter__(self):
        Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
        self.start = memory_mib("VmRSS")
        return self

    def __exit__(self, *exc):
        self.mib = memory_mib("VmHWM") - self.start


def fill(results, groups, measure, redo=False):
    """Add the rows of each group of cells that is not complete; return how many were written.

    ``measure(cells)`` returns the rows of a group, which belong together: they are written
    together, and take the place of what an earlier run had of it.
    """
    warnings.simplefilter("ignore")
    results.run = results.run or circumstances()  # the commit that this process has loaded
    made = 0
    for group in groups:
        results.reload()
        if not redo and all(cell in results for cell in group):
            continue
        rows = measure(group)
        made += results.add_all(rows, redo or len(rows) > 1)
        for row in rows:
            print({k: v for k, v in row.items() if not isinstance(v, dict)}, flush=True)
    return made


def results_of(name, words=()):
    """Return the table that this script fills, with these further words of its command."""
    return Results(name, " ".join([f"python benchmarks/{Path(sys.argv[0]).name}", *words]))


def complete(name, groups, measure, redo=False, words=()):
    """Fill the table of this script."""
    print(fill(results_of(name, words), groups, measure, redo), "rows")


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
