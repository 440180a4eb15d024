"""What k releases, and a record of 784 elements, amount to: closed forms and distributions.

python benchmarks/bench_accounting.py
"""

import numpy as np
from _report import Timer, parse, save

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise

options = parse(__doc__, delta=1e-5)
X = np.zeros((2, 784))
rows = []


def record(what, noise, guarantee, many):
    with Timer() as timer:
        tight = many.epsilon_at(options.delta)
    rows.append(
        {
            "what": what,
            "noise": guarantee.mechanism,
            "epsilon": guarantee.epsilon,
            "closed_form_epsilon": many.epsilon,
            "closed_form_delta": many.delta,
            "tight_epsilon": tight,
            "seconds": timer.seconds,
        }
    )
    print(rows[-1], flush=True)


for epsilon in (0.01, 0.1, 1.0):
    # Of δ, the point masses of all 784 elements or 100 releases take one part in a hundred.
    atom = options.delta / 100 / 784
    for noise in (
        OptimalDPNoise(epsilon, atom),
        StaircaseDPNoise(epsilon, atom),
        GaussianDPNoise(epsilon, options.delta),
    ):
        guarantee = noise.fit(X).guarantee_
        for k in (10, 100):
            record(f"{k} releases, per element", noise, guarantee, guarantee.compose(k))
        record("a record of 784", noise, guarantee, guarantee.to_record())
save("accounting", vars(options), rows)
