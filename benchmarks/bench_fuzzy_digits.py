"""Deep fuzzy classifier on 9,000/1,000 splits of 10,000 MNIST digits: noise in test or training.

The ten folds of the 10,000 test digits of MNIST; δ = 1e-5 and sensitivity 1 in training.
"""

import _bench
import numpy as np
from sklearn.model_selection import KFold

from skdp import DeepFuzzyClassifier, OptimalDPNoise
from skdp.datasets import fetch_mnist


def rows(options):
    X, y = fetch_mnist(subset="test", return_X_y=True)
    folds = list(KFold(10, shuffle=True, random_state=0).split(X))
    rng = np.random.RandomState(0)

    def run(noise, sd):
        scores = []
        for train, test in folds:
            model = DeepFuzzyClassifier(
                noise=noise, n_jobs=options.n_jobs, random_state=0, **_bench.PAPERS
            )
            noisy = (X[test] + sd * rng.randn(*X[test].shape)).astype(np.float32)
            scores.append(model.fit(X[train], y[train]).score(noisy, y[test]))
        return _bench.mean_and_sd(scores)

    for sd in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        yield {"test_noise_sd": sd, **run(None, sd)}
    for epsilon in (8.0, 2.0, 1.0, 0.5, 0.1):
        yield {"epsilon": epsilon, **run(OptimalDPNoise(epsilon, 1e-5, sensitivity=1.0), 0.0)}


if __name__ == "__main__":
    _bench.run("fuzzy_digits", rows, __doc__, n_jobs=2)
