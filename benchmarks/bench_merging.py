"""Many owners: releases that are merged, against a list of them, one release, and no privacy.

"heart" is FLamby's protocol; the page of tables says what is compared. Each draw has noise of its
own, and rows except those of hospitals. Rows that come from the same releases are written
together; lists and files "before" are those of the commit that they name.
"""

import tempfile
from itertools import product
from pathlib import Path
from statistics import median

import _bench
import numpy as np
from _fits import epsilon_of_all
from _merging_data import CASES, HOSPITALS, federation
from _shift_data import by_transfer, smoothed
from _tables_data import LEAST
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import DPStatisticsSource, TabularEncoder
from skdp.datasets import hide_labels
from skdp.release import Release

DRAWS = {"heart": 7, "adult": 5, "tables": 5, "files": 3}
EPSILONS = {"heart": (5.0, 1.0), "adult": (4.0, 1.0), "tables": (4.0, 1.0)}
OTHERS, ALL, NONE = "others", "all", "-"
# Whose releases, and how many labels of its own the target has; a hospital has others.
PARTS = {"heart": ((OTHERS, 0), (OTHERS, 30), (ALL, 0)), "adult": ((NONE, 0),)}
PARTS["tables"] = PARTS["adult"]
MOST_PREDICTED = 1000


def measured(truth, probabilities):
    """Return what probabilities of class 1 are worth."""
    kept = np.clip(probabilities, LEAST, 1 - LEAST)
    found = {
        "accuracy": np.mean((probabilities > 0.5) == truth),
        "log_loss": log_loss(truth, kept, labels=(0, 1)),
    }
    if len(np.unique(truth)) > 1:  # else, as of Zurich-Basel, there is no curve
        found["auc"] = roc_auc_score(truth, probabilities)
    return {name: round(float(value), 5) for name, value in found.items()}


def make_release(rows, X, y, epsilon):
    source = DPStatisticsSource(epsilon, delta=rows.delta, encoder=rows.schema, classes=(0, 1))
    return source.fit(X, y).release_


def by_regression(rows, X, y):
    """Return probabilities by a logistic regression without privacy, of one class a frequency."""
    if len(np.unique(y)) < 2:
        return np.full(len(rows.X_test), smoothed(y))
    steps = (TabularEncoder(rows.schema), StandardScaler(), LogisticRegression(max_iter=1000))
    model = make_pipeline(*steps)
    return model.fit(X, y).predict_proba(rows.X_test)[:, 1]


def baselines(rows, labels, known):
    """Return probabilities without privacy: of all rows, and of the target's own labels."""
    found = {"no privacy": by_regression(rows, *rows.pooled)}
    if labels:
        shown = np.array([label is not None for label in known])
        found["own labels"] = by_regression(rows, rows.X[shown], known[shown].astype(int))
    else:
        found["majority"] = np.full(len(rows.y_test), rows.y.mean())
    return found


def of_all_rows(rows, epsilon, releases):
    """Return one release of all rows with one noise, and one with the noise of all owners."""
    same = epsilon_of_all(releases, rows.delta)
    return {
        "one noise": make_release(rows, *rows.pooled, epsilon),
        "equal noise": make_release(rows, *rows.pooled, same),
    }


def singles(rows, predicted):
    """Return the best and the mean worth of single releases, for each measure."""
    found = [measured(rows.y_test, probabilities) for probabilities in predicted]
    each = {name: [row[name] for row in found] for name in found[0]}
    best = {name: (min if name == "log_loss" else max)(each[name]) for name in each}
    mean = {name: round(float(np.mean(each[name])), 5) for name in each}
    return {"best single": best, "mean single": mean}


def federated(rows, epsilon, labels, known):
    """Return what each model is worth, of releases that the owners make anew."""
    releases = [make_release(rows, X, y, epsilon) for X, y in rows.owners.values()]
    found = {"list": by_transfer(releases, rows, known, disjoint=True)}
    merged = Release.merge(releases, disjoint=True)
    whole = {"merged": merged, **of_all_rows(rows, epsilon, releases)}
    for name, release in whole.items():
        found[f"{name}, transfer"] = by_transfer(release, rows, known)
    worth = {}
    if not labels:
        for name, release in whole.items():
            found[name] = release.predict_proba(rows.X_test)[:, 1]
        alone = [release.predict_proba(rows.X_test) for release in releases]
        worth = singles(rows, [each[:, 1] for each in alone])
        for name, each in zip(rows.owners, alone, strict=True):
            worth[f"single, {name}"] = measured(rows.y_test, each[:, 1])
        odds = [np.log(each[:, 1] / each[:, 0]) for each in alone]
        found["mean of log-odds"] = expit(np.mean(odds, axis=0))
    found |= baselines(rows, labels, known)
    return worth | {name: measured(rows.y_test, each) for name, each in found.items()}


MODELS = (
    "best single", "mean single", "mean of log-odds", "list", "merged", "merged, transfer",
    "equal noise", "equal noise, transfer", "one noise", "one noise, transfer", "no privacy",
    "majority",
)  # fmt: skip
WITH_LABELS = ("list", *(name for name in MODELS if "transfer" in name), "no privacy")
WITH_LABELS = (*WITH_LABELS, "own labels")


def federated_groups(task, draw):
    """Return cells whose rows are made together."""
    for case, epsilon, (variant, labels) in product(CASES[task], EPSILONS[task], PARTS[task]):
        models = WITH_LABELS if labels else MODELS
        if task == "heart" and not labels:  # owners are the same in each draw
            names = (name for name in HOSPITALS if variant == ALL or name not in case)
            models = (*models, *(f"single, {name}" for name in names))
        cell = {"case": case, "level": f"{epsilon:g}", "variant": variant, "draw": draw}
        yield [{**cell, "model": model, "labels": labels} for model in models]


def federated_rows(group):
    cell = group[0]
    rows, labels = federation(cell["case"], cell["variant"], cell["draw"]), cell["labels"]
    known = None
    if labels:
        how = {"sampling": "random", "marker": None, "random_state": cell["draw"]}
        known = hide_labels(rows.y, min(labels, len(rows.y)), **how)
    with _bench.Timer() as timer:
        worth = federated(rows, float(cell["level"]), labels, known)
    head = {"n_owners": len(rows.owners), "n_test": len(rows.y_test)}
    head["group_seconds"] = round(timer.seconds / len(group), 3)
    return [{**each, **head, **worth[each["model"]]} for each in group]


FILES = {"13 columns": "numeric", "adult": "adult"}
N_MERGED = 20


def files_groups(draw):
    for case in FILES:
        models = ("one release", f"{N_MERGED} owners")
        cell = {"case": case, "level": "1", "variant": "after", "draw": draw, "labels": 0}
        yield [{**cell, "model": model} for model in models]


def files_rows(group):
    """Return bytes and seconds of one release, and of all owners' merged ones."""
    case = group[0]["case"]
    found = []
    releases, X = _some_releases(case, group[0]["draw"])
    for cell, some in zip(group, (releases[:1], releases), strict=True):
        with _bench.Timer() as timer:
            if len(some) > 1:
                some = [Release.merge(some, disjoint=True)]
        worth = {"merge_ms": round(1000 * timer.seconds, 2), **_file_worth(some, X)}
        found.append({**cell, "n_encoded": releases[0].n_features, **worth})
    return found


def _some_releases(case, draw):
    if case == "adult":
        rows = federation("adult, 20 owners", NONE, draw)
        made = [make_release(rows, X, y, 1.0) for X, y in rows.owners.values()]
        return made, rows.X_test.iloc[:MOST_PREDICTED]
    rng = np.random.RandomState(draw)
    X, y = rng.rand(N_MERGED * 300 + MOST_PREDICTED, 13), None
    y = (X[:, :3].sum(axis=1) + rng.rand(len(X)) > 2).astype(int)
    parts = np.split(np.arange(N_MERGED * 300), N_MERGED)
    made = [DPStatisticsSource(1.0, classes=(0, 1)).fit(X[p], y[p]).release_ for p in parts]
    return made, X[-MOST_PREDICTED:]


def _file_worth(releases, X, n_times=5):
    """Return bytes, and the median milliseconds to load and to predict first."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{k}.skdp" for k in range(len(releases))]
        for release, path in zip(releases, paths, strict=True):
            release.save(path)
        load, first = [], []
        for _ in range(n_times):
            with _bench.Timer() as timer:
                loaded = [Release.load(path) for path in paths]
            load.append(1000 * timer.seconds)
            with _bench.Timer() as timer:
                for release in loaded:
                    release.predict_proba(X)
            first.append(1000 * timer.seconds)
        size = sum(path.stat().st_size for path in paths)
    return {"bytes": size, "load_ms": round(median(load), 2), "first_ms": round(median(first), 2)}


def groups_of(tasks, draws):
    for task in tasks:
        for draw in range(min(DRAWS[task], draws)):
            yield from files_groups(draw) if task == "files" else federated_groups(task, draw)


def measure(cells):
    return (files_rows if cells[0]["case"] in FILES else federated_rows)(cells)


if __name__ == "__main__":
    settings = {"tasks": ",".join(DRAWS), "draws": max(DRAWS.values()), "redo": False}
    options = _bench.options_of(__doc__, **settings)
    groups = groups_of(_bench.names(options.tasks), options.draws)
    _bench.complete("merging", groups, measure, options.redo)
