"""Records of mixed columns: what few labels, a release, and both together are worth.

tables: six tables, by releases for whole records (noisy statistics) or single elements (noisy
rows). columns: two tables whose targets lack two of the source's columns, and have three others.
Each draw has splits, labels and noise of its own. All rows of one release are written together, so
that what is compared comes from the same release.
"""

from itertools import product

import _bench
import numpy as np
from _tables_data import probability_qualities, scenario
from _tables_peers import TABLES
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier

from skdp import DPSource, DPStatisticsSource, DPTransferClassifier, TabularEncoder

DRAWS = 10
# Whole records by noisy statistics; elements by noisy rows.
LEVELS = ("record 4", "record 1", "16", "4")
NONE = "-"
# Labeled rows of each class.
LABELS = (0, 10)
# The target's own models, and how many labels each has; None: those of all its rows.
OWN = {"target": LABELS[-1], "self-training": LABELS[-1], "all labels": None}
# Columns that the target lacks, and those that the source lacks; the target has one of noise too.
LACKING = {"adult": ("hours-per-week", "race"), "flchain": ("kappa", "creatinine")}
EXTRA = {"adult": ("capital-loss", "workclass"), "flchain": ("sample.yr", "flc.grp")}
NOISE = "noise"
COLUMNS = ("all columns", "other columns")


def labeled(data, n_labels):
    """Return the labeled rows of the target, so many of each class; all to learn from: None."""
    if n_labels is None:
        return data.learning
    of_class = [data.labeled[data.target[data.labeled] == c] for c in data.schema["classes"]]
    return np.concatenate([rows[:n_labels] for rows in of_class])


def own_row(data, cell):
    """Return what a model is worth that knows no source."""
    Z = TabularEncoder(data.schema).fit_transform(data.data)
    y = (data.target == data.schema["classes"][-1]).astype(int)
    model, rows = LogisticRegression(C=1.0, max_iter=1000), labeled(data, cell["labels"])
    known = np.full(len(y), -1)
    known[rows] = y[rows]
    if cell["model"] == "self-training":
        model, rows = SelfTrainingClassifier(model), data.learning
    with _bench.Timer() as fit:
        model.fit(Z[rows], known[rows])
    found = probability_qualities(y[data.test], model.predict_proba(Z[data.test])[:, 1])
    return {**cell, **found, "fit_seconds": fit.seconds, "settings": {"C": 1.0}}


def make_release(level, schema, frame, y):
    """Return the release of a source, of one kind or the other."""
    unit, _, epsilon = level.rpartition(" ")
    source = DPStatisticsSource if unit else DPSource
    return source(float(epsilon), encoder=schema).fit(frame, y).release_


class Pair:
    """A release, and what the source alone and transfers from it make of the target's rows."""

    def __init__(self, level, data, schema):
        source = data.data.iloc[data.source], data.target[data.source]
        with _bench.Timer() as fit:
            self.release = make_release(level, schema, *source)
        self.data, self.seconds = data, fit.seconds
        stated = self.release.guarantee
        self.settings = {"epsilon": stated.epsilon, "delta": stated.delta, "unit": stated.unit}

    def row(self, cell, frame):
        """Return what is measured on a table of the target's columns."""
        data = self.data
        model, classes, seconds = self.release, self.release.classes, self.seconds
        if cell["model"] == "transfer":
            model = DPTransferClassifier(self.release, random_state=0)
            with _bench.Timer() as fit:
                model.fit(frame.iloc[data.learning], self._known(cell["labels"]))
            classes, seconds = model.classes_, fit.seconds
        last = data.schema["classes"][-1]
        probabilities = model.predict_proba(frame.iloc[data.test])[:, classes.tolist().index(last)]
        found = probability_qualities(data.target[data.test] == last, probabilities)
        return {**cell, **found, "fit_seconds": seconds, "settings": self.settings}

    def _known(self, n_labels):
        """Return labels of the rows to learn from, or None where there are none."""
        if not n_labels:
            return None
        known, rows = np.full(len(self.data.target), None), labeled(self.data, n_labels)
        known[rows] = self.data.target[rows]
        return known[self.data.learning]


def tables_groups(table, draw):
    """Return rows that are made together: by the target alone, and by one release."""
    cell = {"case": table, "draw": draw}
    own = [{**cell, "level": NONE, "model": model, "labels": n} for model, n in OWN.items()]
    models = [("source", 0), *(("transfer", n) for n in LABELS)]
    of_release = [
        [{**cell, "level": level, "model": model, "labels": n} for model, n in models]
        for level in LEVELS
    ]
    return [own, *of_release]


def tables_rows(group):
    data = scenario(group[0]["case"], group[0]["draw"])
    if group[0]["level"] == NONE:
        return [own_row(data, cell) for cell in group]
    pair = Pair(group[0]["level"], data, data.schema)
    return [pair.row(cell, data.data) for cell in group]


def columns_groups(table, draw):
    """Return rows that are made together: by one release, for targets of two kinds."""
    if table not in LACKING:
        return []
    models = [("source", COLUMNS[0], 0)]
    models += [("transfer", variant, n) for variant in COLUMNS for n in LABELS]
    return [
        [
            {"case": table, "level": level, "model": model, "variant": variant, "draw": draw}
            | {"labels": n}
            for model, variant, n in models
        ]
        for level in LEVELS
    ]


def columns_rows(group):
    table, draw = group[0]["case"], group[0]["draw"]
    data = scenario(table, draw)
    schema, frames = column_frames(table, data, draw)
    pair = Pair(group[0]["level"], data, schema)
    return [pair.row(cell, frames[cell["variant"]]) for cell in group]


def column_frames(table, data, draw):
    """Return the schema of the source, and all rows in the columns of each kind of target."""
    columns = {k: v for k, v in data.schema["columns"].items() if k not in EXTRA[table]}
    own = data.data[list(columns)]
    noise = np.random.RandomState(draw).standard_normal(len(own))
    other = data.data.drop(columns=list(LACKING[table])).assign(**{NOISE: noise})
    return {**data.schema, "columns": columns}, dict(zip(COLUMNS, (own, other), strict=True))


TASKS = {
    "tables": ("records", tables_groups, tables_rows),
    "columns": ("records_columns", columns_groups, columns_rows),
}


if __name__ == "__main__":
    parser = _bench.parser_of(__doc__, tables=",".join(TABLES), draws=DRAWS)
    parser.add_argument("task", choices=TASKS)
    options = parser.parse_args()
    name, groups_of, rows_of = TASKS[options.task]
    cases = product(range(options.draws), _bench.names(options.tables))
    groups = (group for draw, table in cases for group in groups_of(table, draw))
    _bench.complete(name, groups, rows_of, words=[options.task])
