"""
How do I release what rows say of a number?
===========================================

The progression of diabetes within a year is a number. Its public bounds, and those of the columns,
are all that must be known; a release of 300 patients then predicts it, with intervals.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.metrics import PredictionErrorDisplay

from skdp import DPStatisticsSource, Schema

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X[["age", "bmi", "bp", "s5"]]
bounds = {"age": (18, 90), "bmi": (15, 45), "bp": (50, 140), "s5": (3, 6.5)}
schema = Schema.from_mapping(
    {
        "version": 1,
        "columns": {
            name: {"type": "numeric", "low": low, "high": high}
            for name, (low, high) in bounds.items()
        },
        "outcome": {"type": "number", "low": 25, "high": 350},
    }
)

# %%
# A release of two thirds of the patients, judged on the others. For an owner this is a check
# before the release is published; R² on held-out rows is not private.

order = np.random.RandomState(0).permutation(len(y))
learn, test = order[:300], order[300:]
source = DPStatisticsSource(epsilon=4.0, encoder=schema)
release = source.fit(X.iloc[learn], y.iloc[learn]).release_
mean, low, high = release.model.expected_r2
print(f"R² on held-out rows {release.score(X.iloc[test], y.iloc[test]):.2f}")
print(f"expected by the release alone {mean:.2f} ({low:.2f} to {high:.2f})")

# %%
# Predictions come with the standard deviation of the numbers about them: here 80 % intervals. They
# hold as often over many releases; with 300 rows, those of one release may be too wide or narrow.

predicted, deviation = release.predict(X.iloc[test], return_std=True)
inside = np.abs(y.iloc[test] - predicted) < 1.2816 * deviation
print(f"{inside.mean():.0%} of the outcomes are in their interval")

# %%
# What a column adds, in the unit of the outcome, and predictions against outcomes.

print(release.effects().groupby("column")["effect"].agg(["min", "max"]).round())
PredictionErrorDisplay.from_predictions(y.iloc[test], predicted, kind="actual_vs_predicted")
plt.show()
