"""The tables of releases of private statistics, beside other packages."""

from collections import Counter

from _table import epsilon_name, load, mean_of, pick, table
from _tables_data import TABLES


def tables_peers():
    """Areas under the ROC curve by method, budget and table; accuracy and seconds."""
    rows = load("tables_peers")["rows"]
    methods = list(dict.fromkeys((row["level"], row["model"]) for row in rows))
    methods.sort(key=lambda method: _order(*method))
    areas, others = [], []
    for level, model in methods:
        ours = [row for row in rows if (row["level"], row["model"]) == (level, model)]
        by_table = [pick(ours, "auc", case=name) for name in TABLES]
        head = [model, _budget(level)]
        areas.append([*head, _area(_means(ours)), *map(_area, by_table)])
        seconds = [pick(ours, "fit_seconds", case=name) for name in TABLES]
        cells = [f"{mean_of(values):.2f}" if values else "–" for values in seconds]
        accuracy = pick(ours, case="adult")
        others.append([*head, f"{mean_of(accuracy):.1f} %" if accuracy else "–", *cells])
    counts = Counter((row["case"], row["level"], row["model"]) for row in rows)
    draws = sorted(set(counts.values()))
    return (
        "Area under the ROC curve on the target's test rows, mean and standard deviation over "
        f"{' or '.join(map(str, draws))} seeds, each with its own splits, labels and noise. All "
        "but one see the source's rows and no label of the target; *target* sees the target's "
        "10 labelled rows of each class (20 on randhie) and no source; *source* is without "
        "privacy. δ = 1e-5, a whole record with its label: DP-EBM and DP-SGD add or remove one, "
        "diffprivlib (δ = 0) replaces one, and for all three the number of rows is public. The "
        "peers' settings were chosen with the test labels of further seeds, at no cost in ε.\n\n"
        + table(["AUC", "ε", "mean of the six", *TABLES], areas)
        + "\n\nAccuracy on adult (76 % are in the larger class), and processor seconds of one "
        "fit and the scores of all test rows:\n\n"
        + table(["", "ε", "accuracy, adult", *(f"{name}, s" for name in TABLES)], others)
    )


def _means(rows):
    """Mean over the tables for each seed that has all of them."""
    by_seed = [pick(rows, "auc", draw=seed) for seed in dict.fromkeys(r["draw"] for r in rows)]
    return [mean_of(values) for values in by_seed if len(values) == len(TABLES)]


def _order(level, model):
    """The ceiling, then by falling budget and by name, then what needs no source."""
    if level.startswith("record"):
        return 1, -float(level.removeprefix("record ")), model
    return (0 if level == "clear" else 2), 0.0, model


def _budget(level):
    return epsilon_name(level.removeprefix("record ")) if level.startswith("record") else "–"


def _area(values):
    if not values:
        return "–"
    mean = mean_of(values)
    sd = (sum((v - mean) ** 2 for v in values) / max(len(values) - 1, 1)) ** 0.5
    return f"{mean:.3f} ± {sd:.3f}" if len(values) > 1 else f"{mean:.3f}"
