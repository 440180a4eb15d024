"""9,000/1,000 splits of 10,000 MNIST digits: both inferences, one layer and five.

Ten folds, so that each digit is tested once and the spread between splits of this size is seen.
"""

import _bench
import numpy as np
from sklearn.model_selection import KFold

from skdp import WideCDMMAClassifier
from skdp.datasets import fetch_mnist


def rows(options):
    X, y = fetch_mnist(subset="test", return_X_y=True)
    folds = list(KFold(10, shuffle=True, random_state=0).split(X))
    # The split that needs no seed: the first 9,000 digits and the last 1,000.
    folds.append((np.arange(9000), np.arange(9000, 10000)))
    for inference in ("gamma", "empirical"):
        for n_layers in (1, 5):
            settings = {"inference": inference, "n_layers": n_layers}
            model = WideCDMMAClassifier(
                **_bench.PAPERS, **settings, n_jobs=options.n_jobs, random_state=0
            )
            *scores, last = (model.fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds)
            ends = {"min": min(scores), "max": max(scores), "last_1000": last}
            yield {**settings, **_bench.mean_and_sd(scores), **ends}


if __name__ == "__main__":
    _bench.run("mnist_split", rows, __doc__, n_jobs=2)
