"""
What are synthetic rows good for, and what not?
===============================================

A release can draw synthetic rows: a table with the columns of the private one, labels included, at
no further budget. They reproduce only what the release contains. How accurate is a model that is
trained on them, and which of their properties are wrong?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skdp import DPStatisticsSource, TabularEncoder
from skdp.datasets import load_adult

n_draws = 4  # releases, and samples of real rows
census = load_adult(random_state=0)
private, others = census.source[:4000], census.test
X, y = census.data.iloc[private], census.target[private]
X_test, rich = census.data.iloc[others], census.target[others] == ">50K"

# %%
# The private rows are 4,000 people of a census. The label says who earns more than 50,000
# dollars a year. A release protects whole records at ε = 2.

source = DPStatisticsSource(epsilon=2.0, encoder=census.schema)
synthetic, labels = source.fit(X, y).release_.sample(len(X), random_state=0, as_frame=True)
print(synthetic[["age", "education", "relationship", "sex", "hours-per-week"]].head())

# %%
# **Models** of real rows, of synthetic rows, and the release itself. The AUC is on 10,561 other
# people. Releases and samples are drawn four times.

encoder = TabularEncoder(census.schema)
Z, Z_test = encoder.fit_transform(X), encoder.transform(X_test)
models = {
    "boosting": HistGradientBoostingClassifier(max_leaf_nodes=15, max_iter=60),
    "logistic regression": LogisticRegression(max_iter=1000),
}
areas: dict = {f"{name}, {rows} rows": [] for name in models for rows in ("real", "synthetic")}
areas["the release itself"] = []
for seed in range(n_draws):
    release = source.fit(X, y).release_
    drawn, drawn_labels = release.sample(len(X), random_state=seed, as_frame=True)
    again = np.random.RandomState(seed).randint(len(X), size=len(X))
    rows = {"real": (Z[again], y[again]), "synthetic": (encoder.transform(drawn), drawn_labels)}
    for name, model in models.items():
        for kind, (features, target) in rows.items():
            found = model.fit(features, target).predict_proba(Z_test)[:, 1]
            areas[f"{name}, {kind} rows"].append(roc_auc_score(rich, found))
    areas["the release itself"].append(roc_auc_score(rich, release.predict_proba(X_test)[:, 1]))

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for row, (name, values) in enumerate(areas.items()):
    print(f"{name:<36} AUC {np.mean(values):.3f} ± {np.std(values):.3f}")
    axes.errorbar(np.mean(values), row, xerr=np.std(values), fmt="o", capsize=4)
axes.set_yticks(range(len(areas)), list(areas))
axes.set(ylim=(4.5, -0.5), xlabel=f"AUC on 10,561 others, ε = 2 (mean and std of {n_draws} draws)")
figure.set_label("The AUC of models of real and of synthetic rows, and of the release itself.")

# %%
# Models of synthetic rows stay a little below the release. Boosting is better only on real rows,
# because it learns what the statistics leave out.
#
# **Limits.** Columns are related in pairs, so impossible rows occur. A number that is nearly
# always zero, such as a capital gain, is drawn from a smooth distribution.

for name, table in {"real": X, "synthetic": synthetic}.items():
    husbands = ((table["relationship"] == "Husband") & (table["sex"] == "Female")).mean()
    zeros = (table["capital-gain"] == 0).mean()
    print(f"{name:<10} husbands who are women {husbands:.1%}, no capital gain {zeros:.1%}")
plt.show()
