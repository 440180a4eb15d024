"""Whole records of tables, source to target: this and other packages on the same rows.

The options ``--python-...`` name interpreters of environments that have numpy and the peer (``pip
install interpret-core``; ``diffprivlib``, which wants ``"scikit-learn<1.6"``; ``torch==2.13.0
opacus``): their versions exclude one another. Every method of ``_tables_peers.METHODS`` is fitted
to the rows of the source and scored on the target's test rows. A peer that its interpreter lacks
is left out. Seconds are those of a processor.
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path

import _bench
import numpy as np
from _store import KEY, Results
from _tables_data import qualities, view
from _tables_peers import METHODS, TABLES, answer

SERVER = Path(__file__).with_name("_tables_peers.py")
PEERS = sorted({method.python for method in METHODS.values() if method.python})
SEEDS = {True: 20, False: 10}  # of a method that runs here, and of others


def plan(tables, methods, seeds=None):
    """Keys of all rows, seed by seed, so that an interrupted run has whole seeds."""
    for seed, table, name in product(range(seeds or max(SEEDS.values())), tables, methods):
        if seed < (seeds or SEEDS[METHODS[name].python is None]):
            for level in METHODS[name].levels:
                yield dict(zip(KEY, (table, level, name, "default", seed, None), strict=True))


def server(python, name, folder, script=SERVER):
    """Return a function like ``answer`` of a method that runs in another environment."""
    path = Path(folder) / f"{len(os.listdir(folder))}.npz"
    path.touch()
    process = subprocess.Popen(
        [python, str(script), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def ask(rows, level, seed):
        rows.save(path)
        process.stdin.write(json.dumps([str(path), level, seed]) + "\n")
        process.stdin.flush()
        reply = process.stdout.readline()
        if not reply:
            raise RuntimeError(f"{name} failed at {level}, seed {seed}; its error is above")
        return json.loads(reply)

    return process, ask


def has(python, modules):
    code = "; ".join(f"import {module}" for module in modules)
    return subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0


def measure(ask, cell):
    """Compute one row: area under the ROC curve, losses of probabilities, accuracy in per cent."""
    seed = cell["draw"]
    rows = view(METHODS[cell["model"]].view, cell["case"], seed)
    reply = ask(rows, cell["level"], seed)
    return {**cell, **qualities(rows.y_test, np.array(reply.pop("scores"))), **reply}


def run(cells, results, pythons, redo):
    cells = [cell for cell in cells if redo or cell not in results]
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        asks = {}
        for name in dict.fromkeys(cell["model"] for cell in cells):
            method = METHODS[name]
            if method.python is None:
                asks[name] = partial(answer, name)
            elif has(pythons[method.python], method.modules):
                process, asks[name] = server(pythons[method.python], name, folder)
                stack.enter_context(process)
            else:
                missing = " or ".join(method.modules)
                print(f"{name} is left out: {pythons[method.python]} lacks {missing}")
        groups = ([cell] for cell in cells if cell["model"] in asks)
        _bench.fill(results, groups, lambda g: [measure(asks[g[0]["model"]], g[0])], redo)


if __name__ == "__main__":
    parser = _bench.parser_of(__doc__)
    for peer in PEERS:
        parser.add_argument(f"--python-{peer}", default=sys.executable, metavar="PATH")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--seeds", type=int, help="the first so many")
    parser.add_argument("--redo", action="store_true", help="compute rows that are there, too")
    args = parser.parse_args()
    command = ["python benchmarks/bench_tables_peers.py"]
    command += [f"--python-{peer} PATH" for peer in PEERS]
    results = Results("tables_peers", " ".join(command))
    pythons = {peer: getattr(args, f"python_{peer}") for peer in PEERS}
    run(list(plan(args.tables, args.methods, args.seeds)), results, pythons, args.redo)
