"""The six tables: columns in [0, 1] by a public schema, source and target rows by seed.

Needs numpy and nothing else, since each peer runs in an environment of its own. The folder of the
tables, with ``schemas.json``, is ``tabular`` in the folder that ``SKDP_DATA`` names.
"""

import csv
import functools
import gzip
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TABLES = ("adult", "flchain", "whas500", "actg320", "actg175", "randhie")
MISSING = ("", "NA", "nan")  # what stands for a missing value in the files
UNLABELLED = -1


@dataclass(frozen=True)
class Column:
    """A public column of a table, and the encoded columns that it became.

    ``kind`` is "numeric" (one column in [0, 1], 0.5 where missing, and one that marks missing
    values where the schema has them), "binary" (0 or 1) or "category" (one column a category;
    all 0 where missing).
    """

    name: str
    kind: str
    places: slice


@dataclass(frozen=True)
class Scenario:
    """Encoded rows of a table; labels are 0 and 1, ``UNLABELLED`` in ``marked`` where hidden."""

    columns: tuple
    X_source: np.ndarray
    y_source: np.ndarray
    X_learn: np.ndarray
    marked: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def scenario(table, seed):
    """Return the source's rows and the target's, for learning and for testing."""
    schema, values, X, y, columns = _encoded(table)
    rng = np.random.RandomState(seed)
    order = rng.permutation(len(y))
    is_source = _source(schema["source"], values, order)
    target = order[~is_source[order]]
    learn, test = np.split(target, [schema["target_rows"]])
    marked = np.full(len(learn), UNLABELLED)
    for label in (0, 1):
        first = np.flatnonzero(y[learn] == label)[: schema["labels_per_class"]]
        marked[first] = label
    source = order[is_source[order]]
    return Scenario(columns, X[source], y[source], X[learn], marked, X[test], y[test])


def _source(rule, values, order):
    """Which rows are the source's: so many random ones, or those with one value of a column."""
    if found := re.fullmatch(r"random ([\d,]+) rows", rule):
        chosen = np.zeros(len(order), dtype=bool)
        chosen[order[: int(found[1].replace(",", ""))]] = True
        return chosen
    name, value = re.fullmatch(r"(\w+) == '?(\w+)'?", rule).groups()
    return np.array(values[name]) == value


@functools.cache
def _encoded(table):
    """Schema, columns as text, encoded rows, labels and public columns of a table."""
    folder = Path(os.environ["SKDP_DATA"]) / "tabular"
    schema = json.loads((folder / "schemas.json").read_text())[table]
    with gzip.open(folder / f"{table}.csv.gz", "rt", newline="") as file:
        header, *rows = csv.reader(file)
    values = dict(zip(header, zip(*rows, strict=True), strict=True))
    labels = np.array(values[schema["label"]])
    blocks, columns, start = [], [], 0
    for name, column in schema["columns"].items():
        kind, block = _encode(column, values[name])
        blocks.append(block)
        columns.append(Column(name, kind, slice(start, start + block.shape[1])))
        start += block.shape[1]
    y = (labels == np.unique(labels)[-1]).astype(int)
    return schema, values, np.hstack(blocks), y, tuple(columns)


def _encode(column, texts):
    if column["type"] == "category":
        names = column["categories"]
        if len(names) == 2:
            return "binary", (np.array(texts)[:, None] == names[1:]).astype(float)
        return "category", (np.array(texts)[:, None] == names).astype(float)
    x = np.array([np.nan if text in MISSING else float(text) for text in texts])
    low, high = column["low"], column["high"]
    x = np.clip(x, low, high)
    if column.get("log"):
        # From 1 % of the range upwards, so that a range which begins at 0 has a logarithm.
        least = max(low, 0.01 * high)
        x, low, high = np.log(x - low + least), np.log(least), np.log(high - low + least)
    u = (x - low) / (high - low)
    block = [np.where(np.isnan(u), 0.5, u)]
    if "missing" in column:
        block.append(np.isnan(u).astype(float))
    return "numeric", np.column_stack(block)
