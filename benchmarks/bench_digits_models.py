"""MNIST by skdp and by what else could be taken: accuracy, processor seconds and memory, one core.

For whole records at ε = 1 and 8: releases of noisy statistics, wide autoencoders of noisy rows,
and DP-SGD with convolutions (torch and opacus; left out where missing) of fewer rows, for it takes
minutes. The same for 10,000 rows, where support vectors are still quick.
"""

from importlib.util import find_spec

import _bench
import numpy as np
from _tasks import mnist
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skdp import DPStatisticsSource, GaussianDPNoise, OrientedGradients, WideCDMMAClassifier

DELTA, EPOCHS = 1e-5, 10
LEVELS = (1.0, 8.0)


def statistics(epsilon, gradients):
    """A source of noisy statistics, whose release predicts."""
    settings = {"classes": range(10), "random_state": np.random.RandomState(0)}
    if not gradients:
        return Released(DPStatisticsSource(epsilon, DELTA, bounds=(0, 1), **settings))
    features = OrientedGradients((28, 28))
    source = DPStatisticsSource(epsilon, DELTA, bounds=(0, 1), model="logistic", **settings)
    return Released(source, features)


class Released:
    """Fits a source, and predicts by its release alone."""

    def __init__(self, source, features=None):
        self.source, self.features = source, features

    def encoded(self, X):
        return X if self.features is None else self.features.fit_transform(X)

    def fit(self, X, y):
        self.release = self.source.fit(self.encoded(X), y).release_
        return self

    def predict(self, X):
        return self.release.predict(self.encoded(X))


class Network:
    """DP-SGD with convolutions."""

    def __init__(self, epsilon):
        self.level = f"record {epsilon:g}"

    def fit(self, X, y):
        import _dpsgd

        self.predict = _dpsgd.Network(self.level, (X, y), EPOCHS, pictures=True).predict


def noisy_rows(epsilon):
    settings = {"bounds": (0, 1), "privacy_unit": "record", "perturb": "fit"}
    noise = GaussianDPNoise(epsilon, DELTA, **settings, random_state=np.random.RandomState(0))
    return make_pipeline(noise, WideCDMMAClassifier(**_bench.PAPERS, n_layers=1, random_state=0))


MODELS = {
    "WideCDMMAClassifier, 1 layer": lambda: WideCDMMAClassifier(
        **_bench.PAPERS, n_layers=1, random_state=0
    ),
    "the same, n_probe=4": lambda: WideCDMMAClassifier(
        **_bench.PAPERS, n_layers=1, n_probe=4, random_state=0
    ),
    "WideCDMMAClassifier, 5 layers": lambda: WideCDMMAClassifier(**_bench.PAPERS, random_state=0),
    "SVC": lambda: SVC(C=10),
    "k nearest neighbors": lambda: KNeighborsClassifier(3),
    "random forest": lambda: RandomForestClassifier(random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    **{
        f"{name}, ε = {epsilon:g}": lambda make=make, epsilon=epsilon: make(epsilon)
        for epsilon in reversed(LEVELS)
        for name, make in (
            ("statistics of gradients", lambda epsilon: statistics(epsilon, True)),
            ("statistics of pixels", lambda epsilon: statistics(epsilon, False)),
            ("noisy rows, 1 layer", noisy_rows),
            ("DP-SGD", Network),
        )
    },
}


def measure(name, options):
    X, y, X_test, y_test = mnist()
    X, y = X[: options.rows], y[: options.rows]
    X_test, y_test = X_test[: options.queries], y_test[: options.queries]
    model, fit = MODELS[name](), _bench.processor()
    with _bench.PeakMemory() as memory, fit:
        model.fit(X, y)
    with _bench.processor() as predict:
        found = model.predict(X_test)
    row = {
        "model": name,
        "rows": options.rows,
        "queries": options.queries,
        "accuracy": float(np.mean(found == y_test)),
        "fit_seconds": fit.seconds,
        "predict_seconds": predict.seconds,
        "fit_peak_above_data_mib": memory.mib,
    }
    return [row]


def cases(options):
    torch = find_spec("torch") and find_spec("opacus")
    for n_rows, n_queries in ((10_000, 2_000), (options.rows, options.queries)):
        networks = torch and n_rows <= options.most_rows_of_networks
        for name in MODELS:
            if networks or not name.startswith("DP-SGD"):
                yield name, {"rows": n_rows, "queries": n_queries}


if __name__ == "__main__":
    settings = {"rows": 60_000, "queries": 10_000, "most_rows_of_networks": 10_000}
    _bench.run_apart("digits_models", cases, measure, __doc__, **settings)
