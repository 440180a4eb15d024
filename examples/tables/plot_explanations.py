"""
What decided one prediction, and what decides most of them?
===========================================================

A clinic predicts by a hospital's private release which of its patients have coronary heart
disease. Its doctors ask why. An explanation moves each column of a patient over its public
values, one at a time, and needs no record of the hospital. Which columns decided for one patient,
which ones decide for many, and would another draw of the noise give other answers?
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skdp import DPStatisticsSource, DPTransferClassifier
from skdp.datasets import load_heart_disease

parser = argparse.ArgumentParser(description="Explanations.")
parser.add_argument("--draws", type=int, default=4, help="draws of the noise")
options = parser.parse_args()

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
X, y = table[clinic], ill[clinic]
known = np.where(np.random.RandomState(0).permutation(len(y)) < 40, y, None)


def learned():
    """Return the clinic's model, learned from a release with noise of its own."""
    release = source.fit(table[hospital], ill[hospital]).release_
    return DPTransferClassifier(release, label_sampling="random", random_state=0).fit(X, known)


model = learned()

# %%
# One patient
# -----------
#
# One of whom the model is not sure. Effects are in log-odds: those above zero speak for the
# predicted class.

others = np.flatnonzero(known == None)  # noqa: E711
sure = model.predict_proba(X.iloc[others]).max(axis=1)
patient = X.iloc[[others[np.argsort(sure)[len(others) // 10]]]]
explanation = model.explain(patient)
print(explanation)

effects = explanation.to_frame()["effect"][::-1]
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.barh(effects.index, effects, color=np.where(effects > 0, "#0072B2", "#D55E00"))
ax.set(xlabel=f"adds to the log-odds of {explanation.prediction!r}")
figure.set_label(
    "Horizontal bars of one patient's columns: how much each adds to the log-odds of the "
    "predicted class."
)
figure.savefig("explanation_of_one.png", dpi=120)

# %%
# Many patients
# -------------
#
# A dot is a patient. Columns at the top move predictions most.

some = X.iloc[others[:40]]


def effects_of(model, rows):
    """Return what the columns add to the log-odds of 'ill', a line for each patient."""
    lines = []
    for k in range(len(rows)):
        explanation = model.explain(rows.iloc[k])
        sign = 1 if explanation.prediction == "ill" else -1
        lines.append(sign * explanation.to_frame()["effect"])
    return pd.DataFrame(lines)


effects = effects_of(model, some)
effects = effects[effects.abs().mean().sort_values().index]
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for name in effects:
    ax.plot(effects[name], [name] * len(effects), "o", alpha=0.4, color="#0072B2")
ax.axvline(0, color="#767676", lw=0.8)
ax.set_title("What adds to the log-odds of 'ill', for 40 patients", loc="left")
figure.set_label("A row of dots for each column, one dot a patient: those at the top spread most.")
figure.savefig("explanation_of_many.png", dpi=120)

# %%
# How much of this is noise?
# --------------------------
#
# The hospital released once. Had it drawn other noise, the clinic's explanations would have been
# others. Here we can repeat the release and see which statements would have changed.

draws = {draw: effects_of(learned(), some.iloc[:12]).abs().mean() for draw in range(options.draws)}
importances = pd.DataFrame(draws).fillna(0.0)
order = importances.mean(axis=1).sort_values().index
means, deviations = importances.mean(axis=1)[order], importances.std(axis=1)[order]
print(pd.DataFrame({"mean": means, "sd": deviations})[::-1].round(2).to_string())

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.errorbar(means, order, xerr=deviations, fmt="o", color="#0072B2", capsize=3)
ax.set(xlim=(0, None), xlabel="mean absolute effect on the log-odds (mean ± SD over releases)")
ax.set_title("Importances over several draws of the noise")
figure.set_label("Points with error bars: the importance of each column over several releases.")
figure.savefig("explanation_and_noise.png", dpi=120)

# %%
# Explanations describe the *model*. Where error bars overlap, the order of the columns is noise;
# and no column is shown to cause the disease.
