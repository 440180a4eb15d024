"""Which rows to label: representative ones, in the middle of clusters, or a random choice?

The target's rows are divided into those to learn from, some of which are labeled, and those to be
predicted. Hospitals and tables have the sources of ``bench_shift.py`` with releases of noisy sums,
images and human activity those of ``bench_adaptation.py``; all are compared with no source, too.
"""

import functools
from itertools import product

import _bench
import _shift_data
import numpy as np
from bench_adaptation import qualities, rows_of
from sklearn.metrics import roc_auc_score

from skdp import DPStatisticsSource, DPTransferClassifier, representative_rows

EPSILON = 4.0
LABELS = (10, 30, 100)
IMAGES = ("USPS, pixels", "MNIST, pixels", "Fashion-MNIST, gradients", "activity 0")
N_LEARNING = 1500  # of images
# How labels are chosen. The uncertain ones are representative of rows that count as much as the
# release is uncertain of them.
CHOICES = ("random", "representative", "uncertain")


def releases_of(sources, **settings):
    model = DPStatisticsSource(EPSILON, **settings)
    return [model.fit(*rows).release_ for rows in sources]


@functools.lru_cache(maxsize=1)
def of_images(case):
    """Return the releases and the target of a case; its noise is the same in all draws."""
    source, target = rows_of(case)
    return releases_of([source], classes=np.unique(source[1]), model="logistic"), target


def table(case, draw):
    """Return releases, rows to learn from, rows to be predicted, and numeric rows of these."""
    if case in IMAGES:
        releases, (X, y) = of_images(case)
        order = np.random.RandomState(draw).permutation(len(y))
        learning, test = order[:N_LEARNING], order[N_LEARNING:]
        if case.startswith("activity"):
            learning, test = np.array_split(order, 2)
        parts = X[learning], y[learning], X[test], y[test]
        return releases, parts, (parts[0], parts[2])
    rows = _shift_data.scenario(case, draw)
    releases = releases_of(rows.sources.values(), encoder=rows.schema, model="linear")
    numeric = releases[0].encode(rows.X), releases[0].encode(rows.X_test)
    return releases, (rows.X, rows.y, rows.X_test, rows.y_test), numeric


def quality(model, X, y):
    """Return accuracy, log loss and area under the curve; None where a class has no label."""
    if not np.isin(y, model.classes_).all():
        return {"accuracy": 100 * model.score(X, y), "log_loss": None, "auc": None}
    p = model.predict_proba(X)
    found = qualities(p, model.classes_, y)
    areas = roc_auc_score(y, p[:, 1] if p.shape[1] == 2 else p, multi_class="ovr")
    return {"accuracy": found["accuracy"], "log_loss": found["log_loss"], "auc": float(areas)}


def chosen_rows(variant, n_labels, draw, X, probabilities):
    """Return the rows to label, of rows X of which a release says these probabilities."""
    if variant == "random":
        return np.random.RandomState(draw).permutation(len(X))[:n_labels]
    doubt = 1 - (probabilities**2).sum(axis=1) if variant == "uncertain" else None
    return representative_rows(X, n_labels, sample_weight=doubt, random_state=draw)


def measure(cells):
    """Return a row for each choice of labels, and each source, of one draw."""
    case, draw, n_labels = (cells[0][name] for name in ("case", "draw", "labels"))
    releases, (X, y, X_test, y_test), numeric = table(case, draw)
    probabilities = np.mean([release.predict_proba(X) for release in releases], axis=0)
    found = []
    for cell in cells:
        rows = chosen_rows(cell["variant"], n_labels, draw, numeric[0], probabilities)
        labels = np.full(len(y), -1)
        labels[rows] = y[rows]
        own = cell["level"] == "-"
        source = None if own else releases
        model = DPTransferClassifier(source, label_sampling="random", random_state=0)
        scores = {"accuracy": None, "log_loss": None, "auc": None}
        with _bench.Timer() as timer:
            if len(np.unique(y[rows])) > 1 or not own:
                model.fit(numeric[0] if own else X, labels)
                scores = quality(model, numeric[1] if own else X_test, y_test)
        found.append({**cell, **scores, "seconds": timer.seconds})
    return found


def cells_of(case, draw, n_labels):
    """Return what is compared in one draw."""
    head = {"case": case, "draw": draw, "labels": n_labels, "model": "noise_aware"}
    own = [{**head, "level": "-", "variant": each} for each in CHOICES if each != "uncertain"]
    return [{**head, "level": str(EPSILON), "variant": each} for each in CHOICES] + own


def groups(cases, draws):
    for draw, case, n_labels in product(range(draws), cases, LABELS):
        # Of some hospitals, half of the patients are fewer than a hundred.
        if n_labels < 100 or case not in ("Zurich-Basel", "Long Beach"):
            yield cells_of(case, draw, n_labels)


if __name__ == "__main__":
    parser = _bench.parser_of(__doc__, draws=10)
    parser.add_argument("targets", choices=("heart", "tables", "images"), nargs="*")
    options = parser.parse_args()
    known = {**_shift_data.TARGETS, "images": IMAGES}
    cases = [case for name in options.targets or known for case in known[name]]
    _bench.complete("labels", groups(cases, options.draws), measure)
