"""Regressions of a number from whole records: this and other packages on the same rows.

The options ``--python-...`` name interpreters as for ``bench_tables_peers.py``. R² on test rows is
that of the outcome between its public bounds (of a price, its logarithm). Of the package itself
also the share of outcomes in its intervals of 80 %, and the R² that the release expects.

Then releases of owners that share all rows, merged, beside one release of the same rows: with the
same ε, and with as much noise as the owners' releases have together.
"""

import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path

import _bench
import numpy as np
from _numbers_data import TABLES, rows_of
from _numbers_peers import METHODS
from _store import KEY, Results
from _tables_peers import DELTA, answer
from bench_tables_peers import PEERS, has, server
from sklearn.metrics import r2_score

from skdp import DPStatisticsSource
from skdp.privacy import gaussian_epsilon
from skdp.release import Release

SERVER = Path(__file__).with_name("_numbers_peers.py")
OWN = ("linear", "additive", "auto")
LEVELS = ("record 4", "record 1", "record 0.5")
OWNERS, MERGED = (4, 12), ("linear", "auto")
TOGETHER = ("merged", "one release", "equal noise")
# Half the width of an interval of 80 %, in standard deviations.
WIDTH = 1.2816
FEWEST, MOST_MERGED = 300, 3  # rows of an owner, seeds
FACTOR = 4  # seeds of the small table


def plan(tables, methods, seeds):
    """Groups of cells whose rows are made together."""
    for seed, table, name in product(range(FACTOR * seeds), tables, methods):
        if seed < seeds or table == "diabetes":  # with few rows, whose draws differ more
            for level in METHODS[name].levels if name in METHODS else LEVELS:
                yield [_cell(table, level, name, "default", seed)]
    models = [name for name in MERGED if name in methods]
    for seed, table, n in product(range(min(seeds, MOST_MERGED)), tables, OWNERS):
        if len(rows_of(table, seed).y) >= n * FEWEST:
            for level, model in product(LEVELS, models):
                some = f"{model}, {n} owners"
                yield [_cell(table, level, name, some, seed) for name in TOGETHER]


def _cell(table, level, model, variant, seed):
    return dict(zip(KEY, (table, level, model, variant, seed, None), strict=True))


def make_release(rows, epsilon, model, part=slice(None)):
    source = DPStatisticsSource(epsilon, DELTA, encoder=rows.columns, model=model)
    return source.fit(rows.X.iloc[part], rows.y[part]).release_


def worth(release, rows):
    """R² reached and expected, and the share of outcomes in intervals of 80 %."""
    found, deviations = release.predict(rows.X_test, return_std=True)
    expected, low, high = release.model.expected_r2
    inside = np.abs(rows.y_test - found) < WIDTH * deviations
    return {
        "r2": r2_score(rows.y_test, found),
        "inside": float(inside.mean()),
        "expected_r2": float(expected),
        "expected_low": float(low),
        "expected_high": float(high),
        "additive": release.model.shapes is not None,
    }


def own(cell):
    rows = rows_of(cell["case"], cell["draw"], framed=True)
    with _bench.processor() as timer:
        release = make_release(rows, epsilon_of(cell), cell["model"])
    return [{**cell, **worth(release, rows), "fit_seconds": timer.seconds}]


def epsilon_of(cell):
    return float(cell["level"].removeprefix("record "))


def merged(cells):
    """Compute the rows of owners that share all rows at random."""
    rows, epsilon = rows_of(cells[0]["case"], cells[0]["draw"], framed=True), epsilon_of(cells[0])
    model, owners = cells[0]["variant"].split(", ")
    n = int(owners.split()[0])
    parts = np.array_split(np.arange(len(rows.y)), n)
    with _bench.processor() as timer:
        releases = [make_release(rows, epsilon, model, part) for part in parts]
        deviation = np.sqrt(n) / releases[0].guarantee.gaussian_distance
        found = (
            Release.merge(releases, disjoint=True),
            make_release(rows, epsilon, model),
            make_release(rows, gaussian_epsilon(deviation, DELTA), model),
        )
    seconds = {"group_seconds": timer.seconds / len(cells)}
    return [
        {**cell, **worth(release, rows), **seconds}
        for cell, release in zip(cells, found, strict=True)
    ]


def peer(ask, cell):
    rows = rows_of(cell["case"], cell["draw"])
    reply = ask(rows, cell["level"], cell["draw"])
    return [{**cell, "r2": r2_score(rows.y_test, reply.pop("scores")), **reply}]


def run(groups, results, pythons, redo):
    groups = [group for group in groups if redo or not all(cell in results for cell in group)]
    with ExitStack() as stack:
        folder, asks = stack.enter_context(tempfile.TemporaryDirectory()), {}
        for name in dict.fromkeys(g[0]["model"] for g in groups if g[0]["model"] in METHODS):
            method = METHODS[name]
            if method.python is None:
                asks[name] = partial(answer, name, methods=METHODS)
            elif has(pythons[method.python], method.modules):
                process, asks[name] = server(pythons[method.python], name, folder, SERVER)
                stack.enter_context(process)
            else:
                print(f"{name} is left out: {pythons[method.python]} lacks {method.modules[0]}")

        def measure(group):
            if len(group) > 1:
                return merged(group)
            name = group[0]["model"]
            return peer(asks[name], group[0]) if name in METHODS else own(group[0])

        known = {*asks, *OWN, *TOGETHER}
        there = (group for group in groups if group[0]["model"] in known)
        _bench.fill(results, there, measure, redo)


if __name__ == "__main__":
    parser = _bench.parser_of(__doc__)
    for name in PEERS:
        parser.add_argument(f"--python-{name}", default=sys.executable, metavar="PATH")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--methods", nargs="+", default=(*OWN, *METHODS))
    parser.add_argument("--seeds", type=int, default=5, help="the first so many")
    parser.add_argument("--redo", action="store_true", help="compute rows that are there, too")
    args = parser.parse_args()
    command = ["python benchmarks/bench_numbers.py", *(f"--python-{name} PATH" for name in PEERS)]
    pythons = {name: getattr(args, f"python_{name}") for name in PEERS}
    groups = plan(args.tables, args.methods, args.seeds)
    run(groups, Results("numbers", " ".join(command)), pythons, args.redo)
