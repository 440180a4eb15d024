"""Draw plots of the documentation from the stored results, and what ε means from exact formulas.

python benchmarks/figures.py
"""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from _data import TABLES
from _table import Values, load, pick
from scipy.stats import norm

from skdp.privacy import Mechanism, PrivacyGuarantee

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "doc" / "images"
# Okabe and Ito's colors, which most color-blind readers tell apart.
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
PINK, GRAY = "#CC79A7", "#666666"


def peers():
    """Mean area under the ROC curve of six tables over epsilon, by package."""
    rows = load("tables_peers")["rows"]
    figure, axes = plt.subplots(figsize=(5, 4.8), layout="constrained")  # read at 400 pixels too

    def point(model, **level):
        """Mean over the tables, and its standard error over seeds."""
        areas = [pick(rows, "auc", case=table, model=model, **level) for table in TABLES]
        error = sum(values.error**2 for values in areas) ** 0.5 / len(TABLES)
        return Values(values.mean for values in areas).mean, error

    for model, label, style in (
        ("DPStatisticsSource", "skdp, DPStatisticsSource", {"color": BLUE, "marker": "o"}),
        ("DP-SGD, linear in skdp's terms", "DP-SGD on skdp's features", {"color": GREEN}),
        ("DP-SGD, linear", "DP-SGD, linear (Opacus)", {"color": ORANGE, "marker": "s"}),
        ("DP-EBM", "DP-EBM (interpret)", {"color": PINK, "marker": "D"}),
        ("diffprivlib", "logistic regression (diffprivlib)", {"color": GRAY, "marker": "v"}),
    ):
        found = [point(model, level=f"record {level}") for level in ("0.5", "1", "4")]
        mean, error = np.transpose(found)
        style = {"marker": "^", "capsize": 3, **style}
        axes.errorbar([0.5, 1, 4], mean, error, label=label, **style)
    best, _ = point("logistic regression, source")
    axes.axhline(best, color="black", ls=":", label="logistic regression, not private")
    axes.set(xscale="log", xlabel="ε for a whole record, more private on the left")
    axes.set_xticks([0.5, 1, 4], ["0.5", "1", "4"], minor=False)
    axes.minorticks_off()
    axes.set_ylabel("mean AUC over six tables")
    figure.legend(frameon=False, loc="outside lower center")
    figure.savefig(IMAGES / "peers.png", dpi=200)


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
    axes.set(title=f"ε = {epsilon:g}", xlabel="noisy sum (SD)", yticks=[])
    axes.set(ylabel="density", ylim=(0, 0.62))
    axes.legend(frameon=False, loc="upper center")


def primer():
    """Plot what ε means, for the page on privacy: nothing is measured."""
    places = [["low", "high"], ["guesses", "guesses"]]
    figure, axes = plt.subplot_mosaic(places, figsize=(5, 5.4), layout="constrained")
    outputs(axes["low"], 1)
    outputs(axes["high"], 8)
    guesses = axes["guesses"]
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
    guesses.legend(frameon=False, loc="upper left")
    figure.savefig(IMAGES / "best_guess.png", dpi=160)


if __name__ == "__main__":
    mpl.use("agg")
    peers()
    primer()
