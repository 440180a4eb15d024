"""
How do I make a release about a time to an event?
=================================================

When do patients with heart failure die? A hospital publishes a release of its records, including
patients who left alive. Another hospital predicts the risk and the survival of its own patients.
Two random halves of one study of 299 patients stand for the two hospitals.
"""

import matplotlib.pyplot as plt
import numpy as np

from skdp import DPStatisticsSource, Schema
from skdp.datasets import load_heart_failure

heart = load_heart_failure()
order = np.random.RandomState(0).permutation(len(heart.data))
first, second = order[:150], order[150:]
print(heart.target[first][:3])

# %%
# **The horizon** is the public time up to which patients are followed. Hardly anybody was
# followed for all 285 days, so noise would hide the last weeks. Here the horizon is 240 days.
# Each column costs accuracy, and 150 patients are few: the hospitals agree on four columns that
# matter in other studies of heart failure.

outcome = heart.schema["outcome"] | {"horizon": 240}
names = ["age", "ejection_fraction", "serum_creatinine", "serum_sodium"]
schema = Schema.from_mapping(heart.schema | {"outcome": outcome}).restrict(names)
data = heart.data[names]
print(schema)

# %%
# **The first hospital** makes a release, which protects each patient with the time and the death.

source = DPStatisticsSource(epsilon=4.0, encoder=schema)
release = source.fit(data.iloc[first], heart.target[first]).release_
print(release)

# %%
# **The second hospital** predicts a risk score for each patient: the log-hazard, relative to the
# baseline. Concordance is the share of pairs in which the patient who died earlier had the higher
# risk. Chance is 0.5. This concordance is computed from the exact outcomes and is not private.

X, y = data.iloc[second], heart.target[second]
risk = release.predict(X)
print(f"concordance at the second hospital {release.score(X, y):.2f}")

# %%
# Survival in three groups of risk: the prediction of the release, and the Kaplan-Meier estimate of
# the second hospital's patients (dotted). With so few patients the release ranks well, but
# predicts smaller differences than the true ones, because noisy coefficients shrink.


def kaplan_meier(y, times):
    """Return the estimated probability of being alive at some times."""
    died = np.unique(y["days"][y["died"]])
    there = (y["days"] >= died[:, np.newaxis]).sum(axis=1)
    deaths = (y["days"][y["died"]] == died[:, np.newaxis]).sum(axis=1)
    survival = np.append(1.0, np.cumprod(1 - deaths / there))
    return survival[np.searchsorted(died, times, side="right")]


times = release.unique_times_
curves = release.predict_survival_function(X, return_array=True)
group = np.digitize(risk, np.quantile(risk, [1 / 3, 2 / 3]))
groups = {"low risk": "tab:blue", "middle": "tab:orange", "high risk": "tab:red"}

figure, axes = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
said = []
for k, (name, color) in enumerate(groups.items()):
    predicted, observed = curves[group == k].mean(axis=0), kaplan_meier(y[group == k], times)
    axes.plot(times, predicted, color=color, label=name)
    axes.step(times, observed, color=color, where="post", linestyle=":")
    said.append(f"{name}: {predicted[-1]:.0%} predicted, {observed[-1]:.0%} observed")
    print(f"alive after 240 days, {said[-1]}")
axes.set_title("150 patients at each hospital, ε = 4, one release")
axes.set(xlabel="days", ylabel="share of patients alive", ylim=(0, 1.02), xlim=(0, 240))
axes.plot([], [], color="gray", linestyle=":", label="observed")
axes.legend(ncols=2, fontsize=10, loc="lower left")
figure.set_label(f"Curves of survival over 240 days. Alive at the end: {'; '.join(said)}.")

# %%
# The median survival of a patient is where the curve falls below one half, if it does before the
# horizon.

reached = (curves <= 0.5).any(axis=1)
print(f"{reached.sum()} of {len(X)} patients have a median survival below 240 days")
plt.show()
