"""Peak memory of a prediction above its input and output, at growing numbers of rows.

Each size runs in a process of its own, so that peaks do not mix.
"""

import _bench
import numpy as np

from skdp import WideCDMMAClassifier

SIZES = ((784, 1_000), (784, 10_000), (784, 100_000), (20_000, 1_000), (20_000, 10_000))


def measure(case, options):
    n_features, n_rows = map(int, case.split(":"))
    rng = np.random.default_rng(0)
    train = rng.random((2000, n_features), dtype=np.float32)
    model = WideCDMMAClassifier(**_bench.PAPERS, n_layers=2, n_jobs=options.n_jobs, random_state=0)
    model.fit(train, np.arange(2000) % 2)
    X = rng.random((n_rows, n_features), dtype=np.float32)
    model.predict(X[:1])
    with _bench.PeakMemory() as memory:
        out = model.decision_function(X)
    peak = memory.mib - out.nbytes / 2**20
    return [{"n_features": n_features, "n_rows": n_rows, "peak_above_in_and_out_mib": peak}]


def cases(options):
    return [(f"{n_features}:{n_rows}", {}) for n_features, n_rows in SIZES]


if __name__ == "__main__":
    _bench.run_apart("predict_memory", cases, measure, __doc__, n_jobs=2)
