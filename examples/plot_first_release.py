"""
How do I make a first release, and learn from it?
=================================================

A hospital has examined 303 patients for coronary heart disease and may not share their records. It
publishes a *release*: one file of noisy statistics that protects each record with its diagnosis. A
clinic has other patients and knows 30 of their diagnoses. It learns from that file.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from skdp import DPStatisticsSource, DPTransferClassifier, Release, TabularEncoder
from skdp.datasets import load_heart_disease

heart = load_heart_disease()  # a table, the diagnoses, and a public schema of the columns
hospital, clinic = heart.hospital == "Cleveland", heart.hospital == "Budapest"
file = Path(mkdtemp()) / "hospital.skdp"

# %%
# **The hospital** chooses a privacy level ε, fits a source to its rows and saves the release.
# The file is all that leaves.

source = DPStatisticsSource(epsilon=2.0, encoder=heart.schema)
source.fit(heart.data[hospital], heart.target[hospital])
source.release_.save(file)
print(source.guarantee_)

# %%
# **The clinic** loads the file, which can already predict. With 30 diagnoses, drawn at random, and
# its other patients (``-1``), the clinic learns a model of its own patients.

release = Release.load(file)
X, y = heart.data[clinic], heart.target[clinic]
known = np.where(np.random.RandomState(0).permutation(len(y)) < 30, y, -1)
model = DPTransferClassifier(release, label_sampling="random").fit(X, known)
print(model.predict_proba(X[known == -1])[:3].round(2))  # of model.classes_: well, ill

# %%
# How good is it? We repeat everything ten times, with new noise and other known diagnoses. The
# baseline is logistic regression on the 30 diagnoses, tuned by cross-validation.

encoder = TabularEncoder(heart.schema)
tuned = GridSearchCV(
    LogisticRegression(max_iter=1000), {"C": np.logspace(-3, 1, 5)}, scoring="neg_log_loss"
)
losses = {"release": [], "30 diagnoses": [], "release and\n30 diagnoses": []}
for seed in range(10):
    release = source.fit(heart.data[hospital], heart.target[hospital]).release_
    known = np.where(np.random.RandomState(seed).permutation(len(y)) < 30, y, -1)
    few, others = known != -1, known == -1
    both = DPTransferClassifier(release, label_sampling="random").fit(X, known)
    tuned.fit(encoder.fit_transform(X[few]), y[few])
    found = (
        release.predict_proba(X[others]),
        tuned.predict_proba(encoder.transform(X[others])),
        both.predict_proba(X[others]),
    )
    for values, probabilities in zip(losses.values(), found, strict=True):
        values.append(log_loss(y[others], probabilities))

figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
for row, (name, values) in enumerate(losses.items()):
    mean, deviation = np.mean(values), np.std(values)
    print(f"{' '.join(name.split()):<24} log loss {mean:.3f} ± {deviation:.3f}")
    axes.errorbar(mean, row, xerr=deviation, fmt="o", color="#0072B2", capsize=4)
axes.set_yticks(range(len(losses)), list(losses))
axes.set(
    ylim=(2.5, -0.5), xlabel="log loss of the clinic's other patients, in nats (less is better)"
)
axes.set_title("264 patients, ε = 2: mean and std of ten repetitions")
figure.set_label(
    "Three points with error bars, the log loss of the release alone, of 30 diagnoses alone, and "
    "of both together, which is the least."
)
plt.show()
