"""
Which ε, and how many rows, does a release need?
================================================

A smaller ε protects people better and leaves less to be learned; more rows make up for it. Trying
several ε on the private rows would spend privacy budget for each of them.
:func:`~skdp.plan_release` reads no rows: it simulates tables by the public schema and says what
releases of them will be worth. How close does a plan come to what real releases reach?
"""

import argparse
import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

from skdp import DPStatisticsSource, TabularEncoder, plan_release
from skdp.datasets import load_adult
from skdp.displays import PrivacyUtilityDisplay

parser = argparse.ArgumentParser(description="Choosing epsilon.")
parser.add_argument("--draws", type=int, default=3, help="releases of each size and epsilon")
options = parser.parse_args()

# %%
# What is public
# --------------
#
# A census office wants to release who earns more than 50,000 dollars. Public are the schema of the
# columns, that about one in four earns more, and that models of other census tables reach an AUC
# of about 0.9. The office could use a small survey of 500 people, or a larger one of 3,000.

adult = load_adult(random_state=0)
epsilons, sizes = [0.1, 0.3, 1.0, 3.0], [500, 3000]
plan = plan_release(
    adult.schema,
    sizes,
    class_prior=[0.75, 0.25],
    epsilon=epsilons,
    effects=0.9,
    n_draws=options.draws,
    random_state=0,
)

# %%
# The plan says which ε a wanted AUC needs, and how many rows at a given ε:

plan.epsilon_needed(0.8).round(2)

# %%

plan.rows_needed(0.8).round(-1)

# %%
# What is reached
# ---------------
#
# Only because these rows are public can we look: each size and ε is released several times, of
# other rows and with other noise, and scored on 5,000 people who are in none of the releases. The
# baseline without privacy is a tuned logistic regression on the same rows.

X, rich = adult.data, adult.target == ">50K"
encoder = TabularEncoder(adult.schema).fit(X)
encoded = np.asarray(encoder.transform(X))
test = adult.test[:5000]
tuned = GridSearchCV(LogisticRegression(max_iter=300), {"C": [0.1, 1, 10]}, cv=3)
lines = []
for n in sizes:
    model = f"{n:,} rows"
    for draw in range(options.draws):
        rows = np.random.RandomState(draw).permutation(adult.source)[:n]
        scores = tuned.fit(encoded[rows], rich[rows]).decision_function(encoded[test])
        lines.append((model, np.inf, roc_auc_score(rich[test], scores)))
        for epsilon in epsilons:
            source = DPStatisticsSource(epsilon, encoder=adult.schema, model="linear")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a release may be worth little: seen below
                release = source.fit(X.iloc[rows], adult.target[rows]).release_
            scores = release.predict_proba(encoded[test])[:, 1]
            lines.append((model, epsilon, roc_auc_score(rich[test], scores)))
reached = pd.DataFrame(lines, columns=["model", "epsilon", "score"])

# %%
# Privacy is strongest on the left. The dotted lines are what could be reached without noise.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
PrivacyUtilityDisplay.from_plan(plan).plot(left)
PrivacyUtilityDisplay.from_scores(reached, score_name="AUC").plot(right)
left.set_title("Planned, without any row")
right.set_title("Reached by releases of real rows")
figure.set_label(
    "Two panels of AUC against epsilon, planned and reached. In both the curves rise with epsilon "
    "towards dotted lines, and that of 3,000 rows is above that of 500."
)
figure.savefig("choosing_epsilon.png", dpi=120)

# %%
# The same in numbers: mean and standard deviation.

table = PrivacyUtilityDisplay.from_scores(reached).table.query("epsilon < inf")
table = table.assign(planned=plan.table["auc"].to_numpy())
table = table.rename(columns={"score": "reached"})[
    ["model", "epsilon", "planned", "reached", "sd"]
]
print(table.round(3).to_string(index=False))

# %%
# The plan is close enough to choose by. Where a release is hardly worth anything, as that of 500
# people at ε = 0.1, releases vary much from draw to draw, and the plan may be well above what is
# reached. Do not repeat a plan with other guesses until it says what you hoped for, and take no
# guess from the private rows.
