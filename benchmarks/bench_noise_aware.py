"""All strategies, all transfers, all privacy levels: is the private source worth anything?

    python benchmarks/bench_noise_aware.py --transfer mnist-mnist

One transfer at a time: mnist-mnist, mnist-usps, usps-mnist (10 labels a class), activity (ten
people to twenty, 5 labels a class), office (12 pairs, its canonical labels). Features are
in [0, 1]; those of activity are clipped to the 1st and 99th percentile of the target, those of
office are z-scores, see ``bench_office.py``. ``--levels`` are budgets: "8" is epsilon for an
element (optimal noise), "record 8" for a whole record (Gaussian noise), "-" is no source.
``--fresh 1`` draws new noise for every draw of labels, in place of one source for all.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import warnings
from itertools import permutations

import numpy as np
from _report import Timer, parse, save
from _transfer import draw_labels, office_trials, transfer

from skdp import DPSource, GaussianDPNoise, PrivacyLeakWarning
from skdp.datasets import fetch_mnist, fetch_usps, load_human_activity

args = parse(
    __doc__,
    transfer="mnist-mnist",
    levels="-,inf,8,2,1,0.5,0.1,0.05,record 16,record 8,record 4,record 1",
    strategies="noise_aware",
    draws=5,
    labels=0,
    source_layers=1,
    fresh=0,
    n_jobs=1,
    name="",
)
warnings.simplefilter("ignore", PrivacyLeakWarning)  # epsilon = inf is the yardstick here


def digits():
    load = {"mnist": fetch_mnist, "usps": fetch_usps}
    source, target = args.transfer.split("-")
    X, y = load[target](return_X_y=True)
    X_test, y_test = load[target](subset="test", return_X_y=True)
    if source == target:  # the papers' split
        X, X_test, y, y_test = X_test[:9000], X_test[9000:], y_test[:9000], y_test[9000:]
    X, y = X[:10_000], y[:10_000]
    marks = [draw_labels(y, args.labels or 10, seed=draw) for draw in range(args.draws)]
    yield "", load[source](return_X_y=True), [(X, y, m, X_test, y_test) for m in marks]


def activity():
    data = load_human_activity()
    people = np.random.RandomState(0).permutation(np.unique(data.groups))
    source = np.isin(data.groups, people[:10])
    low, high = np.percentile(data.data[~source], [1, 99], axis=0)
    X = np.clip((data.data - low) / (high - low), 0, 1).astype(np.float32)
    order = np.random.RandomState(1).permutation(np.flatnonzero(~source))
    train, test = np.split(order, [int(0.8 * len(order))])
    X_test, y_test = X[test], data.target[test]
    target = X[train], data.target[train]
    marks = [draw_labels(target[1], args.labels or 5, seed=draw) for draw in range(args.draws)]
    yield "", (X[source], data.target[source]), [(*target, m, X_test, y_test) for m in marks]


def office():
    for pair in permutations(("amazon", "caltech", "dslr", "webcam"), 2):
        for k, (source, (Xl, yl), (Xq, yq)) in enumerate(office_trials(*pair, args.draws)):
            X, y = np.concatenate([Xl, Xq]), np.append(yl, yq)
            marked = np.append(yl, np.full(len(yq), -1))
            yield f"{pair[0]} to {pair[1]}, trial {k}", source, [(X, y, marked, Xq, yq)]


def make_source(level, rows, denoise):
    kind, _, epsilon = level.rpartition(" ")
    settings = {"n_layers": args.source_layers, "n_jobs": args.n_jobs, "random_state": 0}
    if kind:
        settings["noise"] = GaussianDPNoise(float(epsilon), privacy_unit=kind)
    return DPSource(float(epsilon), denoise=denoise, **settings).fit(*rows)


rows: list = []


def record(**row):
    rows.append(row)
    print(row, flush=True)
    name = args.name or f"noise_aware_{args.transfer.replace('-', '_')}"
    save(name, {**vars(args), "delta": 1e-5, "sensitivity": 1.0}, rows)


tasks = {"activity": activity, "office": office}.get(args.transfer, digits)
for case, source_rows, draws in tasks():
    for level in args.levels.split(","):
        for strategy in args.strategies.split(","):
            source, label = None, "no source"
            for draw, data in enumerate(draws):
                if level != "-" and (draw == 0 or args.fresh):
                    with Timer() as timer:
                        source = make_source(level, source_rows, strategy == "noise_aware")
                    label, alone = strategy, None
                    if source.n_features_in_ == data[0].shape[1]:
                        alone = 100 * source.score(*data[3:])
                    own = {"accuracy": alone, "fit_seconds": timer.seconds}
                    record(case=case, level=level, model=f"source alone ({strategy})", **own)
                settings = {"strategy": strategy, "random_state": 0, "n_jobs": args.n_jobs}
                result = transfer(source, *data, **settings)
                record(case=case, level=level, model=label, draw=draw, **result)
