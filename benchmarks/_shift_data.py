"""Sources and targets that differ: four hospitals, and tables split by a column."""

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from _files import load_table

from skdp import DPTransferClassifier
from skdp.datasets import hide_labels, load_heart_disease

# Most rows of a source, of a target to learn from, and of a target to be predicted: so that a
# run takes minutes.
MOST = (4000, 2000, 4000)

HOSPITALS = ("Cleveland", "Budapest", "Zurich-Basel", "Long Beach")
# Which rows are the source's, by the name of the target: table and condition.
SPLITS = {
    "adult older than 37": ("adult", "age <= 37"),
    "adult born abroad": ("adult", "`native-country` == 'United-States'"),
    "flchain after 1996": ("flchain", "`sample.yr` <= 1996"),
    "flchain older than 63": ("flchain", "age <= 63"),
    "whas500 women": ("whas500", "gender == 0"),
    "whas500 older than 72": ("whas500", "age <= 72"),
    "actg320 treated before": ("actg320", "strat2 == 1"),
    "actg320 older than 38": ("actg320", "age <= 38"),
    "actg175 with symptoms": ("actg175", "symptom == 0"),
    "actg175 other race": ("actg175", "race == 0"),
    "randhie limited": ("randhie", "physlm == 0"),
    "randhie with deductible": ("randhie", "idp == 0"),
}
ADULT = {
    "adult not in private firms": ("adult", "workclass == 'Private'"),
    "adult women": ("adult", "sex == 'Male'"),
}
TARGETS = {"heart": HOSPITALS, "tables": tuple(SPLITS), "adult": tuple(ADULT)}
ONE = "other side"


@dataclass(frozen=True)
class Scenario:
    """Rows of a target, half of them to learn from, and rows of its sources; a public schema.

    Labels are 0 and 1; ``sources`` has rows and labels of each source by name.
    """

    X: pd.DataFrame
    y: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray
    sources: dict
    schema: dict

    def known(self, n_labels, sampling, draw):
        """Return labels of the rows to learn from, None where unknown; all for None.

        ``sampling``: "random" draws so many rows, "stratified" half as many of each class.
        """
        if n_labels is None:
            return self.y.astype(object)
        n_shown = n_labels // 2 if sampling == "stratified" else n_labels
        return hide_labels(self.y, n_shown, sampling=sampling, marker=None, random_state=draw)


def scenario(target, draw):
    """Return the rows of one draw."""
    rng = np.random.RandomState(draw)
    domains, schema = (_hospitals if target in HOSPITALS else functools.partial(_split, target))()
    X, y = domains[target]
    learning, test = np.array_split(rng.permutation(len(y)), 2)
    some = learning[: MOST[1]], test[: MOST[2]]
    sources = {
        name: take(rows, rng.permutation(len(rows[1]))[: MOST[0]])
        for name, rows in domains.items()
        if name != target
    }
    own = [part for rows in some for part in take((X, y), rows)]
    return Scenario(*own, sources, schema)


def smoothed(y):
    """Return the frequency of class 1, which is neither 0 nor 1."""
    return (y.sum() + 1) / (len(y) + 2)


def by_transfer(releases, rows, known, **settings):
    """Return probabilities of the test rows by a transfer; ``known`` None: no label."""
    model = DPTransferClassifier(releases, random_state=0, **settings).fit(rows.X, known)
    return model.predict_proba(rows.X_test)[:, model.classes_.tolist().index(1)]


def take(rows, chosen):
    X, y = rows
    return X.iloc[chosen].reset_index(drop=True), y[chosen]


@functools.cache
def _hospitals():
    """Return rows and labels of each hospital, and the schema."""
    heart = load_heart_disease()
    rows = heart.data, heart.target
    domains = {name: take(rows, np.flatnonzero(heart.hospital == name)) for name in HOSPITALS}
    return domains, heart.schema


@functools.lru_cache(maxsize=1)
def _split(target):
    """Return rows and labels of both sides of a table, and its schema."""
    table, condition = (SPLITS | ADULT)[target]
    rows, schema = labeled_table(table)
    is_source = rows[0].eval(condition).to_numpy().astype(bool)
    sides = {ONE: is_source, target: ~is_source}
    return {name: take(rows, np.flatnonzero(side)) for name, side in sides.items()}, schema


@functools.lru_cache(maxsize=1)
def labeled_table(name):
    """Return rows and labels 0 and 1 of a table, and its schema with these classes."""
    data = load_table(name, 0)
    y = (data.target == data.schema["classes"][-1]).astype(int)
    return (data.data, y), {**data.schema, "classes": [0, 1]}
