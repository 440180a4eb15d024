"""
How long does a privacy budget last?
====================================

Every release of the same people adds to what is known of them. A hospital grants its patients
ε = 2 for a year and keeps the account in a :class:`~skdp.privacy.PrivacyLedger`, which refuses
what would exceed it. What has been spent, when does the ledger refuse, and is it better to release
once a year or every month?
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import warnings
from datetime import date
from math import sqrt

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from skdp import DPStatisticsSource
from skdp.datasets import load_heart_disease
from skdp.privacy import BudgetExceededError, PrivacyLedger, gaussian_epsilon, gaussian_sigma

parser = argparse.ArgumentParser(description="A budget over a year.")
parser.add_argument("--draws", type=int, default=10, help="releases for each schedule")
options = parser.parse_args()

heart = load_heart_disease()
X, X_test, y, y_test = train_test_split(heart.data, heart.target, test_size=0.4, random_state=0)

# %%
# A year in the ledger
# --------------------
#
# A source with a ledger charges each fit before any noise is drawn. The hospital releases a table
# for a study in January and then one each quarter; in autumn somebody asks for more than is left.

ledger = PrivacyLedger(epsilon=2.0, delta=1e-5)
requests = [
    (date(2026, 1, 15), "study of risk", 1.0),
    (date(2026, 4, 1), "first quarter", 0.5),
    (date(2026, 7, 1), "second quarter", 0.5),
    (date(2026, 9, 10), "another study", 1.5),
    (date(2026, 10, 1), "third quarter", 0.5),
]
granted = []
for day, name, epsilon in requests:
    source = DPStatisticsSource(epsilon, delta=1e-6, encoder=heart.schema)
    try:
        ledger.release(source, X, y, name=name)
        granted.append(day)
    except BudgetExceededError as error:
        print(f"{day}, {name}: {error}")

# %%
# The total is less than the sum of the single ε, because noise of several releases rarely errs in
# the same direction: the ledger composes Gaussian noise exactly.

entries = ledger.to_frame()
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ax.step(granted, entries["total_epsilon"], where="post", marker="o", color="#0072B2")
for day, name, total in zip(granted, entries["name"], entries["total_epsilon"], strict=True):
    ax.annotate(name, (day, total), (4, -12), textcoords="offset points", fontsize="small")
ax.axhline(ledger.epsilon, color="#D55E00", ls="--", label="limit")
ax.set(ylim=(0, 2.2), ylabel="total ε of all releases")
ax.set_title("Four releases granted, one refused")
ax.legend(frameon=False)
figure.set_label(
    "A staircase of the total epsilon over the year, with four steps below a dashed line at the "
    "limit of 2."
)
figure.savefig("budget_over_a_year.png", dpi=120)
together = entries["total_epsilon"].iloc[-1]
print(f"sum of the single ε: {entries['epsilon'].sum():.2f}, together: {together:.2f}")

# %%
# One release or twelve?
# ----------------------
#
# The same ε = 2 can be divided. Of Gaussian noise with a standard deviation σ, k releases with
# σ √k each guarantee together what one with σ does.


def share(k, epsilon=2.0, delta=1e-5):
    """Return ε and δ of each of k releases that guarantee (ε, δ) together."""
    return gaussian_epsilon(gaussian_sigma(epsilon, delta) * sqrt(k), delta / k), delta / k


schedules = {"once a year": 1, "each quarter": 4, "each month": 12, "each week": 52}
areas = {}
for name, k in schedules.items():
    epsilon, delta = share(k)
    source = DPStatisticsSource(epsilon, delta=delta, encoder=heart.schema)
    areas[name] = []
    for _ in range(options.draws):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a release may be worth nothing: seen below
            release = source.fit(X, y).release_
        areas[name].append(roc_auc_score(y_test, release.predict_proba(X_test)[:, 1]))
    mean, deviation = np.mean(areas[name]), np.std(areas[name])
    print(f"{name:<14} ε = {epsilon:.2f} each, AUC {mean:.3f} ± {deviation:.3f}")

# %%
# Each point is the mean of many releases with its standard deviation, on patients who are in none
# of them.

figure, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
for place, values in enumerate(areas.values()):
    ax.errorbar(
        *(np.mean(values), place), xerr=np.std(values), fmt="o", color="#0072B2", capsize=4
    )
labels = [f"{name}, ε = {share(k)[0]:.2f} each" for name, k in schedules.items()]
ax.set_yticks(range(len(labels)), labels)
ax.axvline(0.5, color="#767676", ls=":", lw=1)
ax.set(ylim=(len(labels) - 0.5, -0.5), xlabel="AUC of one release, mean ± SD (dotted: a guess)")
ax.set_title("One release, if ε = 2 has to last a year")
figure.set_label(
    "Four points with error bars: the AUC of one release falls as more releases share the budget."
)
figure.savefig("one_release_or_twelve.png", dpi=120)

# %%
# Release seldom: fewer releases are each worth more. And what is computed *from* a release, such
# as another model or a further table, costs nothing and needs no new one.
