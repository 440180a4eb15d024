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


# What the cases of the scale of exact sums are.
SCALE = {
    "digits": "fit of 60,000 digits",
    "sums": "sums of their 784 pixels",
    "stream": "stream, 100 columns",
    "persons": "the same, by persons",
    "dask-0": "the same, one process",
}


def statistics_scale():
    """Seconds, ratio to a plain product of the same rows, and memory."""
    body = []
    for row in load("statistics_scale")["rows"]:
        what = SCALE.get(row["case"], f"Dask, workers: {row.get('workers')}")
        seconds = row.get("seconds", row.get("wall_seconds_with_start"))
        ratio = f"{row['ratio']:.1f}" if "ratio" in row else "–"
        memory = row.get("peak_mib", row.get("peak_above_rows_mib"))
        peak = "–" if memory is None else f"{memory:.0f} MiB"
        file = f"{row['file_mib']:.1f} MiB" if "file_mib" in row else "–"
        body.append([what, f"{row['rows']:,}", f"{seconds:.1f}", ratio, peak, file])
    return (
        "Processor seconds of one thread, and their ratio to X.T @ X in float64 of the same "
        "chunks; a column of a stream is three terms, so that nine times that product is needed. "
        "Wall-clock seconds on Dask clusters, starting them included; all gave the same sums. "
        "Peak memory is that of the process where rows are streamed, and what comes on top of "
        "the rows where they are in memory.\n\n"
        + table(["", "rows", "seconds", "ratio", "peak", "file"], body)
    )
