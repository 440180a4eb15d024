"""Does the additive model pay, and from how many rows on?

"adult": the protocol of the papers that report it, complete cases, of which seven of ten are
learned from. "rows of adult": as many of these as are named. Other tables: six of ten rows, 20,000
at most; of these half as many draws.
"""

from itertools import product

import _bench
import numpy as np
from _tables_data import TABLES_AND_HOSPITALS, whole
from sklearn.metrics import log_loss, roc_auc_score

from skdp import DPStatisticsSource

MODELS = ("linear", "additive", "auto")
SIZES = (500, 1000, 2000, 5000, 10_000, 20_000)
LEVELS = {"adult": (0.03, 0.1, 0.5, 1.0, 4.0)}


def complete_adult():
    """Return rows of adult without missing values, their labels and the schema."""
    frame, labels, schema = whole("adult")
    complete = frame.notna().all(axis=1).to_numpy()
    return frame[complete].reset_index(drop=True), labels[complete], schema


def measure(case, data, n, epsilon, draw):
    """Yield a row for each model."""
    frame, labels, schema = data
    order = np.random.default_rng(draw).permutation(len(labels))
    most = int((0.7 if "adult" in case else 0.6) * len(labels))
    train, test = order[: min(most, n)], order[most:][:10_000]
    truth = labels[test] == schema.classes[1]
    for model in MODELS:
        with _bench.processor() as fit:
            source = DPStatisticsSource(epsilon, encoder=schema, model=model)
            release = source.fit(frame.iloc[train], labels[train]).release_
        column = list(release.classes).index(schema.classes[1])
        p = release.predict_proba(frame.iloc[test])[:, column]
        yield {
            "case": case,
            "level": epsilon,
            "draw": draw,
            "rows": len(train),
            "model": model,
            "auc": roc_auc_score(truth, p),
            "log_loss": log_loss(truth, p),
            "is_additive": release.shapes is not None,
            "fit_seconds": fit.seconds,
        }


def rows(options):
    adult, tables = complete_adult(), [name for name in TABLES_AND_HOSPITALS if name != "adult"]
    plan = [("adult", adult, 10**9, options.draws)]
    plan += [("rows of adult", adult, n, max(options.draws // 4, 1)) for n in SIZES]
    plan += [(name, whole(name), 20_000, max(options.draws // 2, 1)) for name in tables]
    for case, data, n, draws in plan:
        for epsilon, draw in product(LEVELS.get(case, (0.5, 1.0, 4.0)), range(draws)):
            yield from measure(case, data, n, epsilon, draw)


if __name__ == "__main__":
    _bench.run("additive", rows, __doc__, draws=20)
