"""What the transfer experiments share: a few labels at random, a run, a row of results."""

import numpy as np
from _report import Timer

from skdp import DPTransferClassifier

# Three more rounds than the papers have.
LONGER = {
    "n_components": (4, 6, 8, 10, 15, 20, 20),
    "n_inducing": (1 / 10, 1 / 8, 1 / 6, 1 / 4, 1 / 4, 1 / 2, 1 / 2),
}


def draw_labels(y, per_class, seed):
    """Return y with all labels but ``per_class`` random ones of each class marked by -1."""
    rng = np.random.RandomState(seed)
    shown = [rng.permutation(np.flatnonzero(y == c))[:per_class] for c in np.unique(y)]
    marked = np.full(len(y), -1)
    marked[np.concatenate(shown)] = y[np.concatenate(shown)]
    return marked


def transfer(source, X, y, marked, X_test, y_test, **settings):
    """Fit once, and return accuracies in per cent and seconds."""
    model = DPTransferClassifier(source, n_jobs=-1, **settings)
    if source is None:
        model.set_params(unlabeled=-1)
    with Timer() as fit:
        model.fit(X, marked)
    with Timer() as predict:
        accuracy = model.score(X_test, y_test)
    hidden = marked < 0
    rounded = [round(share, 4) for share in model.history_["source_share"]]
    return {
        "accuracy": 100 * accuracy,
        "transduction": 100 * float(np.mean(model.transduction_[hidden] == y[hidden])),
        "changed": model.history_["changed"],
        "source_share": rounded,
        "fit_seconds": fit.seconds,
        "predict_seconds": predict.seconds,
    }
