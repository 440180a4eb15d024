"""
Which ε, and how many rows, does a release need?
================================================

A smaller ε protects people better and costs accuracy; more rows make up for it. Trying several ε
on the private rows would spend privacy budget for each. :func:`~skdp.plan_release` reads no rows:
it simulates tables by the public schema. How close does a plan come to real releases?
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from skdp import DPStatisticsSource, plan_release
from skdp.datasets import load_adult
from skdp.displays import PrivacyUtilityDisplay

n_draws = 3  # releases of each size and ε

# %%
# A census office wants to make a release about who earns more than 50,000 dollars. Three things
# are public: the schema of the columns, that about one in four people earns more, and that models
# of other census tables reach an AUC of about 0.9. The office could use a survey of 500 people, or
# one of 3,000.

adult = load_adult(random_state=0)
epsilons, sizes = [0.1, 0.3, 1.0, 3.0], [500, 3000]
guesses = {"class_prior": [0.75, 0.25], "effects": 0.9}
plan = plan_release(
    adult.schema, sizes, epsilon=epsilons, n_draws=n_draws, random_state=0, **guesses
)

# %%
# The plan says which ε a wanted AUC needs, and how many rows at a given ε:

plan.epsilon_needed(0.8).round(2)

# %%

plan.rows_needed(0.8).round(-1)

# %%
# **What is reached.** Only because these rows are public can we look: each size and ε is released
# several times, with other rows and other noise, and scored on 5,000 other people.

X, rich, test = adult.data, adult.target == ">50K", adult.test[:5000]
lines = []
for n in sizes:
    for draw in range(n_draws):
        rows = np.random.RandomState(draw).permutation(adult.source)[:n]
        for epsilon in epsilons:
            source = DPStatisticsSource(epsilon, encoder=adult.schema)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # some releases are hardly worth anything
                release = source.fit(X.iloc[rows], adult.target[rows]).release_
            scores = release.predict_proba(X.iloc[test])[:, 1]
            lines.append((f"{n:,} rows", epsilon, roc_auc_score(rich[test], scores)))
reached = pd.DataFrame(lines, columns=["model", "epsilon", "score"])

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
PrivacyUtilityDisplay.from_plan(plan).plot(left)
display = PrivacyUtilityDisplay.from_scores(reached, score_name="AUC").plot(right)
left.set_title("Planned, without any row")
right.set_title("Reached by releases of real rows")
figure.set_label("AUC over ε, planned and reached: in both panels the curves rise with ε.")

# %%
# The same in numbers: mean and standard deviation.

table = display.table.assign(planned=plan.table["auc"].to_numpy())
table = table.rename(columns={"score": "reached"})[
    ["model", "epsilon", "planned", "reached", "sd"]
]
print(table.round(3).to_string(index=False))
plt.show()

# %%
# The plan is close enough to choose by. Where releases are hardly better than chance, they vary
# from draw to draw, and the plan may be far too high. Do not repeat a plan with other guesses
# until it says what you hoped for, and never derive a guess from the private rows.
