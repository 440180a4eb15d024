"""
Does a release keep its promise? Auditing a source
==================================================

A guarantee is a proof about an algorithm, and a program may contain a mistake. An audit makes many
releases with and without one more record, tries to tell the two kinds apart, and so bounds ε from
below. If the bound exceeds the claim, the claim is refuted. If not, nothing is proven, so a report
must say what the audit *could* have found. The example takes about 12 seconds.
"""

import matplotlib.pyplot as plt
import numpy as np

from skdp import DPStatisticsSource
from skdp.privacy import gaussian_epsilon, gaussian_sigma
from skdp.privacy.audit import audit_release

n_trials = 120  # releases with the record, and as many without it

# %%
# Synthetic rows: what an audit finds is not private. Two sources claim the same ε. The second one
# is part of a program that joins two tables carelessly, so each record occurs four times.


class Careless(DPStatisticsSource):
    """A source in whose rows each record is there four times."""

    def fit(self, X, y, groups=None):
        return super().fit(np.repeat(X, 4, axis=0), np.repeat(y, 4), groups)


rng = np.random.RandomState(0)
X = rng.rand(100, 1)
y = (X[:, 0] > 0.5).astype(int)
claim = 4.0
sources = {"as it should be": DPStatisticsSource, "each record\nfour times": Careless}

# %%
# The audit chooses a record that is as conspicuous as possible, and the part of the release that
# reveals most. A quarter of the releases serves this choice, and the others test it.

audits = {}
for name, kind in sources.items():
    source = kind(epsilon=claim, classes=[0, 1], model="linear")
    audits[name] = audit_release(source, X, y, n_trials=n_trials)
    print(f"{' '.join(name.split())}\n{audits[name]}\n")

# %%
# **What it can find.** With so few releases it detects an ε that is somewhat larger than the claim
# (the diamond): a mistake that costs less stays hidden, and takes more releases. For the careless
# source the truth can be computed: four records of the same person shift the sums four times as
# far.

sigma = gaussian_sigma(claim, 1e-5)
truth = (claim, gaussian_epsilon(sigma, 1e-5, sensitivity=4.0))
print(f"the truth of the careless source: ε = {truth[1]:.1f}")

BLUE, ORANGE = "#0072B2", "#D55E00"  # of Okabe and Ito
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.axvline(claim, color="0.3", linestyle="--", label="claimed")
for row, (audit, true) in enumerate(zip(audits.values(), truth, strict=True)):
    first = {"label": "found, at least"} if row == 0 else {}
    axes.errorbar(
        *(audit.epsilon_lower, row),
        xerr=[[0], [audit.epsilon_limit - audit.epsilon_lower]],
        **{"fmt": "o", "color": BLUE, "xlolims": False, "elinewidth": 0.8, "capsize": 3, **first},
    )
    marks = ((audit.epsilon_detectable, "D", "0.3", "detectable"), (true, "*", ORANGE, "truth"))
    for value, marker, color, label in marks:
        axes.plot(value, row, marker, color=color, label=label if row == 0 else None, markersize=8)
axes.set_yticks(range(len(audits)), list(audits))
axes.set(ylim=(1.5, -0.5), xlabel="ε of a record at δ = 1e-5 (line: up to what could be found)")
figure.legend(loc="outside lower center", ncols=4)
figure.set_label(
    "For two sources, the ε that an audit found, what it could have detected, and the truth. The "
    "bound is below the claim for the right source, and above it for the careless one."
)
plt.show()
