"""Releases of statistics of images and signals: whole records are protected.

activity: ten people are the source and twenty the target; each draw divides the people anew.
mnist: 200 target digits help, of which one of each class is labeled. Each draw has a source with
noise of its own.

adaptation: unlabeled rows and few labels: what they add to a release alone, and whether they ever
harm. 60,000 images are the source and 9,000 others the target, as pixels or as public oriented
gradients: MNIST, Fashion-MNIST (``fashion.npz`` of SKDP_DATA), and USPS digits, scaled to the size
of MNIST's. Ten people of human activity are the source and twenty the target. Amazon's photographs
of Office+Caltech are the source and Caltech's the target. Linear releases are those of sensors and
photographs: on images the others are better.
"""

import functools
from itertools import product

import _bench
import numpy as np
from _bench import cell_of
from _data import arrays_of, mnist, people, shuffled_parts

from skdp import DPStatisticsSource, DPTransferClassifier, OrientedGradients
from skdp.datasets import hide_labels

# The rule of adaptation was chosen on some cases, and is judged by the others.
CHOSEN_ON = ("activity 0", "activity 1", "USPS, pixels", "office")
JUDGED_ON = (
    "Fashion-MNIST, gradients",
    "Fashion-MNIST, pixels",
    "activity 2",
    "activity 3",
    "MNIST, gradients",
    "USPS, gradients",
)
MODELS = ("logistic", "mixtures", "linear")
# Least weight of an adaptation whose accuracy is reported.
TAKEN = 0.1


@functools.lru_cache(maxsize=1)
def release_of(rows_of, case, draw, epsilon, model):
    """Return a release; that of the last call is kept, for rows that share it."""
    X, y = rows_of(case, draw)[0]
    return DPStatisticsSource(epsilon, classes=np.unique(y), model=model).fit(X, y).release_


@functools.lru_cache(maxsize=1)
def activity_rows(case, draw):
    """Return source rows, and learning and test rows of the target; columns in [0, 1]."""
    source, (X, y) = people(draw)
    return source, *((X[rows], y[rows]) for rows in shuffled_parts(len(y), 100 + draw))


def activity_row(cells):
    [cell] = cells
    _, (X, y), (X_test, y_test) = activity_rows("people", cell["draw"])
    model = None
    if cell["model"] != "target":
        model = release_of(activity_rows, "people", cell["draw"], cell["level"], "linear")
    if cell["model"] != "source":
        marked = np.full(len(y), -1)
        if cell["labels"]:
            marked = hide_labels(y, cell["labels"], random_state=cell["draw"])
        model = DPTransferClassifier(model, random_state=0).fit(X, marked)
    return [{**cell, "accuracy": 100 * model.score(X_test, y_test)}]


def activity(options):
    models = (("source", 0), ("transfer", 0), ("transfer", 5), ("target", 5))
    groups = (
        [cell_of("people", level, model, None, draw, labels)]
        for draw in range(options.draws or 6)
        for level, (model, labels) in product((16.0, 4.0, 1.0), models)
        if model != "target" or level == 16.0
    )
    _bench.fill("statistics_activity", groups, activity_row, again=options.again)


@functools.lru_cache(maxsize=2)
def digits(case, draw=None):
    """Return source rows, and test rows of the target; features in [0, 1]."""
    X, y, X_test, y_test = mnist()
    if case == "oriented gradients":
        X, X_test = (OrientedGradients().transform(rows) for rows in (X, X_test))
    return (X, y), (X_test, y_test)


def digits_row(cells):
    [cell] = cells
    X, y = digits(cell["case"])[1]
    model = {"pixels": "mixtures", "oriented gradients": "logistic"}[cell["case"]]
    release = release_of(digits, cell["case"], cell["draw"], cell["level"], model)
    if cell["model"] == "source":
        return [{**cell, "accuracy": 100 * release.score(X, y)}]
    order = np.random.RandomState(cell["draw"]).permutation(len(X))
    here, others = order[:200], order[200:]
    marked = hide_labels(y[here], cell["labels"] // 10, random_state=cell["draw"])
    fitted = DPTransferClassifier(release, random_state=0).fit(X[here], marked)
    found = {"accuracy": fitted, "source_alone": release}  # on the rows that the transfer is asked
    return [cell | {k: 100 * model.score(X[others], y[others]) for k, model in found.items()}]


def mnist_digits(options):
    cases, models = ("pixels", "oriented gradients"), (("source", 0), ("transfer", 10))
    groups = (
        [cell_of(case, level, model, None, draw, labels)]
        for draw in range(options.draws or 10)
        for case, level, (model, labels) in product(cases, (8.0, 1.0), models)
    )
    _bench.fill("statistics_mnist", groups, digits_row, again=options.again)


def adaptation_rows(cells):
    """Return what a release alone and transfers make of unlabeled rows."""
    source, (X, y) = arrays_of(cells[0]["case"])
    settings = {"classes": np.unique(source[1]), "model": cells[0]["model"]}
    release = DPStatisticsSource(cells[0]["level"], **settings).fit(*source).release_
    found = []
    for cell in cells:
        marked = np.full(len(y), -1)
        if cell["labels"]:
            marked = hide_labels(y, cell["labels"], random_state=0)
        model = DPTransferClassifier(release, random_state=0).fit(X, marked)
        others, classes = marked < 0, model.classes_
        claimed = release.predict_proba(X[others]).max(axis=1).mean()
        row = {
            "accuracy": share(model.label_distributions_[others], classes, y[others]),
            "accuracy_alone": 100 * release.score(X[others], y[others]),
            "claimed_alone": 100 * float(claimed),
        }
        taken = {p.name.split(",")[0] for p in model.model_.contributions if p.weight >= TAKEN}
        for part in model.model_.sources:
            if part.name.startswith("adapted") and part.name in taken:
                row["adapted"] = share(part.predict(X[others]), classes, y[others])
        found.append({**cell, **row})
    return found


def share(scores, classes, y):
    return 100 * float(np.mean(classes[scores.argmax(axis=1)] == y))


def adaptation(options):
    groups = (
        [cell_of(case, level, model, None, 0, labels) for labels in (0, 10)]
        for case in (*JUDGED_ON, *CHOSEN_ON)
        for model, level in product(MODELS[:2] if "," in case else MODELS, (8.0, 1.0))
    )
    _bench.fill("adaptation", groups, adaptation_rows, again=options.again)


if __name__ == "__main__":
    _bench.main(__doc__, activity=activity, mnist=mnist_digits, adaptation=adaptation)
