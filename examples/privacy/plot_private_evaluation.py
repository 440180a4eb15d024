"""
How do I evaluate a model on private rows?
==========================================

A hospital wants to publish how good a model is on its own patients. But an exact AUC or ROC curve
of private rows reveals something about single patients. :func:`~skdp.evaluate_privately` adds
noise to histograms of the model's scores. AUC, log loss, calibration and ROC curves follow from
these, with intervals for noise and sampling.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from skdp import DPStatisticsSource, evaluate_privately
from skdp.datasets import load_adult
from skdp.privacy import PrivacyLedger

n_draws = 10  # evaluations at each ε

# %%
# One organization publishes a release. Another has 5,000 private rows that the release has not
# seen, and wants to know how accurate it is for them.

census = load_adult(random_state=0)
X, y = census.data, census.target
source = DPStatisticsSource(epsilon=2.0, encoder=census.schema)
release = source.fit(X.iloc[census.source[:4000]], y[census.source[:4000]]).release_
mine = census.source[4000:9000]

# %%
# The evaluation spends from the budget of these rows once. All its figures are computed from the
# same noisy histograms.

ledger = PrivacyLedger(epsilon=2.0, delta=1e-5)
evaluation = evaluate_privately(release, X.iloc[mine], y[mine], epsilon=1.0, ledger=ledger)
print(evaluation)
print(ledger)

# %%
# **How much noise is that?** The exact AUC is computed here to compare with; its owner could not
# show it. At each ε we repeat the evaluation ten times. Bars are the mean 95% interval. Where
# noise hides much, values are cautious, so state the interval and not the value alone.

exact = roc_auc_score(y[mine], release.predict_proba(X.iloc[mine])[:, 1])
epsilons = [0.1, 0.3, 1.0, 3.0]
print(f"{'ε':>4}{'AUC':>16}{'mean interval':>18}   (exact: {exact:.3f})")
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for epsilon in epsilons:
    found = np.array(
        [evaluate_privately(release, X.iloc[mine], y[mine], epsilon).auc() for _ in range(n_draws)]
    )
    value, low, high = found.mean(axis=0)
    print(f"{epsilon:>4g}{value:9.3f} ± {found[:, 0].std():.3f}{low:11.3f} to {high:.3f}")
    first = epsilon == epsilons[0]
    places = epsilon * np.linspace(0.93, 1.07, len(found))
    axes.plot(
        *(places, found[:, 0], "."),
        color="#D55E00",
        label="private evaluations" if first else None,
    )
    axes.errorbar(
        *(epsilon, value),
        yerr=[[value - low], [high - value]],
        **{"fmt": "_", "color": "#0072B2", "capsize": 5, "markersize": 12},
        label="mean, and mean 95% interval" if first else None,
    )
axes.axhline(exact, color="0.3", linestyle="--", label="exact, not private")
axes.set(
    xscale="log",
    xlabel="ε of a record (log scale)",
    ylabel=f"AUC on 5,000 private rows, {n_draws} draws",
)
axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axes.minorticks_off()
axes.legend(loc="lower right")
figure.set_label(
    "Private evaluations of the AUC over ε scatter at ε = 0.1 and lie close to the exact "
    "value, a little below it, at ε = 3; their intervals shrink likewise and contain it."
)
plt.show()
