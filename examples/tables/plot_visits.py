"""
How do I protect a person who has several visits?
=================================================

A guarantee per record protects one visit. Somebody who came ten times has ten records, and is
protected far less. With ``privacy_unit="group"`` the guarantee is for a *person*: all visits
together count as much as one record, however many they are. What does each promise, and how well
does each predict?
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from skdp import DPStatisticsSource
from skdp.privacy import gaussian_epsilon, gaussian_sigma

parser = argparse.ArgumentParser()
parser.add_argument("--draws", type=int, default=10, help="releases of each kind")
options = parser.parse_args()

# %%
# A synthetic clinic: people with 1 to 10 visits each, and whether each visit ended in hospital.
# Older people come more often.

schema = {
    "version": 1,
    "columns": {
        "age": {"type": "numeric", "low": 18, "high": 100},
        "pulse": {"type": "numeric", "low": 30, "high": 200},
        "pain": {"type": "category", "categories": ["none", "mild", "severe"]},
    },
    "classes": ["home", "hospital"],
}


def visits(n_people, seed):
    """Return visits, their outcomes, and whose visit each one is."""
    rng = np.random.RandomState(seed)
    age = rng.uniform(18, 95, n_people)
    severity = rng.normal(size=n_people)  # of the person, at all visits
    person = np.repeat(np.arange(n_people), 1 + rng.binomial(9, age / 190))
    n = len(person)
    pulse = 75 + 8 * severity[person] + rng.normal(0, 10, n)
    pain = np.clip(np.rint(1 + 0.6 * severity[person] + rng.normal(0, 0.6, n)), 0, 2).astype(int)
    table = pd.DataFrame(
        {
            "age": age[person].round(),
            "pulse": pulse.round(),
            "pain": np.array(["none", "mild", "severe"])[pain],
        }
    )
    risk = 0.04 * (table["age"] - 60) + 0.06 * (table["pulse"] - 75) + 0.8 * (pain - 1) - 1
    return table, np.where(rng.rand(n) < expit(risk), "hospital", "home"), person


X, y, person = visits(600, seed=0)
X_test, y_test, _ = visits(2000, seed=1)
print(f"{len(X)} visits of {person.max() + 1} people, at most {np.bincount(person).max()} each")

# %%
# **What goes wrong** if records are protected and people come often: k records of one person shift
# the sums k times as far, and the guarantee for the person is that of k records. ``groups`` says
# whose each visit is, and makes the unit of the guarantee a person.

per_visit = DPStatisticsSource(epsilon=1.0, encoder=schema)
per_person = DPStatisticsSource(epsilon=1.0, encoder=schema, privacy_unit="group")
print(per_person.fit(X, y, groups=person).guarantee_)

delta = per_visit.delta
sigma = gaussian_sigma(1.0, delta)  # of the noise, where a record adds 1
counts = np.arange(1, 11)
of_a_person = [gaussian_epsilon(sigma, delta, sensitivity=k) for k in counts]
print(f"\nε = 1 per visit is ε = {of_a_person[-1]:.1f} for a person with ten visits")

# %%
# Without ``groups`` one can still promise ε = 1 to everybody, if nobody has more than ten visits:
# with ten times the noise, which is this ε for one visit.

careful = gaussian_epsilon(10 * sigma, delta)
sources = {
    "ε = 1 per visit": (per_visit, None),
    f"ε = {careful:.2f} per visit": (DPStatisticsSource(careful, encoder=schema), None),
    "ε = 1 per person": (per_person, person),
}
areas = {}
for name, (source, groups) in sources.items():
    releases = [source.fit(X, y, groups=groups).release_ for _ in range(options.draws)]
    areas[name] = [
        roc_auc_score(y_test == "hospital", release.predict_proba(X_test)[:, 1])
        for release in releases
    ]
    print(f"{name:<20} AUC {np.mean(areas[name]):.3f} ± {np.std(areas[name]):.3f}")

# %%
# Protecting people costs a little: each of k visits counts 1/k, so that there is as much to learn
# from as people, not visits. Adding noise for the person with the most visits costs more.

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"  # of Okabe and Ito
figure, (left, right) = plt.subplots(2, 1, figsize=(6, 5.6), layout="constrained")
left.plot(counts, of_a_person, "o-", color=ORANGE, label="ε = 1 per visit")
left.plot(counts, np.ones(10), "s-", color=BLUE, label="ε = 1 per person")
left.set(xlabel="visits of a person", ylabel="ε of this person", ylim=(0, None))
left.legend()
promises = (f"ε = {of_a_person[-1]:.1f}", "ε = 1", "ε = 1")
rows = zip(areas.items(), promises, (ORANGE, GREEN, BLUE), "oDs", strict=True)
for row, ((_, values), _, color, marker) in enumerate(rows):
    deviation = np.std(values)
    right.errorbar(np.mean(values), row, xerr=deviation, fmt=marker, color=color, capsize=4)
labels = [f"{name}:\n{promise} for ten" for name, promise in zip(areas, promises, strict=True)]
right.set_yticks(range(3), labels)
right.set(ylim=(2.5, -0.5), xlabel="AUC on visits of other people (mean and std of releases)")
figure.set_label(
    "Above: the ε of a person grows with the number of visits where visits are protected, and "
    "stays 1 where people are. Below: the AUC of three kinds of releases, with error bars."
)
plt.show()
