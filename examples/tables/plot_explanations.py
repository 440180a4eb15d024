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
from skdp.displays import ExplanationDisplay

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
# One of whom the model is not sure. As a rule, in the units of the table:

others = np.flatnonzero(known == None)  # noqa: E711
sure = model.predict_proba(X.iloc[others]).max(axis=1)
patient = X.iloc[[others[np.argsort(sure)[len(others) // 10]]]]
print(model.explain(patient))

# %%
# And as a plot. Bars to the right speak for the predicted class. Where another value of one column
# alone would change the prediction, the range in which it stays is written beside it.

display = ExplanationDisplay.from_estimator(model, patient).plot()
display.figure_.set_label(
    "Horizontal bars of one patient's columns: how much each adds to the log-odds of the "
    "predicted class."
)
display.figure_.savefig("explanation_of_one.png", dpi=120)

# %%
# Many patients
# -------------
#
# A dot is a patient. Yellow dots have a high value of a number, such as a high heart rate; columns
# at the top move predictions most.

some = X.iloc[others[:40]]
display = ExplanationDisplay.from_estimator(model, some, positive="ill").plot()
display.ax_.set_title("What adds to the log-odds of 'ill', for 40 patients", loc="left")
display.figure_.set_label(
    "A row of dots for each column, one dot a patient, colored by the value: the columns at the "
    "top spread most."
)
display.figure_.savefig("explanation_of_many.png", dpi=120)

# %%
# How much of this is noise?
# --------------------------
#
# The hospital released once. Had it drawn other noise, the clinic's explanations would have been
# others. Here we can repeat the release and see which statements would have changed.

draws = {
    draw: ExplanationDisplay.from_estimator(learned(), some.iloc[:12], positive="ill").importances
    for draw in range(options.draws)
}
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
