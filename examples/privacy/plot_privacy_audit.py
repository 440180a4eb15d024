"""
Auditing guarantees
===================

Two checks from outside. First, two neighbours are perturbed very often, and ε is bounded from
below by what comes out: skdp's sampler passes, and the usual one, floating-point noise added
to floating-point numbers, is refuted, and so is a transformer that leaves one of five columns
without noise. Then membership inference is tried on a tree that memorises its training rows.
The attacks succeed without noise, and fade as ε falls, long before the guarantee for whole
records means anything: no sample of this size could refute an ε of 64.

An attack that fails proves nothing; the guarantee does. A report therefore says which leak
it could have detected.
"""

import argparse
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from skdp import OptimalDPNoise, PrivacyLeakWarning
from skdp.privacy.audit import audit_mechanism, audit_membership

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--trials", type=int, default=300_000)
options = parser.parse_args()


# %%
# Mechanisms. The naive one adds NumPy's Laplace noise: right on paper.


class Naive(OptimalDPNoise):
    """Laplace noise in floating point."""

    def transform(self, X):
        return X + np.random.default_rng().laplace(scale=1 / self.epsilon, size=X.shape)


class Careless(OptimalDPNoise):
    """No noise in the last column."""

    def transform(self, X):
        noisy = super().transform(X)
        noisy[:, -1] = X[:, -1]
        return noisy


for noise in (OptimalDPNoise, Naive, Careless):
    audit = audit_mechanism(noise(epsilon=1.0, delta=0.0), n_trials=options.trials, n_features=5)
    print(f"{noise.__name__}\n{audit}\n")

# %%
# A classifier. Half of the labels are random: only a model that memorises gets them right.

X, y = load_digits(return_X_y=True)
X, rng = X / 16, np.random.RandomState(0)
y = np.where(rng.rand(len(y)) < 0.5, rng.randint(10, size=len(y)), y)
members, others, own = ((X[k::3], y[k::3]) for k in range(3))
warnings.simplefilter("ignore", PrivacyLeakWarning)  # epsilon = inf is the baseline here

figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained", sharey=True)
print("epsilon  per record   AUC  TPR at 1% FPR  audited epsilon (record, at least)")
for ax, epsilon in zip(axes, (1.0, 8.0, np.inf), strict=True):
    tree = DecisionTreeClassifier(random_state=0)
    model = make_pipeline(OptimalDPNoise(epsilon, perturb="fit"), tree).fit(*members)
    report = audit_membership(
        model,
        members,
        others,
        attacks=["loss", "halfway", "canary", "shadow", "likelihood_ratio"],
        shadow_data=own,
        n_shadows=8,
        random_state=0,
    )
    rows = report.to_frame().query("`class` == 'all'")
    print(
        f"{epsilon:7g} {report.guarantee.epsilon:11g} {rows['auc'].max():5.2f} "
        f"{rows['tpr_at_1%'].max():14.0%} {rows['epsilon_lower'].max():16.2f}"
    )
    report.plot(ax).set_title(f"ε = {epsilon:g} per pixel")
figure.savefig("privacy_audit.png", dpi=150)
print("\nwrote privacy_audit.png")
