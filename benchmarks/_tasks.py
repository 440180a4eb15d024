"""Source and target of each transfer, with draws of labels."""

from itertools import permutations

import numpy as np
from _transfer import draw_labels, office_trials

from skdp.datasets import fetch_mnist, fetch_usps, load_human_activity


def task(transfer, draws, per_class):
    """Yield cases: a name, source rows and labels, and the target once for every draw.

    A target is its rows, labels, labels with all but a few (``per_class``, or 0 for the usual
    number) marked by -1, test rows and test labels. Features are in [0, 1]; those of activity
    are clipped to the 1st and 99th percentile of the target, those of office are z-scores.
    """
    if transfer == "activity":
        return _activity(draws, per_class or 5)
    if transfer == "office":
        return _office(draws)
    return _digits(*transfer.split("-"), draws, per_class or 10)


def _digits(source, target, draws, per_class):
    load = {"mnist": fetch_mnist, "usps": fetch_usps}
    X, y = load[target](return_X_y=True)
    X_test, y_test = load[target](subset="test", return_X_y=True)
    if source == target:  # the papers' split
        X, X_test, y, y_test = X_test[:9000], X_test[9000:], y_test[:9000], y_test[9000:]
    X, y = X[:10_000], y[:10_000]
    marks = [draw_labels(y, per_class, seed=draw) for draw in range(draws)]
    yield "", load[source](return_X_y=True), [(X, y, m, X_test, y_test) for m in marks]


def _activity(draws, per_class):
    data = load_human_activity()
    people = np.random.RandomState(0).permutation(np.unique(data.groups))
    source = np.isin(data.groups, people[:10])
    low, high = np.percentile(data.data[~source], [1, 99], axis=0)
    X = np.clip((data.data - low) / (high - low), 0, 1).astype(np.float32)
    order = np.random.RandomState(1).permutation(np.flatnonzero(~source))
    train, test = np.split(order, [int(0.8 * len(order))])
    X_test, y_test = X[test], data.target[test]
    target = X[train], data.target[train]
    marks = [draw_labels(target[1], per_class, seed=draw) for draw in range(draws)]
    yield "", (X[source], data.target[source]), [(*target, m, X_test, y_test) for m in marks]


def _office(draws):
    for pair in permutations(("amazon", "caltech", "dslr", "webcam"), 2):
        for k, (source, (Xl, yl), (Xq, yq)) in enumerate(office_trials(*pair, draws)):
            X, y = np.concatenate([Xl, Xq]), np.append(yl, yq)
            marked = np.append(yl, np.full(len(yq), -1))
            yield f"{pair[0]} to {pair[1]}, trial {k}", source, [(X, y, marked, Xq, yq)]
