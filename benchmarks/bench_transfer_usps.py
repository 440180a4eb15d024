"""MNIST to USPS with 100 labels, and USPS to MNIST with 100 to 500: other features."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from _report import Timer, parse, save
from _transfer import LONGER, draw_labels, transfer

from skdp import DPSource
from skdp.datasets import fetch_mnist, fetch_usps

args = parse(
    __doc__,
    direction="mnist-usps",
    draws=10,
    epsilons="0.1,1",
    labels="10",
    target_rows=10_000,
    source_layers=5,
    strategies="alignment,multitask",
    n_folds=1,
    longer=0,
    name="",
)
load = {"mnist": fetch_mnist, "usps": fetch_usps}
source_name, target_name = args.direction.split("-")
X_source, y_source = load[source_name](return_X_y=True)
X, y = (array[: args.target_rows] for array in load[target_name](return_X_y=True))
X_test, y_test = load[target_name](subset="test", return_X_y=True)
name = args.name or f"transfer_{source_name}_{target_name}"
rows = []


def record(**row):
    rows.append(row)
    print(row, flush=True)
    save(name, {**vars(args), "delta": 1e-5, "sensitivity": 1.0, "n_target": len(X)}, rows)


model_settings = {"strategy": "alignment", "n_folds": args.n_folds, "random_state": 0}
if args.longer:
    model_settings |= LONGER
sources = {}
for epsilon in map(float, args.epsilons.split(",")):
    sources[epsilon] = DPSource(
        epsilon, denoise=False, n_layers=args.source_layers, n_jobs=-1, random_state=0
    )
    with Timer() as timer:
        sources[epsilon].fit(X_source, y_source)
    record(epsilon=str(epsilon), model="source fit", fit_seconds=timer.seconds)
# Draw by draw, so that an interrupted run has whole draws.
for draw in range(args.draws):
    for per_class in map(int, args.labels.split(",")):
        marked = draw_labels(y, per_class, seed=draw)
        shown = marked >= 0
        settings = {"labels": int(np.count_nonzero(shown)), "draw": draw}
        data = (X, y, marked, X_test, y_test)
        result = transfer(None, *data, **model_settings)
        record(epsilon="-", model="no source", **settings, **result)
        for epsilon, source in sources.items():
            for strategy in args.strategies.split(","):
                result = transfer(source, *data, **{**model_settings, "strategy": strategy})
                record(epsilon=str(epsilon), model=strategy, **settings, **result)
