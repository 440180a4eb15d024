"""
Can attacks tell who was in the training rows?
==============================================

Membership inference asks a fitted model whether a row was in its training. We try five attacks on
a tree that memorizes its rows, with the noise of three privacy levels in front of it. The attacks
succeed without noise and fade as ε falls, long before the guarantee for whole records means
anything: per record of 64 pixels it is 64 times ε, and no sample of this size could refute that.

An attack that fails proves nothing; the guarantee does.
"""

import argparse
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from skdp import OptimalDPNoise, PrivacyLeakWarning
from skdp.privacy.audit import audit_membership

parser = argparse.ArgumentParser()
parser.add_argument("--draws", type=int, default=3, help="noises of each ε")
options = parser.parse_args()

# %%
# Digits, half of which have a random label: only a model that memorizes gets these right. One
# third of the rows are members of the training, one third are not, and the attacker owns the
# last third.

X, y = load_digits(return_X_y=True)
X, rng = X / 16, np.random.RandomState(0)
y = np.where(rng.rand(len(y)) < 0.5, rng.randint(10, size=len(y)), y)
members, others, own = ((X[k::3], y[k::3]) for k in range(3))
warnings.simplefilter("ignore", PrivacyLeakWarning)  # ε = ∞ is the baseline here

# %%
# The best of the attacks, by the area under its ROC curve (AUC; 0.5 is a guess). The noise has no
# seed: everything is repeated three times.

epsilons = [1.0, 8.0, 64.0, np.inf]
found: dict = {}
for epsilon in epsilons:
    for _ in range(options.draws):
        tree = DecisionTreeClassifier(random_state=0)
        model = make_pipeline(OptimalDPNoise(epsilon, bounds=(0, 1), perturb="fit"), tree).fit(
            *members
        )
        report = audit_membership(
            model,
            members,
            others,
            attacks=["loss", "halfway", "canary", "shadow", "likelihood_ratio"],
            shadow_data=own,
            n_shadows=4,
            random_state=0,
        )
        rows = report.to_frame().query("`class` == 'all'")
        best = rows["auc"].max(), rows["tpr_at_1%"].max(), rows["epsilon_lower"].max()
        found.setdefault(epsilon, []).append((*best, report.guarantee.epsilon))

print("ε of a pixel  of a record            AUC  audited ε of a record, at least")
for epsilon, values in found.items():
    area, _, audited, record = np.mean(values, axis=0)
    spread = np.std([value[:3] for value in values], axis=0)
    print(
        f"{epsilon:12g} {record:12g} {area:8.3f} ± {spread[0]:.3f}"
        f"{audited:13.2f} ± {spread[2]:.2f}"
    )

# %%
# The report of one model has all attacks, with the leak that each could have detected.

print(report)

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
values = np.array(list(found.values()))[..., 0]
positions = np.arange(len(epsilons))
axes.axhline(0.5, color="0.3", linestyle="--", label="a guess")
axes.errorbar(
    *(positions, values.mean(axis=1), values.std(axis=1)),
    **{"fmt": "o-", "color": "#0072B2", "capsize": 4, "label": "the best of five attacks"},
)
axes.set_xticks(positions, ["1", "8", "64", "∞"])
axes.set(
    xlabel="ε of one pixel (log scale; ∞ is no noise)",
    ylabel="AUC of membership inference",
    ylim=(0.45, 1.02),
)
axes.set_title("Mean and standard deviation over noises")
axes.legend()
figure.set_label(
    "AUC of the best attack over ε: near 0.5, a guess, for ε = 1, rising to almost 1 without "
    "noise."
)
plt.show()
