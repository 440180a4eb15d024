"""
How do I protect a person who has several visits?
=================================================

A guarantee per record protects one visit. Somebody who came ten times has ten records and is
protected far less. With ``privacy_unit="group"`` the guarantee covers a *person*: all visits
together count as much as one record. What does each promise, and how well does each predict?
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from skdp import DPStatisticsSource
from skdp.privacy import gaussian_epsilon, gaussian_sigma

n_draws = 10  # releases of each kind

# %%
# A synthetic clinic: people with 1 to 10 visits each, and whether each visit ended in hospital.
# Older people come more often.

columns = {
    "age": {"type": "numeric", "low": 18, "high": 100},
    "pulse": {"type": "numeric", "low": 30, "high": 200},
    "pain": {"type": "category", "categories": ["none", "mild", "severe"]},
}
schema = {"version": 1, "columns": columns, "classes": ["home", "hospital"]}


def visits(n_people, seed):
    """Return visits, their outcomes, and whose visit each one is."""
    rng = np.random.RandomState(seed)
    age = rng.uniform(18, 95, n_people)
    severity = rng.normal(size=n_people)  # of the person, at all visits
    person = np.repeat(np.arange(n_people), 1 + rng.binomial(9, age / 190))
    n = len(person)
    pulse = 75 + 8 * severity[person] + rng.normal(0, 10, n)
    pain = np.clip(np.rint(1 + 0.6 * severity[person] + rng.normal(0, 0.6, n)), 0, 2).astype(int)
    words = np.array(["none", "mild", "severe"])[pain]
    table = pd.DataFrame({"age": age[person].round(), "pulse": pulse.round(), "pain": words})
    risk = 0.04 * (table["age"] - 60) + 0.06 * (table["pulse"] - 75) + 0.8 * (pain - 1) - 1
    return table, np.where(rng.rand(n) < expit(risk), "hospital", "home"), person


X, y, person = visits(600, seed=0)
X_test, y_test, _ = visits(2000, seed=1)
print(f"{len(X)} visits of {person.max() + 1} people, at most {np.bincount(person).max()} each")

# %%
# **What goes wrong** if records are protected: k records of one person shift the sums k times as
# far. ``groups`` says whose each visit is, and makes a person the unit of the guarantee.

per_visit = DPStatisticsSource(epsilon=1.0, encoder=schema)
per_person = DPStatisticsSource(epsilon=1.0, encoder=schema, privacy_unit="group")
print(per_person.fit(X, y, groups=person).guarantee_)

sigma = gaussian_sigma(1.0, per_visit.delta)  # of the noise, where a record adds 1
of_ten = gaussian_epsilon(sigma, per_visit.delta, sensitivity=10)
print(f"\nε = 1 per visit is ε = {of_ten:.1f} for a person with ten visits")

# %%
# Without ``groups`` you can still promise ε = 1 to everybody, if nobody has more than ten visits:
# add ten times the noise, which is a small ε for one visit.

careful = gaussian_epsilon(10 * sigma, per_visit.delta)
sources = {
    "ε = 1 per visit": (per_visit, None),
    f"ε = {careful:.2f} per visit": (DPStatisticsSource(careful, encoder=schema), None),
    "ε = 1 per person": (per_person, person),
}
figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
for row, (name, (source, groups)) in enumerate(sources.items()):
    releases = [source.fit(X, y, groups=groups).release_ for _ in range(n_draws)]
    risks = [release.predict_proba(X_test)[:, 1] for release in releases]
    areas = [roc_auc_score(y_test == "hospital", risk) for risk in risks]
    print(f"{name:<20} AUC {np.mean(areas):.3f} ± {np.std(areas):.3f}")
    axes.errorbar(np.mean(areas), row, xerr=np.std(areas), fmt="o", capsize=4)

# %%
# Protecting people costs a little, because information grows with the number of people, not of
# visits. Adding noise for the person with the most visits costs more.

axes.set_yticks(range(3), list(sources))
axes.set(
    ylim=(2.5, -0.5), xlabel=f"AUC on other people's visits (mean and std of {n_draws} releases)"
)
figure.set_label("The AUC of releases that protect visits, visits with more noise, and people.")
plt.show()
