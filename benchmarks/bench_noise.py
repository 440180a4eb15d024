"""Noise: values a second on one core, memory, against NumPy's plain sampler and against peers.

The peers (diffprivlib, OpenDP) are measured where they are installed, on fewer values.
"""

import _bench
import numpy as np

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise


def plain():
    rng = np.random.default_rng()
    return lambda X: (X + rng.laplace(size=X.shape)).astype(np.float32)


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


def samplers(X):
    """Yield names of samplers, what adds their noise, and the values for it."""
    yield "X + rng.laplace(size=X.shape)", plain(), X
    for cls in (OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise):
        yield cls.__name__, cls().fit(X[:1]).transform, X
    for name, make in (("diffprivlib Laplace", diffprivlib), ("OpenDP make_laplace", opendp)):
        try:
            yield name, make(), X[: max(1, len(X) // 60)]
        except ImportError:
            print(f"{name} is not installed, and left out")


def rows(options):
    X = np.random.default_rng(0).random((options.rows, 784), dtype=np.float32)
    first = None
    for name, add_noise, data in samplers(X):
        seconds = []
        for _ in range(options.repeats):
            with _bench.Timer() as timer, _bench.PeakMemory() as memory:
                noisy = add_noise(data)
            seconds.append(timer.seconds)
            output = noisy.nbytes / 2**20
            del noisy
        rate = data.size / min(seconds) / 1e6
        first = first or rate
        yield {
            "noise": name,
            "values": data.size,
            "million_values_a_second": rate,
            "peak_above_in_and_out_mib": memory.mib - output,
            "speed_ratio_to_numpy": rate / first,
        }


if __name__ == "__main__":
    _bench.run("noise", rows, __doc__, rows=60_000, repeats=5)
