"""Noise for 47 million values: time and memory against NumPy's own Laplace sampler.

python benchmarks/bench_noise.py [--rows 60000] [--repeats 5]
"""

import numpy as np
from _report import PeakMemory, Timer, parse, save

from skdp import GaussianDPNoise, OptimalDPNoise

options = parse(__doc__, rows=60_000, repeats=5)
X = np.random.default_rng(0).random((options.rows, 784), dtype=np.float32)
rng = np.random.default_rng()


def plain(X):
    return (X + rng.laplace(size=X.shape)).astype(np.float32)


rows = []
for name, add_noise in {
    "OptimalDPNoise": OptimalDPNoise().fit(X[:1]).transform,
    "GaussianDPNoise": GaussianDPNoise().fit(X[:1]).transform,
    "X + rng.laplace(size=X.shape)": plain,
}.items():
    seconds = []
    for _ in range(options.repeats):
        with Timer() as timer, PeakMemory() as memory:
            noisy = add_noise(X)
        seconds.append(timer.seconds)
        output = noisy.nbytes / 2**20
        del noisy
    rows.append(
        {
            "noise": name,
            "seconds": float(np.median(seconds)),
            "peak_above_in_and_out_mib": memory.mib - output,
        }
    )
    print(rows[-1], flush=True)
for row in rows:
    row["time_ratio_to_numpy"] = row["seconds"] / rows[-1]["seconds"]
save("noise", vars(options), rows)
