"""
What if my site has other frequencies, or errors cost more?
===========================================================

A release says how likely a class is *where it was made*. At a site where the class is more
frequent, its probabilities are too low, however well it ranks people. And where missing a case
costs more than a false alarm, the likeliest class is not the best decision.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import log_loss, roc_auc_score

from skdp import DPStatisticsSource, DPTransferClassifier
from skdp.datasets import load_adult

n_draws = 5  # divisions of the people, and noises
adult = load_adult(random_state=0)
X, y, MORE = adult.data, adult.target, ">50K"

# %%
# At the source 24% earn more than 50,000 dollars. At the target it is 60%, and 40 of its 600
# people are labeled at random. Three ways to get probabilities: the release as it is, the known
# frequency (``class_prior``), and 40 labels, which also tell the frequency
# (``label_sampling="random"``).

source = DPStatisticsSource(epsilon=1.0, encoder=adult.schema)
prior, unknown = {"<=50K": 0.4, MORE: 0.6}, np.full(600, None)
found: dict = {"release as it is": [], "frequency known": [], "40 labels": []}
for seed in range(n_draws):
    rng = np.random.RandomState(seed)
    more = rng.permutation(adult.test[y[adult.test] == MORE])[:2160]
    less = rng.permutation(adult.test[y[adult.test] != MORE])[:1440]
    here, later = np.split(rng.permutation(np.concatenate([more, less])), [600])
    rows = np.random.RandomState(seed).permutation(adult.source)[:4000]
    release = source.fit(X.iloc[rows], y[rows]).release_
    some = np.where(np.arange(600) < 40, y[here], None)
    known = DPTransferClassifier(release, class_prior=prior, random_state=0)
    labels = DPTransferClassifier(release, label_sampling="random", random_state=0)
    models = [release, known.fit(X.iloc[here], unknown), labels.fit(X.iloc[here], some)]
    for values, model in zip(found.values(), models, strict=True):
        values.append((model.predict_proba(X.iloc[later])[:, 1], y[later] == MORE))

# %%
# Among people with a predicted probability of 40%, far more than 40% earn more here. The AUC
# depends on the ranking alone and stays the same. The log loss falls with the correction.

figure, axes = plt.subplots(figsize=(5, 4.8))
print(f"{'':<18}{'AUC':>14}{'log loss':>16}")
for name, values in found.items():
    p, hits = (np.concatenate(part) for part in zip(*values, strict=True))
    display = {"n_bins": 10, "strategy": "quantile", "name": name}
    CalibrationDisplay.from_predictions(hits, p, ax=axes, **display)
    areas, losses = ([f(h, p) for p, h in values] for f in (roc_auc_score, log_loss))
    print(f"{name:<18}{np.mean(areas):8.3f} ± {np.std(areas):.3f}", end="")
    print(f"{np.mean(losses):8.3f} ± {np.std(losses):.3f}")
axes.set_title(f"60% earn more, 24% at the source; ε = 1, {n_draws} draws")
figure.set_label("Reliability curves: the release as it is lies far above the diagonal.")

# %%
# **Costs.** Say that missing somebody who earns more costs five times as much as a false alarm.
# The cheapest decision says "more" from a probability of 1/6 upward. ``class_weight`` does that,
# and it is right only if the probabilities are.


def cost(p, hits, weight):
    """Return the cost of 100 decisions for the class of the larger weighted probability."""
    said = weight * p >= 1 - p
    return 100 * np.mean(np.where(hits, 5.0 * ~said, 1.0 * said))


print(f"\n{'cost of 100 decisions':<24}{'likeliest class':>18}{'by costs':>18}")
for name, values in found.items():
    costs = [[cost(p, hits, weight) for p, hits in values] for weight in (1, 5)]
    cells = (f"{np.mean(some):.1f} ± {np.std(some):.1f}" for some in costs)
    print(f"{name:<24}" + "".join(f"{cell:>18}" for cell in cells))

costly = DPTransferClassifier(release, class_prior=prior, class_weight={MORE: 5}, random_state=0)
decisions = costly.fit(X.iloc[here], unknown).predict(X.iloc[later])
print(f"{np.mean(decisions == MORE):.0%} of the people are said to earn more")
plt.show()
