"""
Which owner's release to take
=============================

A clinic without labels, or with a few, is offered releases of three hospitals at several ε. Which
one is worth most for its own patients? This example estimates it before anything is learned, with
no label and with thirty, and compares with what the releases turn out to be worth for other
patients. It prints a table and writes the figure ``transferability.png``.
"""

# %%
# Embedded records of four hospitals. Budapest is the clinic: half of its patients are at hand, the
# others come later.

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from skdp import DPStatisticsSource
from skdp.datasets import load_heart_disease
from skdp.information import transferability

patients = load_heart_disease()
clinic = np.flatnonzero(patients.hospital == "Budapest")
clinic = np.random.RandomState(0).permutation(clinic)
here, later = clinic[: len(clinic) // 2], clinic[len(clinic) // 2 :]
labelled = here[:30]


def rows(chosen):
    return patients.data.iloc[chosen], patients.target[chosen]


def worth(release):
    """Return how many nats the release says about the classes of those who come later."""
    X, y = rows(later)
    share = y.mean()
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    return entropy - log_loss(y, np.clip(release.predict_proba(X), 1e-6, 1))


# %%
# What a release claims of these patients needs no label, and nothing confirms it. Where nearly all
# are ill, as in Zurich and Basel, a release calls nearly everybody ill: it claims next to nothing,
# and is worth less than that. Thirty labels find the same, and see through claims that are too
# high.

found: dict = {}
print(f"{'hospital':<14}{'ε':>4}{'no label':>10}{'30 labels':>12}{'worth':>8}")
for hospital in ("Cleveland", "Zurich-Basel", "Long Beach"):
    for epsilon in (1.0, 4.0, 16.0):
        source = DPStatisticsSource(epsilon, encoder=patients.schema)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a release may be worth nothing: seen below
            release = source.fit(*rows(np.flatnonzero(patients.hospital == hospital))).release_
            unlabelled = transferability(release, rows(here)[0], random_state=0)
        few = transferability(release, *rows(labelled), random_state=0)
        line = (unlabelled.estimate, few.estimate, few.standard_error, worth(release))
        found.setdefault(hospital, []).append(line)
        print(
            f"{hospital:<14}{epsilon:>4g}{line[0]:10.3f}{line[1]:8.2f}±{line[2]:.2f}{line[3]:9.3f}"
        )

# %%
# Below zero a release tells less than how often patients are ill: its probabilities are wrong,
# mostly because elsewhere other shares are ill. DPTransferClassifier corrects that by labels.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for hospital, lines in found.items():
    unlabelled, few, errors, true = np.transpose(lines)
    axes[0].plot(unlabelled, true, "o", label=hospital)
    axes[1].errorbar(few, true, xerr=errors, fmt="o", capsize=3, label=hospital)
for axis, title in zip(axes, ("without labels", "with 30 labels"), strict=True):
    axis.axhline(0, color="grey", linewidth=0.8)
    axis.set(title=title, xlabel="nats, estimated")
axes[0].set_ylabel("nats about patients who come later")
axes[0].legend()
figure.savefig("transferability.png", dpi=120)
