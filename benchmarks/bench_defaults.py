"""Estimators as constructed without arguments on ten data sets of scikit-learn.

Accuracy, log loss and processor seconds with 5, 20 and 100 labeled rows of each class, compared
with scikit-learn's classifiers with their defaults; columns are scaled to 0 – 1 by the training
rows. Settings were chosen on the first five data sets ("chosen") and not on the others ("judged").
The wide form equals CDMMAClassifier: no class has 1,000 rows.
"""

import _bench
import numpy as np
from _bench import cell_of
from sklearn import datasets as sets
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier

from skdp import CDMMAClassifier

N_TEST = 500


def rolled():
    X, along = sets.make_swiss_roll(2000, noise=0.5, random_state=0)
    return X, np.digitize(along, np.quantile(along, [0.25, 0.5, 0.75]))


CHOSEN = {
    "digits": lambda: sets.load_digits(return_X_y=True),
    "breast cancer": lambda: sets.load_breast_cancer(return_X_y=True),
    "iris": lambda: sets.load_iris(return_X_y=True),
    "moons": lambda: sets.make_moons(2000, noise=0.25, random_state=0),
    "30 columns, 8 informative": lambda: sets.make_classification(
        2000, 30, n_informative=8, n_redundant=0, n_classes=4, random_state=0
    ),
}
JUDGED = {
    "wine": lambda: sets.load_wine(return_X_y=True),
    "20 blobs": lambda: sets.make_blobs(4000, 8, centers=20, cluster_std=2.5, random_state=0),
    "circles": lambda: sets.make_circles(2000, noise=0.1, factor=0.6, random_state=0),
    "quantiles": lambda: sets.make_gaussian_quantiles(
        n_samples=2000, n_features=5, n_classes=3, random_state=0
    ),
    "swiss roll": rolled,
}
DATA = CHOSEN | JUDGED


MODELS = {
    "logistic regression": LogisticRegression,
    "5 neighbors": KNeighborsClassifier,
    "CDMMAClassifier": lambda: CDMMAClassifier(random_state=0),
}


def drawn(name, n_rows, draw):
    """Return rows and labels of a draw, and those to test; None if a class has too few rows."""
    X, y = DATA[name]()
    if np.bincount(y).min() < 1.3 * n_rows:
        return None
    order = np.random.RandomState(draw).permutation(len(X))
    train = np.concatenate([order[y[order] == c][:n_rows] for c in np.unique(y)])
    ranges = np.ptp(X[train], axis=0)
    X = (X - X[train].min(axis=0)) / np.where(ranges, ranges, 1.0)
    test = order[~np.isin(order, train)][:N_TEST]
    return X[train], y[train], X[test], y[test]


def measure(cells, draws):
    """Return the row of a cell: means over draws."""
    [cell] = cells
    scores = []
    for draw in range(draws):
        X, y, X_test, y_test = drawn(cell["case"], int(cell["labels"]), draw)
        with _bench.processor() as timer:
            model = MODELS[cell["model"]]().fit(X, y)
            probabilities = model.predict_proba(X_test)
        loss = log_loss(y_test, probabilities, labels=np.unique(y))
        scores.append([np.mean(probabilities.argmax(axis=1) == y_test), loss, timer.seconds])
    accuracy, loss, seconds = np.mean(scores, axis=0).round(4)
    sd = float(np.std(scores, axis=0, ddof=1)[0].round(4))
    return [cell | {"accuracy": accuracy, "sd": sd, "log_loss": loss, "seconds": seconds}]


def defaults(options):
    draws = options.draws or 5
    groups = (
        [cell_of(name, "chosen" if name in CHOSEN else "judged", model, "after", None, n)]
        for name in DATA
        for n in (5, 20, 100)
        if drawn(name, n, 0)
        for model in MODELS
    )
    _bench.fill("defaults", groups, lambda cells: measure(cells, draws), again=options.again)


if __name__ == "__main__":
    _bench.main(__doc__, defaults=defaults)
