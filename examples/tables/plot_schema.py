"""
How do I write a schema, and check my rows against it?
======================================================

A release needs to know which values the columns of a table *can* have. The schema says so. Take it
from units, instruments and code books, or draft it from public rows, never from private ones.

Check the private rows against it before a release. A release says nothing about values that the
schema does not allow, because a warning would leak information: such a mistake silently ruins it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from skdp import DPStatisticsSource, Schema, schema_from
from skdp.datasets import load_adult
from skdp.tabular import check_table

census = load_adult(random_state=0)
names = ["age", "education-num", "marital-status", "hours-per-week", "sex"]
X, income = census.data[names], census.target
private, others = census.source[:3000], census.test

# %%
# **From the code book.** Numbers have bounds in their unit. Categories are spelled as in the
# table. The classes answer the question: does a person earn more than 50,000 dollars a year?

status = ["Never-married", "Married-civ-spouse", "Married-spouse-absent", "Married-AF-spouse"]
status += ["Separated", "Divorced", "Widowed"]
columns = {
    "age": {"type": "numeric", "low": 17, "high": 90, "step": 1},  # years
    "education-num": {"type": "numeric", "low": 1, "high": 16, "step": 1},  # level
    "marital-status": {"type": "category", "categories": status},
    "hours-per-week": {"type": "numeric", "low": 1, "high": 99, "step": 1},
    "sex": {"type": "category", "categories": ["Female", "Male"]},
}
schema = Schema.from_mapping({"version": 1, "columns": columns, "classes": ["<=50K", ">50K"]})
print(schema.summary())

# %%
# **From public rows.** :func:`~skdp.schema_from` drafts a schema, once you confirm that the rows
# are public. Edit the draft: perhaps none of 50 people is older than 80, but other people are.

public = X.iloc[census.learning[:50]]
print(schema_from(public, public=True).summary())

# %%
# **Check the private rows.** Three common mistakes: the year of birth instead of the age, words in
# lower case, and hours a month instead of hours a week. The report names them. It is private.

rows = X.iloc[private]
mistakes = {
    "no mistake": {},
    "year of birth": {"age": 1994 - rows["age"]},
    "lower case": {"marital-status": rows["marital-status"].str.lower()},
    "hours a month": {"hours-per-week": rows["hours-per-week"] * 52 / 12},
}
mistakes["all three"] = {name: column for one in mistakes.values() for name, column in one.items()}
wrong = rows.assign(**mistakes["all three"])
print(check_table(wrong.assign(income=income[private]), schema, label="income"))

# %%
# **What does a mistake cost?** The guarantee still holds, but the AUC on 10,561 other people
# falls. Points are means of six releases at ε = 1, with standard deviations.

source = DPStatisticsSource(epsilon=1.0, encoder=schema)
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for row, (name, columns) in enumerate(mistakes.items()):
    areas = []
    for _ in range(6):
        release = source.fit(rows.assign(**columns), income[private]).release_
        rich = release.predict_proba(X.iloc[others])[:, 1]
        areas.append(roc_auc_score(income[others] == ">50K", rich))
    print(f"{name:<14} AUC {np.mean(areas):.3f} ± {np.std(areas):.3f}")
    axes.errorbar(np.mean(areas), row, xerr=np.std(areas), fmt="o", color="#0072B2", capsize=4)
axes.set_yticks(range(len(mistakes)), list(mistakes))
axes.set(ylim=(4.5, -0.5), xlabel="AUC on 10,561 others, ε = 1 (mean and std of 6 releases)")
figure.set_label(
    "AUC of releases of rows without a mistake, with one of three mistakes, and with all of them, "
    "which is the lowest."
)
plt.show()
