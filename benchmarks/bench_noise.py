"""Noise: values a second on one core, memory, against NumPy's plain sampler and against peers.

    python benchmarks/bench_noise.py [--rows 60000] [--repeats 5]

The peers (diffprivlib, OpenDP) are measured where they are installed, on fewer values.
"""

import numpy as np
from _report import PeakMemory, Timer, parse, save

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise

options = parse(__doc__, rows=60_000, repeats=5)
X = np.random.default_rng(0).random((options.rows, 784), dtype=np.float32)
few = X[: max(1, options.rows // 60)]
rng = np.random.default_rng()


def plain(X):
    return (X + rng.laplace(size=X.shape)).astype(np.float32)


def diffprivlib():
    from diffprivlib.mechanisms import Laplace

    mechanism = Laplace(epsilon=1.0, sensitivity=1.0)
    return lambda X: np.reshape([mechanism.randomise(float(x)) for x in X.flat], X.shape)


def opendp():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    laplace = dp.m.make_laplace(*space, scale=1.0)
    return lambda X: np.reshape(laplace(X.astype(float).ravel().tolist()), X.shape)


samplers = {
    "X + rng.laplace(size=X.shape)": (plain, X),
    **{
        cls.__name__: (cls().fit(X[:1]).transform, X)
        for cls in (OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise)
    },
}
for name, make in (("diffprivlib Laplace", diffprivlib), ("OpenDP make_laplace", opendp)):
    try:
        samplers[name] = (make(), few)
    except ImportError:
        print(f"{name} is not installed, and left out")

rows = []
for name, (add_noise, data) in samplers.items():
    seconds = []
    for _ in range(options.repeats):
        with Timer() as timer, PeakMemory() as memory:
            noisy = add_noise(data)
        seconds.append(timer.seconds)
        output = noisy.nbytes / 2**20
        del noisy
    rows.append(
        {
            "noise": name,
            "values": data.size,
            "million_values_a_second": data.size / min(seconds) / 1e6,
            "peak_above_in_and_out_mib": memory.mib - output,
        }
    )
    print(rows[-1], flush=True)
for row in rows:
    rate = row["million_values_a_second"]
    row["speed_ratio_to_numpy"] = rate / rows[0]["million_values_a_second"]
save("noise", vars(options), rows)
