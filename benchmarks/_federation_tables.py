"""Tables of federations: processes on one machine, and one noise against many."""

from _table import load, table
from _tables_peers import TABLES

NAMES = {"flower": "Flower", "nvflare": "NVIDIA FLARE"}


def processes():
    rows = load("federation")["rows"]
    body = [
        [
            NAMES[row["case"]],
            row["variant"],
            f"{row['run_seconds']:.0f} s",
            f"{len(row['bytes'])} × {max(row['bytes'].values()):,}",
            f"{row['merged_bytes']:,}",
            "yes" if row["equal"] else "**no**",
            "; ".join(f"{owner}: {_shortened(why)}" for owner, why in row["refused"].items()),
            "**yes**" if row["leaked"] else "no",
        ]
        for row in rows
    ]
    names = ["framework", "owners", "until merged", "bytes sent", "bytes merged"]
    names += ["equals the merge of the owners' files", "refused", "error text elsewhere"]
    return (
        "Four hospitals of `load_heart_disease`, each a process, ε = 4, over the loopback "
        "interface. Seconds are those from the first process on; where one hangs, the server "
        f"waits {max(row['timeout'] for row in rows if 'hangs' in row['variant'])} s for "
        "it.\n\n" + table(names, body)
    )


def _shortened(why):
    return why if len(why) < 60 else f"{why[:60]}…"


def one_noise():
    rows = load("federation_noise")["rows"]
    body = []
    for case, variant in dict.fromkeys((row["case"], row["variant"]) for row in rows):
        cells = [_mean(rows, case, variant, 4.0, "no noise")]
        for level in (4.0, 1.0):
            cells += [_mean(rows, case, variant, level, m) for m in ("merged", "one noise")]
        body.append([case, variant, *map(_pair, cells)])
    for owners in (4, 20, 100):
        variant, cells = f"{owners} owners, all rows", []
        for level, model in ((4.0, "no noise"), *((v, m) for v in (4.0, 1.0) for m in MODELS)):
            means = [_mean(rows, case, variant, level, model) for case in TABLES]
            cells.append([sum(values) / len(values) for values in zip(*means, strict=True)])
        body.append(["mean of six", variant, *map(_pair, cells)])
    names = ["table", "cut into", "ε = ∞", "ε = 4, merged", "ε = 4, one noise"]
    names += ["ε = 1, merged", "ε = 1, one noise"]
    n_draws = len({row["draw"] for row in rows})
    return (
        f"AUC / log loss at the target without labels, means of {n_draws} draws. Merged: the "
        "releases of all owners, each with its own noise. One noise: one release of all their "
        "rows, what distributed noise under secure aggregation would come to.\n\n"
        + table(names, body)
    )


MODELS = ("merged", "one noise")


def _mean(rows, case, variant, level, model):
    wanted = (case, variant, level, model)
    found = [
        (row["auc"], row["log_loss"])
        for row in rows
        if (row["case"], row["variant"], row["level"], row["model"]) == wanted
    ]
    return [sum(values) / len(found) for values in zip(*found, strict=True)]


def _pair(values):
    return "{:.3f} / {:.3f}".format(*values)
