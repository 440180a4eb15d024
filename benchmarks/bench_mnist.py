"""All of MNIST with the defaults: accuracy, time and memory against a plain baseline.

    python benchmarks/bench_mnist.py [--n-jobs 2] [--baseline 1]

Needs MNIST (SKDP_DATA or the network). Times are given as ratios plain : skdp, measured in
the same run; both see the same data, the baseline in float64 on one core.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import _plain
import numpy as np
from _report import PeakMemory, Timer, parse, save
from sklearn.metrics import log_loss

from skdp import WideCDMMAClassifier
from skdp.datasets import fetch_mnist

options = parse(__doc__, n_jobs=2, baseline=1)
X, y = fetch_mnist(subset="train", return_X_y=True)
X_test, y_test = fetch_mnist(subset="test", return_X_y=True)

rows = []
for n_layers in (1, 5):
    model = WideCDMMAClassifier(n_layers=n_layers, n_jobs=options.n_jobs, random_state=0)
    with Timer() as fit, PeakMemory() as fit_memory:
        model.fit(X, y)
    with Timer() as predict, PeakMemory() as predict_memory:
        accuracy = np.mean(model.predict(X_test) == y_test)
    row = {
        "model": f"skdp, n_jobs={options.n_jobs}",
        "n_layers": n_layers,
        "accuracy": accuracy,
        "fit_seconds": fit.seconds,
        "predict_seconds": predict.seconds,
        "fit_peak_above_data_mib": fit_memory.mib,
        "predict_peak_above_model_mib": predict_memory.mib,
    }
    if n_layers == 5:
        row["log_loss"] = log_loss(y_test, model.predict_proba(X_test))
    rows.append(row)
    print(row, flush=True)

if options.baseline:
    X, X_test = X.astype(float), X_test.astype(float)
    with Timer() as fit:
        models = _plain.fit(X, y)
    with Timer() as predict:
        accuracy = np.mean(_plain.predict(models, X_test) == y_test)
    rows.append(
        {
            "model": "plain baseline, one core",
            "n_layers": 5,
            "accuracy": accuracy,
            "fit_seconds": fit.seconds,
            "predict_seconds": predict.seconds,
        }
    )
    print(rows[-1], flush=True)

save("mnist", vars(options), rows)
