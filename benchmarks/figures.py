"""Draw plots of the documentation from the stored results.

python benchmarks/figures.py
python benchmarks/figures.py examples  # those of examples instead, whose noise has no seed
"""

import runpy
import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from _table import Values, load, pick, where
from _tables_peers import TABLES

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "doc" / "images"
# Examples whose figure is on a page too, which CI builds without the gallery.
EXAMPLES = ("privacy/leakage", "tables/transferability")
# Where names of models stand that would cover each other.
BESIDE = {
    "WideCDMMAClassifier, 1 layer": ((0, -13), "left"),
    "the same, n_probe=4": ((-2, -13), "right"),
    "SVC": ((-6, 4), "right"),
    "statistics of gradients": ((-6, -3), "right"),
}
# Okabe and Ito's colors, which most color-blind readers tell apart.
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
PINK, GRAY = "#CC79A7", "#666666"


def curves(axes, rows, y, lines):
    """Draw columns of rows over their size."""
    for key, color, label in lines:
        sizes, values = ([row[name] for row in rows] for name in ("size", key))
        axes.loglog(sizes, values, "o-", color=color, label=label)
    axes.set(xlabel="training rows", ylabel=y)
    axes.legend(frameon=False)


def growth():
    """Seconds over rows, and memory over rows."""
    rows = where(load("growth")["rows"], what="rows")
    figure, (seconds, memory) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    times = [
        ("fit_seconds", GRAY, "fit"),
        ("predict_seconds", BLUE, "predict 10,000 rows, all subsets"),
        ("predict_4_seconds", ORANGE, "the same, n_probe=4"),
    ]
    curves(seconds, rows, "seconds of one core", times)
    sizes = [
        ("data_mib", GRAY, "the data, single precision"),
        ("fit_peak_above_data_mib", BLUE, "peak of fit above the data"),
        ("model_mib", ORANGE, "of which the model"),
    ]
    curves(memory, rows, "MiB", sizes)
    figure.savefig(IMAGES / "growth.png", dpi=120)


def digits_models():
    """Accuracy over seconds a query, without privacy and with it."""
    rows = [r for r in load("digits_models")["rows"] if r["rows"] == 60_000]
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for r in rows:
        level = r["model"].rpartition("ε = ")[2] if "ε" in r["model"] else None
        color = {None: GRAY, "8": BLUE, "1": ORANGE}[level]
        microseconds = 1e6 * r["predict_seconds"] / r["queries"]
        place = microseconds, 100 * r["accuracy"]
        axes.plot(*place, "o", color=color)
        name = r["model"].rpartition(", ε")[0] or r["model"]
        offset, side = BESIDE.get(name, ((5, 4), "left"))
        style = {"fontsize": 8, "color": color, "ha": side}
        axes.annotate(name, place, offset, textcoords="offset points", **style)
    axes.set(xscale="log", xlabel="microseconds a query", ylabel="accuracy, %")
    low = min(r["accuracy"] for r in rows if r["accuracy"] > 0.5)
    axes.set_ylim(100 * low - 0.5, 100)
    for label, color in (("not private", GRAY), ("ε = 8", BLUE), ("ε = 1", ORANGE)):
        axes.plot([], [], "o", color=color, label=label)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(IMAGES / "digits_models.png", dpi=120)


def peers():
    """Mean area under the ROC curve of six tables over epsilon, by package."""
    rows = load("tables_peers")["rows"]
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")

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
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(IMAGES / "peers.png", dpi=150)


def examples():
    """Run examples, and keep the figure of each."""
    for name in EXAMPLES:
        folder, name = name.split("/")
        sys.argv = [str(ROOT / "examples" / folder / f"plot_{name}.py")]
        runpy.run_path(sys.argv[0], run_name="__main__")
        plt.gcf().savefig(IMAGES / f"{name}.png", dpi=120)
        plt.close("all")


if __name__ == "__main__":
    mpl.use("agg")
    if sys.argv[1:] == ["examples"]:
        examples()
    else:
        peers()
        growth()
        digits_models()
