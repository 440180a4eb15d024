"""Shift: transfers to targets that differ from their source, against either side alone.

Targets are four hospitals ("heart"), "tables" split by a column, and "adult" by employer and by
sex; their page of tables says what is compared. Prints where the transfer is below the better
side. ``--cache FOLDER`` keeps releases, which are noisy anew otherwise, and what labels alone are
worth: repeated with the same folder after a change of the transfer, all that is compared stays the
same, and a run takes half as long.
"""

import json
import tempfile
import warnings
from itertools import product
from pathlib import Path

import _bench
import numpy as np
from _shift_data import TARGETS, by_transfer, scenario, smoothed
from _shift_tables import MEASURES, NONE, violations
from _tables_data import probability_qualities
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import DPStatisticsSource, TabularEncoder
from skdp.release import Release

DRAWS = 6
# Draws of targets with more rows to learn from than this: their test halves are large, too.
FEW_DRAWS, MANY_ROWS = 4, 1000
EPSILONS = (4.0, 1.0)
# Labels and how they are drawn; None: all.
LABELS = ((0, NONE), (10, "random"), (10, "stratified"), (30, "random"), (30, "stratified"))
LABELS = (*LABELS, (None, NONE))
STRENGTHS = np.logspace(-3, 1, 9)
MOST_FOLDS = 5
# Of a class with a single label there is no fold to leave out; rule of thumb.
FIXED_STRENGTH = 0.1
# The default, 0.1, was worse: log loss .53 against .46 with all labels, of seven targets.
BOOSTING_RATE = 0.03


def logistic_regression(y):
    """Return a logistic regression of columns of unit variance, its strength by log loss."""
    n_folds = min(MOST_FOLDS, np.bincount(y).min())
    if n_folds < 2:
        return LogisticRegression(C=FIXED_STRENGTH, max_iter=1000)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    settings = {"scoring": "neg_log_loss", "max_iter": 1000, "l1_ratios": (0,)}
    return LogisticRegressionCV(Cs=STRENGTHS, cv=folds, **settings)


def boosting(y):
    return HistGradientBoostingClassifier(learning_rate=BOOSTING_RATE, random_state=0)


ALONE = {"labels": logistic_regression, "boosting": boosting}


def alone(model, rows, known):
    """Return probabilities of the test rows by labels alone."""
    shown = np.array([label is not None for label in known])
    y = known[shown].astype(int)
    if len(np.unique(y)) < 2:
        return np.full(len(rows.y_test), smoothed(y))
    encoder = TabularEncoder(rows.schema)
    scale = make_pipeline(encoder, StandardScaler()).fit(rows.X)
    fitted = ALONE[model](y).fit(scale.transform(rows.X)[shown], y)
    return fitted.predict_proba(scale.transform(rows.X_test))[:, 1]


def by_release(releases, rows):
    """Return probabilities of the test rows by releases alone, the mean of log-probabilities."""
    logs = [np.log(release.predict_proba(rows.X_test)) for release in releases]
    odds = np.mean([log[:, 1] - log[:, 0] for log in logs], axis=0)
    return 1 / (1 + np.exp(-odds))


def measured(rows, model, sampling, labels, probabilities):
    """Return the row of a model: what its probabilities of the test rows are worth."""
    worth = probability_qualities(rows.y_test, probabilities)
    key = {"model": model, "variant": sampling, "labels": labels}
    return {**key, **{name: round(worth[name], 5) for name in MEASURES}}


def alone_rows(rows, draw):
    """Return what labels alone are worth, for all numbers of labels."""
    return [
        measured(rows, model, how, n, alone(model, rows, rows.known(n, how, draw)))
        for (n, how), model in product(LABELS[1:], ALONE)
    ]


def transfer_rows(rows, draw, releases):
    """Return what releases alone and transfers from them are worth."""
    frequency = rows.y.mean()
    prior = {0: 1 - frequency, 1: frequency}
    found = [measured(rows, "release", NONE, 0, by_release(releases, rows))]
    for n, how in LABELS:
        known = None if n == 0 else rows.known(n, how, draw)
        sampling = "auto" if how == NONE else how
        for model, given in (("transfer", None), ("class prior", prior)):
            settings = {"label_sampling": sampling, "class_prior": given}
            probabilities = by_transfer(releases, rows, known, **settings)
            found.append(measured(rows, model, how, n, probabilities))
    return found


def kept_rows(path, make):
    """Return rows of a file, or make them and write them there."""
    if not path.exists():
        path.write_text(json.dumps(make()))
    return json.loads(path.read_text())


def kept_release(path, rows, name, epsilon):
    """Return the release of a file, or make it from a source and write it there."""
    if not path.exists():
        source = DPStatisticsSource(epsilon, encoder=rows.schema, classes=(0, 1))
        source.fit(*rows.sources[name]).release_.save(path)
    return Release.load(path)


def measure(target, draw, cache):
    """Return all rows of one draw of a target."""
    rows, folder = scenario(target, draw), cache / target / str(draw)
    folder.mkdir(parents=True, exist_ok=True)
    made = {(NONE, NONE): kept_rows(folder / "alone.json", lambda: alone_rows(rows, draw))}
    for epsilon in EPSILONS:
        releases = {
            name: kept_release(folder / f"{name}, {epsilon:g}.skdp", rows, name, epsilon)
            for name in rows.sources
        }
        sets = {name: [release] for name, release in releases.items()}
        if len(releases) > 1:
            sets["all"] = [*releases.values()]
        for name, some in sets.items():
            made[f"record {epsilon:g}", name] = transfer_rows(rows, draw, some)
    return [
        {"level": level, "source": source, "draw": draw, **row}
        for (level, source), each in made.items()
        for row in each
    ]


def rows_of(options):
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(options.cache or folder)
        for task in options.tasks.split(","):
            for target in TARGETS[task]:
                draws = FEW_DRAWS if len(scenario(target, 0).y) > MANY_ROWS else DRAWS
                for draw in range(min(draws, options.draws)):
                    rows = measure(target, draw, cache)
                    yield from ({"task": task, "case": target, **row} for row in rows)


if __name__ == "__main__":
    options = _bench.options_of(__doc__, tasks=",".join(TARGETS), draws=DRAWS, cache="")
    warnings.simplefilter("ignore")  # of columns that differ, and of few labels of a class
    rows = _bench.collected(rows_of(options))
    print(violations({"rows": rows}))
    settings = {"tasks": options.tasks.split(","), "draws": options.draws, "delta": 1e-5}
    _bench.save("shift", settings, rows)
