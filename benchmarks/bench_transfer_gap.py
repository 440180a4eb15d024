"""What self-training alone reaches on 9,000 digits of which 100 are labeled, and why.

At a small epsilon a release adds nothing, so that start, schedule, inference and size of subsets
of the target's own self-training decide. At a large one the source decides: the choice of the
1,000 test digits among the 10,000 does.
"""

import _bench
import numpy as np
from _fits import transfer
from _plan import FITS

from skdp import DPSource
from skdp.datasets import fetch_mnist, hide_labels

LONGER = {name: value for name, value in FITS["folds"].items() if name != "n_folds"}
VARIANTS = {
    "as in Kumar and Moser: n = 4, 6, 8, 10; M/N = 1/10 ... 1/4; L = 5": {},
    "as in SERUMS D3.3 (2022): n = 5, 10, 15, 20; M/N = 1/2; L = 1; empirical": {
        "strategy": "multitask"
    },
    "the same with the inference of Kumar and Moser": {
        "strategy": "multitask",
        "inference": "gamma",
    },
    "n = 4, 4, 4, 4": {"n_components": (4, 4, 4, 4)},
    "six rounds with n = 4, then 6, 8, 10": {"n_components": (4,) * 6 + (6, 8, 10)},
    "n = 8, 10, 12, 14": {"n_components": (8, 10, 12, 14)},
    "M/N = 1/2 in all rounds": {"n_inducing": 0.5},
    "with the inference of SERUMS D3.3 (2022), empirical": {"inference": "empirical"},
    "subsets of 250 rows": {"subset_size": 250},
    "other k-means (random_state=1)": {"random_state": 1},
    "four folds, as in Kumar and Moser": {"n_folds": 4},
    "four folds, n = 4, 6, 8, 10, 15, 20, 20": FITS["folds"],
    "one fold, n = 4, 6, 8, 10, 15, 20, 20": LONGER,
}


def self_training(options):
    X, y = fetch_mnist(subset="test", return_X_y=True)
    X, X_test, y, y_test = X[:9000], X[9000:], y[:9000], y[9000:]
    for name, changed in VARIANTS.items():
        for draw in range(options.draws):
            marked = hide_labels(y, 10, random_state=draw)
            fit = {"strategy": "alignment", "random_state": 0, "n_jobs": -1, **changed}
            result = transfer(None, X, y, marked, X_test, y_test, **fit)
            yield {"variant": name, "draw": draw, **result}


def blocks():
    X, y = fetch_mnist(subset="test", return_X_y=True)
    for epsilon in (np.inf, 8.0, 2.0):
        source = DPSource(epsilon, 1e-5, 1.0, parts="papers", n_jobs=-1, random_state=0)
        right = source.fit(*fetch_mnist(return_X_y=True)).release_.predict(X) == y
        accuracy = 100 * right.reshape(10, 1000).mean(axis=1)
        yield {"epsilon": str(epsilon), "thousands": accuracy.tolist()}


if __name__ == "__main__":
    _bench.run("transfer_gap", self_training, __doc__, {"labels_per_class": 10}, draws=5)
    _bench.save("transfer_blocks", {}, _bench.collected(blocks()))
