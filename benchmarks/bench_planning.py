"""Does a plan say what releases will be worth?

    python benchmarks/bench_planning.py [--draws 10]

For random rows of the six tables and the four hospitals: the area under the ROC curve of releases
on other rows, beside what ``plan_release`` says by the schema, the number of rows, the
frequencies of the classes to one digit, and the AUC of a logistic regression on all rows
(cross-validated), as a published model would tell. What simulated tables look like was chosen on
the hospitals together; single hospitals and the six tables had no say.
"""

import warnings

import _bench
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from skdp import DPStatisticsSource, Schema, TabularEncoder, plan_release
from skdp.datasets import load_heart_disease, load_table

LEVELS = (0.25, 0.5, 1.0, 4.0)
TABLES = ("whas500", "actg320", "actg175", "flchain", "randhie", "adult")
MOST_ROWS = 5000


def cases():
    """Yield name, schema, rows and labels."""
    heart = load_heart_disease()
    yield "hospitals together", heart.schema, heart.data, np.asarray(heart.target)
    sites = np.asarray(heart.hospital)
    for site in np.unique(sites):
        here = sites == site
        yield str(site), heart.schema, heart.data[here], np.asarray(heart.target)[here]
    for name in TABLES:
        table = load_table(name, random_state=0)
        yield name, table.schema, table.data, np.asarray(table.target)


def measure(name, schema, frame, labels, draws):
    """Return a line for each ε."""
    schema = Schema.from_mapping(schema)
    y = (labels == schema.classes[1]).astype(int)
    encoded = TabularEncoder(schema).fit_transform(frame)
    encoded = encoded.to_numpy() if hasattr(encoded, "to_numpy") else encoded
    model = LogisticRegression(max_iter=500)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
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


def main():
    settings = _bench.options_of(__doc__.splitlines()[0], draws=10)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, *case in cases():
            for row in measure(name, *case, settings.draws):
                rows.append(row)
                print(name, row["level"], f"{row['planned']:.3f} {row['auc']:.3f}", flush=True)
    _bench.save("planning", vars(settings), rows)


if __name__ == "__main__":
    main()
