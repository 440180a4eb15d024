"""Records of tables: this package and others on the same rows, and a target with few labels.

peers: every method of ``_peers.CLASSES`` is fitted to the rows of the source and scored on the
target's test rows. ``--peers diffprivlib=PATH interpret=PATH opacus=PATH`` names interpreters of
environments that have numpy and the peer (``pip install interpret-core``; ``diffprivlib``, which
wants ``"scikit-learn<1.6"``; ``torch==2.13.0 opacus``): their versions exclude one another. A peer
without one is left out. Seconds are those of a processor.

synthetic: models that see synthetic rows alone, which dpmm makes by noisy marginals, as many as
the source has (``--peers dpmm=PATH``, Python 3.11); and the release of the same rows.

records: what few labels, a release, and both together are worth, by releases for whole records
(noisy statistics) or single elements (noisy rows). Each draw has splits, labels and noise of its
own; what is compared comes from the same release.
"""

from itertools import product

import _bench
import numpy as np
from _bench import cell_of
from _data import LEAST, TABLES, table, view
from _peers import CLASSES, LEARNERS, SYNTHETIC, answer, asking
from _peers import OWN as RELEASE
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, log_loss, roc_auc_score
from sklearn.semi_supervised import SelfTrainingClassifier

from skdp import DPSource, DPStatisticsSource, DPTransferClassifier, TabularEncoder

SEEDS = {True: 20, False: 10}  # of a method that runs here, and of others
# Whole records by noisy statistics; elements by noisy rows.
LEVELS = ("record 4", "record 1", "16", "4")
# Labeled rows of each class.
LABELS = (0, 10)
# The target's own models, and how many labels each has; None: those of all its rows.
OWN = {"target": LABELS[-1], "self-training": LABELS[-1], "all labels": None}


def peers(options):
    """Keys of all rows, seed by seed, so that an interrupted run has whole seeds."""
    asks = {
        name: asking("CLASSES", name, options.peers.get(method.python))
        for name, method in CLASSES.items()
    }

    def measure(cells):
        [cell] = cells
        rows = view(CLASSES[cell["model"]].view, cell["case"], cell["draw"])
        reply = asks[cell["model"]](rows, cell["level"], cell["draw"])
        return [{**cell, **judged(rows.y_test, np.array(reply.pop("scores"))), **reply}]

    groups = (
        [cell_of(name, level, model, "default", seed, None)]
        for seed, name, model in product(range(max(SEEDS.values())), TABLES, CLASSES)
        if asks[model] and seed < (options.draws or SEEDS[CLASSES[model].python is None])
        for level in CLASSES[model].levels
    )
    _bench.fill("tables_peers", groups, measure, again=options.again)


def judged(y, scores):
    """Return what log-odds are worth."""
    return {
        "auc": roc_auc_score(y, scores),
        "log_loss": log_loss(y, expit(scores)),
        "brier": brier_score_loss(y, expit(scores)),
        "accuracy": 100 * np.mean((scores > 0) == y),
    }


# Of AIM only the smallest table: the others take more than ten minutes.
SYNTHETIC_TABLES, SMALLEST = ("adult", "whas500", "actg320"), "whas500"


def synthetic(options):
    asks = {m: asking("SYNTHETIC", m, options.peers.get("dpmm")) for m in SYNTHETIC}

    def measure(cells):
        cell = cells[0]
        level, draw = cell["level"], cell["draw"]
        rows = view("frame" if cell["model"] == RELEASE else "encoded", cell["case"], draw)
        if cell["model"] == RELEASE:
            reply = answer(CLASSES, RELEASE, rows, level, draw)
        else:
            reply = asks[cell["model"].partition(", ")[0]](rows, level, draw)
        scores = np.atleast_2d(reply.pop("scores"))
        pairs = zip(cells, scores, strict=True)
        return [{**each, **judged(rows.y_test, of), **reply} for each, of in pairs]

    groups = (
        [cell_of(name, level, model, "default", draw, None) for model in models]
        for draw, name, maker in product(
            range(options.draws or 1), SYNTHETIC_TABLES, (RELEASE, *SYNTHETIC)
        )
        for models in [[RELEASE] if maker == RELEASE else [f"{maker}, {of}" for of in LEARNERS]]
        if maker == RELEASE or (asks[maker] and (maker != "AIM" or name == SMALLEST))
        for level in SYNTHETIC["MST"].levels
    )
    _bench.fill("synthetic", groups, measure, again=options.again)


def worth(truth, probabilities):
    """Return what probabilities of the last class are worth."""
    return {
        "auc": roc_auc_score(truth, probabilities),
        "log_loss": log_loss(truth, np.clip(probabilities, LEAST, 1 - LEAST)),
        "brier": brier_score_loss(truth, probabilities),
        "balanced_accuracy": balanced_accuracy_score(truth, probabilities > 0.5),
    }


def labeled(data, n_labels):
    """Return the labeled rows of the target, so many of each class; all to learn from: None."""
    if n_labels is None:
        return data.learning
    of_class = [data.labeled[data.target[data.labeled] == c] for c in data.schema["classes"]]
    return np.concatenate([rows[:n_labels] for rows in of_class])


def by_target(data, cell):
    """Return what a model is worth that knows no source."""
    Z = TabularEncoder(data.schema).fit_transform(data.data)
    y = (data.target == data.schema["classes"][-1]).astype(int)
    model, rows = LogisticRegression(C=1.0, max_iter=1000), labeled(data, cell["labels"])
    known = np.full(len(y), -1)
    known[rows] = y[rows]
    if cell["model"] == "self-training":
        model, rows = SelfTrainingClassifier(model), data.learning
    model.fit(Z[rows], known[rows])
    return {**cell, **worth(y[data.test], model.predict_proba(Z[data.test])[:, 1])}


def by_release(data, release, cell):
    """Return what a release is worth, or a transfer from it."""
    model, classes, frame = release, release.classes, data.data
    if cell["model"] == "transfer":
        known, rows = np.full(len(data.target), None), labeled(data, cell["labels"])
        known[rows] = data.target[rows]
        model = DPTransferClassifier(release, random_state=0)
        model.fit(frame.iloc[data.learning], known[data.learning] if cell["labels"] else None)
        classes = model.classes_
    last = data.schema["classes"][-1]
    probabilities = model.predict_proba(frame.iloc[data.test])[:, classes.tolist().index(last)]
    return {**cell, **worth(data.target[data.test] == last, probabilities)}


def record_rows(cells):
    level, data = cells[0]["level"], table(cells[0]["case"], cells[0]["draw"])
    if level == "-":
        return [by_target(data, cell) for cell in cells]
    source = DPStatisticsSource if level.startswith("record") else DPSource
    rows = data.data.iloc[data.source], data.target[data.source]
    release = source(_bench.epsilon_of(level), encoder=data.schema).fit(*rows).release_
    return [by_release(data, release, cell) for cell in cells]


def records(options):
    models = [("source", 0), *(("transfer", n) for n in LABELS)]
    sets = [("-", OWN.items()), *((level, models) for level in LEVELS)]
    groups = (
        [cell_of(name, level, model, None, draw, n) for model, n in of_level]
        for draw, name, (level, of_level) in product(range(options.draws or 10), TABLES, sets)
    )
    _bench.fill("records", groups, record_rows, again=options.again)


if __name__ == "__main__":
    _bench.main(__doc__, peers=peers, synthetic=synthetic, records=records)
