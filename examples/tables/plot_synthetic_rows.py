"""
What are synthetic rows good for, and what not?
===============================================

A release can draw synthetic rows: a table with the columns of the private one, labels included,
which spends no further budget. They are convenient where a program wants rows. But they are drawn
from the noisy statistics of the release and know nothing else: means, frequencies and
correlations within classes. Two questions should be asked of them: how good is a model that is
trained on them, and which of their properties are untrue?
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skdp import DPStatisticsSource, TabularEncoder
from skdp.datasets import load_adult

parser = argparse.ArgumentParser()
parser.add_argument("--draws", type=int, default=4, help="releases and samples of real rows")
options = parser.parse_args()

census = load_adult(random_state=0)
private, others = census.source[:4000], census.test
X, y = census.data.iloc[private], census.target[private]
X_test, rich = census.data.iloc[others], census.target[others] == ">50K"

# %%
# The private rows are 4,000 people of a census, and who of them earns more than 50,000 dollars a
# year. One release protects whole records at ε = 2. As many rows are drawn from it.

source = DPStatisticsSource(epsilon=2.0, encoder=census.schema)
synthetic, labels = source.fit(X, y).release_.sample(len(X), random_state=0, as_frame=True)
print(synthetic[["age", "education", "relationship", "sex", "hours-per-week"]].head())

# %%
# **Models** of real rows, of synthetic rows, and the release itself, without any sampling. All are
# judged by the area under the ROC curve (AUC) on 10,561 other people. Real rows are taken with
# replacement, releases are made anew: four times each.

encoder = TabularEncoder(census.schema)
Z, Z_test = encoder.fit_transform(X), encoder.transform(X_test)
models = {
    "boosting": HistGradientBoostingClassifier(max_leaf_nodes=15, max_iter=60),
    "logistic regression": LogisticRegression(max_iter=1000),
}
areas: dict = {f"{name}, {rows} rows": [] for name in models for rows in ("real", "synthetic")}
areas["the release itself"] = []
untrue: dict = {"wives who are men": [], "husbands who are women": [], "no capital gain": []}


def shares(table):
    """Return the shares of rows in which something holds."""
    return (
        ((table["relationship"] == "Wife") & (table["sex"] == "Male")).mean(),
        ((table["relationship"] == "Husband") & (table["sex"] == "Female")).mean(),
        (table["capital-gain"] == 0).mean(),
    )


for seed in range(options.draws):
    release = source.fit(X, y).release_
    drawn, drawn_labels = release.sample(len(X), random_state=seed, as_frame=True)
    again = np.random.RandomState(seed).randint(len(X), size=len(X))
    rows = {"real": (Z[again], y[again]), "synthetic": (encoder.transform(drawn), drawn_labels)}
    for name, model in models.items():
        for kind, (features, target) in rows.items():
            found = model.fit(features, target).predict_proba(Z_test)[:, 1]
            areas[f"{name}, {kind} rows"].append(roc_auc_score(rich, found))
    areas["the release itself"].append(roc_auc_score(rich, release.predict_proba(X_test)[:, 1]))
    for values, share in zip(untrue.values(), shares(drawn), strict=True):
        values.append(share)

for name, values in areas.items():
    print(f"{name:<36} AUC {np.mean(values):.3f} ± {np.std(values):.3f}")

# %%
# Models of synthetic rows stay a little below the release itself, which is all that the rows were
# drawn from. Boosting is ahead on real rows alone: it gains from what the statistics leave out.
#
# **Limits.** Columns are related in pairs, within each class and by one number, so that rows occur
# which cannot be: about one in ten is a husband and a woman. And a number that is nearly always
# zero, as a capital gain, is drawn from a smooth distribution.

for (name, values), true in zip(untrue.items(), shares(X), strict=True):
    print(
        f"{name:<24} {np.mean(values):6.1%} ± {np.std(values):.1%} of the synthetic rows, "
        f"{true:.1%} of the real ones"
    )

BLUE, ORANGE = "#0072B2", "#D55E00"  # of Okabe and Ito
figure, (upper, lower) = plt.subplots(2, 1, figsize=(6, 5.6), layout="constrained")
for row, values in enumerate(areas.values()):
    color, marker = (ORANGE, "s") if row in (1, 3) else (BLUE, "o") if row < 4 else ("0.2", "D")
    deviation = np.std(values)
    upper.errorbar(np.mean(values), row, xerr=deviation, fmt=marker, color=color, capsize=4)
upper.set_yticks(range(len(areas)), list(areas))
upper.set(ylim=(4.5, -0.5), xlabel="AUC on other people (mean and std)")
positions = np.arange(len(untrue))
lower.barh(positions - 0.2, [100 * share for share in shares(X)], 0.35, color=BLUE, label="real")
means, deviations = np.mean(list(untrue.values()), axis=1), np.std(list(untrue.values()), axis=1)
lower.barh(
    positions + 0.2, 100 * means, 0.35, xerr=100 * deviations, color=ORANGE, label="synthetic"
)
lower.set_yticks(positions, list(untrue))
lower.set(ylim=(2.5, -0.5), xlabel="% of the rows")
lower.legend()
figure.set_label(
    "Above: the AUC of boosting and of logistic regression on real and on synthetic rows, and of "
    "the release. Below: how many real and synthetic rows are wives who are men, husbands who "
    "are women, or have no capital gain."
)
plt.show()
