"""Human activity, leave-5-people-out: central, merged and single-participant models.

    python benchmarks/bench_human_activity.py [--n-jobs 2]

Thirty people in six folds of five. Features are clipped to the 1st and 99th percentile of
the five people left out, who stand for a public calibration set, and scaled to [0, 1], so
that a sensitivity of 1 covers any change of a feature. Each of the 25 others is one
participant. "best single" is the best of the 25 in hindsight, on the test rows themselves.
The merged models decide by the report's rule, and by five voters for each class.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from _report import parse, save

from skdp import DeepFuzzyClassifier, OptimalDPNoise
from skdp.datasets import load_human_activity

options = parse(__doc__, n_jobs=2)
activity = load_human_activity()
y, people = activity.target, activity.groups
folds = np.random.RandomState(0).permutation(np.unique(people)).reshape(6, 5)


def fit(X, y, groups, epsilon):
    noise = None if np.isinf(epsilon) else OptimalDPNoise(epsilon, 1e-5)
    model = DeepFuzzyClassifier(noise=noise, n_jobs=options.n_jobs, random_state=0)
    return model.fit(X, y, groups=groups)


NAMES = ("central", "merged", "merged, five voters", "best single", "mean single")
rows = []
for epsilon in (np.inf, 10.0, 1.0):
    scores = {name: [] for name in NAMES}
    for held_out in folds:
        test = np.isin(people, held_out)
        low, high = np.percentile(activity.data[test], [1, 99], axis=0)
        X = np.clip((activity.data - low) / (high - low), 0, 1).astype(np.float32)
        participants = [
            fit(X[people == p], y[people == p], people[people == p], epsilon)
            for p in np.unique(people[~test])
        ]
        single = [model.score(X[test], y[test]) for model in participants]
        merged = DeepFuzzyClassifier.merge(participants).set_params(n_jobs=options.n_jobs)
        scores["merged"].append(merged.score(X[test], y[test]))
        merged.set_params(n_voters=5)
        scores["merged, five voters"].append(merged.score(X[test], y[test]))
        scores["best single"].append(max(single))
        scores["mean single"].append(np.mean(single))
        central = fit(X[~test], y[~test], None, epsilon)
        scores["central"].append(central.score(X[test], y[test]))
    for name, values in scores.items():
        row = {"epsilon": epsilon, "model": name, "folds": values}
        rows.append({**row, "mean": np.mean(values), "sd": np.std(values, ddof=1)})
        print(rows[-1], flush=True)
save("human_activity", vars(options), rows)
