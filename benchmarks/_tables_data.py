"""The six tables as a method sees them: rows of the source and of the target, by seed."""

import functools

import numpy as np
from _files import load_table
from _tables_peers import Rows
from scipy.special import expit
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, log_loss, roc_auc_score

from skdp import Schema, TabularEncoder
from skdp.datasets import load_heart_disease
from skdp.release import BasisFunctions

HOSPITALS = "heart disease"
TABLES_AND_HOSPITALS = ("whas500", HOSPITALS, "actg320", "actg175", "flchain", "randhie", "adult")
# Least difference from 0 or 1 of a probability whose logarithm is taken.
LEAST = 1e-12
# Bins of rows, in which probabilities are compared with frequencies.
N_BINS = 10


@functools.lru_cache(maxsize=2)
def scenario(table, seed):
    """Return a table with its rows of the source and of the target, see ``load_table``."""
    return load_table(table, seed)


@functools.lru_cache(maxsize=2)
def whole(name):
    """Return rows, labels and the schema of one of the six tables, or of the four hospitals."""
    data = load_heart_disease() if name == HOSPITALS else load_table(name, 0)
    return data.data, np.asarray(data.target), Schema.from_mapping(data.schema)


@functools.cache
def encoded(table):
    """Return all rows as the package encodes them, in [0, 1], and the kind of each column."""
    data = scenario(table, 0)
    encoder = TabularEncoder(data.schema).fit(data.data)
    return encoder.transform(data.data), encoder.column_kinds_


def labels(data):
    """Return 1 for rows of the last class, and 0."""
    return (data.target == data.schema["classes"][1]).astype(int)


def view(name, table, seed):
    """Return rows for a method: some to learn from, those to be scored, and what is public."""
    data = scenario(table, seed)
    X, columns = VIEWS[name](table, data)
    learn = data.labeled if name == "labeled" else data.source
    y = labels(data)
    take = X.iloc.__getitem__ if name == "frame" else X.__getitem__
    return Rows(take(learn), y[learn], take(data.test), y[data.test], columns)


def centered(table):
    """Return encoded rows, with numeric and binary columns in [-1/2, 1/2]."""
    X, kinds = encoded(table)
    return X - np.where(kinds < 2, 0.5, 0.0)


def _terms(table):
    X, kinds = encoded(table)
    return BasisFunctions.of_columns(kinds).encode(X)


# All rows of a table, and what is public of its columns where a method asks for that.
VIEWS = {
    "frame": lambda table, data: (data.data, data.schema),
    "encoded": lambda table, data: encoded(table),
    "centered": lambda table, data: (centered(table), None),
    "labeled": lambda table, data: (centered(table), None),
    "terms": lambda table, data: (_terms(table), None),
}


def qualities(y, log_odds):
    """Return what log-odds of class 1 are worth."""
    probabilities = expit(log_odds)
    return {
        "auc": roc_auc_score(y, log_odds),
        "log_loss": log_loss(y, probabilities),
        "brier": brier_score_loss(y, probabilities),
        "accuracy": 100 * np.mean((log_odds > 0) == y),
    }


def probability_qualities(truth, probabilities):
    """Return what probabilities of the last class are worth."""
    return {
        "auc": roc_auc_score(truth, probabilities),
        "log_loss": log_loss(truth, np.clip(probabilities, LEAST, 1 - LEAST)),
        "calibration": calibration_error(truth, probabilities),
        "brier": brier_score_loss(truth, probabilities),
        "balanced_accuracy": balanced_accuracy_score(truth, probabilities > 0.5),
        # As class_weight="balanced" decides: a rare class counts as much as a frequent one.
        "balanced_decision": balanced_accuracy_score(truth, probabilities > probabilities.mean()),
    }


def calibration_error(truth, probabilities):
    """Return the mean difference of probability and frequency, over ten bins by quantiles."""
    edges = np.quantile(probabilities, np.arange(1, N_BINS) / N_BINS)
    differences = np.bincount(np.searchsorted(edges, probabilities), probabilities - truth)
    return np.abs(differences).sum() / len(truth)
