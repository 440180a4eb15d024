"""Accuracy against ε at fixed δ, and against δ at fixed ε: Figs. 4.1, 4.2 of SERUMS D3.1 (2019).

Splits of the 10,000 test digits of MNIST into 9,000 and 1,000; training digits are perturbed. The
classical Gaussian calibration is proven, and here run, for ε < 1 only. Draws a figure too.
"""

import _bench
import matplotlib.pyplot as plt
from sklearn.model_selection import ShuffleSplit

from skdp import DeepFuzzyClassifier, GaussianDPNoise, OptimalDPNoise
from skdp.datasets import fetch_mnist

EPSILONS, DELTAS = (0.1, 0.25, 0.5, 0.9, 2.0, 4.0, 8.0), (1e-7, 1e-5, 1e-3, 1e-2, 1e-1, 0.5)
GRID = [(e, d) for d in (1e-5, 1e-2) for e in EPSILONS]
GRID += [(e, d) for e in (0.5, 0.9) for d in DELTAS if d not in (1e-5, 1e-2)]
# What each panel holds, at which value, and what it varies.
PANELS = [("delta", 1e-5, "epsilon"), ("delta", 1e-2, "epsilon")]
PANELS += [("epsilon", 0.5, "delta"), ("epsilon", 0.9, "delta")]


def noises(epsilon, delta):
    yield "optimal", OptimalDPNoise(epsilon, delta, sensitivity=1.0)
    yield "Gaussian, analytic", GaussianDPNoise(epsilon, delta, sensitivity=1.0)
    if epsilon < 1:
        yield (
            "Gaussian, classical",
            GaussianDPNoise(epsilon, delta, sensitivity=1.0, calibration="classical"),
        )


def rows(options):
    X, y = fetch_mnist(subset="test", return_X_y=True)
    folds = list(ShuffleSplit(options.n_splits, test_size=1000, random_state=0).split(X))
    for epsilon, delta in GRID:
        for name, noise in noises(epsilon, delta):
            model = DeepFuzzyClassifier(
                noise=noise, n_jobs=options.n_jobs, random_state=0, **_bench.PAPERS
            )
            scores = [model.fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds]
            row = {"epsilon": epsilon, "delta": delta, "noise": name}
            yield {**row, **_bench.mean_and_sd(scores)}


def plot(rows):
    figure, panels = plt.subplots(2, 2, figsize=(9, 7), layout="constrained", sharey=True)
    for axes, (fixed, value, free) in zip(panels.flat, PANELS, strict=True):
        for name in ("optimal", "Gaussian, analytic", "Gaussian, classical"):
            some = [r for r in rows if r[fixed] == value and r["noise"] == name]
            points = sorted((r[free], r["mean"], r["sd"]) for r in some)
            axes.errorbar(*zip(*points, strict=True), marker="o", capsize=2, label=name)
        axes.set(xscale="log", xlabel={"epsilon": "ε", "delta": "δ"}[free])
        axes.set_title(f"{'δ' if fixed == 'delta' else 'ε'} = {value:g}")
    panels[0, 0].set_ylabel("accuracy")
    panels[1, 0].set_ylabel("accuracy")
    panels[0, 0].legend()
    figure.savefig(_bench.RESULTS / "fuzzy_privacy.png", dpi=110)


if __name__ == "__main__":
    plot(_bench.run("fuzzy_privacy", rows, __doc__, n_splits=3, n_jobs=2))
