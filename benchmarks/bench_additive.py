"""Does the additive model pay, and from how many rows on?

    python benchmarks/bench_additive.py [--draws 20]

Linear, additive and "auto" releases of one table's rows are judged on others of it. "adult": the
protocol of the papers that report it, complete cases, of which seven of ten are learned from.
"rows of adult": as many of these as are named. The six tables and the four hospitals: six of ten
rows, 20,000 at most; of these half as many draws.
"""

import time
import warnings

import _bench
import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from skdp import DPStatisticsSource, Schema
from skdp.datasets import load_heart_disease, load_table

MODELS = ("linear", "additive", "auto")
SIZES = (500, 1000, 2000, 5000, 10_000, 20_000)
TABLES = ("whas500", "heart disease", "actg320", "actg175", "flchain", "randhie")
LEVELS = {"adult": (0.03, 0.1, 0.5, 1.0, 4.0), "rows of adult": (0.5, 1.0, 4.0)}


def table(name):
    """Return rows, labels and the schema of a table; of adult without missing values."""
    data = load_heart_disease() if name == "heart disease" else load_table(name, random_state=0)
    frame, labels = data.data, np.asarray(data.target)
    if name == "adult":
        whole = frame.notna().all(axis=1).to_numpy()
        frame, labels = frame[whole].reset_index(drop=True), labels[whole]
    return frame, labels, Schema.from_mapping(data.schema)


def measure(case, data, n, epsilon, draw):
    """Return a line for each model."""
    frame, labels, schema = data
    order = np.random.default_rng(draw).permutation(len(labels))
    share = 0.7 if "adult" in case else 0.6
    most = int(share * len(labels))
    train, test = order[: min(most, n)], order[most:][:10_000]
    truth = labels[test] == schema.classes[1]
    for model in MODELS:
        start = time.process_time()
        source = DPStatisticsSource(epsilon, encoder=schema, model=model)
        release = source.fit(frame.iloc[train], labels[train]).release_
        seconds = time.process_time() - start
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
            "fit_seconds": seconds,
        }


def main():
    settings = _bench.options_of(__doc__.splitlines()[0], draws=20)
    few = max(settings.draws // 2, 1)
    adult, rows = table("adult"), []
    plan = [("adult", adult, 10**9, settings.draws)]
    plan += [("rows of adult", adult, n, max(settings.draws // 4, 1)) for n in SIZES]
    plan += [(name, table(name), 20_000, few) for name in TABLES]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case, data, n, draws in plan:
            for epsilon in LEVELS.get(case, (0.5, 1.0, 4.0)):
                for draw in range(draws):
                    rows += measure(case, data, n, epsilon, draw)
                some = [r for r in rows[-3 * draws :] if r["model"] == "additive"]
                print(case, n, epsilon, np.mean([r["auc"] for r in some]).round(4), flush=True)
    _bench.save("additive", vars(settings), rows)


if __name__ == "__main__":
    main()
