"""
What noise leaves to be known
=============================

Noises of the same ε differ in size, and in what they leave to be known of a value. This example
computes both for the three noises of the package: E|v|, how large the noise is on average, and how
many bits a noisy value says of the value behind it (their mutual information). It prints a table
and writes the figure ``noise_information.png``.
"""

# %%
# A value lies between 0 and 1, and these bounds are public. Either it may be anywhere in between,
# all values being equally likely, or it is 0 or 1, as the answer to a question is.

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib.pyplot as plt
import numpy as np

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise
from skdp.information import noise_information

PRIORS = {"uniform": "anywhere between the bounds", "two-point": "at one of the two bounds"}
epsilons = np.geomspace(0.1, 8, 15)


def noises(epsilon):
    """Return one fitted transformer of each kind, by its name."""
    return {
        "optimal": OptimalDPNoise(epsilon, 0.0, bounds=(0, 1)).fit([[0.5]]),
        "staircase": StaircaseDPNoise(epsilon, 0.0, bounds=(0, 1)).fit([[0.5]]),
        "Gaussian, δ = 1e-5": GaussianDPNoise(epsilon, 1e-5, bounds=(0, 1)).fit([[0.5]]),
    }


# %%
# The staircase is the smallest noise at each ε, and says most: about a uniform value two to five
# times as much as Laplace noise, which the optimal noise is at δ = 0. Gaussian noise is the
# largest and says least, because it needs a large σ for its small δ.

print(f"{'ε':>4}  {'noise':<19}{'E|v|':>8}{'bits, uniform':>15}{'bits, two points':>18}")
for epsilon in (0.5, 1.0, 4.0):
    for name, noise in noises(epsilon).items():
        uniform, two = (noise_information(noise, prior) / np.log(2) for prior in PRIORS)
        magnitude = noise.expected_magnitude_
        print(f"{epsilon:4g}  {name:<19}{magnitude:8.3f}{uniform:15.4f}{two:18.4f}")

# %%
# The dashed line is the most that any ε-private mechanism says, whatever is known of the value
# beforehand (:meth:`~skdp.privacy.PrivacyGuarantee.information_bound`).

curves: dict = {}
for epsilon in epsilons:
    for name, noise in noises(epsilon).items():
        said = [noise_information(noise, prior) / np.log(2) for prior in PRIORS]
        curves.setdefault(name, []).append([noise.expected_magnitude_, *said])
bound = [noises(epsilon)["optimal"].guarantee_.information_bound().bits for epsilon in epsilons]

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for name, values in curves.items():
    for axis, curve in zip(axes, np.transpose(values), strict=True):
        axis.loglog(epsilons, curve, label=name)
for axis, title in zip(axes, ["noise, E|v|", *PRIORS.values()], strict=True):
    axis.set(xlabel="ε", title=title)
for axis in axes[1:]:
    axis.loglog(epsilons, bound, "k--", linewidth=1, label="bound for δ = 0")
    axis.set_ylim(2e-5, 10)
axes[0].set_ylabel("in widths of the bounds")
axes[1].set_ylabel("bits about the value")
axes[2].legend(loc="lower right", fontsize="small")
figure.savefig("noise_information.png", dpi=120)
