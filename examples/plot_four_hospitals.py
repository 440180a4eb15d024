"""
How accurate is learning from three hospitals' releases at a fourth?
====================================================================

Four hospitals examine patients for coronary heart disease. In Cleveland 46% are ill, in Budapest
36%, in Zurich and Basel 93%, in Long Beach 74%. Three of the hospitals publish *releases*, which
protect each patient's record at ε = 4. The fourth knows the diagnoses of few of its own patients,
or of none. How good are its probabilities for the others? Each hospital is the fourth in turn.

The example prints a table and writes ``four_hospitals.png``, in 20 seconds on one core. The data
are real (Janosi, Steinbrunn, Pfisterer and Detrano, 1989; CC BY 4.0).
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score

from skdp import DPStatisticsSource, DPTransferClassifier, TabularEncoder
from skdp.datasets import load_heart_disease

n_draws = 3
label_counts, Cs = [0, 10, 30, 60], np.logspace(-3, 1, 5)
heart = load_heart_disease()
X, y, Z = heart.data, heart.target, TabularEncoder(heart.schema).fit_transform(heart.data)
# 123 patients are few, and some hospitals lack some examinations: warnings would say so each time.
warnings.simplefilter("ignore")

# %%
# **A hospital** publishes its release. **The fourth** learns from the releases of the others and
# from its own patients, the first of whom have a diagnosis; NaN marks the others. Without any
# diagnosis it may still know how many of its patients are ill (``class_prior``). The **baseline**
# is logistic regression on the fourth hospital's own diagnoses.


def release_of(hospital):
    here = heart.hospital == hospital
    return DPStatisticsSource(epsilon=4.0, encoder=heart.schema).fit(X[here], y[here]).release_


def transfer(releases, n, rows, asked, class_prior=None):
    known = np.where(np.arange(len(rows)) < n, y[rows], np.nan)
    model = DPTransferClassifier(releases, label_sampling="random", class_prior=class_prior)
    return model.fit(X.iloc[rows], known).predict_proba(X.iloc[asked])[:, 1]


def labels_alone(n, rows, asked):
    cv = int(min(5, *np.bincount(y[rows[:n]], minlength=2)))
    if cv < 2:  # too few for a model: the frequency
        return np.full(len(asked), (y[rows[:n]].sum() + 0.5) / (n + 1))
    model = LogisticRegressionCV(Cs=Cs, cv=cv, scoring="neg_log_loss", max_iter=1000)
    return model.fit(Z[rows[:n]], y[rows[:n]]).predict_proba(Z[asked])[:, 1]


lines = []
for draw in range(n_draws):
    random_state = np.random.RandomState(draw)
    releases = {name: release_of(name) for name in heart.hospital_names}
    for target in heart.hospital_names:
        others = [releases[name] for name in releases if name != target]
        here = np.flatnonzero(heart.hospital == target)
        rows, asked = np.array_split(random_state.permutation(here), 2)
        alone = np.mean([each.predict_proba(X.iloc[asked])[:, 1] for each in others], axis=0)
        ill, found = y[here].mean(), [("releases alone", n, alone) for n in label_counts]
        found += [("labels alone", n, labels_alone(n, rows, asked)) for n in label_counts if n]
        found += [("transfer", n, transfer(others, n, rows, asked)) for n in label_counts]
        found += [("frequency known", 0, transfer(others, 0, rows, asked, [1 - ill, ill]))]
        for learner, n, p in found:
            lines.append((target, learner, n, log_loss(y[asked], p), roc_auc_score(y[asked], p)))

# %%
# The table has a line for each learner and a column for each number of labels.

table = pd.DataFrame(lines, columns=["hospital", "learner", "labels", "log loss", "AUC"])
for measure, meaning in (("log loss", "lower is better"), ("AUC", "0.5 is a guess, 1 is perfect")):
    cells = table.groupby(["hospital", "learner", "labels"], sort=False)[measure]
    text = cells.agg(lambda v: f"{v.mean():.3f} ± {v.std(ddof=0):.3f}").unstack(fill_value="")
    print(f"\n{measure}, mean ± std of {n_draws} draws: {meaning}")
    print(text.to_string(sparsify=False))

# %%
# On the left, log loss. Where fewer patients are ill than elsewhere, or more, the releases alone
# rank patients well but misjudge the probabilities. Knowing the frequency corrects that without a
# single diagnosis, and so do a few diagnoses. On the right, the AUC, which depends on the ranking
# alone. Bars are standard deviations over the draws.

learners = table["learner"].unique()
figure, panels = plt.subplots(4, 2, figsize=(6, 9.5), layout="constrained", sharey="col")
figure.set_label("Log loss and AUC over the number of labels, of four learners at four sites.")
for axes, (hospital, rows) in zip(panels, table.groupby("hospital", sort=False), strict=True):
    for panel, measure in zip(axes, ("log loss", "AUC"), strict=True):
        panel.set(title=f"{hospital}: {measure}", xlabel=f"labels; ε = 4, std of {n_draws} draws")
        for who, fmt in zip(learners, ("k--", "C1s:", "C0o-", "C2*"), strict=True):
            cells = rows[rows["learner"] == who].groupby("labels")[measure]
            panel.errorbar(cells.mean().index, cells.mean(), cells.std(ddof=0), fmt=fmt, label=who)
figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=2)
figure.savefig("four_hospitals.png", dpi=120)
print("\nwrote four_hospitals.png")
