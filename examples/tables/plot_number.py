"""
How can several hospitals predict a number at another one?
==========================================================

Three hospitals publish releases about a patient's highest heart rate under load, a number between
60 and 220 beats a minute. A fourth hospital has measured it in 20 patients and predicts it for the
others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import mean_absolute_error

from skdp import DPStatisticsSource, DPTransferRegressor, Release, Schema
from skdp.datasets import load_heart_disease

heart = load_heart_disease()
table = Schema.from_mapping(heart.schema).to_mapping()
columns = {name: column for name, column in table["columns"].items() if name != "thalach"}
outcome = {"type": "number", "low": 60, "high": 220, "step": 1}
schema = Schema.from_mapping({"version": 1, "columns": columns, "outcome": outcome})
rate = heart.data["thalach"].to_numpy(float)
X, hospital = heart.data.drop(columns="thalach"), heart.hospital
names = sorted(set(hospital))

# %%
# **Each hospital** makes a release of its own rows. Patients without a heart rate are left out.
# Predictions come with intervals.


def release_of(name):
    mine = hospital == name
    return DPStatisticsSource(epsilon=4.0, encoder=schema).fit(X[mine], rate[mine]).release_


release = release_of("Cleveland")
print(release)
there = hospital == "Budapest"
predicted, ends = release.predict(X[there], return_interval=0.8)
inside = (ends[:, 0] <= rate[there]) & (rate[there] <= ends[:, 1])
print(f"{inside.mean():.0%} of the numbers in Budapest are in their 80% interval")

# %%
# **The fourth hospital** merges the releases of the others and corrects them by its 20 numbers.
# NaN marks the unknown ones. Each hospital is the fourth one in turn, three times, with fresh
# noise and other patients.

errors = {"mean of the 20": [], "releases": [], "releases and the 20": []}
for draw in range(3):
    for name in names:
        others = [release_of(other) for other in names if other != name]
        rows = np.flatnonzero((hospital == name) & ~np.isnan(rate))
        rows = np.random.RandomState(draw).permutation(rows)
        few, asked = rows[:20], rows[20:]
        known = np.where(np.isin(rows, few), rate[rows], np.nan)
        model = DPTransferRegressor(others, disjoint=True).fit(X.iloc[rows], known)
        merged = Release.merge(others, disjoint=True)
        found = (
            np.full(len(asked), rate[few].mean()),
            merged.predict(X.iloc[asked]),
            model.predict(X.iloc[asked]),
        )
        for predicted, all_errors in zip(found, errors.values(), strict=True):
            all_errors.append(mean_absolute_error(rate[asked], predicted))

# %%
# The releases contain how the heart rate depends on age and complaints, but not the level of
# another hospital. The 20 numbers show this level.

means = [float(np.mean(found)) for found in errors.values()]
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
figure.set_label("Mean absolute error of the mean of 20, of releases, and of releases and the 20.")
spreads = [np.reshape(found, (3, -1)).mean(axis=1).std() for found in errors.values()]
axes.barh(list(errors), means, xerr=spreads, capsize=4)
axes.set_xlabel("mean absolute error, beats a minute")
axes.set_title("Four hospitals in turn, ε = 4: mean and std of 3 draws")
axes.invert_yaxis()
for name, mean in zip(errors, means, strict=True):
    print(f"{name}: {mean:.1f}")
plt.show()
