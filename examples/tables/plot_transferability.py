"""
Which owner's release is worth most for my patients?
====================================================

A clinic is offered releases of three hospitals, each at three ε. Before it learns anything it
estimates how much each release says about the diagnoses of its own patients, in nats: by how much
the log loss falls below that of knowing only how often patients are ill. It has no label, or
thirty. Are the estimates right about the patients who come later?
"""

# %%
# Embedded records of four hospitals. Budapest is the clinic: half of its patients are at hand, the
# others come later.

import argparse
import warnings

import matplotlib.pyplot as plt
import numpy as np

from skdp import DPStatisticsSource
from skdp.datasets import load_heart_disease
from skdp.information import transferability

parser = argparse.ArgumentParser()
parser.add_argument("--draws", type=int, default=3, help="releases of each hospital and ε")
options = parser.parse_args()

patients = load_heart_disease()
clinic = np.flatnonzero(patients.hospital == "Budapest")
clinic = np.random.RandomState(0).permutation(clinic)
here, later = clinic[: len(clinic) // 2], clinic[len(clinic) // 2 :]
labeled = here[:30]


def rows(chosen):
    return patients.data.iloc[chosen], patients.target[chosen]


# %%
# What a release claims of these patients needs no label, and nothing confirms it. Where nearly all
# are ill, as in Zurich and Basel, a release calls nearly everybody ill: it claims next to nothing.
# With labels, probabilities are first corrected for how often patients are ill here, and judged
# on labels that did not correct them; so it is with all labels of the later patients, which tell
# what a release is worth. Each release is made three times, with new noise.

found: dict = {}
for hospital in ("Cleveland", "Zurich-Basel", "Long Beach"):
    for epsilon in (1.0, 4.0, 16.0):
        source = DPStatisticsSource(epsilon, encoder=patients.schema)
        for _ in range(options.draws):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a release may be worth nothing: seen below
                release = source.fit(*rows(np.flatnonzero(patients.hospital == hospital))).release_
                unlabeled = transferability(release, rows(here)[0], random_state=0)
                few = transferability(release, *rows(labeled), random_state=0)
                all_later = transferability(release, *rows(later), random_state=0)
            line = (unlabeled.estimate, few.estimate, all_later.estimate)
            found.setdefault((hospital, epsilon), []).append(line)

print(f"{'hospital':<14}{'ε':>4}{'no label':>16}{'30 labels':>16}{'later':>16}")
for (hospital, epsilon), lines in found.items():
    cells = (f"{np.mean(c):.2f} ± {np.std(c):.2f}" for c in np.transpose(lines))
    print(f"{hospital:<14}{epsilon:>4g}" + "".join(f"{cell:>16}" for cell in cells))

# %%
# Points on the dashed line are estimates that came true. Releases that say little, those of Zurich
# and Basel among them, are told from those of Cleveland without a single label. With 30 labels the
# estimates are nearer to the line; differences smaller than their error bars say nothing.

figure, axes = plt.subplots(2, 1, figsize=(6, 6.5), layout="constrained", sharex=True)
styles = {
    "Cleveland": ("#0072B2", "o"),  # colors of Okabe and Ito
    "Zurich-Basel": ("#D55E00", "s"),
    "Long Beach": ("#009E73", "D"),
}
for place, (axis, how) in enumerate(zip(axes, ("without labels", "with 30 labels"), strict=True)):
    axis.axline((0, 0), slope=1, color="0.4", linestyle="--", linewidth=1)
    axis.axhline(0, color="0.7", linewidth=0.8)
    for hospital, (color, marker) in styles.items():
        lines = np.array([found[key] for key in found if key[0] == hospital])
        estimates, true = lines[..., place], lines[..., 2]
        axis.errorbar(
            estimates.mean(axis=1),
            true.mean(axis=1),
            true.std(axis=1),
            estimates.std(axis=1),
            color=color,
            fmt=marker,
            capsize=3,
            label=hospital,
        )
    axis.set(ylabel="about later patients, nats", title=f"Estimated {how}")
axes[0].legend()
axes[1].set_xlabel("estimate, nats (mean and std of releases)")
figure.set_label(
    "Two scatter plots of what releases say of later patients over what was estimated, "
    "without labels and with 30. Releases of Zurich and Basel say least."
)
plt.show()
