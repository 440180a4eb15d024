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
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import product
from pathlib import Path

import _bench
import numpy as np
from _store import cell_of
from _tables_data import qualities, view
from _tables_peers import METHODS, TABLES, answer

PEERS = sorted({method.python for method in METHODS.values() if method.python})
# Options that name the environments of peers, and words of the command that fills a table.
PYTHONS = {f"python_{peer}": sys.executable for peer in PEERS}
WORDS = [f"--python-{peer} PATH" for peer in PEERS]
SEEDS = {True: 20, False: 10}  # of a method that runs here, and of others


def plan(tables, methods, seeds=None):
    """Keys of all rows, seed by seed, so that an interrupted run has whole seeds."""
    for seed, table, name in product(range(seeds or max(SEEDS.values())), tables, methods):
        if seed < (seeds or SEEDS[METHODS[name].python is None]):
            for level in METHODS[name].levels:
                yield cell_of(table, level, name, "default", seed, None)


@contextmanager
def asking(names, methods, module, options):
    """Yield functions like ``answer`` of those methods of a module that run somewhere."""
    script = Path(__file__).with_name(f"{module}.py")
    with ExitStack() as stack:
        folder, asks = stack.enter_context(tempfile.TemporaryDirectory()), {}
        for name in dict.fromkeys(names):
            method = methods[name]
            python = getattr(options, f"python_{method.python}", None)
            if method.python is None:
                asks[name] = partial(answer, name, methods=methods)
            elif has(python, method.modules):
                process, asks[name] = server(python, name, folder, script)
                stack.enter_context(process)
            else:
                print(f"{name} is left out: {python} lacks {' or '.join(method.modules)}")
        yield asks


def server(python, name, folder, script):
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


def run(cells, results, options):
    cells = [cell for cell in cells if options.redo or cell not in results]
    names = [cell["model"] for cell in cells]
    with asking(names, METHODS, "_tables_peers", options) as asks:
        groups = ([cell] for cell in cells if cell["model"] in asks)
        _bench.fill(results, groups, lambda g: [measure(asks[g[0]["model"]], g[0])], options.redo)


if __name__ == "__main__":
    chosen = {"tables": TABLES, "methods": tuple(METHODS), "seeds": 0, "redo": False}
    options = _bench.options_of(__doc__, **chosen, **PYTHONS)
    cells = list(plan(options.tables, options.methods, options.seeds))
    run(cells, _bench.results_of("tables_peers", WORDS), options)
