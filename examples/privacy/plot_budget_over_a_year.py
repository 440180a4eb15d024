"""
How long does a privacy budget last?
====================================

Each release of the same people adds to what can be learned about them. A hospital grants its
patients ε = 2 for a year and keeps the account in a :class:`~skdp.privacy.PrivacyLedger`, which
refuses what would exceed it. Is it better to publish once a year or every month?
"""

import warnings
from math import sqrt

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from skdp import DPStatisticsSource
from skdp.datasets import load_heart_disease
from skdp.privacy import BudgetExceededError, PrivacyLedger, gaussian_epsilon, gaussian_sigma

n_draws = 10  # releases for each schedule
heart = load_heart_disease()
X, X_test, y, y_test = train_test_split(heart.data, heart.target, test_size=0.4, random_state=0)
warnings.simplefilter("ignore")  # some releases below are hardly worth anything

# %%
# **A year in the ledger.** It is charged before any noise is drawn. In autumn somebody asks for
# more than is left.

ledger = PrivacyLedger(epsilon=2.0, delta=1e-5)
requests = {
    "study of risk": 1.0,
    "first quarter": 0.5,
    "second quarter": 0.5,
    "another study": 1.5,
    "third quarter": 0.5,
}
for name, epsilon in requests.items():
    source = DPStatisticsSource(epsilon, delta=1e-6, encoder=heart.schema)
    try:
        ledger.release(source, X, y, name=name)
    except BudgetExceededError as error:
        print(f"{name}: {error}")

# %%
# The total is less than the sum of the single ε: the ledger composes Gaussian noise exactly.

entries = ledger.to_frame()
together = entries["total_epsilon"].iloc[-1]
print(f"sum of the single ε: {entries['epsilon'].sum():.2f}, together: {together:.2f}")
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.step(entries["name"], entries["total_epsilon"], where="post", marker="o", color="#0072B2")
axes.axhline(ledger.epsilon, color="#D55E00", ls="--", label="limit")
axes.set(ylim=(0, 2.2), ylabel="total ε of all releases")
axes.legend()
figure.set_label("A staircase of the total ε over four releases, below a line at the limit of 2.")

# %%
# **One release or twelve?** The same ε = 2 can be divided. With Gaussian noise, k releases with
# noise of σ √k each have the same guarantee together as one release with noise of σ.

figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
schedules = {"once a year": 1, "each quarter": 4, "each month": 12, "each week": 52}
for row, (name, k) in enumerate(schedules.items()):
    epsilon = gaussian_epsilon(gaussian_sigma(2.0, 1e-5) * sqrt(k), 1e-5 / k)
    source = DPStatisticsSource(epsilon, delta=1e-5 / k, encoder=heart.schema)
    releases = [source.fit(X, y).release_ for _ in range(n_draws)]
    areas = [roc_auc_score(y_test, each.predict_proba(X_test)[:, 1]) for each in releases]
    print(f"{name:<14} ε = {epsilon:.2f} each, AUC {np.mean(areas):.3f} ± {np.std(areas):.3f}")
    axes.errorbar(np.mean(areas), row, xerr=np.std(areas), fmt="o", color="#0072B2", capsize=4)
axes.set_yticks(range(len(schedules)), list(schedules))
axes.axvline(0.5, color="#767676", ls=":")
axes.set(ylim=(3.5, -0.5), xlabel=f"AUC of one release, mean ± std of {n_draws} (dotted: a guess)")
figure.set_label("The AUC of one release falls as more releases share the budget of a year.")
plt.show()

# %%
# Publish seldom. What is computed *from* a release, such as another model or a further table,
# costs nothing and needs no new one.
