"""Rows of owners and of targets: images and signals, tables, and tables of numbers and times."""

import functools
import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from _peers import Rows
from scipy.ndimage import zoom
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from skdp import OrientedGradients, Schema, TabularEncoder
from skdp.datasets import fetch_mnist, fetch_usps, hide_labels, load_heart_disease, two_sides
from skdp.release import BasisFunctions

FOLDER = Path(os.environ.get("SKDP_DATA", "SKDP_DATA"))
# Least difference from 0 or 1 of a probability whose logarithm is taken.
LEAST = 1e-12


def data_file(name):
    """Return the path of a file for which there is no public download."""
    if not (FOLDER / name).is_file():
        raise FileNotFoundError(f"Set SKDP_DATA to a folder that holds {name}; it is {FOLDER}")
    return FOLDER / name


# Images and signals.


def mnist():
    """Return training rows of MNIST, their labels, and the same of test rows."""
    parts = (fetch_mnist(subset=subset, return_X_y=True) for subset in ("train", "test"))
    return sum(map(tuple, parts), ())


def transfer_task(table, case):
    """Return two functions: source rows and labels of a draw, and the target of a draw.

    ``target(draw, labels, choice)`` gives rows, labels, labels with all but so many of each class
    marked by -1, test rows and their labels. Features are in [0, 1]; those of office are z-scores.
    """
    if table == "office":
        return _office(*case.split(" to "))
    source, *data = _activity() if table == "activity" else _digits(*table.split("-"))
    return lambda draw: source, functools.partial(_target, *data)


def representative_rows(X, n_rows, *, sample_weight=None, random_state=None):
    """Return rows in the middle of so many clusters, those of large clusters first."""
    rng = np.random.RandomState(random_state)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        clusters = KMeans(n_rows, random_state=rng).fit(X, sample_weight=sample_weight)
    sizes, chosen = np.bincount(clusters.labels_, minlength=n_rows), []
    for k in np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]:
        members = np.flatnonzero(clusters.labels_ == k)
        middle = clusters.cluster_centers_[[k]]
        chosen.append(members[pairwise_distances_argmin(middle, X[members])[0]])
    # Where there are fewer distinct rows than clusters, some clusters are empty.
    others = rng.permutation(np.setdiff1d(np.arange(len(X)), chosen))
    return np.append(chosen, others[: n_rows - len(chosen)]).astype(int)


def _target(X, y, X_test, y_test, draw, labels, choice=None):
    """Return the target of a draw, with labels of random, representative or typical rows."""
    if choice is None:
        return X, y, hide_labels(y, labels, random_state=draw), X_test, y_test
    classes, marked = np.unique(y), np.full(len(y), -1)
    if choice == "representative":  # without a look at labels
        rows = representative_rows(X, labels * len(classes), random_state=draw)
    else:
        groups = [np.flatnonzero(y == label) for label in classes]
        rows = [g[representative_rows(X[g], labels, random_state=draw)] for g in groups]
        rows = np.concatenate(rows)
    marked[rows] = y[rows]
    return X, y, marked, X_test, y_test


def _digits(source, target):
    load = {"mnist": fetch_mnist, "usps": fetch_usps}
    X, y = load[target](return_X_y=True)
    X_test, y_test = load[target](subset="test", return_X_y=True)
    if source == target:  # the papers' split
        X, X_test, y, y_test = X_test[:9000], X_test[9000:], y_test[:9000], y_test[9000:]
    return load[source](return_X_y=True), X[:10_000], y[:10_000], X_test, y_test


def _activity():
    """Ten people are the source, twenty the target."""
    (X_source, y_source), (X, y) = people(0)
    train, test = shuffled_parts(len(y), 1)
    X_source, X = (rows.astype(np.float32) for rows in (X_source, X))
    return (X_source, y_source), X[train], y[train], X[test], y[test]


def people(draw):
    """Return rows and labels of ten people of human activity, and of the twenty others.

    Columns are in [0, 1] by the 1st and 99th percentile of the others, which stand for public
    bounds: they must not come from the source's rows.
    """
    with np.load(data_file("uci_har_features_derived.npz"), allow_pickle=False) as arrays:
        X, y, groups = (
            np.concatenate([arrays[f"{part}_{side}"] for side in ("train", "test")])
            for part in ("X", "y", "subject")
        )
    order = np.random.RandomState(draw).permutation(np.unique(groups.astype(np.int64)))
    source, y = np.isin(groups, order[:10]), y.astype(np.int64)
    low, high = np.percentile(X[~source], [1, 99], axis=0)
    X = np.clip((X - low) / (high - low), 0, 1)
    return [(X[rows], y[rows]) for rows in (source, ~source)]


def shuffled_parts(n, seed, share=0.8):
    return np.split(np.random.RandomState(seed).permutation(n), [int(share * n)])


def _office(source, target):
    trials = functools.partial(office_trial, source, target)

    def known(draw, labels, choice=None):  # its labels are canonical
        _, (Xl, yl), (Xq, yq) = trials(draw)
        marked = np.append(yl, np.full(len(yq), -1))
        return np.concatenate([Xl, Xq]), np.append(yl, yq), marked, Xq, yq

    return lambda draw: trials(draw)[0], known


@functools.lru_cache(maxsize=1)  # the three parts of a trial are one value
def office_trial(source, target, k):
    """Return source rows, labeled target rows and queries of a canonical trial.

    Rows are divided by their sum; columns are z-scores within each domain.
    """
    data = dict(zip((source, target), photographs(source, target), strict=True))
    with np.load(data_file("office_caltech_splits_hoffman20.npz")) as arrays:
        parts = zip((source, target, target), ("src_train", "tgt_train", "tgt_test"), strict=True)
        chosen = [(name, arrays[f"{source}__{target}__{part}"][k]) for name, part in parts]
    return tuple(tuple(array[rows] for array in data[name]) for name, rows in chosen)


def photographs(*domains):
    """Return z-scores and labels of some domains of Office+Caltech."""
    with np.load(data_file("office_caltech_surf.npz")) as arrays:
        return [(z_scores(arrays[f"X_{name}"]), arrays[f"y_{name}"]) for name in domains]


def z_scores(counts):
    rows = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return StandardScaler().fit_transform(rows).astype(np.float32)


@functools.lru_cache(maxsize=1)
def arrays_of(case):
    """Return source rows and target rows in [0, 1], each with labels.

    Cases are "office" (Amazon and Caltech, z-scores clipped to [-3, 3]), "activity" with a draw,
    and MNIST, USPS and Fashion-MNIST as pixels of 28 × 28 or oriented gradients; 9,000 images of a
    target at most.
    """
    if case == "office":
        return [(np.clip(X, -3, 3) / 6 + 0.5, y) for X, y in photographs("amazon", "caltech")]
    if case.startswith("activity"):
        return [(X.astype(np.float32), y) for X, y in people(int(case.split()[1]))]
    name, view = case.split(", ")
    parts = [(X, np.asarray(y, dtype=int)) for X, y in _images(name)]
    parts[1] = tuple(each[:9000] for each in parts[1])
    if view == "gradients":
        parts = [(OrientedGradients().transform(X), y) for X, y in parts]
    return parts


def _images(name):
    if name == "Fashion-MNIST":
        with np.load(data_file("fashion.npz")) as arrays:
            parts = [(arrays[f"X_{part}"], arrays[f"y_{part}"]) for part in ("train", "test")]
        return [((X.reshape(len(X), -1) / 255).astype(np.float32), y) for X, y in parts]
    source = fetch_mnist(return_X_y=True)
    if name == "MNIST":
        return source, fetch_mnist(subset="test", return_X_y=True)
    X, y = fetch_usps(return_X_y=True)  # scaled to the size of MNIST's
    small = zoom(X.reshape(-1, 16, 16), (1, 20 / 16, 20 / 16), order=1)
    large = np.zeros((len(X), 28, 28), dtype=np.float32)
    large[:, 4:24, 4:24] = np.clip(small, 0, 1)
    return source, (large.reshape(len(X), -1), y)


# The six tables with a source and a target, and the four hospitals.
TABLES = ("adult", "flchain", "whas500", "actg320", "actg175", "randhie")
HEART = "heart disease"
# Rows of the source: those with a value in a column, or so many at random.
VALUES = {"flchain": ("sex", "F"), "actg175": ("race", 0)}
SIZES = {"adult": 20_000, "whas500": 250, "actg320": 600, "randhie": 8_000}


@functools.lru_cache(maxsize=2)
def table(name, seed):
    """Return a table with its public schema, and rows of a source and of a target, the others."""
    rng = np.random.RandomState(seed)
    about = json.loads((FOLDER / "tabular" / "schemas.json").read_text(encoding="utf-8"))[name]
    frame = pd.read_csv(FOLDER / "tabular" / f"{name}.csv.gz")
    y = frame.pop(about["label"]).to_numpy()
    if name in VALUES:
        column, value = VALUES[name]
        is_source = frame[column].to_numpy() == value
    else:
        is_source = np.zeros(len(frame), dtype=bool)
        is_source[rng.permutation(len(frame))[: SIZES[name]]] = True
    return Bunch(**two_sides(frame, y, about, is_source, rng))


def whole(name):
    """Return rows, labels and the schema of one of the six tables, or of the four hospitals."""
    data = load_heart_disease() if name == HEART else table(name, 0)
    return data.data, np.asarray(data.target), Schema.from_mapping(data.schema)


@functools.cache
def encoded(name):
    """Return all rows as the package encodes them, in [0, 1], and the kind of each column."""
    data = table(name, 0)
    encoder = TabularEncoder(data.schema).fit(data.data)
    return encoder.transform(data.data), encoder.column_kinds_


def centered(name):
    """Return encoded rows, with numeric and binary columns in [-1/2, 1/2]."""
    X, kinds = encoded(name)
    return X - np.where(kinds < 2, 0.5, 0.0)


def _terms(name):
    X, kinds = encoded(name)
    return BasisFunctions.of_columns(kinds).encode(X)


# All rows of a table, and what is public of its columns where a method asks for that.
VIEWS = {
    "frame": lambda name, data: (data.data, data.schema),
    "encoded": lambda name, data: encoded(name),
    "centered": lambda name, data: (centered(name), None),
    "labeled": lambda name, data: (centered(name), None),
    "terms": lambda name, data: (_terms(name), None),
}


def view(how, name, seed):
    """Return rows for a method: some to learn from, those to be scored, and what is public."""
    data = table(name, seed)
    X, columns = VIEWS[how](name, data)
    learn = data.labeled if how == "labeled" else data.source
    y = (data.target == data.schema["classes"][1]).astype(int)
    take = X.iloc.__getitem__ if how == "frame" else X.__getitem__
    return Rows(take(learn), y[learn], take(data.test), y[data.test], columns)


# Sources and targets that differ: four hospitals, and tables split by a column.
HOSPITALS = ("Cleveland", "Budapest", "Zurich-Basel", "Long Beach")
# Which rows are the source's, by the name of the target: table and condition.
SPLITS = {
    "adult older than 37": ("adult", "age <= 37"),
    "adult born abroad": ("adult", "`native-country` == 'United-States'"),
    "flchain after 1996": ("flchain", "`sample.yr` <= 1996"),
    "flchain older than 63": ("flchain", "age <= 63"),
    "whas500 women": ("whas500", "gender == 0"),
    "whas500 older than 72": ("whas500", "age <= 72"),
    "actg320 treated before": ("actg320", "strat2 == 1"),
    "actg320 older than 38": ("actg320", "age <= 38"),
    "actg175 with symptoms": ("actg175", "symptom == 0"),
    "actg175 other race": ("actg175", "race == 0"),
    "randhie limited": ("randhie", "physlm == 0"),
    "randhie with deductible": ("randhie", "idp == 0"),
}
ADULT = {
    "adult not in private firms": ("adult", "workclass == 'Private'"),
    "adult women": ("adult", "sex == 'Male'"),
}
TARGETS = {"heart": HOSPITALS, "tables": tuple(SPLITS), "adult": tuple(ADULT)}
# Most rows of a source, of a target to learn from, and of a target to be predicted: so that a
# run takes minutes.
MOST = (4000, 2000, 4000)


@dataclass(frozen=True)
class Scenario:
    """Rows of a target, half of them to learn from, and rows of its sources; a public schema.

    Labels are 0 and 1; ``sources`` has rows and labels of each source by name.
    """

    X: pd.DataFrame
    y: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray
    sources: dict
    schema: dict

    def known(self, n_labels, sampling, draw):
        """Return labels of the rows to learn from, None where unknown; all for None.

        ``sampling``: "random" draws so many rows, "stratified" half as many of each class.
        """
        if n_labels is None:
            return self.y.astype(object)
        n_shown = n_labels // 2 if sampling == "stratified" else n_labels
        return hide_labels(self.y, n_shown, sampling=sampling, marker=None, random_state=draw)


def scenario(target, draw):
    """Return the rows of one draw."""
    rng = np.random.RandomState(draw)
    domains, schema = (_hospitals if target in HOSPITALS else functools.partial(_split, target))()
    X, y = domains[target]
    learning, test = np.array_split(rng.permutation(len(y)), 2)
    some = learning[: MOST[1]], test[: MOST[2]]
    sources = {
        name: take(rows, rng.permutation(len(rows[1]))[: MOST[0]])
        for name, rows in domains.items()
        if name != target
    }
    own = [part for rows in some for part in take((X, y), rows)]
    return Scenario(*own, sources, schema)


def smoothed(y):
    """Return the frequency of class 1, which is neither 0 nor 1."""
    return (y.sum() + 1) / (len(y) + 2)


def take(rows, chosen):
    X, y = rows
    return X.iloc[chosen].reset_index(drop=True), y[chosen]


@functools.cache
def _hospitals():
    """Return rows and labels of each hospital, and the schema."""
    heart = load_heart_disease()
    rows = heart.data, heart.target
    domains = {name: take(rows, np.flatnonzero(heart.hospital == name)) for name in HOSPITALS}
    return domains, heart.schema


@functools.lru_cache(maxsize=1)
def _split(target):
    """Return rows and labels of both sides of a table, and its schema."""
    name, condition = (SPLITS | ADULT)[target]
    rows, schema = two_classes(name)
    is_source = rows[0].eval(condition).to_numpy().astype(bool)
    sides = {"other side": is_source, target: ~is_source}
    return {name: take(rows, np.flatnonzero(side)) for name, side in sides.items()}, schema


# Outcomes that are numbers or times, in public bounds from units and code books.


def numeric(**bounds):
    return {
        name: {"type": "numeric", "low": low, "high": high} for name, (low, high) in bounds.items()
    }


def categories(**values):
    return {
        name: {"type": "category", "categories": list(listed)} for name, listed in values.items()
    }


NWTCO = categories(instit=(1, 2), histol=(1, 2), stage=(1, 2, 3, 4), study=(3, 4))
NWTCO |= numeric(age=(0, 200))
VIETNAM = categories(sex=("female", "male"), farm=("no", "yes"), urban=("no", "yes"))
VIETNAM |= numeric(age=(15, 100), educyr=(0, 25), hhsize=(1, 20), lnmed=(0, 13))
GBSG2 = numeric(age=(20, 90), estrec=(0, 1200), pnodes=(0, 60), progrec=(0, 2400), tsize=(0, 150))
GBSG2 |= categories(horTh=("no", "yes"), menostat=("Pre", "Post"), tgrade=("I", "II", "III"))
DIAMONDS = numeric(carat=(0, 6), depth=(40, 80), table=(40, 100)) | categories(
    cut=("Fair", "Good", "Very Good", "Premium", "Ideal"),
    color="DEFGHIJ",
    clarity=("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"),
)
# 65 is the greatest age of the experiment's families, a year of visits is less than two a week;
# amounts are logarithms of dollars, lc of 1 + per cent.
DOCTOR = numeric(
    lc=(0, np.log(101)), lpi=(0, 8), fmde=(0, 9), ndisease=(0, 60), linc=(0, 11),
    lfam=(0, np.log(20)), educdec=(0, 25), age=(0, 65),
) | categories(
    health=("poor", "fair", "good", "excellent"), sex=("female", "male"),
    **dict.fromkeys(("idp", "physlim", "child", "black"), (False, True)),
)  # fmt: skip
# Years, kg/m², mmHg, mg/dl (s1, s2, s3, s6), a ratio (s4) and the logarithm of mg/dl (s5).
DIABETES = numeric(
    age=(18, 90), bmi=(15, 45), bp=(50, 140), s1=(80, 320), s2=(30, 250), s3=(15, 110),
    s4=(1, 10), s5=(3, 6.5), s6=(50, 130),
) | categories(sex=(1, 2))  # fmt: skip
# Laboratory values that spread over decades are logarithmic. The years are those of the study.
FLCHAIN = (
    numeric(age=(50, 110), **{"flc.grp": (1, 10), "sample.yr": (1995, 2003)})
    | {
        "creatinine": {"type": "numeric", "low": 0.3, "high": 12, "log": True, "missing": True},
        "kappa": {"type": "numeric", "low": 0.01, "high": 40, "log": True},
        "lambda": {"type": "numeric", "low": 0.01, "high": 40, "log": True},
    }
    | categories(mgus=("no", "yes"), sex=("F", "M"))
)
WHAS500 = numeric(
    age=(18, 110), bmi=(10, 60), diasbp=(0, 200), hr=(20, 220), los=(0, 60), sysbp=(40, 260)
) | categories(
    **dict.fromkeys(("afb", "av3", "chf", "cvd", "gender", "miord", "mitype", "sho"), (0, 1))
)
HEART_FAILURE = {
    name: {"type": "numeric", "low": low, "high": high, "log": log}
    for name, low, high, log in (
        ("age", 18, 100, False),
        ("creatinine_phosphokinase", 10, 10_000, True),
        ("ejection_fraction", 5, 85, False),
        ("platelets", 10_000, 1_000_000, True),
        ("serum_creatinine", 0.2, 12, True),
        ("serum_sodium", 110, 155, False),
    )
} | categories(
    **dict.fromkeys(("anaemia", "diabetes", "high_blood_pressure", "sex", "smoking"), (0, 1))
)


@functools.cache
def outcomes(name):
    """Return a table of the folder outcomes, or scikit-learn's of diabetes."""
    if name == "diabetes":
        return load_diabetes(as_frame=True, scaled=False).frame
    return pd.read_csv(data_file(f"outcomes/{name}.csv.gz"))


def _later(years):
    """Return what says whether an event came within so many years."""
    return lambda rows: (rows["event"] == 1) & (rows["time"] <= 365 * years)


# Cut at public thresholds: file, outcome and columns.
CUT = {
    "nwtco": ("nwtco", _later(5), NWTCO),
    "vietnam": ("vietnam_expenditure", lambda rows: rows["lntotal"] > np.log(20_000), VIETNAM),
    "gbsg2": ("gbsg2", _later(3), GBSG2),
    "diamonds": ("diamonds", lambda rows: rows["price"] > 5_000, DIAMONDS),
}
# Settings may be chosen by the first half of the tables of two classes; the second judges them.
CHOOSING = ("adult", "actg175", "whas500", "nwtco", "vietnam")
JUDGING = ("flchain", "randhie", "actg320", "gbsg2", "diamonds")


@functools.lru_cache(maxsize=2)
def two_classes(name):
    """Return rows and labels 0 and 1 of one of the ten tables, and its schema."""
    if name in CUT:
        file, outcome, columns = CUT[name]
        rows = outcomes(file)
        y = outcome(rows).to_numpy().astype(int)
        return (rows[list(columns)], y), {"version": 1, "columns": columns, "classes": [0, 1]}
    data = table(name, 0)
    y = (data.target == data.schema["classes"][-1]).astype(int)
    return (data.data, y), {**data.schema, "classes": [0, 1]}


# File, columns, outcome and its public bounds.
NUMBERS = {
    "diamonds": ("diamonds", DIAMONDS, "price", (np.log(300), np.log(20_000))),
    "doctor": ("doctor_contacts", DOCTOR, "mdu", (0.0, 80.0)),
    "vietnam": ("vietnam_expenditure", VIETNAM, "lntotal", (6.0, 13.0)),
    "diabetes": ("diabetes", DIABETES, "target", (25.0, 350.0)),
}


@functools.cache
def numbers(name):
    """Return the frame of a table, the logarithm of a price or the number itself, the schema."""
    file, columns, outcome, (low, high) = NUMBERS[name]
    frame = outcomes(file)
    y = frame[outcome].to_numpy(float)
    bounds = {"type": "number", "low": low, "high": high}
    schema = Schema.from_mapping({"version": 1, "columns": columns, "outcome": bounds})
    return frame[list(columns)], np.log(y) if outcome == "price" else y, schema


@functools.cache
def _encoded_numbers(name):
    frame, _, schema = numbers(name)
    encoder = TabularEncoder(schema).fit(frame)
    return encoder.transform(frame), encoder.column_kinds_


def numbers_of(name, draw, framed=False):
    """Return rows of a draw with places between the bounds; ``framed``: numbers in their unit.

    A quarter of the rows, at most 4,000, are to be predicted.
    """
    frame, y, schema = numbers(name)
    order = np.random.RandomState(draw).permutation(len(y))
    test, learn = np.split(order, [min(len(order) // 4, 4000)])
    if framed:
        return Rows(frame.iloc[learn], y[learn], frame.iloc[test], y[test], schema)
    low, high = NUMBERS[name][3]
    places, (X, kinds) = np.clip((y - low) / (high - low), 0, 1), _encoded_numbers(name)
    return Rows(X[learn], places[learn], X[test], places[test], kinds)


# Columns, file, horizon in days: ten years and a half of flchain, five of the trials, six of
# whas500 and 285 days of the clinic, as their studies planned; ten years of nwtco.
TIMES = {
    "flchain": (FLCHAIN, "outcomes/flchain_time.csv.gz", 3833.0),
    "gbsg2": (GBSG2, "outcomes/gbsg2.csv.gz", 1826.0),
    "whas500": (WHAS500, "outcomes/whas500_time.csv.gz", 2191.0),
    "nwtco": (NWTCO, "outcomes/nwtco.csv.gz", 3652.0),
    "heart_failure": (HEART_FAILURE, "heart_failure/heart_failure.csv", 285.0),
}


@functools.cache
def times(name):
    """Return the columns of a table, events and times up to the horizon, and its schema."""
    columns, file, horizon = TIMES[name]
    rows = pd.read_csv(data_file(file)).rename(columns={"DEATH_EVENT": "event"})
    y = np.zeros(len(rows), dtype=[("event", bool), ("time", float)])
    y["event"] = (rows["event"] == 1) & (rows["time"] <= horizon)
    y["time"] = np.minimum(rows["time"], horizon)
    outcome = {"type": "event", "horizon": horizon}
    schema = Schema.from_mapping({"version": 1, "columns": columns, "outcome": outcome})
    return rows[list(columns)], y, schema


def times_of(name, draw):
    """Return rows and times of a draw to learn from, those of the test third, and the schema."""
    X, y, schema = times(name)
    order = np.random.RandomState(draw).permutation(len(y))
    test, learn = np.split(order, [len(order) // 3])
    return X.iloc[learn], y[learn], X.iloc[test], y[test], schema
