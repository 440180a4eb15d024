"""Human activity, leave-5-people-out: central, merged and single-participant models.

Thirty people in six folds of five. The five left out stand for a public calibration set, whose
percentiles are the bounds of all features. Each of the 25 others is one participant. "best single"
is the best of them in hindsight, on the test rows themselves. The merged models decide by the
report's rule, and by five voters for each class.
"""

import _bench
import numpy as np
from _tasks import in_bounds_of

from skdp import DeepFuzzyClassifier, OptimalDPNoise
from skdp.datasets import load_human_activity


def rows(options):
    activity = load_human_activity()
    y, people = activity.target, activity.groups
    folds = np.random.RandomState(0).permutation(np.unique(people)).reshape(6, 5)
    for epsilon in (np.inf, 10.0, 1.0):
        scores = []
        for held_out in folds:
            test = np.isin(people, held_out)
            X = in_bounds_of(test, activity.data).astype(np.float32)
            scores.append(fold(X, y, people, test, epsilon, options.n_jobs))
        for name in scores[0]:
            values = [of_fold[name] for of_fold in scores]
            row = {"epsilon": epsilon, "model": name, "folds": values}
            yield {**row, **_bench.mean_and_sd(values)}


def fold(X, y, people, test, epsilon, n_jobs):
    """Return the accuracy of each model on the people left out."""

    def fit(rows, groups):
        noise = None if np.isinf(epsilon) else OptimalDPNoise(epsilon, 1e-5, sensitivity=1.0)
        model = DeepFuzzyClassifier(noise=noise, n_jobs=n_jobs, random_state=0, **_bench.PAPERS)
        return model.fit(X[rows], y[rows], groups=groups)

    asked = X[test], y[test]
    each = [people == person for person in np.unique(people[~test])]
    participants = [fit(rows, people[rows]) for rows in each]
    single = [model.score(*asked) for model in participants]
    merged = DeepFuzzyClassifier.merge(participants).set_params(n_jobs=n_jobs)
    by_rule = merged.score(*asked)
    return {
        "central": fit(~test, None).score(*asked),
        "merged": by_rule,
        "merged, five voters": merged.set_params(n_voters=5).score(*asked),
        "best single": max(single),
        "mean single": np.mean(single),
    }


if __name__ == "__main__":
    _bench.run("human_activity", rows, __doc__, n_jobs=2)
