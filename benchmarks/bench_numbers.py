"""Regressions of a number from whole records: this and other packages on the same rows.

The options ``--python-...`` name interpreters as for ``bench_tables_peers.py``. R² on test rows is
that of the outcome between its public bounds (of a price, its logarithm). Of the package itself
also the share of outcomes in its intervals of 80 %, and the R² that the release expects.

Then releases of owners that share all rows, merged, beside one release of the same rows: with the
same ε, and with as much noise as the owners' releases have together.
"""

from functools import partial
from itertools import product

import _bench
import numpy as np
from _fits import merged_and_whole
from _numbers_data import TABLES, rows_of
from _numbers_peers import METHODS
from _store import cell_of, epsilon_of
from _tables_peers import DELTA
from bench_tables_peers import PYTHONS, WORDS, asking
from sklearn.metrics import r2_score

from skdp import DPStatisticsSource

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
                yield [cell_of(table, level, name, "default", seed, None)]
    models = [name for name in MERGED if name in methods]
    for seed, table, n in product(range(min(seeds, MOST_MERGED)), tables, OWNERS):
        if len(rows_of(table, seed).y) >= n * FEWEST:
            for level, model in product(LEVELS, models):
                place = (f"{model}, {n} owners", seed, None)
                yield [cell_of(table, level, name, *place) for name in TOGETHER]


def make_release(rows, model, part, epsilon):
    """Return the release of a part of the rows to learn from, of all for None."""
    part = slice(None) if part is None else part
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
        release = make_release(rows, cell["model"], None, epsilon_of(cell["level"]))
    return [{**cell, **worth(release, rows), "fit_seconds": timer.seconds}]


def merged(cells):
    """Compute the rows of owners that share all rows at random."""
    rows = rows_of(cells[0]["case"], cells[0]["draw"], framed=True)
    epsilon = epsilon_of(cells[0]["level"])
    model, owners = cells[0]["variant"].split(", ")
    parts = np.array_split(np.arange(len(rows.y)), int(owners.split()[0]))
    with _bench.processor() as timer:
        found = merged_and_whole(partial(make_release, rows, model), epsilon, parts)
    seconds = {"group_seconds": timer.seconds / len(cells)}
    return [
        {**cell, **worth(release, rows), **seconds}
        for cell, release in zip(cells, found, strict=True)
    ]


def peer(ask, cell):
    rows = rows_of(cell["case"], cell["draw"])
    reply = ask(rows, cell["level"], cell["draw"])
    return [{**cell, "r2": r2_score(rows.y_test, reply.pop("scores")), **reply}]


def run(groups, results, options):
    groups = [g for g in groups if options.redo or not all(cell in results for cell in g)]
    names = [group[0]["model"] for group in groups if group[0]["model"] in METHODS]
    with asking(names, METHODS, "_numbers_peers", options) as asks:

        def measure(group):
            if len(group) > 1:
                return merged(group)
            name = group[0]["model"]
            return peer(asks[name], group[0]) if name in METHODS else own(group[0])

        known = {*asks, *OWN, *TOGETHER}
        there = (group for group in groups if group[0]["model"] in known)
        _bench.fill(results, there, measure, options.redo)


if __name__ == "__main__":
    chosen = {"tables": tuple(TABLES), "methods": (*OWN, *METHODS), "seeds": 5, "redo": False}
    options = _bench.options_of(__doc__, **chosen, **PYTHONS)
    groups = plan(options.tables, options.methods, options.seeds)
    run(groups, _bench.results_of("numbers", WORDS), options)
