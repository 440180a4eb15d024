"""Whole records of tables, source to target: other packages on the same rows and budgets.

    python benchmarks/bench_tables_peers.py --python-interpret A --python-diffprivlib B
        --python-opacus C

A, B and C are Python interpreters of environments that have numpy and the peer (``pip install
interpret-core``; ``diffprivlib``, which wants ``"scikit-learn<1.6"``; ``torch==2.13.0 opacus``):
their versions exclude one another. Every method of ``_tables_peers.METHODS`` is fitted to the
rows of the source and scored on the target's test rows, of six tables, at (epsilon, 1e-5) for a
whole record, over ten seeds, each with new splits and noise. A peer that its interpreter lacks is
left out. A row that ``results/`` has is not computed again: repeat an interrupted command.
Seconds are those of a processor.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from _store import KEY, Results, circumstances
from _tables_data import TABLES, scenario
from _tables_peers import METHODS, answer
from sklearn.metrics import roc_auc_score

SERVER = Path(__file__).with_name("_tables_peers.py")
PEERS = sorted({method.python for method in METHODS.values() if method.python})
NAME = "tables_peers"
COMMAND = "python benchmarks/bench_tables_peers.py"
SEEDS = 10


def plan(tables, methods, seeds):
    """Keys of all rows, seed by seed, so that an interrupted run has whole seeds."""
    for seed, table, name in product(range(seeds), tables, methods):
        for level in METHODS[name].levels:
            yield dict(zip(KEY, (table, level, name, "default", seed, None), strict=True))


def server(python, name):
    """Return a function like ``answer`` of a method that runs in another environment."""
    process = subprocess.Popen(
        [python, str(SERVER), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def ask(table, level, seed):
        task = {"table": table, "level": level, "seed": seed}
        process.stdin.write(json.dumps(task) + "\n")
        process.stdin.flush()
        reply = process.stdout.readline()
        if not reply:
            raise RuntimeError(f"{name} failed on {task}; its error is above")
        return json.loads(reply)

    return process, ask


def has(python, modules):
    code = "; ".join(f"import {module}" for module in modules)
    return subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0


def measure(ask, cell):
    """Compute one row: accuracy in per cent, area under the ROC curve."""
    table, seed = cell["case"], cell["draw"]
    reply = ask(table, cell["level"], seed)
    y, scores = scenario(table, seed).y_test, np.array(reply.pop("scores"))
    accuracy = 100 * np.mean((scores > 0) == y)
    return {**cell, "auc": roc_auc_score(y, scores), "accuracy": accuracy, **reply}


def run(cells, results, pythons, redo):
    cells = [cell for cell in cells if redo or cell not in results]
    with ExitStack() as stack:
        asks = {}
        for name in dict.fromkeys(cell["model"] for cell in cells):
            method = METHODS[name]
            if method.python is None:
                asks[name] = partial(answer, name)
            elif has(pythons[method.python], method.modules):
                process, asks[name] = server(pythons[method.python], name)
                stack.enter_context(process)
            else:
                missing = " or ".join(method.modules)
                print(f"{name} is left out: {pythons[method.python]} lacks {missing}")
        for cell in cells:
            if cell["model"] in asks:
                row = measure(asks[cell["model"]], cell)
                results.add(row, redo)
                print(*(row[key] for key in ("case", "level", "model", "draw", "auc")), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for peer in PEERS:
        parser.add_argument(f"--python-{peer}", default=sys.executable, metavar="PATH")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="the first so many")
    parser.add_argument("--redo", action="store_true", help="compute rows that are there, too")
    args = parser.parse_args()
    results = Results(NAME, " ".join([COMMAND, *(f"--python-{peer} PATH" for peer in PEERS)]))
    results.run = circumstances()  # the commit that this process has loaded
    pythons = {peer: getattr(args, f"python_{peer}") for peer in PEERS}
    run(list(plan(args.tables, args.methods, args.seeds)), results, pythons, args.redo)


if __name__ == "__main__":
    main()
