"""What one noise for all owners would gain over the sum of their noises, on six tables.

The source's rows are dealt to 4, 20 and 100 owners at random; of adult 4 and 20 owners have 300
rows each as well. "one noise" is what distributed noise under secure aggregation would come to
where nobody drops out and nobody colludes.
"""

import functools

import _bench
import numpy as np
from _store import Results
from _tables_data import labels, probability_qualities, scenario
from _tables_peers import TABLES

from skdp import DPStatisticsSource, Release

LEVELS = (4.0, 1.0)
OWNERS = (4, 20, 100)
# Rows of an owner of adult, in the variants that fix them.
N_ROWS = 300
WANTED = ("auc", "log_loss")


def variants(table):
    names = [f"{owners} owners, all rows" for owners in OWNERS]
    if table == "adult":
        names += [f"{owners} owners, {N_ROWS} rows" for owners in OWNERS[:2]]
    return names


def cells(n_draws):
    return [
        {"case": table, "level": level, "model": model, "variant": variant, "draw": draw}
        | {"labels": 0}
        for table in TABLES
        for draw in range(n_draws)
        for variant in variants(table)
        for level in LEVELS
        for model in ("merged", "one noise", "no noise")
        if model != "no noise" or level == LEVELS[0]
    ]


@functools.lru_cache(maxsize=4)
def owners_rows(table, variant, draw):
    """Return the rows of each owner."""
    data = scenario(table, draw)
    n_owners, size = int(variant.split()[0]), variant.split(", ")[1]
    rows = np.random.RandomState(1000 + draw).permutation(data.source)
    if size != "all rows":
        rows = rows[: n_owners * N_ROWS]
    return np.array_split(rows, n_owners)


def make(data, rows, epsilon):
    source = DPStatisticsSource(epsilon, encoder=data.schema)
    return source.fit(data.data.iloc[rows], data.target[rows]).release_


def measure(cells):
    [cell] = cells
    data = scenario(cell["case"], cell["draw"])
    parts = owners_rows(cell["case"], cell["variant"], cell["draw"])
    with _bench.Timer() as fit:
        if cell["model"] == "merged":
            own = [make(data, rows, cell["level"]) for rows in parts]
            release = Release.merge(own, disjoint=True)
        else:
            epsilon = np.inf if cell["model"] == "no noise" else cell["level"]
            release = make(data, np.concatenate(parts), epsilon)
        probabilities = release.predict_proba(data.data.iloc[data.test])[:, 1]
    found = probability_qualities(labels(data)[data.test], probabilities)
    worth = {name: found[name] for name in WANTED}
    return [{**cell, "n_rows": sum(map(len, parts)), **worth, "fit_seconds": fit.seconds}]


if __name__ == "__main__":
    options = _bench.options_of(__doc__, draws=5)
    results = Results("federation_noise", "python benchmarks/bench_federation_noise.py")
    _bench.fill(results, ([cell] for cell in cells(options.draws)), measure)
