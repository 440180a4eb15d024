"""The tables of many owners: merged, listed and single releases, and one release of all."""

from _table import load, mean_of, table

MODELS = {
    "single": "single, mean",
    "best": "single, best",
    "pool": "pool",
    "merged": "merged",
    "list": "list",
    "equal noise": "one release, equal noise",
    "one release": "one release",
    "no privacy": "no privacy",
}
ABOUT = (
    "Releases of several owners, no label of the target: area under the ROC curve / log loss / "
    "accuracy, means over {draws} draws with standard errors of the log loss. *single*: their "
    "mean over the owners, and the best by the test rows. *pool*: mean of the log-odds, as lists "
    "were taken before sums could be added. *merged*: `Release.merge`. *list*: "
    "`DPTransferClassifier([...])`, which merges, and sees the unlabelled rows. *Equal noise*: "
    "one release of all rows, with as much noise as the sum has. *One release*: with the noise "
    "of one owner. *No privacy*: logistic regression on all rows. The hospitals are FLamby's: "
    "740 patients and ten columns, δ = 1e-4; means over the four as target."
)
ABOUT_FILES = (
    "Size of the file of a release, and seconds to load it and to predict first (least of 20). "
    "*Before* files held estimates in place of the sums."
)


def tables():
    rows = load("owners")["rows"]
    measured = [row for row in rows if row["model"] != "file"]
    files = [row for row in rows if row["model"] == "file"]
    body = [
        [case, f"{level:g}", *(_cell(measured, case, level, model) for model in MODELS)]
        for case, level in dict.fromkeys((row["case"], row["level"]) for row in measured)
    ]
    known = [row for row in measured if row["labels"]]
    with_labels = [
        [
            case,
            f"{level:g}",
            labels,
            _figures([r for r in known if _key(r) == (case, level, labels)]),
        ]
        for case, level, labels in dict.fromkeys(map(_key, known))
    ]
    sizes = [
        [
            row["case"].removeprefix("files, "),
            row["variant"],
            f"{row['bytes'] / 1000:.0f} kB",
            f"{1000 * row['load']:.1f} ms",
            f"{1000 * row['first']:.0f} ms",
        ]
        for row in files
    ]
    draws = len({row["draw"] for row in measured})
    return "\n\n".join(
        [
            ABOUT.format(draws=draws),
            table(["owners", "ε", *MODELS.values()], body),
            "With labels, a random sample of the target's rows, the list:",
            table(["owners", "ε", "labels", "list"], with_labels),
            ABOUT_FILES,
            table(["release", "code", "file", "load", "first prediction"], sizes),
        ]
    )


def _key(row):
    return row["case"], row["level"], row["labels"]


def _cell(rows, case, level, model):
    rows = [row for row in rows if _key(row) == (case, level, 0)]
    if model not in ("single", "best"):
        return _figures([row for row in rows if row["model"] == model])
    single = [row for row in rows if row["model"].startswith("single")]
    of_draws = [[row for row in single if row["draw"] == d] for d in _draws(single)]
    if model == "best":
        return _figures([min(each, key=lambda row: row["log_loss"]) for each in of_draws])
    keys = ("auc", "log_loss", "accuracy")
    return _figures([{key: mean_of([r[key] for r in each]) for key in keys} for each in of_draws])


def _draws(rows):
    return dict.fromkeys(row["draw"] for row in rows)


def _figures(rows):
    if not rows:
        return "–"
    losses = [row["log_loss"] for row in rows]
    mean, n = mean_of(losses), len(losses)
    spread = (sum((loss - mean) ** 2 for loss in losses) / max(n - 1, 1) / n) ** 0.5
    auc, accuracy = (mean_of([row[key] for row in rows]) for key in ("auc", "accuracy"))
    return f"{auc:.3f} / {mean:.3f} ± {spread:.3f} / {100 * accuracy:.1f} %"
