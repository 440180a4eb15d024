"""Does a plan say what releases will be worth?

The plan knows the schema, the number of rows, the frequencies of the classes to one digit, and the
cross-validated AUC of a logistic regression on all rows, as a published model would tell.
"""

import _bench
import numpy as np
from _tables_data import whole
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from skdp import DPStatisticsSource, TabularEncoder, plan_release
from skdp.datasets import load_heart_disease

LEVELS = (0.25, 0.5, 1.0, 4.0)
TABLES = ("whas500", "actg320", "actg175", "flchain", "randhie", "adult")
MOST_ROWS = 5000


def cases():
    """Yield name, rows, labels and schema."""
    frame, labels, schema = whole("heart disease")
    yield "hospitals together", frame, labels, schema
    sites = np.asarray(load_heart_disease().hospital)
    for site in np.unique(sites):
        yield str(site), frame[sites == site], labels[sites == site], schema
    for name in TABLES:
        yield name, *whole(name)


def measure(name, frame, labels, schema, draws):
    """Yield a row for each ε."""
    y = (labels == schema.classes[1]).astype(int)
    encoded = np.asarray(TabularEncoder(schema).fit_transform(frame))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = LogisticRegression(max_iter=500)
    scores = cross_val_predict(model, encoded, y, cv=folds, method="predict_proba")[:, 1]
    published = roc_auc_score(y, scores)
    n = min(MOST_ROWS, int(0.6 * len(y)))
    share = float(np.clip(round(y.mean(), 1), 0.05, 0.95))
    plan = plan_release(
        schema, n, (1 - share, share), LEVELS, effects=published, n_draws=draws, random_state=0
    )
    planned = plan.table.set_index("epsilon")
    for epsilon in (*LEVELS, np.inf):
        areas = []
        for seed in range(draws):
            order = np.random.default_rng(seed).permutation(len(y))
            learn, test = order[:n], order[n : n + 20_000]
            source = DPStatisticsSource(epsilon, encoder=schema)
            release = source.fit(frame.iloc[learn], labels[learn]).release_
            areas.append(roc_auc_score(y[test], release.predict_proba(encoded[test])[:, 1]))
        finite = epsilon < np.inf
        line = planned.loc[epsilon] if finite else planned.iloc[0]
        yield {
            "case": name,
            "level": epsilon if finite else "no noise",
            "rows": n,
            "published": published,
            "planned": line["auc"] if finite else line["auc_without_noise"],
            "planned_sd": line["auc_sd"] if finite else None,
            "auc": np.mean(areas),
            "auc_sd": np.std(areas, ddof=1),
        }


def rows(options):
    for case in cases():
        yield from measure(*case, options.draws)


if __name__ == "__main__":
    _bench.run("planning", rows, __doc__, draws=10)
