"""Peak memory of a prediction above its input and output, at growing numbers of rows.

    python benchmarks/bench_predict_memory.py [--n-jobs 2]

Each size runs in a process of its own, so that peaks do not mix.
"""

import subprocess
import sys

import numpy as np
from _report import PeakMemory, parse, save

from skdp import WideCDMMAClassifier

options = parse(__doc__, n_jobs=2, rows=0, features=784)
if options.rows:
    rng = np.random.default_rng(0)
    train = rng.random((2000, options.features), dtype=np.float32)
    model = WideCDMMAClassifier(n_layers=2, n_jobs=options.n_jobs, random_state=0)
    model.fit(train, np.arange(2000) % 2)
    X = rng.random((options.rows, options.features), dtype=np.float32)
    model.predict(X[:1])
    with PeakMemory() as memory:
        out = model.decision_function(X)
    print(memory.mib - out.nbytes / 2**20)
    sys.exit()

rows = []
for features in (784, 20_000):
    for n in (1_000, 10_000, 100_000):
        if n * features > 500_000_000:
            continue
        command = [sys.executable, __file__, f"--rows={n}", f"--features={features}"]
        command.append(f"--n-jobs={options.n_jobs}")
        peak = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        rows.append({"n_features": features, "n_rows": n, "peak_above_in_and_out_mib": peak})
        print(rows[-1], flush=True)
save("predict_memory", vars(options), rows)
