"""All of MNIST with the defaults: accuracy, time and memory against a plain baseline.

Both are measured in the same run and see the same data, the baseline in float64 on one core.
"""

import _bench
import _plain
import numpy as np
from _tasks import mnist
from sklearn.metrics import log_loss

from skdp import WideCDMMAClassifier


def rows(options):
    X, y, X_test, y_test = mnist()
    for n_layers in (1, 5):
        model = WideCDMMAClassifier(
            **_bench.PAPERS, n_layers=n_layers, n_jobs=options.n_jobs, random_state=0
        )
        with _bench.Timer() as fit, _bench.PeakMemory() as fit_memory:
            model.fit(X, y)
        with _bench.Timer() as predict, _bench.PeakMemory() as predict_memory:
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
        yield row
    if options.baseline:
        yield baseline(X.astype(float), y, X_test.astype(float), y_test)


def baseline(X, y, X_test, y_test):
    with _bench.Timer() as fit:
        models = _plain.fit(X, y)
    with _bench.Timer() as predict:
        accuracy = np.mean(_plain.predict(models, X_test) == y_test)
    times = {"fit_seconds": fit.seconds, "predict_seconds": predict.seconds}
    return {"model": "plain baseline, one core", "n_layers": 5, "accuracy": accuracy, **times}


if __name__ == "__main__":
    _bench.run("mnist", rows, __doc__, n_jobs=2, baseline=1)
