"""
A hospital that hands out statistics, not rows
==============================================

A large hospital has thousands of records of patients, and knows who of them died. A small one has
patients of its own, and knows the outcome of few. The large one may not show a single record: not
what is in it, and not whether somebody was a patient at all. It adds up its records, perturbs the
*sums*, and hands out a file. How well does the small hospital predict with that file?

:class:`~skdp.DPStatisticsSource` protects **whole records, outcome included**, at the ε in the
first column. :class:`~skdp.DPSource`, which perturbs the rows, protects *one value* of a record at
that ε, and no outcome; it is shown beside it, though it promises far less.

The tables are synthetic: the risk rises with age, and with blood pressure and temperature that are
too low or too high. The example prints a table and writes the picture ``private_statistics.png``.
"""

# %%
# What is public: the schema. Bounds and categories come from units, instruments and code books,
# the classes from the question that is asked. Nobody looks at a record for any of them.

import os
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from skdp import DPSource, DPStatisticsSource, DPTransferClassifier, Release, TabularEncoder
from skdp.datasets import hide_labels

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
# The large hospital makes its release and writes it to a file. What :meth:`Release.summary` says
# of it is what its data protection officer signs.

source = DPStatisticsSource(epsilon=1.0, encoder=TabularEncoder(schema))
with TemporaryDirectory() as folder:
    path = Path(folder) / "outcomes.skdp"
    source.fit(X_source, y_source).release_.save(path)
    print(
        f"\nthe file has {path.stat().st_size / 1024:.0f} KiB, whatever the number of patients\n"
    )
    release = Release.load(path)
print(release.summary())

# %%
# The small hospital can use it at once, without any outcome of its own: the release brings the
# schema, and encodes its table alike. With 20 known outcomes, and 180 patients of whom it does
# not know, it can go on learning.


def auc(model, rows):
    died = list(model.classes if isinstance(model, Release) else model.classes_).index("died")
    return roc_auc_score(y_test == "died", model.predict_proba(rows)[:, died])


encoder = TabularEncoder(release.encoder).fit(X)
Z_source, Z, Z_test = (encoder.transform(table) for table in (X_source, X, X_test))
few = hide_labels(y, n_shown=10, random_state=0, marker=None)
known = np.array([label is not None for label in few])

alone = auc(LogisticRegression().fit(Z[known], y[known]), Z_test)
# Without privacy: the risk bends, so a baseline needs splines.
smooth = make_pipeline(SplineTransformer(), LogisticRegression(max_iter=2000))
open_rows = auc(smooth.fit(Z_source, y_source), Z_test)

# %%
# Now at several ε, the release of statistics being made five times for each, for its noise has no
# seed. The area under the ROC curve (AUC) is that of 3,000 other patients of the small hospital.

epsilons = [0.25, 1.0, 4.0, 16.0]
curves = {"statistics": [], "statistics, 20 outcomes": [], "noisy rows": []}
spread = []
for epsilon in epsilons:
    source.set_params(epsilon=epsilon)
    releases = [source.fit(X_source, y_source).release_ for _ in range(5)]
    areas = [auc(release, X_test) for release in releases]
    spread.append((min(areas), max(areas)))
    curves["statistics"].append(np.mean(areas))
    model = DPTransferClassifier(releases[0], random_state=0).fit(Z, few)
    rows = DPSource(epsilon=epsilon, encoder=schema).fit(X_source, y_source).release_
    curves["statistics, 20 outcomes"].append(auc(model, Z_test))
    curves["noisy rows"].append(auc(rows, X_test))

print(f"\nAUC with all records, not private: {open_rows:.3f}")
print(f"AUC with 20 outcomes of the small hospital alone: {alone:.3f}\n")
print(f"{'epsilon':>8}" + "".join(f"{name:>26}" for name in curves))
for k, epsilon in enumerate(epsilons):
    print(f"{epsilon:>8g}" + "".join(f"{curve[k]:>26.3f}" for curve in curves.values()))

# %%
# Statistics protect more, and tell more: what noise does to a sum does not grow with the number of
# patients, and the sum does.

figure, axes = plt.subplots(figsize=(8, 5.2), layout="constrained")
axes.axhline(open_rows, color="0.5", linestyle="--", label="all records, not private")
for (name, curve), marker in zip(curves.items(), "osD", strict=True):
    unit = "one encoded value" if name == "noisy rows" else "a whole record"
    axes.plot(epsilons, curve, marker=marker, label=f"{name}: ε of {unit}")
axes.fill_between(epsilons, *np.transpose(spread), alpha=0.2)
axes.axhline(alone, color="0.5", linestyle=":", label="20 outcomes alone")
axes.set_xscale("log", base=2)
axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axes.set_xlabel("ε; further left is more private")
axes.set_ylabel("AUC on other patients")
figure.legend(loc="outside lower center", ncols=2, fontsize="small")
figure.savefig("private_statistics.png", dpi=120)
print("\nwrote private_statistics.png")
