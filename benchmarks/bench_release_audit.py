"""How close does an audit of a whole source of statistics come to what it guarantees?

    python benchmarks/bench_release_audit.py [--fits 6000] [--epsilons 1,4]

Fits with and without a canary, of made-up rows, half of ``--fits`` of either kind. The cosines of
the columns are part of a released record and of no moments, by which the audit goes: a canary at
1/6 of each column, where they are small, keeps 0.86 of the distance μ by the split of the budget.
With a canary in the corner, which the audit takes by default, 0.70 is left.
"""

import time

import numpy as np
from _report import parse, save

from skdp import DPStatisticsSource
from skdp.privacy import gaussian_sigma
from skdp.privacy.audit import audit_release

options = parse(__doc__, fits=6000, epsilons="1,4")
rng = np.random.RandomState(0)
X = rng.rand(2000, 2)
y = (X[:, 0] + 0.3 * rng.randn(2000) > 0.5).astype(int)
rows = []
for epsilon in map(float, options.epsilons.split(",")):
    start = time.perf_counter()
    source = DPStatisticsSource(epsilon, classes=[0, 1])
    canary = ([1 / 6, 1 / 6], 1)
    audit = audit_release(source, X, y, canary=canary, n_trials=options.fits // 2)
    rows.append(
        {
            "epsilon": epsilon,
            "mu": 1 / gaussian_sigma(epsilon, 1e-5),
            "mu_lower": audit.mu_lower,
            "epsilon_lower": audit.epsilon_lower,
            "event_epsilon_lower": audit.event_epsilon_lower,
            "epsilon_detectable": audit.epsilon_detectable,
            "passed": audit.passed,
            "seconds": round(time.perf_counter() - start),
        }
    )
    print(rows[-1], flush=True)
save("release_audit", vars(options), rows)
