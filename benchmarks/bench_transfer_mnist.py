"""MNIST to MNIST: 60,000 private digits help 9,000 of which 100 are labelled.

Both strategies use one inference here, so that they differ in nothing else.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import warnings

from _report import Timer, parse, save
from _transfer import LONGER, draw_labels, transfer

from skdp import DPSource, PrivacyLeakWarning
from skdp.datasets import fetch_mnist

args = parse(
    __doc__,
    draws=5,
    epsilons="inf,8,2,1,0.5,0.1",
    strategies="alignment,multitask",
    inference="gamma",
    n_folds=1,
    longer=0,
    name="transfer_mnist",
)
warnings.simplefilter("ignore", PrivacyLeakWarning)  # epsilon = inf is the yardstick here

X_source, y_source = fetch_mnist(return_X_y=True)
X, y = fetch_mnist(subset="test", return_X_y=True)
X, X_test, y, y_test = X[:9000], X[9000:], y[:9000], y[9000:]
rows = []


def record(epsilon, draw, model, **values):
    rows.append({"epsilon": str(epsilon), "draw": draw, "model": model, **values})
    print(rows[-1], flush=True)
    fixed = {"delta": 1e-5, "sensitivity": 1.0, "labels_per_class": 10}
    save(args.name, {**vars(args), **fixed}, rows)


sources = {}
for epsilon in map(float, args.epsilons.split(",")):
    sources[epsilon] = DPSource(epsilon, denoise=False, n_jobs=-1, random_state=0)
    with Timer() as timer:
        sources[epsilon].fit(X_source, y_source)
    alone = 100 * sources[epsilon].score(X_test, y_test)
    record(epsilon, None, "source alone", accuracy=alone, fit_seconds=timer.seconds)
settings = {
    "strategy": "alignment",
    "inference": args.inference,
    "n_folds": args.n_folds,
    "random_state": 0,
}
if args.longer:
    settings |= LONGER
# Draw by draw, so that an interrupted run has whole draws.
for draw in range(args.draws):
    marked = draw_labels(y, 10, seed=draw)
    data = (X, y, marked, X_test, y_test)
    record("-", draw, "no source", **transfer(None, *data, **settings))
    for epsilon, source in sources.items():
        for strategy in args.strategies.split(","):
            result = transfer(source, *data, **{**settings, "strategy": strategy})
            record(epsilon, draw, strategy, **result)
