"""
What if my site has other frequencies, or errors cost more?
===========================================================

A release says how likely a class is *where it was made*. At a site where the class is twice as
frequent, its probabilities are too low, however well it orders people. And where missing a case
costs more than a false alarm, the likeliest class is not the best decision. How far off are the
probabilities, what mends them, and what does that save?
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import log_loss, roc_auc_score

from skdp import DPStatisticsSource, DPTransferClassifier
from skdp.datasets import load_adult

parser = argparse.ArgumentParser(description="Other frequencies and costs.")
parser.add_argument("--draws", type=int, default=5, help="divisions of the people, and noises")
options = parser.parse_args()

# %%
# A source where 24 % earn more than 50,000 dollars makes a release of 4,000 people at ε = 1. At
# the target it is 60 %, and of its 600 people 40 are labeled, drawn at random. The target's people
# are real, and chosen so that this share is met.

adult = load_adult(random_state=0)
X, y, MORE = adult.data, adult.target, ">50K"
source = DPStatisticsSource(epsilon=1.0, encoder=adult.schema, model="linear")


def target(seed, n=3600, share=0.6):
    """Return rows of the target: 600 to learn from, and 3,000 others."""
    rng = np.random.RandomState(seed)
    more = rng.permutation(adult.test[y[adult.test] == MORE])[: int(n * share)]
    less = rng.permutation(adult.test[y[adult.test] != MORE])[: n - len(more)]
    rows = rng.permutation(np.concatenate([more, less]))
    return rows[:600], rows[600:]


# %%
# Three ways to get probabilities: those of the release as they are; with the frequency, if it is
# known (``class_prior``); and with 40 labels, from which the frequency is learned
# (``label_sampling="random"``). We repeat everything with other people and other noise.

settings = {"random_state": 0}
found: dict = {"release as it is": [], "frequency known": [], "40 labels": []}
for seed in range(options.draws):
    here, later = target(seed)
    rows = np.random.RandomState(seed).permutation(adult.source)[:4000]
    release = source.fit(X.iloc[rows], y[rows]).release_
    none, some = np.full(600, None), np.where(np.arange(600) < 40, y[here], None)
    prior = {"<=50K": 0.4, MORE: 0.6}
    known = DPTransferClassifier(release, class_prior=prior, **settings)
    labels = DPTransferClassifier(release, label_sampling="random", **settings)
    models = [release, known.fit(X.iloc[here], none), labels.fit(X.iloc[here], some)]
    for values, model in zip(found.values(), models, strict=True):
        p = model.predict_proba(X.iloc[later])[:, 1]
        values.append((p, y[later] == MORE))

# %%
# Reliability curves of all repetitions together. Of people to whom the release gives 40 %, far
# more than 40 % earn more here.

figure, ax = plt.subplots(figsize=(5, 4.8))
for name, values in found.items():
    p, hits = (np.concatenate(part) for part in zip(*values, strict=True))
    CalibrationDisplay.from_predictions(hits, p, n_bins=10, strategy="quantile", name=name, ax=ax)
ax.set_title("Probabilities where 60 % earn more, not 24 %")
figure.set_label(
    "Reliability curves: that of the release as it is lies far above the diagonal, those with the "
    "known frequency and with 40 labels lie close to it."
)
figure.savefig("frequencies.png", dpi=120, bbox_inches="tight")

# %%
# The order of people does not change: the AUC remains the same, but the log loss falls.

print(f"{'':<18}{'AUC':>14}{'log loss':>16}")
for name, values in found.items():
    areas = [roc_auc_score(hits, p) for p, hits in values]
    losses = [log_loss(hits, p) for p, hits in values]
    print(
        f"{name:<18}{np.mean(areas):8.3f} ± {np.std(areas):.3f}"
        f"{np.mean(losses):8.3f} ± {np.std(losses):.3f}"
    )

# %%
# What errors cost
# ----------------
#
# Say that missing somebody who earns more costs five times as much as a false alarm. The cheapest
# decision is then to say "more" from a probability of 1/6 upwards, which ``class_weight`` does: it
# multiplies the probability of "more" by five. That is right only if the probabilities are. The
# baseline says "more" of everybody.


def cost(p, hits, weight):
    """Return the cost of 100 decisions for the class of the larger weighted probability."""
    said = weight * p >= 1 - p
    return 100 * np.mean(np.where(hits, 5.0 * ~said, 1.0 * said))


costs = {
    "'more' of everybody": [cost(np.ones(len(hits)), hits, 1.0) for _, hits in found["40 labels"]]
}
for name, values in found.items():
    costs[f"{name}, likeliest class"] = [cost(p, hits, 1.0) for p, hits in values]
    costs[f"{name}, by costs"] = [cost(p, hits, 5.0) for p, hits in values]

figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for place, (name, values) in enumerate(costs.items()):
    color = "#D55E00" if name.endswith("likeliest class") else "#0072B2"
    ax.errorbar(np.mean(values), place, xerr=np.std(values), fmt="o", color=color, capsize=4)
    print(f"{name:<36} {np.mean(values):6.1f} ± {np.std(values):.1f}")
ax.set_yticks(range(len(costs)), list(costs))
ax.set(ylim=(len(costs) - 0.5, -0.5), xlim=(0, None))
ax.set(xlabel="cost of 100 decisions (mean ± SD)", title="Decisions where a miss costs five times")
figure.set_label(
    "Seven points with error bars: decisions for the likeliest class cost most where the release "
    "is used as it is; decisions by costs cost less in all three cases."
)
figure.savefig("costs.png", dpi=120)

# %%
# A model applies both at once, by the names of the classes:

costly = DPTransferClassifier(release, class_prior=prior, class_weight={MORE: 5}, **settings)
decisions = costly.fit(X.iloc[here], none).predict(X.iloc[later])
print(f"{np.mean(decisions == MORE):.0%} of the people are said to earn more")
