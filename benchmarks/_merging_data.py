"""Rows of many owners, and of a target that learns from their releases."""

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from _shift_data import HOSPITALS, labeled_table, take
from sklearn.model_selection import train_test_split

from skdp.datasets import load_heart_disease

# FLamby leaves these columns out, and patients with missing values in the others.
LEFT_OUT = ["slope", "ca", "thal"]
# FLamby reads a cholesterol or blood pressure of 0, which was not measured, as a value, and drops
# only what is missing in the files. Patients of Long Beach whose value is missing there, by their
# number among those of the hospital; here both are missing.
DROPPED = {"Long Beach": (42, 48, 107, 125, 157, 160, 165)}
ZERO = ["chol", "trestbps"]
TRAIN_SHARE = 0.66

# Rows of each owner of adult, and owners of the other tables.
N_ROWS, N_OWNERS = 300, 5
TABLES = ("actg175", "actg320", "adult", "flchain", "randhie", "whas500")
# What adult is cut by: owners at random, or by values of a column; ages in ten of equal size.
CUTS = {f"adult, {n} owners": n for n in (5, 20, 60)}
CUTS |= {"adult by workclass": "workclass", "adult by age": "age"}
N_AGES = 10
CASES = {
    "heart": tuple(f"heart, {name}" for name in HOSPITALS),
    "adult": tuple(CUTS),
    "tables": tuple(f"{name}, {N_OWNERS} owners" for name in TABLES if name != "adult"),
}
CASES["tables"] += (f"adult, whole, {N_OWNERS} owners",)
# Most rows to be predicted, those a target has to learn from, and those of an owner.
MOST_TEST, MOST_LEARNT, MOST_OWNED = 4000, 1000, 2000


@dataclass(frozen=True)
class Federation:
    """Owners with rows and labels 0 and 1 by name, and a target with rows to learn from.

    ``delta`` and ``schema`` are public.
    """

    owners: dict
    X: pd.DataFrame
    y: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray
    schema: dict
    delta: float

    @property
    def pooled(self):
        """Rows and labels of all owners."""
        X, y = zip(*self.owners.values(), strict=True)
        return pd.concat(X, ignore_index=True), np.concatenate(y)


def federation(case, variant, draw):
    """Return owners and target of a draw; ``variant`` "all": the target is one of the owners."""
    name, _, rest = case.partition(", ")
    if name == "heart":
        return _hospitals(rest, with_own=variant == "all")
    table = case.partition(",")[0] if case not in CUTS else "adult"
    return _cut(table, CUTS.get(case), draw)


@functools.cache
def _patients():
    """Return FLamby's 740 patients, by hospital: rows to learn from, and test rows."""
    heart = load_heart_disease()
    columns = {k: v for k, v in heart.schema["columns"].items() if k not in LEFT_OUT}
    sides = {}
    for name in HOSPITALS:
        here = heart.hospital == name
        X, y = heart.data[here][list(columns)].reset_index(drop=True), heart.target[here]
        kept = X.drop(columns=ZERO if _zeros(name) else []).notna().all(axis=1).to_numpy(copy=True)
        kept[np.array(DROPPED.get(name, ()), int)] = False
        X, y = X[kept].reset_index(drop=True), y[kept]
        learning, test = train_test_split(
            np.arange(len(y)),
            test_size=1 - TRAIN_SHARE,
            train_size=TRAIN_SHARE,
            random_state=43,
            stratify=y if np.bincount(y).min() > 2 else None,
        )
        sides[name] = take((X, y), np.sort(learning)), take((X, y), np.sort(test))
    return sides, {**heart.schema, "columns": columns}


def _zeros(name):
    """Return whether a hospital wrote 0 for what it had not measured."""
    return name in ("Zurich-Basel", "Long Beach")


def _hospitals(target, with_own):
    sides, schema = _patients()
    owners = {name: side[0] for name, side in sides.items() if with_own or name != target}
    return Federation(owners, *sides[target][0], *sides[target][1], schema, 1e-4)


def _cut(table, cut, draw):
    """Return owners of a table: so many at random, by a column, or five that share all rows."""
    rows, schema = labeled_table(table)
    order = np.random.RandomState(draw).permutation(len(rows[1]))
    test, rest = np.split(order, [min(len(order) // 3, MOST_TEST)])
    learning, rest = np.split(rest, [min(len(rest) // 4, MOST_LEARNT)])
    owned = _owned(rows[0], cut, rest)
    owners = {name: take(rows, chosen) for name, chosen in owned.items()}
    return Federation(owners, *take(rows, learning), *take(rows, test), schema, 1e-5)


def _owned(X, cut, rest):
    """Return numbers of rows by owner, of shuffled ones."""
    if cut is None:
        return dict(enumerate(np.array_split(rest[: N_OWNERS * MOST_OWNED], N_OWNERS)))
    if isinstance(cut, int):
        return dict(enumerate(np.split(rest[: cut * N_ROWS], cut)))
    values = X[cut].iloc[rest]
    if cut == "age":
        values = pd.qcut(values.rank(method="first"), N_AGES, labels=False)
    parts = {value: rest[(values == value).to_numpy()] for value in values.dropna().unique()}
    return {str(k): part[:N_ROWS] for k, part in parts.items() if len(part) >= N_ROWS}
