"""Does the time that one value takes tell how large its noise is?

Spearman's rank correlation between |noise| and the time of one call of ``transform`` on one
element. With n calls it has a standard error of 1/sqrt(n) where there is none.
"""

import time
from itertools import product

import _bench
import numpy as np
from scipy.stats import spearmanr

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise


def rows(options):
    X = np.zeros((1, 1))
    kinds = (OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise)
    for cls, epsilon in product(kinds, (1e-4, 1e-2, 1.0, 8.0)):
        transform = cls(epsilon).fit(X).transform
        nanoseconds, noise = np.empty(options.calls), np.empty(options.calls)
        for i in range(options.calls):
            start = time.perf_counter_ns()
            noisy = transform(X)
            nanoseconds[i] = time.perf_counter_ns() - start
            noise[i] = abs(noisy[0, 0])
        yield {
            "noise": cls.__name__,
            "epsilon": epsilon,
            "microseconds": float(np.median(nanoseconds)) / 1000,
            "rank_correlation": float(spearmanr(noise, nanoseconds).statistic),
        }


if __name__ == "__main__":
    _bench.run("noise_timing", rows, __doc__, calls=20_000)
