"""Plot what ε means, for the primer of differential privacy: exact formulas, nothing is measured.

python benchmarks/primer_figure.py
"""

import matplotlib.pyplot as plt
import numpy as np
from figures import BLUE, GRAY, IMAGES, ORANGE
from scipy.stats import norm

from skdp.privacy import Mechanism, PrivacyGuarantee

LEVELS = np.geomspace(0.1, 16, 60)


def guarantee(epsilon):
    """Return that of a release of statistics, by the default δ."""
    noise = [Mechanism("gaussian", epsilon, 1e-5)]
    what = {"unit": "labeled record", "relation": "add/remove"}
    return PrivacyGuarantee("noisy sums", noise, None, 1, "all", "nothing", **what)


def outputs(axes, epsilon):
    """Draw how likely each noisy sum is, with a person and without, in standard deviations."""
    distance = guarantee(epsilon).gaussian_distance
    values = np.linspace(-3.5, 5, 400)
    without, there = norm.pdf(values), norm.pdf(values, distance)
    axes.plot(values, without, color=BLUE, label="without the person")
    axes.plot(values, there, "--", color=ORANGE, label="with the person")
    axes.fill_between(values, np.minimum(without, there), color=GRAY, alpha=0.2)
    axes.set(title=f"ε = {epsilon:g}", xlabel="noisy sum (standard deviations)", yticks=[])
    axes.set(ylabel="probability density", ylim=(0, 0.55))
    axes.legend(frameon=False, loc="upper center", fontsize="small")


if __name__ == "__main__":
    figure, (low, high, guesses) = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    outputs(low, 1)
    outputs(high, 8)
    all_of_them = [guarantee(epsilon) for epsilon in LEVELS]
    for relation, style, color, label in (
        ("replace-one", "--", ORANGE, "which of two versions"),
        ("add/remove", "-", BLUE, "in the data or not"),
    ):
        stated = [g if relation == "add/remove" else g.to_replace_one() for g in all_of_them]
        shares = [100 * g.best_guess() for g in stated]
        guesses.semilogx(LEVELS, shares, style, color=color, label=label)
    guesses.set(xlabel="ε", ylabel="best guess, % right", ylim=(45, 102), title="δ = 1e-5")
    guesses.set_xticks([0.1, 0.5, 1, 2, 4, 8, 16], ["0.1", "0.5", "1", "2", "4", "8", "16"])
    guesses.minorticks_off()
    guesses.legend(frameon=False, loc="upper left", fontsize="small")
    figure.savefig(IMAGES / "best_guess.png", dpi=120)
