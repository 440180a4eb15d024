"""Many owners: releases that are added, listed or taken singly, and one release of all rows.

    python benchmarks/bench_owners.py
    python benchmarks/bench_owners.py hospitals tables

*hospitals*: FLamby's part of the four hospitals (Ogier du Terrail et al., 2022): the ten columns
that all of them have, and the 740 patients of whom none of these is missing; a third of each
hospital, drawn anew, is predicted, δ = 1e-4. The three others make releases (``others``), or all
four (``all``); with 30 labels the target's own rows make none. *adult*: owners of 300 rows each,
cut at random, and owners that differ: of one kind of employer, or of one age. *tables*: five
owners, of a fifth of the source's rows of each of six tables. *pool*: the mean of the log-odds.
*equal noise*: one release of all rows whose noise is as large as that of the sum, with less ε.
*files*: size, and seconds to load and to predict first. A row that ``results/`` has is not
computed again. Data are found through SKDP_DATA.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import functools
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _store import Results
from _tables_data import labels, scenario
from _tables_peers import TABLES
from _tasks import office_file
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from skdp import DPStatisticsSource, DPTransferClassifier, Release, TabularEncoder
from skdp.datasets import hide_labels, load_heart_disease
from skdp.privacy import gaussian_sigma

PARTS = ("hospitals", "adult", "tables", "files")
DRAWS = 6
FILES = ("cleveland", "hungarian", "switzerland", "va")
# Those that all hospitals have.
COLUMNS = ["age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak"]
N_LABELS = 30
# Rows of an owner of adult, and how many owners.
N_ROWS, OWNERS = 300, (5, 20, 60)
REPEATS = 20


def release_of(X, y, schema, epsilon, delta=1e-5):
    schema = {**schema, "classes": [0, 1]}
    return DPStatisticsSource(epsilon, delta, encoder=schema).fit(X, y).release_


def with_noise_of(n_owners, epsilon, delta=1e-5):
    """Return the ε of one release whose noise is as large as that of so many that are added."""
    wanted = np.sqrt(n_owners) * gaussian_sigma(epsilon, delta)
    return brentq(lambda e: gaussian_sigma(e, delta) - wanted, 1e-6, epsilon + 1e-9)


def measures(y, p):
    p = np.clip(p, 1e-12, 1 - 1e-12)
    both = 0 < y.mean() < 1
    return {
        "auc": roc_auc_score(y, p) if both else None,
        "log_loss": log_loss(y, p, labels=[0, 1]),
        "accuracy": float(np.mean((p > 0.5) == y)),
    }


def learners(owners, rows, schema, epsilon, delta=1e-5):
    """Yield name and probabilities by each way to learn from owners, pairs of rows and labels."""
    releases = [release_of(*owner, schema, epsilon, delta) for owner in owners]
    X = pd.concat([own for own, _ in owners])
    y = np.concatenate([own for _, own in owners])
    single = [release.predict_proba(rows)[:, 1] for release in releases]
    for k, p in enumerate(single):
        yield f"single {k}", p
    yield "pool", expit(np.mean(logit(np.clip(single, 1e-12, 1 - 1e-12)), axis=0))
    merged = Release.merge(releases, disjoint=True)
    yield "merged", merged.predict_proba(rows)[:, 1]
    yield (
        "list",
        DPTransferClassifier(releases, random_state=0).fit(rows).predict_proba(rows)[:, 1],
    )
    less = with_noise_of(len(owners), epsilon, delta)
    for name, own in (("equal noise", less), ("one release", epsilon)):
        yield name, release_of(X, y, schema, own, delta).predict_proba(rows)[:, 1]
    encoder = TabularEncoder(schema).fit(X)
    model = LogisticRegression(max_iter=5000).fit(encoder.transform(X), y)
    yield "no privacy", model.predict_proba(encoder.transform(rows))[:, 1]


@functools.cache
def patients():
    heart = load_heart_disease()
    raw = [pd.read_csv(office_file(f"heart/{name}.csv")) for name in FILES]
    known = pd.concat(raw)[COLUMNS].notna().all(axis=1).to_numpy()
    columns = {name: heart.schema["columns"][name] for name in COLUMNS}
    X = heart.data.loc[known, COLUMNS].reset_index(drop=True)
    return X, heart.target[known], heart.hospital[known], {**heart.schema, "columns": columns}


def hospitals(results, n_draws):
    """FLamby's protocol: rows of the result are means over the four hospitals."""
    X, y, hospital, schema = patients()
    names = list(dict.fromkeys(hospital))
    for draw in range(n_draws):
        rng = np.random.RandomState(draw)
        order = rng.permutation(len(y))
        order = order[np.argsort(y[order], kind="stable")]  # each class by itself
        of = {name: order[hospital[order] == name] for name in names}
        test = {name: own[::3] for name, own in of.items()}
        train = {name: np.setdiff1d(own, test[name]) for name, own in of.items()}
        for epsilon in (5.0, 1.0):
            key = {"level": epsilon, "draw": draw, "model": "merged", "labels": 0}
            if {"case": "hospitals, all", **key} in results:
                continue
            found = {}
            for target in names:
                rows, true = X.iloc[test[target]], y[test[target]]
                owners = {name: (X.iloc[own], y[own]) for name, own in train.items()}
                others = [owner for name, owner in owners.items() if name != target]
                for case, chosen in (("others", others), ("all", list(owners.values()))):
                    for name, p in learners(chosen, rows, schema, epsilon, 1e-4):
                        found.setdefault((case, name, 0), []).append(measures(true, p))
                majority = np.full(len(true), owners[target][1].mean())
                found.setdefault(("all", "majority", 0), []).append(measures(true, majority))
                own, known = owners[target]
                shown = hide_labels(known, N_LABELS, sampling="random", random_state=draw)
                releases = [release_of(*owner, schema, epsilon, 1e-4) for owner in others]
                settings = {"label_sampling": "random", "random_state": 0}
                model = DPTransferClassifier(releases, **settings).fit(own, shown)
                p = model.predict_proba(rows)[:, 1]
                found.setdefault(("others", "list", N_LABELS), []).append(measures(true, p))
            add(results, "hospitals", epsilon, draw, found)


def add(results, what, epsilon, draw, found):
    """Write means over targets, by case, model and number of labels."""
    rows = []
    for (case, model, n_labels), values in found.items():
        means = pd.DataFrame(values).mean().to_dict()
        key = {"level": epsilon, "draw": draw, "model": model, "labels": n_labels}
        rows.append({"case": f"{what}, {case}", **key, **means})
    results.add_all(rows)
    print(what, epsilon, draw, *(f"{row['model']} {row['log_loss']:.3f}" for row in rows[-6:]))


def owners_of(X, y, cut):
    """Return the rows of each owner, whose numbers are in ``cut``."""
    return [(X[cut == k], y[cut == k]) for k in np.unique(cut[cut >= 0])]


def adult(results, n_draws):
    for draw in range(n_draws):
        data = scenario("adult", draw)
        X, y = data.data.iloc[data.source], labels(data)[data.source]
        rows, true = data.data.iloc[data.test], labels(data)[data.test]
        rng = np.random.RandomState(draw)
        place = rng.permutation(len(y))
        cuts = {
            f"{n} owners of {N_ROWS}": np.where(place < n * N_ROWS, place % n, -1) for n in OWNERS
        }
        cuts["by employer"] = apart(X["workclass"].astype(str), rng)
        cuts["by age"] = apart(pd.qcut(X["age"], 8).astype(str), rng)
        for case, cut in cuts.items():
            for epsilon in (4.0, 1.0):
                key = {"level": epsilon, "draw": draw, "model": "no privacy", "labels": 0}
                if {"case": f"adult, {case}", **key} in results:
                    continue
                owners = owners_of(X, y, cut)
                found = {
                    (case, name, 0): [measures(true, p)]
                    for name, p in learners(owners, rows, data.schema, epsilon)
                }
                add(results, "adult", epsilon, draw, found)


def apart(values, rng):
    """Return the number of each value that many rows have, for 300 of these, −1 for others."""
    cut = np.full(len(values), -1)
    frequent = values.value_counts()
    for k, value in enumerate(sorted(frequent.index[frequent >= N_ROWS])):
        cut[rng.permutation(np.flatnonzero(values == value))[:N_ROWS]] = k
    return cut


def tables(results, n_draws):
    for table in TABLES:
        for draw in range(n_draws):
            data = scenario(table, draw)
            y = labels(data)
            X, own = data.data.iloc[data.source], y[data.source]
            cut = np.random.RandomState(draw).permutation(len(own)) % 5
            for epsilon in (4.0, 1.0):
                key = {"level": epsilon, "draw": draw, "model": "no privacy", "labels": 0}
                if {"case": f"tables, {table}", **key} in results:
                    continue
                given = owners_of(X, own, cut), data.data.iloc[data.test], data.schema, epsilon
                found = {
                    (table, name, 0): [measures(y[data.test], p)] for name, p in learners(*given)
                }
                add(results, "tables", epsilon, draw, found)


def files(results, n_draws):
    """Bytes of a file, and the least seconds to load it and to predict a row first."""
    data = scenario("adult", 0)
    X, y = data.data.iloc[data.source], labels(data)[data.source]
    heart = load_heart_disease()
    own = heart.hospital == "Cleveland"
    kinds = {
        "34 encoded columns": [release_of(heart.data[own], heart.target[own], heart.schema, 1.0)],
        "103 encoded columns": [release_of(X, y, data.schema, 1.0)],
    }
    if hasattr(Release, "merge"):
        cut = np.arange(len(y)) % 20
        parts = [release_of(*owner, data.schema, 1.0) for owner in owners_of(X, y, cut)]
        kinds["103 encoded columns, 20 merged"] = [Release.merge(parts, disjoint=True)]
    for case, [release] in kinds.items():
        row = heart.data[:1] if case.startswith("34") else X[:1]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "release.skdp"
            release.save(path)
            seconds = []
            for _ in range(REPEATS):
                start = time.perf_counter()
                loaded = Release.load(path)
                middle = time.perf_counter()
                loaded.predict_proba(row)
                seconds.append((middle - start, time.perf_counter() - middle))
            load, first = np.min(seconds, axis=0)
            key = {"case": f"files, {case}", "model": "file", "variant": options.variant}
            results.add({**key, "bytes": path.stat().st_size, "load": load, "first": first})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("parts", nargs="*", choices=(*PARTS, []), default=PARTS)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--variant", default="now", help="of the code, for files alone")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    table = Results("owners", "python benchmarks/bench_owners.py")
    for part in options.parts or PARTS:
        globals()[part](table, options.draws)
