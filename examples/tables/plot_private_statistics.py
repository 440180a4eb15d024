"""
Noisy statistics or noisy rows: which release predicts better?
==============================================================

A large hospital has 4,000 records of patients, and knows who of them died. A small one knows the
outcome of few of its patients. The large one may not show a single record: not what is in it, and
not whether somebody was a patient at all. It has two ways to publish a release:

- :class:`~skdp.DPStatisticsSource` adds up the records and perturbs the *sums*. It protects
  **whole records, outcome included**, at ε.
- :class:`~skdp.DPSource` perturbs the *rows*. It protects *one value* of a record at ε, and no
  outcome: at the same ε it promises far less.

How well does each predict the outcomes at the small hospital? The tables are synthetic: the risk
rises with age, and with a blood pressure and a temperature that are too low or too high. The
example takes about 12 seconds; ``--draws 1`` makes it shorter.
"""

# %%
# What is public: the schema. Bounds and categories come from units, instruments and code books,
# the classes from the question that is asked. Nobody looks at a record for any of them.

import argparse
import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from skdp import DPSource, DPStatisticsSource, TabularEncoder

schema = {
    "version": 1,
    "columns": {
        "age": {"type": "numeric", "low": 18, "high": 110},
        "creatinine": {"type": "numeric", "low": 0.2, "high": 15, "log": True, "missing": True},
        "lactate": {"type": "numeric", "low": 0.3, "high": 20, "log": True, "missing": True},
        "temperature": {"type": "numeric", "low": 30, "high": 43},
        "systolic": {"type": "numeric", "low": 40, "high": 260},
        "sex": {"type": "category", "categories": ["female", "male"]},
        "admission": {"type": "category", "categories": ["planned", "emergency", "transfer"]},
        "ward": {"type": "category", "categories": ["surgery", "medicine", "cardiology"]},
    },
    "classes": ["died", "home"],
}

# %%
# Two hospitals. The patients of the small one are older, and more of them die.


def patients(n, mean_age, seed):
    """Return synthetic records and outcomes."""
    rng = np.random.RandomState(seed)
    admission = rng.choice(["planned", "emergency", "transfer"], n, p=[0.4, 0.45, 0.15])
    urgent = admission != "planned"
    age = np.clip(rng.normal(mean_age, 16, n), 18, 105)
    creatinine = np.exp(rng.normal(0.05 + 0.004 * (age - 60) + 0.15 * urgent, 0.45))
    lactate = np.exp(rng.normal(0.3 + 0.35 * urgent, 0.55))
    temperature = rng.normal(37 + 0.2 * urgent, 0.4 + 0.5 * urgent)
    systolic = rng.normal(132 - 8 * urgent, 22)
    risk = 0.045 * (age - 64) + np.log(creatinine) + 1.1 * np.log(lactate) + 0.6 * urgent
    risk += 0.45 * (temperature - 37) ** 2 + 0.5 * ((systolic - 130) / 25) ** 2
    records = pd.DataFrame(
        {
            "age": age.round(),
            "creatinine": np.where(rng.rand(n) < 0.05, np.nan, creatinine.round(2)),
            "lactate": np.where(rng.rand(n) < 0.15, np.nan, lactate.round(1)),
            "temperature": temperature.round(1),
            "systolic": systolic.round(),
            "sex": rng.choice(["female", "male"], n),
            "admission": admission,
            "ward": rng.choice(["surgery", "medicine", "cardiology"], n),
        }
    )
    return records, np.where(rng.rand(n) < expit(risk - 4.2), "died", "home")


X_source, y_source = patients(4000, mean_age=64, seed=0)
X, y = patients(3200, mean_age=70, seed=1)
X, X_test, y, y_test = X[:200], X[200:], y[:200], y[200:]
print(f"large hospital: 4,000 patients, {(y_source == 'died').mean():.0%} of them died")
print(f"small hospital: 200 patients, {(y == 'died').mean():.0%} of them died")

# %%
# Two baselines show what there is to lose and to gain. The risk bends, so both are logistic
# regressions of splines of the columns, their strength and knots chosen by cross-validation: one
# of all records of the large hospital, without privacy, and one of 50 outcomes of the small one.
# The area under the ROC curve (AUC) is that of 3,000 other patients of the small hospital.

parser = argparse.ArgumentParser(description="Noisy statistics or noisy rows.")
parser.add_argument("--draws", type=int, default=5, help="releases for each ε")
options = parser.parse_args()


def auc(model, rows):
    died = list(model.classes_).index("died")
    return roc_auc_score(y_test == "died", model.predict_proba(rows)[:, died])


encoder = TabularEncoder(schema)
Z_source, Z, Z_test = (encoder.fit_transform(table) for table in (X_source, X, X_test))
splines = make_pipeline(SplineTransformer(), LogisticRegression(max_iter=2000))
grid = {
    "splinetransformer__n_knots": [2, 4],
    "logisticregression__C": np.logspace(-2, 1, 4),
}
tuned = GridSearchCV(splines, grid, scoring="neg_log_loss")
not_private = auc(tuned.fit(Z_source, y_source), Z_test)
alone = []
for draw in range(options.draws):
    shown = np.random.RandomState(draw).permutation(len(y))[:50]
    alone.append(auc(tuned.fit(Z[shown], y[shown]), Z_test))

# %%
# Now both releases at several ε. Their noise has no seed; each is made several times. Where noise
# hides nearly everything, as in rows at ε = 0.25, a warning says so.

warnings.filterwarnings("ignore", message="This release may tell the classes apart")
epsilons = [0.25, 1.0, 4.0, 16.0]
sources = {
    "noisy statistics": DPStatisticsSource(encoder=schema),
    "noisy rows": DPSource(encoder=schema),
}
areas = {
    name: [
        [
            auc(source.set_params(epsilon=epsilon).fit(X_source, y_source).release_, X_test)
            for _ in range(options.draws)
        ]
        for epsilon in epsilons
    ]
    for name, source in sources.items()
}

print(f"\nAUC of all records, not private: {not_private:.3f}")
print(f"AUC of 50 outcomes: {np.mean(alone):.3f} ± {np.std(alone):.3f}\n")
print(f"{'epsilon':>8}" + "".join(f"{name:>20}" for name in areas))
for k, epsilon in enumerate(epsilons):
    cells = (f"{np.mean(found[k]):.3f} ± {np.std(found[k]):.3f}" for found in areas.values())
    print(f"{epsilon:>8g}" + "".join(f"{cell:>20}" for cell in cells))

# %%
# Statistics protect more and predict better: the noise of a sum does not grow with the number of
# patients, and the sum does.

BLUE, ORANGE = "#0072B2", "#D55E00"  # of Okabe and Ito
figure, axes = plt.subplots(figsize=(6, 4.6), layout="constrained")
axes.axhline(not_private, color="0.3", linestyle="--", label="all records, not private")
axes.axhline(np.mean(alone), color="0.3", linestyle=":", label="50 outcomes alone")
units = {"noisy statistics": "a whole record", "noisy rows": "one value"}
for (name, found), color, marker in zip(areas.items(), (BLUE, ORANGE), "oD", strict=True):
    axes.errorbar(
        epsilons,
        np.mean(found, axis=1),
        np.std(found, axis=1),
        color=color,
        marker=marker,
        capsize=4,
        label=f"{name}: ε of {units[name]}",
    )
axes.set_xscale("log", base=2)
axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axes.set(xlabel="ε (log scale)", ylabel="AUC on other patients")
axes.set_title(f"Mean and standard deviation of {options.draws} releases")
figure.legend(loc="outside lower center", ncols=2)
figure.set_label(
    "AUC over ε, rising to the right. Noisy statistics come close to the line of all records "
    "without privacy from ε = 4 on; noisy rows stay far below them at every ε."
)
plt.show()
