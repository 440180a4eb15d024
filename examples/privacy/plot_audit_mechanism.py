"""
Does a noise keep its promise? Auditing mechanisms
==================================================

Two rows that differ in one value are perturbed very often, and ε is bounded from below by what
comes out. skdp's sampler is not refuted. The usual one, floating-point noise added to
floating-point numbers, is right on paper and leaks all the same: of the last bits of a number not
all can occur (Mironov, 2012). And a transformer that forgets one of five columns is found out.

An audit that finds nothing proves nothing; the report says which leak it would have detected.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np

from skdp import OptimalDPNoise
from skdp.privacy.audit import audit_mechanism

parser = argparse.ArgumentParser(description="Audit mechanisms.")
parser.add_argument("--trials", type=int, default=100_000)
options = parser.parse_args()

# %%
# The three noises. All claim ε = 1 and δ = 0 for one value.


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


names = {"skdp": OptimalDPNoise, "floating point": Naive, "one column\nforgotten": Careless}
audits = {}
for name, noise in names.items():
    audits[name] = audit_mechanism(
        noise(epsilon=1.0, delta=0.0), n_trials=options.trials, n_features=5
    )
    print(f"{' '.join(name.split())}\n{audits[name]}\n")

# %%
# What was found, at a confidence of 95 %, and the largest ε that so many trials could have shown.

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.axvline(1.0, color="0.3", linestyle="--", label="claimed")
for row, audit in enumerate(audits.values()):
    axes.plot(
        *(audit.epsilon_lower, row, "o"),
        color="#0072B2",
        label="found, at least" if row == 0 else None,
    )
    axes.plot(
        *(audit.epsilon_limit, row, "|"),
        color="0.3",
        markersize=14,
        label="largest that could be found" if row == 0 else None,
    )
axes.set_yticks(range(len(audits)), list(audits))
axes.set(ylim=(2.5, -0.5), xscale="log", xlabel="ε of one value (log scale)")
axes.set_xticks([0.5, 1, 2, 4, 8, 16], ["0.5", "1", "2", "4", "8", "16"])
axes.minorticks_off()
figure.legend(loc="outside lower center", ncols=3)
figure.set_label(
    "The ε that an audit found for three noises: below the claim of 1 for skdp's, far above "
    "it for floating-point noise and for one that forgets a column."
)
plt.show()
