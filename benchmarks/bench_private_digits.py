"""Accuracy of private classifiers on MNIST: optimal, staircase and Gaussian noise.

    python benchmarks/bench_private_digits.py [--n-splits 5] [--n-layers 1] [--n-jobs 2]

Training digits are perturbed (δ = 1e-5, sensitivity 1), test digits are not. Splits of the
10,000 test digits of MNIST into 9,000 and 1,000, each with fresh noise.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from _report import parse, save
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise, WideCDMMAClassifier
from skdp.datasets import fetch_mnist

options = parse(__doc__, n_splits=5, n_layers=1, n_jobs=2)
X, y = fetch_mnist(subset="test", return_X_y=True)
splits = ShuffleSplit(options.n_splits, test_size=1000, random_state=0)
folds = list(splits.split(X))

rows = []
for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
    noises = {
        "optimal": OptimalDPNoise(epsilon, 1e-5, perturb="fit"),
        "staircase": StaircaseDPNoise(epsilon, 1e-5, perturb="fit"),
        "Gaussian, analytic": GaussianDPNoise(epsilon, perturb="fit"),
    }
    if epsilon < 1:
        noises["Gaussian, classical"] = GaussianDPNoise(
            epsilon, perturb="fit", calibration="classical"
        )
    for name, noise in noises.items():
        model = WideCDMMAClassifier(
            n_layers=options.n_layers, n_jobs=options.n_jobs, random_state=0
        )
        scores = [
            make_pipeline(noise, model).fit(X[train], y[train]).score(X[test], y[test])
            for train, test in folds
        ]
        rows.append(
            {
                "epsilon": epsilon,
                "noise": name,
                "expected_magnitude": noise.fit(X[:1]).expected_magnitude_,
                "mean": np.mean(scores),
                "sd": np.std(scores, ddof=1),
            }
        )
        print(rows[-1], flush=True)
save("private_digits", vars(options), rows)
