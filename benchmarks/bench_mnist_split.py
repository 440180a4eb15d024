"""9,000/1,000 splits of 10,000 MNIST digits: both inferences, one layer and five.

    python benchmarks/bench_mnist_split.py [--n-jobs 2]

The ten folds of the 10,000 test digits of MNIST, so that each digit is tested once and the
spread between splits of this size is seen.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from _report import parse, save
from sklearn.model_selection import KFold

from skdp import WideCDMMAClassifier
from skdp.datasets import fetch_mnist

options = parse(__doc__, n_jobs=2)
X, y = fetch_mnist(subset="test", return_X_y=True)
folds = list(KFold(10, shuffle=True, random_state=0).split(X))
# The split that needs no seed: the first 9,000 digits and the last 1,000.
folds.append((np.arange(9000), np.arange(9000, 10000)))

rows = []
for inference in ("gamma", "empirical"):
    for n_layers in (1, 5):
        scores = [
            WideCDMMAClassifier(
                inference=inference, n_layers=n_layers, n_jobs=options.n_jobs, random_state=0
            )
            .fit(X[train], y[train])
            .score(X[test], y[test])
            for train, test in folds
        ]
        *scores, last = scores
        rows.append(
            {
                "inference": inference,
                "n_layers": n_layers,
                "mean": np.mean(scores),
                "sd": np.std(scores, ddof=1),
                "min": min(scores),
                "max": max(scores),
                "last_1000": last,
            }
        )
        print(rows[-1], flush=True)
save("mnist_split", vars(options), rows)
