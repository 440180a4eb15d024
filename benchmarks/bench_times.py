"""Times to an event from whole records: this package and others on the same rows.

Needs scikit-survival, whose metrics judge all, and Opacus for DP-SGD. Test rows are a third of the
table, followed up to the public horizon. Concordance is Harrell's and by inverse probability of
censoring; the Brier score is integrated over nine times from a tenth of the horizon to nine tenths
of it; calibration is the mean predicted survival less that of Kaplan and Meier, at a quarter, half
and three quarters of the horizon. Of the package itself also the expected concordance.

Then releases of owners that share all rows, merged, beside one release of the same rows: with the
same ε, and with as much noise as the owners' releases have together.
"""

import warnings
from functools import partial
from itertools import product

import _bench
import numpy as np
from _fits import merged_and_whole
from _store import cell_of, epsilon_of
from _times_data import TABLES, split, whole
from _times_peers import DELTA, METHODS, SMALL
from sksurv.metrics import (
    concordance_index_censored,
    concordance_index_ipcw,
    integrated_brier_score,
)
from sksurv.nonparametric import kaplan_meier_estimator

from skdp import DPStatisticsSource, TabularEncoder

LEVELS = ("clear", "record 4", "record 1", "record 0.5")
OWNERS, FEWEST = (4, 12), 200  # rows of an owner at least
TOGETHER = ("merged", "one release", "equal noise")
QUARTERS = (0.25, 0.5, 0.75)
FACTOR = 3  # draws of tables with few rows


def plan(tables, methods, draws):
    """Groups of cells whose rows are made together."""
    for draw, table in product(range(FACTOR * draws), tables):
        if draw >= draws and len(whole(table)[1]) >= SMALL:
            continue
        for name in methods:
            private = name == "skdp" or METHODS[name][1]
            for level in LEVELS if name == "skdp" else LEVELS[1:] if private else LEVELS[:1]:
                yield [cell_of(table, level, name, "default", draw, None)]
    if "skdp" in methods:
        for draw, table, n in product(range(draws), tables, OWNERS):
            if len(split(table, draw)[0]) >= n * FEWEST:
                for level in LEVELS[1:]:
                    place = (f"{n} owners", draw, None)
                    yield [cell_of(table, level, name, *place) for name in TOGETHER]


def rows_of(cell):
    """Return rows and times to learn from, and those to judge by, up to the horizon."""
    X, y, schema = whole(cell["case"])
    horizon, y = schema.outcome.horizon, y.copy()
    y["event"] &= y["time"] <= horizon
    y["time"] = np.minimum(y["time"], horizon)
    learn, test = split(cell["case"], cell["draw"])
    return X.iloc[learn], y[learn], X.iloc[test], y[test], schema


def make_release(rows, part, epsilon):
    """Return the release of a part of the rows to learn from, of all for None."""
    X, y, _, _, schema = rows
    if part is not None:
        X, y = X.iloc[part], y[part]
    return DPStatisticsSource(epsilon, DELTA, encoder=schema).fit(X, y).release_


def worth(risks, survival, y, y_test, horizon):
    """Return how well risks order the times of test rows, and how well curves are calibrated."""
    found = {"c": concordance_index_censored(y_test["event"], y_test["time"], risks)[0]}
    # Times at which somebody is left in both.
    last = min(y["time"].max(), y_test["time"].max())
    inside = y_test["time"] < y["time"].max()
    if np.ptp(risks) > 0:
        at = 0.9 * last
        found["ipcw"] = concordance_index_ipcw(y, y_test[inside], risks[inside], tau=at)[0]
    if survival is None:
        return found
    times = np.linspace(0.1, 0.9, 9) * min(horizon, 0.999 * last)
    found["brier"] = integrated_brier_score(y, y_test[inside], survival(times)[inside], times)
    steps, shares = kaplan_meier_estimator(y_test["event"], y_test["time"])
    for quarter in QUARTERS:
        share = shares[np.searchsorted(steps, quarter * horizon, side="right") - 1]
        found[f"calibration_{quarter}"] = survival(quarter * horizon * np.ones(1)).mean() - share
    return {name: float(value) for name, value in found.items()}


def of_release(release, rows):
    """Return the worth of a release, and what it expects of itself."""
    _, y, X_test, y_test, schema = rows
    curves = release.predict_survival_function(X_test, return_array=True)

    def survival(times):
        places = np.searchsorted(release.unique_times_, times, side="right") - 1
        return np.where(places >= 0, curves[:, np.maximum(places, 0)], 1.0)

    mean, low, high = map(float, release.model.hazards.concordance)
    expected = {"expected": mean, "expected_low": low, "expected_high": high}
    horizon = schema.outcome.horizon
    return worth(release.predict(X_test), survival, y, y_test, horizon) | expected


def own(cell):
    rows = rows_of(cell)
    with _bench.processor() as timer:
        release = make_release(rows, None, epsilon_of(cell["level"]))
    return [{**cell, **of_release(release, rows), "fit_seconds": timer.seconds}]


def merged(cells):
    """Compute the rows of owners that share all rows at random."""
    rows = rows_of(cells[0])
    parts = np.array_split(np.arange(len(rows[1])), int(cells[0]["variant"].split()[0]))
    found = merged_and_whole(partial(make_release, rows), epsilon_of(cells[0]["level"]), parts)
    return [
        {**cell, **of_release(release, rows)} for cell, release in zip(cells, found, strict=True)
    ]


def peer(cell):
    X, y, X_test, y_test, schema = rows_of(cell)
    encoder = TabularEncoder(schema).fit(X)
    learn, test = (encoder.transform(part) for part in (X, X_test))
    fit = METHODS[cell["model"]][0]
    with _bench.processor() as timer:
        risks, survival = fit(learn, y, test, epsilon_of(cell["level"]), cell["draw"])
    found = worth(risks, survival, y, y_test, schema.outcome.horizon)
    return [{**cell, **found, "fit_seconds": timer.seconds}]


def measure(group):
    warnings.simplefilter("ignore")
    if len(group) > 1:
        return merged(group)
    return own(group[0]) if group[0]["model"] == "skdp" else peer(group[0])


if __name__ == "__main__":
    chosen = {"tables": tuple(TABLES), "methods": ("skdp", *METHODS)}
    options = _bench.options_of(__doc__, **chosen, draws=5, redo=False)
    groups = plan(options.tables, options.methods, options.draws)
    _bench.complete("times", groups, measure, options.redo)
