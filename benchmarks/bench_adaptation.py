"""Unlabeled rows and few labels: what they add to a release alone, and whether they ever harm.

60,000 images are the source and 9,000 others the target, as pixels or as public oriented
gradients: MNIST, Fashion-MNIST (``fashion.npz`` of SKDP_DATA), and USPS digits, scaled to the size
of MNIST's. Ten people of human activity are the source and twenty the target. Amazon's photographs
of Office+Caltech are the source and Caltech's the target. Linear releases are those of sensors and
photographs: on images the others are better.
"""

import functools
from itertools import product

import _bench
import numpy as np
from _tables_data import LEAST
from _tasks import data_file, fashion, people, z_scores
from scipy.ndimage import zoom

from skdp import DPStatisticsSource, DPTransferClassifier, OrientedGradients
from skdp.datasets import fetch_mnist, fetch_usps, hide_labels

CHOSEN_ON = ("activity 0", "activity 1", "USPS, pixels", "office")
JUDGED_ON = (
    "Fashion-MNIST, gradients",
    "Fashion-MNIST, pixels",
    "activity 2",
    "activity 3",
    "MNIST, gradients",
    "USPS, gradients",
)
MODELS, LEVELS, LABELS = ("logistic", "mixtures", "linear"), (8.0, 1.0), (0, 10)
N_TARGET = 9000


def images(name):
    """Return source rows and target rows of 28 × 28 pixels, in [0, 1]."""
    if name == "Fashion-MNIST":
        return fashion()
    source = fetch_mnist(return_X_y=True)
    if name == "MNIST":
        return source, fetch_mnist(subset="test", return_X_y=True)
    X, y = fetch_usps(return_X_y=True)
    small = zoom(X.reshape(-1, 16, 16), (1, 20 / 16, 20 / 16), order=1)
    large = np.zeros((len(X), 28, 28), dtype=np.float32)
    large[:, 4:24, 4:24] = np.clip(small, 0, 1)
    return source, (large.reshape(len(X), -1), y)


def photographs():
    """Return rows of two domains; z-scores, clipped to [-3, 3] and scaled to [0, 1]."""
    with np.load(data_file("office_caltech_surf.npz")) as arrays:
        return [
            (np.clip(z_scores(arrays[f"X_{name}"]), -3, 3) / 6 + 0.5, arrays[f"y_{name}"])
            for name in ("amazon", "caltech")
        ]


@functools.lru_cache(maxsize=1)
def rows_of(case):
    """Return source rows and target rows of a case, each with labels."""
    if case == "office":
        return photographs()
    if case.startswith("activity"):
        return [(X.astype(np.float32), y) for X, y in people(int(case.split()[1]))]
    name, view = case.split(", ")
    parts = [(X, np.asarray(y, dtype=int)) for X, y in images(name)]
    parts[1] = tuple(each[:N_TARGET] for each in parts[1])
    if view == "gradients":
        parts = [(OrientedGradients().transform(X), y) for X, y in parts]
    return parts


def qualities(probabilities, classes, y):
    """Return accuracy, log loss and mean largest probability."""
    right = probabilities[np.arange(len(y)), np.searchsorted(classes, y)]
    return {
        "accuracy": 100 * float(np.mean(classes[probabilities.argmax(axis=1)] == y)),
        "log_loss": -float(np.log(np.maximum(right, LEAST)).mean()),
        "claimed": 100 * float(probabilities.max(axis=1).mean()),
    }


def measured(release, X, y, labels):
    """Return qualities of a release alone and of a transfer, on unlabeled rows."""
    marked = hide_labels(y, labels, random_state=0) if labels else np.full(len(y), -1)
    with _bench.Timer() as timer:
        model = DPTransferClassifier(release, random_state=0).fit(X, marked)
    others, classes = marked < 0, model.classes_
    alone = qualities(release.predict_proba(X[others]), release.classes, y[others])
    found = {
        **qualities(model.label_distributions_[others], classes, y[others]),
        **{f"{name}_alone": value for name, value in alone.items()},
        "weights": {each.name: float(each.weight) for each in model.model_.contributions},
        "seconds": timer.seconds,
    }
    for candidate in model.model_.candidates:
        if candidate.name.startswith("adapted"):
            scores = candidate.log_posteriors(X[others])
            found["adapted"] = 100 * float(np.mean(classes[scores.argmax(axis=1)] == y[others]))
    return found


def groups(cases):
    for case in cases:
        models = MODELS if "," not in case else MODELS[:2]
        for model, level in product(models, LEVELS):
            cell = {"case": case, "level": level, "model": model, "draw": 0}
            yield [{**cell, "labels": labels} for labels in LABELS]


def measure(cells):
    source, target = rows_of(cells[0]["case"])
    settings = {"classes": np.unique(source[1]), "model": cells[0]["model"]}
    release = DPStatisticsSource(cells[0]["level"], **settings).fit(*source).release_
    return [{**cell, **measured(release, *target, cell["labels"])} for cell in cells]


if __name__ == "__main__":
    parser = _bench.parser_of(__doc__)
    parser.add_argument("cases", nargs="*", default=(*JUDGED_ON, *CHOSEN_ON))
    _bench.complete("adaptation", groups(parser.parse_args().cases), measure)
