"""Probabilities of releases, alone and merged: their log loss, and that of the same ranking.

The latter has the best slope and intercept on the test rows, whose distribution is the source's.
With --releases, releases are kept in a folder, so that only what is estimated from them is run
again; with --transfer, what a target without labels makes of them is measured as well.
"""

import warnings
from itertools import product
from pathlib import Path
from unittest import mock

import _bench
import numpy as np
import pandas as pd
from _confidence_data import CHOOSING, JUDGING, cell
from _tables_data import LEAST
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from skdp import DPStatisticsSource, DPTransferClassifier
from skdp.noise import GaussianQueries
from skdp.release import Release

DELTA = 1e-5
# Of the log-odds that a slope and an intercept are fitted to.
MOST = 30.0


def make_releases(rows, model, epsilon):
    settings = {"encoder": rows.schema, "delta": DELTA, "model": model}
    for X, y in rows.owners:
        yield DPStatisticsSource(epsilon, **settings).fit(X, y).release_


def releases_of(rows, folder, model, epsilon, name):
    """Return the owners' releases, from files where a folder has them."""
    if not folder:
        return list(make_releases(rows, model, epsilon))
    paths = [Path(folder) / f"{name}-{k}.skdp" for k in range(len(rows.owners))]
    if not all(path.exists() for path in paths):
        Path(folder).mkdir(parents=True, exist_ok=True)
        for path, release in zip(paths, make_releases(rows, model, epsilon), strict=True):
            release.save(path)
    return [Release.load(path) for path in paths]


def worth(y, probabilities):
    """Return log loss as it is and with the best slope and intercept, that slope, and AUC."""
    p = np.clip(probabilities, LEAST, 1 - LEAST)
    odds = np.clip(logit(p), -MOST, MOST)[:, np.newaxis]
    unit = max(odds.std(), LEAST)
    best = LogisticRegression(C=np.inf, max_iter=1000).fit(odds / unit, y)
    fitted = best.predict_proba(odds / unit)[:, 1]
    return {
        "log_loss": log_loss(y, p),
        "best": log_loss(y, np.clip(fitted, LEAST, 1 - LEAST)),
        "slope": float(best.coef_[0, 0]) / unit,
        "mean": p.mean() - y.mean(),
        "auc": roc_auc_score(y, p),
    }


def measured(rows, releases, transfer):
    """Yield the name and the worth of what is predicted by releases."""
    whole = releases[0] if len(releases) == 1 else Release.merge(releases, disjoint=True)
    y = rows.y_test
    claims = {}
    if whole.linear is not None and whole.linear.expected_auc is not None:
        low, high = (end[0, 1] for end in whole.linear.auc_interval)
        claims = {"expected_auc": whole.linear.expected_auc[0, 1], "low": low, "high": high}
    yield "release", worth(y, whole.predict_proba(rows.X_test)[:, 1]) | claims
    if len(releases) > 1:
        alone = [log_loss(y, each.predict_proba(rows.X_test)) for each in releases]
        yield "best single", {"log_loss": min(alone)}
    if transfer:
        model = DPTransferClassifier(whole, random_state=0).fit(rows.X, None)
        yield "transfer", worth(y, model.predict_proba(rows.X_test)[:, 1])


def measure(options):
    """Yield a row for each draw of a cell and what predicts."""
    cells = product(
        options.tables.split(","),
        map(int, options.rows.split(",")),
        map(int, options.owners.split(",")),
        range(options.first, options.first + options.draws),
    )
    for name, n_rows, n_owners, draw in cells:
        rows = cell(name, n_rows, n_owners, draw)
        if rows is None:
            continue
        rate = rows.y_test.mean()
        base = log_loss(rows.y_test, np.full(len(rows.y_test), rate))
        head = {"table": name, "size": n_rows, "owners": n_owners, "draw": draw}
        epsilons, models = map(_bench.names, (options.epsilons, options.models))
        for epsilon, model in product(map(float, epsilons), models):
            key = f"{name}-{model}-{n_rows}x{n_owners}-{epsilon:g}-{draw}"
            releases = releases_of(rows, options.releases, model, epsilon, key)
            for predictor, values in measured(rows, releases, options.transfer):
                line = {**head, "epsilon": epsilon, "model": model, "predictor": predictor}
                numbers = {k: round(float(v), 5) for k, v in (values | {"base": base}).items()}
                yield line | numbers


KEY = ("half", "table", "size", "owners", "epsilon", "model", "predictor")


def summary(lines):
    """Return a row of each cell: means over its draws, and the worst of them."""
    table = pd.DataFrame(lines)
    table["half"] = np.where(table["table"].isin(CHOOSING), "to choose by", "to judge by")
    table["gap"] = table["log_loss"] - table["best"]
    table["over"] = table["log_loss"] - table["base"]
    within = table["auc"].between(table["low"], table["high"])
    table["within"] = within.where(table["low"].notna())
    cells = table.groupby(list(KEY), sort=False)
    rows = cells.mean(numeric_only=True).drop(columns=["draw", "low", "high"])
    rows = rows.assign(worst=cells["over"].max(), draws=cells.size()).round(5).reset_index()
    return [row.dropna().to_dict() for _, row in rows.iterrows()]


if __name__ == "__main__":
    options = _bench.options_of(
        __doc__,
        name="confidence",
        tables=",".join(CHOOSING + JUDGING),
        rows="100,300,1000,4000",
        owners="1,4,12",
        epsilons="0.5,1,4,8",
        models="linear",
        draws=3,
        first=0,
        releases="",
        transfer=0,
    )
    warnings.simplefilter("ignore")
    with mock.patch.object(GaussianQueries, "add", _bench.quick_noise()):
        _bench.save(options.name, vars(options), summary(measure(options)))
