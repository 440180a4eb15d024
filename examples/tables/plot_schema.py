"""
How do I write a schema, and check my rows against it?
======================================================

A release needs to know what values the columns of a table *can* have: the bounds of numbers and
the categories. This is the schema. It must not be computed from private rows, because a minimum
or a list of the categories that occur tells about single people. It is written from units,
instruments and code books, or drafted from public rows.

Before a release, the owner checks the private rows against it. A release says nothing about
values that the schema does not allow, because a warning would leak information: such a mistake
ruins it silently, and its budget is spent.
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
# **From the code book.** Numbers have bounds in their unit, categories are listed as they are
# spelled in the table, and the classes are the answers to the question that is asked: does a
# person earn more than 50,000 dollars a year?

schema = Schema.from_mapping(
    {
        "version": 1,
        "columns": {
            "age": {"type": "numeric", "low": 17, "high": 90, "step": 1},  # years
            "education-num": {"type": "numeric", "low": 1, "high": 16, "step": 1},  # level
            "marital-status": {
                "type": "category",
                "categories": [
                    *("Never-married", "Married-civ-spouse", "Married-spouse-absent"),
                    *("Married-AF-spouse", "Separated", "Divorced", "Widowed"),
                ],
            },
            "hours-per-week": {"type": "numeric", "low": 1, "high": 99, "step": 1},
            "sex": {"type": "category", "categories": ["Female", "Male"]},
        },
        "classes": ["<=50K", ">50K"],
    }
)
print(schema.summary())

# %%
# **From public rows.** :func:`~skdp.schema_from` drafts a schema, and has to be told that the rows
# are no secret. The draft needs an editor: of 50 people nobody may be older than 80 or married to
# somebody in the armed forces, elsewhere some are.

public = X.iloc[census.learning[:50]]
print(schema_from(public, public=True).summary())

# %%
# **Check the private rows.** Three mistakes that are easily made: the year of birth in place of
# the age, words in lower case, and hours a month in place of hours a week. The report names them.
# It is private: it stays on the owner's screen.

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
# **What would a release of such rows predict?** It is made all the same, and its guarantee holds.
# The area under the ROC curve (AUC) on 10,561 other people, whose table is in order, says what is
# lost. Each release is made six times, with new noise.

source = DPStatisticsSource(epsilon=1.0, encoder=schema, model="linear")
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
axes.set(ylim=(4.5, -0.5), xlabel="AUC on other people, ε = 1 for a record")
axes.set_title("What a mistake costs: mean and std of 6 releases")
figure.set_label(
    "Five points with error bars: the AUC of releases of rows without a mistake, with one of "
    "three mistakes, and with all of them, which is the lowest."
)
plt.show()
