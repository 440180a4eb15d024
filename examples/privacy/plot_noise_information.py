"""
How much does a noisy value say about the value behind it?
==========================================================

Noises of the same ε differ in size, and in what they say of a value. For the three noises of the
package we compute both: E|v|, how large the noise is on average, and how many bits a noisy value
tells of the value behind it (their mutual information). Nothing is sampled, so there are no error
bars.
"""

# %%
# A value lies between 0 and 1, and these bounds are public. Either it may be anywhere in between,
# all values being equally likely, or it is 0 or 1, as the answer to a question is.

import matplotlib.pyplot as plt
import numpy as np

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise
from skdp.information import noise_information

PRIORS = {"uniform": "anywhere between the bounds", "two-point": "at one of the two bounds"}
epsilons = np.geomspace(0.1, 8, 12)


def noises(epsilon):
    """Return one fitted transformer of each kind, by its name."""
    return {
        "optimal, δ = 0": OptimalDPNoise(epsilon, 0.0, bounds=(0, 1)).fit([[0.5]]),
        "staircase, δ = 0": StaircaseDPNoise(epsilon, 0.0, bounds=(0, 1)).fit([[0.5]]),
        "Gaussian, δ = 1e-5": GaussianDPNoise(epsilon, 1e-5, bounds=(0, 1)).fit([[0.5]]),
    }


# %%
# The staircase is the smallest noise at each ε and says most: about a uniform value two to five
# times as much as Laplace noise, which the optimal noise is at δ = 0. Gaussian noise needs δ >
# 0; it is the largest and says least, because it needs a large σ for a small δ.

print(f"{'ε':>4}  {'noise':<19}{'E|v|':>8}{'bits, uniform':>15}{'bits, two points':>18}")
for epsilon in (0.5, 1.0, 4.0):
    for name, noise in noises(epsilon).items():
        uniform, two = (noise_information(noise, prior) / np.log(2) for prior in PRIORS)
        magnitude = noise.expected_magnitude_
        print(f"{epsilon:4g}  {name:<19}{magnitude:8.3f}{uniform:15.4f}{two:18.4f}")

# %%
# The dotted line is the most that any ε-private mechanism says, whatever is known of the value
# beforehand (:meth:`~skdp.privacy.PrivacyGuarantee.information_bound`).

curves: dict = {}
for epsilon in epsilons:
    for name, noise in noises(epsilon).items():
        said = [noise_information(noise, prior) / np.log(2) for prior in PRIORS]
        curves.setdefault(name, []).append([noise.expected_magnitude_, *said])
bound = [
    noises(epsilon)["optimal, δ = 0"].guarantee_.information_bound().bits for epsilon in epsilons
]

figure, axes = plt.subplots(3, 1, figsize=(6, 8.5), layout="constrained", sharex=True)
styles = (("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", "-."))  # colors of Okabe and Ito
for (name, values), (color, line) in zip(curves.items(), styles, strict=True):
    for axis, curve in zip(axes, np.transpose(values), strict=True):
        axis.loglog(epsilons, curve, color=color, linestyle=line, label=name)
for axis in axes[1:]:
    axis.loglog(epsilons, bound, color="0.3", linestyle=":", label="bound for δ = 0")
    axis.set(ylabel="bits about the value", ylim=(2e-5, 10))
axes[0].set(ylabel="E|v|, in widths of the bounds", title="Size of the noise")
for axis, where in zip(axes[1:], PRIORS.values(), strict=True):
    axis.set_title(f"Information on a value {where}")
axes[2].set_xlabel("ε of one value (log scale)")
axes[2].set_xticks([0.1, 0.5, 1, 2, 4, 8], ["0.1", "0.5", "1", "2", "4", "8"])
axes[2].minorticks_off()
axes[1].legend(loc="lower right")
figure.set_label(
    "Three panels over ε: the size of the noise falls, the information on a value rises. The "
    "staircase is smallest and says most, Gaussian noise is largest and says least; all stay "
    "below the bound."
)
plt.show()
