"""What a release claims: probabilities of several classes, and how well it tells two apart.

classes: linear releases of adult's occupation, marital status and relationship, human activity and
simulated diagnoses, each judged on other rows of its own distribution. models: mixtures and
regressions of digits, clothes and human activity. areas: expected areas under the ROC curve, and
those on other rows. Rows whose variant is a commit are what the package said then.
"""

from functools import partial
from itertools import product

import _bench
import numpy as np
import pandas as pd
from _files import load_table
from _tables_peers import TABLES
from _tasks import fashion, people
from bench_adaptation import qualities as class_qualities
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skdp import DPStatisticsSource, TabularEncoder
from skdp.datasets import fetch_mnist, load_adult, load_heart_disease
from skdp.release import BasisFunctions

CLASS_LEVELS = (1.0, 4.0, 16.0, np.inf)
MODEL_LEVELS = (1.0, 8.0)
AREA_LEVELS = (0.5, 1.0, 2.0, 4.0, 8.0)
SUBSAMPLES = (150, 300, 1000)
HEART_LEVELS, HEART_DRAWS, HEART_PART = (1.0, 4.0), 15, 0.6
N_TEST = 6000


def split(X, y, n, draw):
    order = np.random.RandomState(draw).permutation(len(y))
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    source, test = order[:n], order[n : n + N_TEST]
    return take(source), y[source], take(test), y[test]


def activity(draw):
    """Ten people; the bounds are percentiles of the others."""
    (X, y), _ = people(0)
    return *split(X, y, int(0.8 * len(y)), draw), {"classes": range(6)}


def column_of_adult(name, draw):
    data = load_adult(random_state=0)
    frame, columns = data.data, dict(data.schema["columns"])
    column = columns.pop(name)
    columns["income"] = {**column, "categories": list(data.schema["classes"])}
    frame = frame.assign(income=data.target)
    labels = frame.pop(name)
    known = labels.notna().to_numpy()
    y = labels[known].to_numpy().astype(object)
    classes = [c for c in column["categories"] if (y == c).any()]
    schema = {"version": 1, "columns": columns, "classes": classes}
    return *split(frame[known], y, 20_000, draw), {"encoder": schema}


def diagnoses(draw):
    """Eight classes of unequal frequency: eight skewed laboratory values, eight symptoms."""
    rng, K = np.random.RandomState(77), 8
    pi = np.array([0.3, 0.2, 0.15, 0.12, 0.08, 0.07, 0.05, 0.03])
    means, sds = 0.45 * rng.randn(K, 8), np.exp(0.3 * rng.randn(K, 8))
    often = expit(0.7 * rng.randn(K, 8) - 0.7)
    rng = np.random.RandomState(1000 + draw)
    y = rng.choice(K, 14_000, p=pi)
    values = means[y] + sds[y] * rng.randn(len(y), 8)
    values[:, 1] += 0.6 * values[:, 0]
    values[:, 4:] = np.exp(0.5 * values[:, 4:])
    low, high = np.repeat([-4.0, 0.0], 4), np.repeat([4.0, 6.0], 4)
    frame = pd.DataFrame(np.clip((values - low) / (high - low), 0, 1)).add_prefix("value ")
    symptoms = pd.DataFrame((rng.rand(len(y), 8) < often[y]).astype(int)).add_prefix("symptom ")
    columns = {name: {"type": "numeric", "low": 0, "high": 1} for name in frame}
    columns |= {name: {"type": "category", "categories": [0, 1]} for name in symptoms}
    schema = {"version": 1, "columns": columns, "classes": list(range(K))}
    return *split(frame.join(symptoms), y, 8000, draw), {"encoder": schema}


def digits(draw):
    X, y = fetch_mnist(return_X_y=True)
    return *split(X.astype(np.float32), y, 9000, draw), {"classes": range(10)}


def clothes(draw):
    return *split(*fashion()[0], 9000, draw), {"classes": range(10)}


CLASSES = {
    "human activity": activity,
    "occupation": partial(column_of_adult, "occupation"),
    "marital status": partial(column_of_adult, "marital-status"),
    "relationship": partial(column_of_adult, "relationship"),
    "diagnoses": diagnoses,
}
MODELS = {"digits": digits, "clothes": clothes, "human activity": activity}
# Data, models and levels.
PARTS = {
    "classes": (CLASSES, ("linear",), CLASS_LEVELS),
    "models": (MODELS, ("mixtures", "logistic"), MODEL_LEVELS),
}


def qualities(classes, probabilities, y):
    order = np.argsort(classes)
    found = class_qualities(probabilities[:, order], classes[order], y)
    shares = {"accuracy": found["accuracy"] / 100, "claim": found["claimed"] / 100}
    return {"log_loss": found["log_loss"], **shares}


def without_noise(X, y, X_test, y_test, settings):
    """Return what a logistic regression is worth on the same functions of the columns."""
    if "encoder" in settings:
        encoder = TabularEncoder(settings["encoder"]).fit(X)
        basis = BasisFunctions.of_columns(encoder.column_kinds_)
        X, X_test = (basis.encode(encoder.transform(part)) for part in (X, X_test))
    model = LogisticRegression(C=1.0, max_iter=500).fit(X, y)
    return qualities(model.classes_, model.predict_proba(X_test), y_test)


def release_rows(part, draws):
    """Yield cells of releases, and of classes also what has no noise, with what measures them."""
    loads, models, levels = PARTS[part]
    for (case, load), draw in product(loads.items(), range(draws)):
        *data, settings = load(draw)
        if part == "classes":
            yield cell(case, "-", "logistic", draw, "-"), partial(without_noise, *data, settings)
        for model, epsilon in product(models, levels):
            own = settings if "encoder" in settings else {**settings, "model": model}
            yield cell(case, f"{epsilon:g}", model, draw), partial(released, epsilon, own, *data)


def cell(case, level, model, draw, code="now"):
    return {"case": case, "level": level, "model": model, "variant": code, "draw": draw}


def released(epsilon, settings, X, y, X_test, y_test):
    release = DPStatisticsSource(epsilon, **settings).fit(X, y).release_
    return qualities(release.classes, release.predict_proba(X_test), y_test)


def area_rows(part, draws):
    for table in TABLES:
        data = load_table(table, 0)
        for n in SUBSAMPLES:
            if n <= 0.6 * len(data.target):
                whole = data.data, data.target, data.schema, n
                yield from areas_of(table, whole, AREA_LEVELS, draws)
    heart = load_heart_disease()
    for name in heart.hospital_names:
        here = np.asarray(heart.hospital) == name
        part = heart.data[here].reset_index(drop=True), np.asarray(heart.target)[here]
        whole = *part, heart.schema, int(HEART_PART * here.sum())
        yield from areas_of(f"heart {name}", whole, HEART_LEVELS, HEART_DRAWS)


def areas_of(case, whole, levels, draws):
    X, y, schema, n = whole
    for draw in range(draws):
        parts = split(X, y, n, 100 + draw)
        if min(len(np.unique(parts[1])), len(np.unique(parts[3]))) < 2:
            continue
        for epsilon in levels:
            place = cell(case, f"{epsilon:g}", "areas", draw) | {"labels": n}
            yield place, partial(area, epsilon, schema, *parts)


def area(epsilon, schema, X, y, X_test, y_test):
    release = DPStatisticsSource(epsilon, encoder=schema).fit(X, y).release_
    scores = release.scores(X_test)
    found = {
        "auc": roc_auc_score(y_test == release.classes[1], scores[:, 1] - scores[:, 0]),
        "expected": float(release.linear.expected_auc[0, 1]),
    }
    interval = getattr(release.linear, "auc_interval", None)
    if interval is not None:
        found |= {"low": float(interval[0][0, 1]), "high": float(interval[1][0, 1])}
    return found


def groups(parts, draws):
    for part in parts:
        rows = release_rows if part in PARTS else area_rows
        for place, measure in rows(part, draws):
            yield [place | {"part": part, "measure": measure}]


def measure(cells):
    row = dict(cells[0])
    measured = row.pop("measure")
    return [row | measured()]


if __name__ == "__main__":
    options = _bench.options_of(__doc__, parts=",".join((*PARTS, "areas")), draws=3)
    _bench.complete("calibration", groups(_bench.names(options.parts), options.draws), measure)
