"""Targets that differ from their sources, and labels.

hospitals: what do the releases of three hospitals and few labels give a fourth one? Each is the
fourth in turn; a draw is a random choice of the patients whose diagnosis is known, and noise of
its own. Compared are the transfer from three releases and the labels; the three releases alone,
added up; a logistic regression of the labels alone, its penalty chosen by cross-validation; and
the same of these labels and all records of the other hospitals, which would need somebody to see
them all.

shift: transfers to four hospitals, tables split by a column, and adult by employer and by sex,
against either side alone; the page of tables says what is compared.

labels: which rows to label: representative ones, in the middle of clusters, or a random choice?
The target's rows are divided into those to learn from, some of which are labeled, and those to be
predicted. Hospitals and tables have the sources of "shift", images and activity those of
``bench_images.py``; all are compared with no source, too.
"""

import functools
from itertools import product

import _bench
import numpy as np
from _bench import cell_of
from _data import LEAST, TARGETS, arrays_of, representative_rows, scenario, smoothed
from _fits import by_transfer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import (
    DPStatisticsSource,
    DPTransferClassifier,
    Release,
    TabularEncoder,
)
from skdp.datasets import load_heart_disease

EPSILON = 4.0
NONE = "-"


def worth(y, p):
    return {"auc": roc_auc_score(y, p), "log_loss": log_loss(y, np.clip(p, LEAST, 1 - LEAST))}


def predictions(heart, encoded, target, n_labels, rng):
    """Yield each model's name, the patients it is asked about, and what it says of them."""
    X, y, hospital = heart.data, heart.target, heart.hospital

    def release_of(name):
        here = hospital == name
        return DPStatisticsSource(EPSILON, encoder=heart.schema).fit(X[here], y[here]).release_

    def logistic_regression(known):
        folds = min(5, *np.bincount(y[known], minlength=2))
        if folds < 2:  # one patient of a class or none: everybody gets the share of the ill
            return np.full(len(asked), smoothed(y[known]))
        settings = {"scoring": "neg_log_loss", "max_iter": 2000, "l1_ratios": (0.0,)}
        model = LogisticRegressionCV(Cs=10, cv=folds, **settings)
        return model.fit(encoded[known], y[known]).predict_proba(encoded[asked])[:, 1]

    own = rng.permutation(np.flatnonzero(target == hospital))
    known, asked = own[:n_labels], own[n_labels:]
    releases = [release_of(name) for name in dict.fromkeys(hospital) if name != target]
    labels = np.where(np.arange(len(own)) < n_labels, y[own], -1)
    model = DPTransferClassifier(releases, label_sampling="random", random_state=0)
    yield "transfer", asked, model.fit(X.iloc[own], labels).predict_proba(X.iloc[asked])[:, 1]
    merged = Release.merge(releases, disjoint=True)
    yield "releases alone", asked, merged.predict_proba(X.iloc[asked])[:, 1]
    yield "labels alone", asked, logistic_regression(known)
    pooled = np.r_[np.flatnonzero(target != hospital), known]
    yield "all records, not private", asked, logistic_regression(pooled)


def hospital_rows(draws, n_labels):
    heart = load_heart_disease()
    encoded = TabularEncoder(heart.schema).fit_transform(heart.data)
    for draw in range(draws):
        found: dict = {}
        for target in dict.fromkeys(heart.hospital):
            rng = np.random.default_rng(draw)
            for model, asked, p in predictions(heart, encoded, target, n_labels, rng):
                found.setdefault(model, []).append(worth(heart.target[asked], p))
        for model, scores in found.items():
            means = {name: float(np.mean([s[name] for s in scores])) for name in scores[0]}
            yield {"model": model, "draw": draw, **means, "labels": n_labels, "level": EPSILON}


def hospitals(options):
    settings = {"draws": options.draws or 20, "labels": 30}
    _bench.save("hospitals", hospital_rows(settings["draws"], 30), settings)


# Draws; of targets with more rows to learn from than this: their test halves are large, too.
DRAWS, FEW_DRAWS, MANY_ROWS = 6, 4, 1000
# Labels and how they are drawn; None: all.
LABELS = ((0, NONE), (10, "random"), (10, "stratified"), (30, "random"), (30, "stratified"))
LABELS = (*LABELS, (None, NONE))


def logistic_regression(y):
    """Return a logistic regression of columns of unit variance, its strength by log loss."""
    n_folds = min(5, np.bincount(y).min())
    if n_folds < 2:  # of a class with a single label there is no fold to leave out
        return LogisticRegression(C=0.1, max_iter=1000)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    settings = {"scoring": "neg_log_loss", "max_iter": 1000, "l1_ratios": (0,)}
    return LogisticRegressionCV(Cs=np.logspace(-3, 1, 9), cv=folds, **settings)


def boosting(y):
    # A rate of 0.1, the default, was worse: log loss .53 against .46, all labels, seven targets.
    return HistGradientBoostingClassifier(learning_rate=0.03, random_state=0)


ALONE = {"labels": logistic_regression, "boosting": boosting}


def alone(model, rows, known):
    """Return probabilities of the test rows by labels alone."""
    shown = np.array([label is not None for label in known])
    y = known[shown].astype(int)
    if len(np.unique(y)) < 2:
        return np.full(len(rows.y_test), smoothed(y))
    scale = make_pipeline(TabularEncoder(rows.schema), StandardScaler()).fit(rows.X)
    fitted = ALONE[model](y).fit(scale.transform(rows.X)[shown], y)
    return fitted.predict_proba(scale.transform(rows.X_test))[:, 1]


def by_release(releases, rows):
    """Return probabilities of the test rows by releases alone, the mean of log-probabilities."""
    logs = [np.log(release.predict_proba(rows.X_test)) for release in releases]
    odds = np.mean([log[:, 1] - log[:, 0] for log in logs], axis=0)
    return 1 / (1 + np.exp(-odds))


def transfers(rows, draw, releases):
    """Yield model, sampling, labels and probabilities of releases alone and of transfers."""
    yield "release", NONE, 0, by_release(releases, rows)
    frequency = rows.y.mean()
    prior = {0: 1 - frequency, 1: frequency}
    for n, how in LABELS:
        known = None if n == 0 else rows.known(n, how, draw)
        sampling = "auto" if how == NONE else how
        for model, given in (("transfer", None), ("class prior", prior)):
            settings = {"label_sampling": sampling, "class_prior": given}
            yield model, how, n, by_transfer(releases, rows, known, **settings)


def shift_rows(target, draw):
    """Yield level, source, model, sampling, labels and probabilities of one draw of a target."""
    rows = scenario(target, draw)
    for (n, how), model in product(LABELS[1:], ALONE):
        yield NONE, NONE, model, how, n, alone(model, rows, rows.known(n, how, draw))
    for epsilon in (4.0, 1.0):
        source = DPStatisticsSource(epsilon, encoder=rows.schema, classes=(0, 1))
        sets = {name: [source.fit(*own).release_] for name, own in rows.sources.items()}
        if len(sets) > 1:
            sets["all"] = [release for (release,) in sets.values()]
        for name, releases in sets.items():
            for row in transfers(rows, draw, releases):
                yield f"record {epsilon:g}", name, *row


def shift(options):
    def rows():
        names = ("level", "source", "model", "variant", "labels")
        for task, targets in TARGETS.items():
            for target in targets:
                draws = FEW_DRAWS if len(scenario(target, 0).y) > MANY_ROWS else DRAWS
                for draw in range(min(draws, options.draws or DRAWS)):
                    y_test = scenario(target, draw).y_test
                    for *key, p in shift_rows(target, draw):
                        head = {"task": task, "case": target, "draw": draw}
                        yield head | dict(zip(names, key, strict=True)) | worth(y_test, p)

    _bench.save("shift", rows(), {"draws": options.draws or DRAWS})


IMAGES = ("USPS, pixels", "MNIST, pixels", "Fashion-MNIST, gradients", "activity 0")
# How labels are chosen. The uncertain ones are representative of rows that count as much as the
# release is uncertain of them.
CHOICES = ("random", "representative", "uncertain")


@functools.lru_cache(maxsize=1)
def image_release(case):
    """Return the release of a case; its noise is the same in all draws."""
    X, y = arrays_of(case)[0]
    return DPStatisticsSource(EPSILON, classes=np.unique(y), model="logistic").fit(X, y).release_


def labels_table(case, draw):
    """Return releases, rows to learn from, rows to be predicted, and numeric rows of these."""
    if case in IMAGES:
        X, y = arrays_of(case)[1]
        order = np.random.RandomState(draw).permutation(len(y))
        learning, test = order[:1500], order[1500:]
        if case.startswith("activity"):
            learning, test = np.array_split(order, 2)
        parts = X[learning], y[learning], X[test], y[test]
        return [image_release(case)], parts, (parts[0], parts[2])
    rows = scenario(case, draw)
    source = DPStatisticsSource(EPSILON, encoder=rows.schema, model="linear")
    releases = [source.fit(*own).release_ for own in rows.sources.values()]
    numeric = releases[0].encode(rows.X), releases[0].encode(rows.X_test)
    return releases, (rows.X, rows.y, rows.X_test, rows.y_test), numeric


def quality(model, X, y):
    """Return accuracy, log loss and area under the curve; None where a class has no label."""
    if not np.isin(y, model.classes_).all():
        return {"accuracy": 100 * model.score(X, y), "log_loss": None, "auc": None}
    p, classes = model.predict_proba(X), model.classes_
    right = p[np.arange(len(y)), np.searchsorted(classes, y)]
    areas = roc_auc_score(y, p[:, 1] if p.shape[1] == 2 else p, multi_class="ovr")
    return {
        "accuracy": 100 * float(np.mean(classes[p.argmax(axis=1)] == y)),
        "log_loss": -float(np.log(np.maximum(right, LEAST)).mean()),
        "auc": float(areas),
    }


def chosen_rows(variant, n_labels, draw, X, probabilities):
    """Return the rows to label, of rows X of which a release says these probabilities."""
    if variant == "random":
        return np.random.RandomState(draw).permutation(len(X))[:n_labels]
    doubt = 1 - (probabilities**2).sum(axis=1) if variant == "uncertain" else None
    return representative_rows(X, n_labels, sample_weight=doubt, random_state=draw)


def label_rows(cells):
    """Return a row for each choice of labels, and each source, of one draw."""
    case, draw, n_labels = (cells[0][name] for name in ("case", "draw", "labels"))
    releases, (X, y, X_test, y_test), numeric = labels_table(case, draw)
    probabilities = np.mean([release.predict_proba(X) for release in releases], axis=0)
    found = []
    for cell in cells:
        rows = chosen_rows(cell["variant"], n_labels, draw, numeric[0], probabilities)
        labels = np.full(len(y), -1)
        labels[rows] = y[rows]
        own = cell["level"] == NONE
        source = None if own else releases
        model = DPTransferClassifier(source, label_sampling="random", random_state=0)
        scores = {"accuracy": None, "log_loss": None, "auc": None}
        if len(np.unique(y[rows])) > 1 or not own:
            model.fit(numeric[0] if own else X, labels)
            scores = quality(model, numeric[1] if own else X_test, y_test)
        found.append({**cell, **scores})
    return found


def labels(options):
    cases = (*TARGETS["heart"], *TARGETS["tables"], *IMAGES)
    compared = [(str(EPSILON), each) for each in CHOICES] + [(NONE, each) for each in CHOICES[:2]]
    groups = (
        [cell_of(case, level, "noise_aware", each, draw, n) for level, each in compared]
        for draw, case, n in product(range(options.draws or 10), cases, (10, 30, 100))
        # Of some hospitals, half of the patients are fewer than a hundred.
        if n < 100 or case not in ("Zurich-Basel", "Long Beach")
    )
    _bench.fill("labels", groups, label_rows, again=options.again)


if __name__ == "__main__":
    _bench.main(__doc__, hospitals=hospitals, shift=shift, labels=labels)
