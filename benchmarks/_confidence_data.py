"""Two-class tables for the benchmark of probabilities: rows of owners, and rows like theirs."""

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from _shift_data import labeled_table, take
from _tasks import data_file

# Settings may be chosen by the first half of the tables, and are judged by the second.
CHOOSING = ("adult", "actg175", "whas500", "nwtco", "vietnam")
JUDGING = ("flchain", "randhie", "actg320", "gbsg2", "diamonds")
# Rows for a target to learn from, without labels, and most rows to be predicted.
N_UNLABELED, MOST_TEST = 300, 4000


def numbers(**bounds):
    return {
        name: {"type": "numeric", "low": low, "high": high} for name, (low, high) in bounds.items()
    }


def categories(**values):
    return {
        name: {"type": "category", "categories": list(listed)} for name, listed in values.items()
    }


def later(years):
    """Return what says whether an event came within so many years."""
    return lambda rows: (rows["event"] == 1) & (rows["time"] <= 365 * years)


# Outcomes that are numbers or times, cut at public thresholds; bounds from units and code books.
CUT = {
    "nwtco": (
        "nwtco",
        later(5),
        categories(instit=(1, 2), histol=(1, 2), stage=(1, 2, 3, 4), study=(3, 4))
        | numbers(age=(0, 200)),
    ),
    "vietnam": (
        "vietnam_expenditure",
        lambda rows: rows["lntotal"] > np.log(20_000),
        categories(sex=("female", "male"), farm=("no", "yes"), urban=("no", "yes"))
        | numbers(age=(15, 100), educyr=(0, 25), hhsize=(1, 20), lnmed=(0, 13)),
    ),
    "gbsg2": (
        "gbsg2",
        later(3),
        numbers(age=(20, 90), estrec=(0, 1200), pnodes=(0, 60), progrec=(0, 2400), tsize=(0, 150))
        | categories(horTh=("no", "yes"), menostat=("Pre", "Post"), tgrade=("I", "II", "III")),
    ),
    "diamonds": (
        "diamonds",
        lambda rows: rows["price"] > 5_000,
        numbers(carat=(0, 6), depth=(40, 80), table=(40, 100))
        | categories(
            cut=("Fair", "Good", "Very Good", "Premium", "Ideal"),
            color="DEFGHIJ",
            clarity=("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"),
        ),
    ),
}


@dataclass(frozen=True)
class Cell:
    """Rows and labels of owners, and of a target: some to learn from, and test rows."""

    owners: list
    X: pd.DataFrame
    X_test: pd.DataFrame
    y_test: np.ndarray
    schema: dict


def outcomes(file):
    """Return a table of the folder outcomes."""
    return pd.read_csv(data_file(f"outcomes/{file}.csv.gz"))


@functools.lru_cache(maxsize=2)
def two_classes(name):
    """Return rows and labels 0 and 1 of a table, and its schema."""
    if name not in CUT:
        return labeled_table(name)
    file, outcome, columns = CUT[name]
    rows = outcomes(file)
    y = outcome(rows).to_numpy().astype(int)
    return (rows[list(columns)], y), {"version": 1, "columns": columns, "classes": [0, 1]}


def cell(name, n_rows, n_owners, draw):
    """Return rows of a draw, or None where the table has too few."""
    rows, schema = two_classes(name)
    order = np.random.RandomState(draw).permutation(len(rows[1]))
    n_test = min(len(order) // 3, MOST_TEST)
    test, rest = order[:n_test], order[n_test:]
    if len(rest) < n_rows * n_owners:
        return None
    owners = [take(rows, part) for part in np.split(rest[: n_rows * n_owners], n_owners)]
    # Without labels, rows of the source serve where there are no others.
    X, _ = take(rows, rest[-N_UNLABELED:])
    return Cell(owners, X, *take(rows, test), schema)
