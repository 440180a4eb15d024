"""What the transfer experiments share: a few labels at random, a run, a row of results."""

import numpy as np
from _report import Timer
from sklearn.preprocessing import StandardScaler

from skdp import DPTransferClassifier
from skdp.datasets._digits import local_file

_PARTS = ("src_train", "tgt_train", "tgt_test")

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
    model = DPTransferClassifier(source, **{"n_jobs": -1, **settings})
    if source is None:
        model.set_params(unlabeled=-1)
    with Timer() as fit:
        model.fit(X, marked)
    with Timer() as predict:
        accuracy = model.score(X_test, y_test)
    hidden = marked < 0
    shares = {
        name: [round(share, 4) for share in model.history_[name]]
        for name in ("source_share", "source_weight", "trusted")
        if name in model.history_
    }
    return {
        "accuracy": 100 * accuracy,
        "transduction": 100 * float(np.mean(model.transduction_[hidden] == y[hidden])),
        "changed": model.history_["changed"],
        **shares,
        "fit_seconds": fit.seconds,
        "predict_seconds": predict.seconds,
    }


def office_trials(source, target, trials):
    """Yield source rows, labelled target rows and queries of the canonical trials.

    Rows are divided by their sum; columns are z-scores within each domain.
    """
    with np.load(local_file("office_caltech_surf.npz")) as arrays:
        data = {
            name: (_z_scores(arrays[f"X_{name}"]), arrays[f"y_{name}"])
            for name in (source, target)
        }
    with np.load(local_file("office_caltech_splits_hoffman20.npz")) as arrays:
        splits = {name: arrays[f"{source}__{target}__{name}"] for name in _PARTS}
    for k in range(trials):
        yield tuple(
            tuple(
                array[splits[name][k]] for array in data[source if name == "src_train" else target]
            )
            for name in _PARTS
        )


def _z_scores(counts):
    rows = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return StandardScaler().fit_transform(rows).astype(np.float32)
