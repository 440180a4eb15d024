"""Does a plan say what releases will be worth?

The plan knows the schema, the number of rows, the frequencies of the classes in per cent, and the
cross-validated AUC of a logistic regression on all rows, as a published model would tell. Ten
tables judge it; what simulated tables look like was chosen on the hospitals.
"""

import _bench
import numpy as np
from _confidence_data import CHOOSING, JUDGING, two_classes
from _tables_data import whole
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from skdp import DPStatisticsSource, TabularEncoder, plan_release
from skdp.datasets import load_heart_disease
from skdp.tabular import as_schema

LEVELS = (0.1, 0.25, 0.5, 1.0, 4.0)
MOST_ROWS = 5000
# Chances that the plan gives to goals, whose areas are then compared with those reached.
CHANCES = (0.8, 0.5, 0.2)


def cases():
    """Yield name, rows, labels 0 and 1, and schema."""
    frame, labels, schema = whole("heart disease")
    y = (labels == schema.classes[1]).astype(int)
    sites = np.asarray(load_heart_disease().hospital)
    schema = as_schema({**schema.to_mapping(), "classes": [0, 1]})
    yield "hospitals together", frame, y, schema
    for site in np.unique(sites):
        yield str(site), frame[sites == site], y[sites == site], schema
    for name in (*CHOOSING, *JUDGING):
        (frame, y), schema = two_classes(name)
        yield name, frame, y, as_schema(schema)


def measure(options, name, frame, y, schema):
    """Yield a row for each ε."""
    encoded = np.asarray(TabularEncoder(schema).fit_transform(frame))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = LogisticRegression(max_iter=500)
    scores = cross_val_predict(model, encoded, y, cv=folds, method="predict_proba")[:, 1]
    published = roc_auc_score(y, scores)
    n = min(MOST_ROWS, int(0.6 * len(y)))
    share = float(np.clip(round(y.mean(), 2), 0.01, 0.99))
    settings = {"effects": published, "n_draws": options.draws, "random_state": 0}
    plan = plan_release(schema, n, (1 - share, share), LEVELS, **settings)
    planned = plan.table.set_index("epsilon")
    for epsilon in (*LEVELS, np.inf):
        reached = []
        for seed in range(options.draws):
            order = np.random.default_rng(seed).permutation(len(y))
            learn, test = order[:n], order[n : n + 20_000]
            source = DPStatisticsSource(epsilon, encoder=schema)
            p = source.fit(frame.iloc[learn], y[learn]).release_.predict_proba(encoded[test])
            reached.append((roc_auc_score(y[test], p[:, 1]), log_loss(y[test], p)))
        areas, losses = np.transpose(reached)
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
            "planned_loss": line["log_loss"] if finite else None,
            "log_loss": np.mean(losses),
            "base_log_loss": line["base_log_loss"],
            **(_reached(plan, epsilon, areas) if finite else {}),
        }


def _reached(plan, epsilon, areas):
    """Return which shares of areas reach goals to which the plan gives a chance."""
    goals = np.linspace(0.3, 1, 701)
    chances = np.array([plan.chance(goal).droplevel([0, 1])[epsilon] for goal in goals])
    return {
        f"reached_{chance:g}": np.mean(areas >= goals[np.argmin(np.abs(chances - chance))])
        for chance in CHANCES
    }


if __name__ == "__main__":
    _bench.run("planning", measure, __doc__, over=cases(), draws=10)
