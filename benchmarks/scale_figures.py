"""Plot how cost grows, for the documentation, from the stored results.

python benchmarks/scale_figures.py
"""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from _table import load

IMAGES = Path(__file__).parents[1] / "doc" / "images"
# Okabe and Ito's colors, which most color-blind readers tell apart.
# Where names of models stand that would cover each other.
BESIDE = {
    "WideCDMMAClassifier, 1 layer": ((0, -13), "left"),
    "the same, n_probe=4": ((-2, -13), "right"),
    "SVC": ((-6, 4), "right"),
    "statistics of gradients": ((-6, -3), "right"),
}
BLUE, ORANGE, GREEN, GRAY = "#0072B2", "#E69F00", "#009E73", "#666666"


def growth():
    """Seconds over rows, and memory over rows."""
    rows = [r for r in load("growth")["rows"] if r["what"] == "rows"]
    sizes = [r["size"] for r in rows]
    figure, (seconds, memory) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for key, color, label in (
        ("fit_seconds", GRAY, "fit"),
        ("predict_seconds", BLUE, "predict 10,000 rows, all subsets"),
        ("predict_4_seconds", ORANGE, "the same, n_probe=4"),
    ):
        seconds.loglog(sizes, [r[key] for r in rows], "o-", color=color, label=label)
    seconds.set(xlabel="training rows", ylabel="seconds of one core")
    seconds.legend(frameon=False)
    for key, color, label in (
        ("data_mib", GRAY, "the data, single precision"),
        ("fit_peak_above_data_mib", BLUE, "peak of fit above the data"),
        ("model_mib", ORANGE, "of which the model"),
    ):
        memory.loglog(sizes, [r[key] for r in rows], "o-", color=color, label=label)
    memory.set(xlabel="training rows", ylabel="MiB")
    memory.legend(frameon=False)
    figure.savefig(IMAGES / "growth.png", dpi=120)


def digits_models():
    """Accuracy over seconds a query, without privacy and with it."""
    rows = [r for r in load("digits_models")["rows"] if r["rows"] == 60_000]
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for r in rows:
        level = r["model"].rpartition("ε = ")[2] if "ε" in r["model"] else None
        color = {None: GRAY, "8": BLUE, "1": ORANGE}[level]
        microseconds = 1e6 * r["predict_seconds"] / r["queries"]
        axes.plot(microseconds, 100 * r["accuracy"], "o", color=color)
        name = r["model"].rpartition(", ε")[0] or r["model"]
        offset, side = BESIDE.get(name, ((5, 4), "left"))
        axes.annotate(
            name,
            (microseconds, 100 * r["accuracy"]),
            xytext=offset,
            textcoords="offset points",
            ha=side,
            fontsize=8,
            color=color,
        )
    axes.set(xscale="log", xlabel="microseconds a query", ylabel="accuracy, %")
    low = min(r["accuracy"] for r in rows if r["accuracy"] > 0.5)
    axes.set_ylim(100 * low - 0.5, 100)
    for label, color in (("not private", GRAY), ("ε = 8", BLUE), ("ε = 1", ORANGE)):
        axes.plot([], [], "o", color=color, label=label)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(IMAGES / "digits_models.png", dpi=120)


if __name__ == "__main__":
    mpl.use("agg")
    growth()
    digits_models()
