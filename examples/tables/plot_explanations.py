"""
What decided one prediction, and what decides most of them?
===========================================================

A clinic uses a hospital's release to predict which of its patients have coronary heart disease.
Its doctors ask why. An explanation varies each column of a patient over its public values, one at
a time, and needs no record of the hospital.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skdp import DPStatisticsSource, DPTransferClassifier
from skdp.datasets import load_heart_disease

heart = load_heart_disease()
hospital, clinic = heart.hospital == "Cleveland", heart.hospital == "Long Beach"

# %%
# Eight columns that both sites record. Codes become words, which explanations then use.

words = {
    "sex": {0: "female", 1: "male"},
    "cp": {1: "typical angina", 2: "atypical angina", 3: "other pain", 4: "no pain"},
    "exang": {0: "no", 1: "yes"},
}
numbers = ["age", "trestbps", "thalach", "oldpeak", "chol"]
columns = {name: heart.schema["columns"][name] for name in numbers}
for name, values in words.items():
    columns[name] = {"type": "category", "categories": list(values.values()), "missing": True}
schema = {"version": 1, "columns": columns, "classes": ["healthy", "ill"]}
table = heart.data[list(columns)].assign(
    **{name: heart.data[name].map(values) for name, values in words.items()}
)
ill = np.where(heart.target == 1, "ill", "healthy")

# %%
# The hospital makes a release at ε = 4. The clinic learns from it and from 40 own diagnoses.

source = DPStatisticsSource(epsilon=4.0, encoder=schema)
release = source.fit(table[hospital], ill[hospital]).release_
X, y = table[clinic], ill[clinic]
is_known = np.random.RandomState(0).permutation(len(y)) < 40
model = DPTransferClassifier(release, label_sampling="random", random_state=0)
model.fit(X, np.where(is_known, y, None))

# %%
# **One patient** of whom the model is not sure. Effects are in log-odds of the second class,
# 'ill': those above zero speak for it.

others = X[~is_known]
sure = model.predict_proba(others).max(axis=1)
explanation = model.explain(others.iloc[[np.argsort(sure)[len(others) // 10]]])
print(explanation)

effects = explanation.to_frame()["effect"][::-1]
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.barh(effects.index, effects, color=np.where(effects > 0, "#0072B2", "#D55E00"))
axes.set(xlabel=f"adds to the log-odds of {explanation.towards!r}")
figure.set_label("How much each column of a patient adds to the log-odds of 'ill'.")

# %%
# **Many patients.** A dot is a patient. Columns at the top move predictions most.

effects = pd.DataFrame([model.explain(others.iloc[k]).to_frame()["effect"] for k in range(40)])
importances = effects.abs().mean().sort_values()
print(importances[::-1].round(2).to_string())

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for name in importances.index:
    axes.plot(effects[name], [name] * len(effects), "o", alpha=0.4, color="#0072B2")
axes.axvline(0, color="#767676", lw=0.8)
axes.set_title("What adds to the log-odds of 'ill', 40 patients, ε = 4", loc="left")
figure.set_label("A row of dots for each column, one dot a patient: those at the top spread most.")
plt.show()

# %%
# Explanations describe the *model*. Another draw of the noise would give somewhat other effects,
# and no column is shown to cause the disease.
