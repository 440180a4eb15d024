"""How close does an audit of a source of statistics come to its guarantee; which bugs are found?

Fits with and without a canary, of synthetic rows of two columns and two classes. The canary is at
1/6 of each column, where all of it shows in the moments: the cosines of the columns are small
there. First of sources as they are; then, for the largest ε, with a planted bug. Where gradients
have no noise, of four times as many rows: the more rows, the more nearly what is released is
linear in the noise.
"""

from dataclasses import replace

import _bench
import numpy as np
from _bench import quick_noise

from skdp import DPStatisticsSource
from skdp.noise import GaussianQueries
from skdp.privacy import gaussian_sigma
from skdp.privacy.audit import audit_release
from skdp.release import PrincipalModel

DELTA = 1e-5
FOUND = ("mu_lower", "epsilon_lower", "event_epsilon_lower", "epsilon_detectable")


class ExactScores(DPStatisticsSource):
    def fit(self, X, y, groups=None):
        super().fit(X, y)
        exact = DPStatisticsSource(np.inf, classes=[0, 1]).fit(X, y)
        model = PrincipalModel(self.release_.moments, exact.release_.linear)
        self.release_ = replace(self.release_, model=model)
        return self


class ExactSizes(DPStatisticsSource):
    def fit(self, X, y, groups=None):
        super().fit(X, y)
        moments = replace(self.release_.moments, effective_sizes=np.bincount(y).astype(float))
        self.release_ = replace(self.release_, model=PrincipalModel(moments, self.release_.linear))
        return self


class Unweighed(DPStatisticsSource):
    def fit(self, X, y, groups=None):
        return super().fit(X, y, np.arange(len(y)))


HALVED = "noise of components' second moments halved"
PERSONS = {"source": Unweighed, "persons": True}
# Bug, model, noise, and what is audited in place of a source of records.
BUGS = [
    ("none", "linear", quick_noise(), {}),
    ("exact linear scores", "linear", quick_noise(), {"source": ExactScores}),
    ("exact effective sizes", "linear", quick_noise(), {"source": ExactSizes}),
    ("rows of a person not weighed", "linear", quick_noise(), PERSONS),
    ("mixtures without noise", "mixtures", quick_noise(0, ("class ", "step ", "component ")), {}),
    ("gradients without noise", "logistic", quick_noise(0, ("gradients",)), {"times": 4}),
    ("all shares spent twice", "linear", quick_noise(0.5**0.5, ("",)), {}),
    ("share of the contrast spent twice", "linear", quick_noise(0.5**0.5, ("contrast",)), {}),
    (
        "noise of the total also in the contrast",
        "linear",
        quick_noise(same=("total", "contrast")),
        {},
    ),
    ("noise of second moments halved", "linear", quick_noise(0.5, ("second",)), {}),
    ("all shares spent twice", "mixtures", quick_noise(0.5**0.5, ("",)), {}),
    (HALVED, "mixtures", quick_noise(0.5, ("component seconds",)), {}),
    ("radii without noise", "mixtures", quick_noise(0, ("distances", "lengths")), {}),
]


def audited(options, epsilon, model, source=DPStatisticsSource, persons=False, times=1):
    """Return a row of the table."""
    unit = "group" if persons else "record"
    source = source(epsilon, classes=[0, 1], model=model, privacy_unit=unit)
    rng = np.random.RandomState(0)
    X = rng.rand(times * options.rows, 2)
    y = (X[:, 0] + 0.3 * rng.randn(len(X)) > 0.5).astype(int)
    data = {"groups": np.arange(len(X)) // 2} if persons else {"canary": ([1 / 6, 1 / 6], 1)}
    with _bench.Timer() as timer:
        audit = audit_release(source, X, y, **data, n_trials=options.trials)
    return {
        "epsilon": epsilon,
        "model": model,
        "rows": len(X),
        "mu": 1 / gaussian_sigma(epsilon, DELTA),
        **{name: getattr(audit, name) for name in FOUND},
        "attack": ", ".join(audit.attack),
        "passed": audit.passed,
        "seconds": round(timer.seconds),
    }


def rows(options):
    epsilons = [float(epsilon) for epsilon in options.epsilons.split(",")]
    for bug, model, add, changes in BUGS:
        GaussianQueries.add = add
        for epsilon in epsilons if bug == "none" else [max(epsilons)]:
            yield {"bug": bug, **audited(options, epsilon, model, **changes)}


if __name__ == "__main__":
    _bench.run("release_audit", rows, __doc__, trials=2000, epsilons="1,4,10", rows=500)
