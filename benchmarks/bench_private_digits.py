"""Accuracy of private classifiers on MNIST: optimal, staircase and Gaussian noise.

Training digits are perturbed (δ = 1e-5, sensitivity 1), test digits are not. Splits of the
10,000 test digits of MNIST into 9,000 and 1,000, each with fresh noise.
"""

import _bench
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise, WideCDMMAClassifier
from skdp.datasets import fetch_mnist


def noises(epsilon):
    yield "optimal", OptimalDPNoise(epsilon, 1e-5, sensitivity=1.0, perturb="fit")
    yield "staircase", StaircaseDPNoise(epsilon, 1e-5, sensitivity=1.0, perturb="fit")
    yield "Gaussian, analytic", GaussianDPNoise(epsilon, sensitivity=1.0, perturb="fit")
    if epsilon < 1:
        noise = GaussianDPNoise(epsilon, sensitivity=1.0, perturb="fit", calibration="classical")
        yield "Gaussian, classical", noise


def rows(options):
    X, y = fetch_mnist(subset="test", return_X_y=True)
    splits = ShuffleSplit(options.n_splits, test_size=1000, random_state=0)
    folds = list(splits.split(X))
    settings = {"n_layers": options.n_layers, "n_jobs": options.n_jobs, "random_state": 0}
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
        for name, noise in noises(epsilon):
            model = make_pipeline(noise, WideCDMMAClassifier(**_bench.PAPERS, **settings))
            scores = [model.fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds]
            magnitude = noise.fit(X[:1]).expected_magnitude_
            row = {"epsilon": epsilon, "noise": name, "expected_magnitude": magnitude}
            yield {**row, **_bench.mean_and_sd(scores)}


if __name__ == "__main__":
    _bench.run("private_digits", rows, __doc__, n_splits=5, n_layers=1, n_jobs=2)
