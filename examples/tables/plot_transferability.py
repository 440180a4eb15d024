"""
Which owner's release helps my patients most?
=============================================

A clinic is offered releases of three hospitals, each at three ε. Before it learns anything, it
estimates how much each release says about the diagnoses of its own patients, in nats: by how much
the log loss falls below the log loss of the class frequencies. It has no label, or thirty. Are the
estimates right about the patients who come later?
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skdp import DPStatisticsSource
from skdp.datasets import load_heart_disease
from skdp.information import transferability

n_draws = 3  # releases of each hospital and ε
patients = load_heart_disease()
clinic = np.flatnonzero(patients.hospital == "Budapest")
clinic = np.random.RandomState(0).permutation(clinic)
here, later = clinic[: len(clinic) // 2], clinic[len(clinic) // 2 :]


def rows(chosen):
    return patients.data.iloc[chosen], patients.target[chosen]


# %%
# Without labels nothing confirms the estimate. With labels, probabilities are first corrected for
# how often patients are ill here, and scored on labels that did not correct them. All labels of
# the later patients show how informative a release is.

lines = []
for hospital in ("Cleveland", "Zurich-Basel", "Long Beach"):
    for epsilon in (1.0, 4.0, 16.0):
        source = DPStatisticsSource(epsilon, encoder=patients.schema)
        for _ in range(n_draws):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # some releases are hardly worth anything
                release = source.fit(*rows(np.flatnonzero(patients.hospital == hospital))).release_
                unlabeled = transferability(release, rows(here)[0], random_state=0)
                few = transferability(release, *rows(here[:30]), random_state=0)
                all_later = transferability(release, *rows(later), random_state=0)
            lines.append((hospital, epsilon, unlabeled.estimate, few.estimate, all_later.estimate))
names = ["hospital", "epsilon", "no label", "30 labels", "later"]
table = pd.DataFrame(lines, columns=names).groupby(names[:2], sort=False)
text = table.agg(lambda nats: f"{nats.mean():.2f} ± {nats.std(ddof=0):.2f}")
print(text.to_string(sparsify=False))

# %%
# Points on the dashed line are estimates that came true. The releases of Zurich and Basel are less
# informative than the releases of Cleveland, which shows even without a label. Differences smaller
# than their error bars say nothing.

figure, axes = plt.subplots(2, 1, figsize=(6, 6.5), layout="constrained", sharex=True)
mean, spread = table.mean(), table.std(ddof=0)
for panel, name in zip(axes, ("no label", "30 labels"), strict=True):
    panel.axline((0, 0), slope=1, color="0.4", linestyle="--", linewidth=1)
    for hospital, marker in {"Cleveland": "o", "Zurich-Basel": "s", "Long Beach": "D"}.items():
        x, y = mean.loc[hospital, name], mean.loc[hospital, "later"]
        bars = {"xerr": spread.loc[hospital, name], "yerr": spread.loc[hospital, "later"]}
        panel.errorbar(x, y, **bars, fmt=marker, capsize=3, label=hospital)
    panel.set(ylabel="about later patients, nats", xlabel=f"estimate with {name}, nats")
axes[0].legend()
axes[0].set_title(f"ε = 1, 4 and 16: mean and std of {n_draws} releases")
figure.set_label(
    "What releases say of later patients over the estimates, without labels and with 30."
)
plt.show()
