"""Source and target of each transfer, with draws of labels."""

import functools
import os
from pathlib import Path

import numpy as np
from _files import load_human_activity
from sklearn.preprocessing import StandardScaler

from skdp import representative_rows
from skdp.datasets import fetch_mnist, fetch_usps, hide_labels

_TRIAL = ("src_train", "tgt_train", "tgt_test")


def task(table, case):
    """Return two functions: source rows and labels of a draw, and the target of a draw.

    ``target(draw, labels, choice)`` gives rows, labels, labels with all but so many of each class
    marked by -1, test rows and their labels. Features are in [0, 1]; those of office are z-scores.
    """
    if table == "office":
        return _office(*case.split(" to "))
    source, *data = _activity() if table == "activity" else _digits(*table.split("-"))
    return lambda draw: source, functools.partial(_target, *data)


def _target(X, y, X_test, y_test, draw, labels, choice=None):
    """Return the target of a draw, with labels of random, representative or typical rows."""
    if choice is None:
        return X, y, hide_labels(y, labels, random_state=draw), X_test, y_test
    classes, marked = np.unique(y), np.full(len(y), -1)
    if choice == "representative":  # without a look at labels
        rows = representative_rows(X, labels * len(classes), random_state=draw)
    else:
        groups = [np.flatnonzero(y == label) for label in classes]
        rows = [g[representative_rows(X[g], labels, random_state=draw)] for g in groups]
        rows = np.concatenate(rows)
    marked[rows] = y[rows]
    return X, y, marked, X_test, y_test


def _digits(source, target):
    load = {"mnist": fetch_mnist, "usps": fetch_usps}
    X, y = load[target](return_X_y=True)
    X_test, y_test = load[target](subset="test", return_X_y=True)
    if source == target:  # the papers' split
        X, X_test, y, y_test = X_test[:9000], X_test[9000:], y_test[:9000], y_test[9000:]
    return load[source](return_X_y=True), X[:10_000], y[:10_000], X_test, y_test


def _activity():
    """Ten people are the source, twenty the target."""
    (X_source, y_source), (X, y) = people(0)
    train, test = shuffled_parts(len(y), 1)
    X_source, X = (rows.astype(np.float32) for rows in (X_source, X))
    return (X_source, y_source), X[train], y[train], X[test], y[test]


def people(draw):
    """Return rows and labels of ten people of human activity, and of the twenty others.

    Bounds must not come from the source's rows: those of the others stand for public ones.
    """
    data = load_human_activity()
    order = np.random.RandomState(draw).permutation(np.unique(data.groups))
    source = np.isin(data.groups, order[:10])
    X = in_bounds_of(~source, data.data)
    return [(X[rows], data.target[rows]) for rows in (source, ~source)]


def in_bounds_of(some, X):
    """Return rows scaled to [0, 1] by the 1st and 99th percentile of some of them, and clipped."""
    low, high = np.percentile(X[some], [1, 99], axis=0)
    return np.clip((X - low) / (high - low), 0, 1)


def shuffled_parts(n, seed, share=0.8):
    return np.split(np.random.RandomState(seed).permutation(n), [int(share * n)])


def _office(source, target):
    trials = functools.partial(office_trial, source, target)

    def known(draw, labels, choice=None):  # its labels are canonical
        _, (Xl, yl), (Xq, yq) = trials(draw)
        marked = np.append(yl, np.full(len(yq), -1))
        return np.concatenate([Xl, Xq]), np.append(yl, yq), marked, Xq, yq

    return lambda draw: trials(draw)[0], known


def fashion():
    """Return training and test rows of Fashion-MNIST in [0, 1], and their labels."""
    with np.load(data_file("fashion.npz")) as arrays:
        parts = [(arrays[f"X_{part}"], arrays[f"y_{part}"]) for part in ("train", "test")]
    return [((X.reshape(len(X), -1) / 255).astype(np.float32), y.astype(int)) for X, y in parts]


def mnist():
    """Return training rows of MNIST, their labels, and the same of test rows."""
    parts = (fetch_mnist(subset=subset, return_X_y=True) for subset in ("train", "test"))
    return sum(map(tuple, parts), ())


@functools.lru_cache(maxsize=1)  # the three parts of a trial are one value
def office_trial(source, target, k):
    """Return source rows, labeled target rows and queries of a canonical trial.

    Rows are divided by their sum; columns are z-scores within each domain.
    """
    with np.load(data_file("office_caltech_surf.npz")) as arrays:
        data = {
            name: (z_scores(arrays[f"X_{name}"]), arrays[f"y_{name}"]) for name in (source, target)
        }
    with np.load(data_file("office_caltech_splits_hoffman20.npz")) as arrays:
        chosen = [arrays[f"{source}__{target}__{name}"][k] for name in _TRIAL]
    domains = (source, target, target)
    return tuple(
        tuple(array[rows] for array in data[domain])
        for domain, rows in zip(domains, chosen, strict=True)
    )


def data_file(name):
    """Return the path of a file for which there is no public download."""
    path = Path(os.environ.get("SKDP_DATA", "")) / name
    if not path.is_file():
        raise FileNotFoundError(
            f"SKDP_DATA={os.environ.get('SKDP_DATA')!r} names no folder with {name}. Set the "
            "environment variable SKDP_DATA to a folder that holds it."
        )
    return path


def z_scores(counts):
    rows = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return StandardScaler().fit_transform(rows).astype(np.float32)
