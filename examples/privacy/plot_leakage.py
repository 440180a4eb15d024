"""
How much of a sensitive column is left in what I release?
=========================================================

Patients' ages are sensitive. How much of them is left in noisy rows, in the codes that an
autoencoder makes of these rows, and in the risk that a model predicts from them? The owner, who
has the ages, can estimate it: decoders learn to tell the age from what was released, and how well
they do on other patients bounds the mutual information from below. ``--epsilons`` takes other
privacy levels.
"""

# %%
# Embedded records of 920 patients of four hospitals. After encoding all columns lie in [0, 1]; ε
# is for one entry of the table.

import argparse

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from skdp import CDMMA, OptimalDPNoise
from skdp.datasets import load_heart_disease
from skdp.information import information_leakage
from skdp.tabular import Schema, TabularEncoder

parser = argparse.ArgumentParser(description="How much of a column is left.")
levels = [1.0, 8.0, 64.0]
parser.add_argument("--epsilons", type=float, nargs="+", default=levels, help="of one entry")
options = parser.parse_args()

patients = load_heart_disease()
X = TabularEncoder(Schema.from_mapping(patients.schema)).fit_transform(patients.data)
age = patients.data["age"]


def released(epsilon):
    """Return what is released with noise of this ε, by its name."""
    noise = OptimalDPNoise(epsilon, 0.0, bounds=(0, 1)).fit(X)
    rows = noise.transform(X)
    model = LogisticRegression(C=0.1, max_iter=1000)
    risk = cross_val_predict(model, rows, patients.target, method="predict_log_proba")
    return noise, {
        "noisy rows": rows,
        "noisy rows without age": rows[:, 1:],
        "their codes": CDMMA(random_state=0).fit(rows).transform(rows),
        "predicted risk": risk,
    }


# %%
# What noise leaves of one value can be computed: here of the age, if it could be anything between
# 20 and 90. Decoders find less of it, because ages are not uniform and rows are few; and what they
# find in all columns may exceed it, because others tell of age too.

epsilons = options.epsilons
estimates: dict = {}
print(f"{'ε':>3}  {'released':<24}{'bits':>6}{'error':>8}")
for epsilon in epsilons:
    noise, data = released(epsilon)
    for name, T in data.items():
        found = information_leakage(age, T, cv=3, n_permutations=0, random_state=0)
        estimates.setdefault(name, []).append(found)
        print(f"{epsilon:3g}  {name:<24}{found.bits:6.3f}{found.standard_error / np.log(2):8.3f}")

# %%
# By default the same is done with ages shuffled: whatever is found then is chance.

print(information_leakage(age, data["predicted risk"], n_permutations=3, random_state=0))

# %%
# A code or a prediction never says more than the rows that it was made of. To leave out the column
# itself helps, as far as the other columns do not tell of it.

figure, axis = plt.subplots(figsize=(6, 4.4), layout="constrained")
styles = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "D"), ("#CC79A7", "v"))  # Okabe and Ito
for place, ((name, found), (color, marker)) in enumerate(
    zip(estimates.items(), styles, strict=True)
):
    bits = np.array([f.bits for f in found])
    errors = np.array([2 * f.standard_error for f in found]) / np.log(2)
    beside = np.array(epsilons) * 1.06 ** (place - 1.5)  # so that no mark hides another
    axis.errorbar(beside, bits, errors, color=color, marker=marker, capsize=3, label=name)
axis.set(xscale="log", xlabel="ε of one entry (log scale)", ylim=(-0.2, None))
axis.set_ylabel("bits about the age (± 2 standard errors)")
axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axis.minorticks_off()
axis.legend()
figure.set_label(
    "Bits about the age over ε: next to none at ε = 1; at ε = 64 most in noisy rows, less in rows "
    "without the age, in codes, and in a predicted risk."
)
plt.show()
