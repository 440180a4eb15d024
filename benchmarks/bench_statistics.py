"""Releases of statistics: whole records are protected; activity, digits, tables, draw by draw.

mnist: 200 target digits help, of which one of each class is labeled, or 9,000, of which 100 are
(and the last 1,000 are asked about); or a classifier of scikit-learn learns from 20,000 digits
that are drawn from the release. Each draw has a source with noise of its own; of activity it
divides the people anew.
"""

import functools

import _bench
import numpy as np
from _tables_data import LEAST, centered, encoded, labels, qualities, scenario
from _tables_peers import TABLES
from _tasks import people, shuffled_parts
from scipy.special import logit
from sklearn.base import clone
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from skdp import DPStatisticsSource, DPTransferClassifier, OrientedGradients, TabularEncoder
from skdp.datasets import fetch_mnist, hide_labels

LEVELS = {"activity": (16.0, 4.0, 1.0), "mnist": (8.0, 1.0), "tables": (4.0, 1.0, 0.5)}
DRAWS = {"activity": 6, "mnist": 10, "tables": 10}
# Target digits, and labeled ones among them.
N_TARGET, N_LABELED = 200, 10
# Of the papers' split: target digits, the others being for tests, and labeled ones.
N_SPLIT, N_SPLIT_LABELED = 9000, 100
# Draws of what takes minutes.
N_SLOW_DRAWS = 3
# Rows that are drawn from a release, and what learns from them.
N_SAMPLES = 20_000
LEARNERS = {
    "forest on samples": RandomForestClassifier(random_state=0),
    "logistic regression on samples": LogisticRegression(max_iter=100),
    "quadratic discriminant on samples": QuadraticDiscriminantAnalysis(reg_param=0.01),
}


def activity_cells(draw):
    return [
        {"case": "people", "level": level, "model": model, "draw": draw, "labels": labels}
        for level in LEVELS["activity"]
        for model, labels in (("source", 0), ("transfer", 0), ("transfer", 5), ("target", 5))
        if model != "target" or level == LEVELS["activity"][0]
    ]


@functools.lru_cache(maxsize=1)
def activity_split(draw):
    """Return source rows, and learning and test rows of the target; columns in [0, 1]."""
    source, (X, y) = people(draw)
    parts = shuffled_parts(len(y), 100 + draw)
    return source, *((X[rows], y[rows]) for rows in parts)


def activity_row(cell):
    _, (X, y), (X_test, y_test) = activity_split(cell["draw"])
    release = None
    if cell["model"] != "target":
        release = release_of("people", cell["draw"], cell["level"], "linear")
    if cell["model"] == "source":
        return {"accuracy": 100 * release.score(X_test, y_test)}
    marked = np.full(len(y), -1)
    if cell["labels"]:
        marked = hide_labels(y, cell["labels"], random_state=cell["draw"])
    model = DPTransferClassifier(release, random_state=0).fit(X, marked)
    return {"accuracy": 100 * model.score(X_test, y_test)}


def mnist_cells(draw):
    rows = [("source", 0), ("transfer", N_LABELED)]
    # Those that take minutes come in fewer draws.
    slow = [(name, 0) for name in LEARNERS] + [("transfer", N_SPLIT_LABELED)]
    on_samples = slow if draw < N_SLOW_DRAWS else []
    return [
        {"case": case, "level": level, "model": model, "draw": draw, "labels": labels}
        for case, more in (("pixels", on_samples), ("oriented gradients", []))
        for level in LEVELS["mnist"]
        for model, labels in rows + more
    ]


@functools.lru_cache(maxsize=2)
def mnist(case):
    """Return source rows, and test rows of the target; features in [0, 1]."""
    data = [fetch_mnist(subset=subset, return_X_y=True) for subset in ("train", "test")]
    if case == "pixels":
        return data
    return [(OrientedGradients().transform(X), y) for X, y in data]


def mnist_row(cell):
    _, (X_test, y_test) = mnist(cell["case"])
    model = {"pixels": "mixtures", "oriented gradients": "logistic"}[cell["case"]]
    release = release_of(cell["case"], cell["draw"], cell["level"], model)
    if cell["model"] == "source":
        return {"accuracy": 100 * release.score(X_test, y_test)}
    if cell["model"] in LEARNERS:
        rows = release.sample(N_SAMPLES, cell["draw"])
        learner = clone(LEARNERS[cell["model"]]).fit(*rows)
        return {"accuracy": 100 * learner.score(X_test, y_test)}
    here, others = np.arange(N_SPLIT), np.arange(N_SPLIT, len(X_test))
    if cell["labels"] == N_LABELED:
        order = np.random.RandomState(cell["draw"]).permutation(len(X_test))
        here, others = order[:N_TARGET], order[N_TARGET:]
    marked = hide_labels(y_test[here], cell["labels"] // 10, random_state=cell["draw"])
    fitted = DPTransferClassifier(release, random_state=0).fit(X_test[here], marked)
    asked = X_test[others], y_test[others]
    return {"accuracy": 100 * fitted.score(*asked), "source_alone": 100 * release.score(*asked)}


@functools.lru_cache(maxsize=1)
def release_of(case, draw, epsilon, model):
    """Return a release; that of the last call is kept, for rows that share it."""
    X, y = activity_split(draw)[0] if case == "people" else mnist(case)[0]
    return DPStatisticsSource(epsilon, classes=np.unique(y), model=model).fit(X, y).release_


def tables_cells(draw):
    models = [(level, name) for level in LEVELS["tables"] for name in ("source", "transfer")]
    return [
        {"case": case, "level": level, "model": model, "draw": draw, "labels": n_labels}
        for case in TABLES
        for n_labels in [len(scenario(case, draw).labeled) // 2]
        for level, model in [("-", "target"), ("-", "logistic regression, target"), *models]
    ]


def tables_row(cell):
    """What the log-odds of test rows are worth."""
    data, (X, _) = scenario(cell["case"], cell["draw"]), encoded(cell["case"])
    y = labels(data)
    if cell["model"] == "logistic regression, target":
        Z, known = centered(cell["case"]), data.labeled
        model = LogisticRegression(max_iter=1000).fit(Z[known], y[known])
        return qualities(y[data.test], model.decision_function(Z[data.test]))
    release = None
    if cell["model"] != "target":
        release = table_release(cell["case"], cell["draw"], cell["level"])
    if cell["model"] == "source":
        scores = release.scores(X[data.test])
        return qualities(y[data.test], scores[:, 1] - scores[:, 0])
    marked = np.full(len(y), -1)
    marked[data.labeled] = y[data.labeled]
    model = DPTransferClassifier(release, random_state=0)
    model.fit(X[data.learning], marked[data.learning])
    probabilities = np.clip(model.predict_proba(X[data.test])[:, 1], LEAST, 1 - LEAST)
    return qualities(y[data.test], logit(probabilities))


@functools.lru_cache(maxsize=1)
def table_release(table, draw, epsilon):
    data = scenario(table, draw)
    source = DPStatisticsSource(epsilon, encoder=TabularEncoder(data.schema), classes=(0, 1))
    return source.fit(data.data.iloc[data.source], labels(data)[data.source]).release_


TASKS = {
    "activity": (activity_cells, activity_row),
    "mnist": (mnist_cells, mnist_row),
    "tables": (tables_cells, tables_row),
}


if __name__ == "__main__":
    parser = _bench.parser_of(__doc__, draws=0)
    parser.add_argument("task", choices=TASKS)
    options = parser.parse_args()
    cells_of, row_of = TASKS[options.task]

    def measure(cells):
        with _bench.Timer() as timer:
            found = row_of(cells[0])
        return [{**cells[0], **found, "seconds": timer.seconds}]

    draws = range(options.draws or DRAWS[options.task])
    groups = ([cell] for draw in draws for cell in cells_of(draw))
    _bench.complete(f"statistics_{options.task}", groups, measure, words=[options.task])
