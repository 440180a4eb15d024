"""
How can several hospitals predict a number at another one?
==========================================================

Three hospitals release what their records say of a patient's highest heart rate under load, a
number between 60 and 220 beats a minute. A fourth one has measured it in 20 patients, and wants
to know it of the others.
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


def release_of(name):
    mine = hospital == name
    source = DPStatisticsSource(epsilon=4.0, encoder=schema, model="linear")
    return source.fit(X[mine], rate[mine]).release_


print(release_of("Cleveland"))

# %%
# **The fourth hospital** merges the releases of the others, and corrects them by its 20 numbers.
# NaN marks patients whose heart rate it does not know. Each hospital is the fourth one in turn,
# with fresh noise and other patients three times.

errors = {"mean of the 20": [], "releases": [], "releases\nand the 20": []}
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
# The releases know how the heart rate depends on age and complaints, but not the level of another
# hospital, where patients are stressed in another way; the 20 numbers say that.

means = [float(np.mean(found)) for found in errors.values()]
label = "Bars of the mean absolute error in beats a minute: " + "; ".join(
    f"{name} {mean:.1f}".replace("\n", " ") for name, mean in zip(errors, means, strict=True)
)
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained", label=label)
bars = axes.barh(list(errors), means, color="tab:blue")
axes.bar_label(bars, fmt="%.1f", padding=3)
axes.set_xlabel("mean absolute error, beats a minute")
axes.set_xlim(0, 1.15 * max(means))
axes.invert_yaxis()
for name, mean in zip(errors, means, strict=True):
    print(f"{name.replace(chr(10), ' ')}: {mean:.1f}")
