"""The tables of many owners: merged releases against lists, single ones, and one of all rows."""

from _comparisons import Paired
from _merging_data import CASES
from _table import load, mean_of, table

NONE, OTHERS, ALL = "-", "others", "all"
# Of each measure its name, and whether more of it is better (1) or worse (-1).
MEASURES = {"auc": ("AUC", 1), "log_loss": ("log loss", -1), "accuracy": ("accuracy", 1)}
# What a merged release may lose against the best single one.
MOST_BELOW = 0.01
HOSPITAL_PARTS = {
    (OTHERS, 0): "the three others, no label",
    (OTHERS, 30): "the three others, 30 own labels",
    (ALL, 0): "all four, no label",
}
BEST_OWNER = "best owner"
HOSPITAL_MODELS = (
    BEST_OWNER,
    "best single", "mean single", "mean of log-odds", "list, before", "list", "merged",
    "merged, transfer", "equal noise", "equal noise, transfer", "one noise", "one noise, transfer",
    "own labels", "no privacy", "majority",
)  # fmt: skip
# Without labels a transfer of one release predicts what it does alone, or hardly anything else.
MODELS = (
    "best single", "mean single", "mean of log-odds", "list", "merged", "equal noise",
    "one noise", "no privacy",
)  # fmt: skip
HOSPITALS = "four hospitals"


def values(rows, measure, **wanted):
    """Return means by draw, of all cases among the rows."""
    found = {}
    for row in rows:
        if measure in row and all(row.get(name) == value for name, value in wanted.items()):
            found.setdefault(row["draw"], []).append(row[measure])
    return {draw: mean_of(each) for draw, each in found.items()}


def best_owners(rows):
    """Return rows of the owner of each target whose releases are best on average over draws.

    Only of cases whose owners are the same in each draw; one row for each measure.
    """
    found: dict = {}
    for row in rows:
        if row["model"].startswith("single, "):
            for measure in MEASURES:
                if measure in row:
                    place = row["case"], row["variant"], row["level"], measure
                    found.setdefault(place, {}).setdefault(row["model"], []).append(row)
    made = []
    for (*_, measure), owners in found.items():
        sign = MEASURES[measure][1]
        best = max(owners, key=lambda name: sign * mean_of([r[measure] for r in owners[name]]))
        kept = ("case", "variant", "level", "labels", "draw", measure)
        made += [{name: r[name] for name in kept} | {"model": BEST_OWNER} for r in owners[best]]
    return made


def shown(by_draw):
    """Return the mean over draws and its standard error as text."""
    if not by_draw:
        return "–"
    found = Paired.of(by_draw, dict.fromkeys(by_draw, 0.0))
    return f"{found.mean:.3f} ± {found.error:.3f}"


def cells(rows):
    """Yield name, ε and what rows are wanted, for each place in which models are compared."""
    hospitals = [row for row in rows if row["case"] in CASES["heart"]]
    for (variant, labels), name in HOSPITAL_PARTS.items():
        for level in _levels(hospitals):
            key = {"variant": variant, "labels": labels, "level": level}
            yield f"{HOSPITALS}, {name}", level, hospitals, key
    for case in (*CASES["adult"], *CASES["tables"]):
        some = [row for row in rows if row["case"] == case]
        for level in _levels(some):
            yield case, level, some, {"level": level}


def _levels(rows):
    return sorted({row["level"] for row in rows}, key=float, reverse=True)


def gain(rows, measure, model, other, **wanted):
    """Return by how much a model is better than another, over draws, or None."""
    sign = MEASURES[measure][1]
    ours, theirs = (
        {draw: sign * value for draw, value in values(rows, measure, model=name, **wanted).items()}
        for name in (model, other)
    )
    return Paired.of(ours, theirs) if ours.keys() & theirs.keys() else None


def violations(rows):
    """Return a line for each place where a model falls below what it should reach."""
    lines = []
    for name, level, some, key in cells(rows):
        best = BEST_OWNER if name.startswith(HOSPITALS) else "best single"
        for measure in MEASURES:
            for model in ("merged", "list"):
                found = gain(some, measure, model, best, **key)
                if found and found.mean + found.error < -MOST_BELOW:
                    lines.append(_line(name, level, measure, model, best, found))
            found = gain(some, measure, "merged", "equal noise", **key)
            if found and found.mean < -max(2 * found.error, MOST_BELOW / 2):
                lines.append(_line(name, level, measure, "merged", "equal noise", found))
    return lines


def _line(name, level, measure, model, other, found):
    title = MEASURES[measure][0]
    return [name, level, title, model, other, f"{found.mean:+.3f} ± {found.error:.3f}"]


def _hospitals(rows):
    body = []
    for (variant, labels), name in HOSPITAL_PARTS.items():
        for model in HOSPITAL_MODELS:
            key = {"variant": variant, "labels": labels, "model": model}
            some = [row for row in rows if row["case"] in CASES["heart"]]
            texts = [
                shown(values(some, measure, level=level, **key))
                for level in _levels(some)
                for measure in ("accuracy", "auc", "log_loss")
            ]
            if set(texts) - {"–"}:
                body.append([name, model, *texts])
    levels = _levels([row for row in rows if row["case"] in CASES["heart"]])
    names = [f"{MEASURES[m][0]}, ε = {e}" for e in levels for m in ("accuracy", "auc", "log_loss")]
    return table(["releases of", "model", *names], body)


def _each_hospital(rows):
    body = []
    models = (
        BEST_OWNER,
        "best single",
        "mean single",
        "list",
        "merged",
        "equal noise",
        "no privacy",
    )
    for case in CASES["heart"]:
        some = [row for row in rows if row["case"] == case]
        for level in _levels(some):
            key = {"variant": OTHERS, "labels": 0, "level": level}
            texts = [shown(values(some, "accuracy", model=model, **key)) for model in models]
            body.append([case.partition(", ")[2], level, *texts])
    return table(["target", "ε", *models], body)


def _others(rows, measure):
    body = []
    for case in (*CASES["adult"], *CASES["tables"]):
        some = [row for row in rows if row["case"] == case]
        for level in _levels(some):
            texts = [shown(values(some, measure, model=model, level=level)) for model in MODELS]
            differences = [
                gain(some, measure, "merged", other, level=level)
                for other in ("equal noise", "best single")
            ]
            texts += [f"{d.mean:+.3f} ± {d.error:.3f}" if d else "–" for d in differences]
            body.append([case, level, *texts])
    header = ["cut", "ε", *MODELS, "merged over equal noise", "merged over best single"]
    return table(header, body)


def _files(rows):
    body = []
    for case in ("13 columns", "adult"):
        for model in ("one release", "20 owners"):
            for variant in ("before", "after"):
                key = {"case": case, "model": model, "variant": variant}
                size = values(rows, "bytes", **key)
                times = [values(rows, name, **key) for name in ("load_ms", "first_ms")]
                if size:
                    n = next(row["n_encoded"] for row in rows if row["case"] == case)
                    means = [f"{mean_of(each.values()):.1f}" for each in times]
                    kib = f"{mean_of(size.values()) / 1024:.1f}"
                    body.append([n, model, variant, kib, *means])
    header = ["encoded columns", "of", "", "KiB", "ms to load", "ms to predict 1,000 rows first"]
    return table(header, body)


def tables():
    rows = load("merging")["rows"]
    rows += best_owners(rows)
    below = violations(rows)
    header = ["cut", "ε", "measure", "model", "than", "gain"]
    return (
        "*Merged*: `Release.merge` of the owners' releases; *list*: `DPTransferClassifier([...])` "
        "with the target's unlabeled rows, *before* as it was without merging; *equal noise*: one "
        "release of all rows with as much noise as the merged sums have; *one noise*: one release "
        "of all rows at the ε of each owner; *best single*: the best release on the test rows, in "
        "each measure and draw, which nobody could choose; *best owner*: that of the owner whose "
        "releases are best on average. *Transfer*: the same through `DPTransferClassifier`. Means "
        "± standard error over draws.\n\n"
        "**Four hospitals, FLamby's 486 patients to learn from and 254 to be predicted**, "
        "δ = 1e-4; means over the four as targets, AUC over those with both classes among test "
        "rows. Draws have the same rows, and noise and labels of their own. *Majority*: of each "
        "target's own labels.\n\n"
        + _hospitals(rows)
        + "\n\nAccuracy at each hospital, from the three others, no label:\n\n"
        + _each_hospital(rows)
        + "\n\n**Owners of adult and of six tables**, δ = 1e-5, no label: 300 rows for each of 5, "
        "20 and 60 owners at random, for each kind of employer and for each tenth of the ages; "
        "and all rows of tables, shared by five owners at random. AUC:\n\n"
        + _others(rows, "auc")
        + "\n\nLog loss (gains are positive where merged is better):\n\n"
        + _others(rows, "log_loss")
        + "\n\n**Where it falls short**: merged or list below the best single release (of the "
        "hospitals: of the best owner) by more "
        f"than {MOST_BELOW:g} and the standard error, or merged below one release at equal noise "
        f"by more than two standard errors and {MOST_BELOW / 2:g}.\n\n"
        + (table(header, below) if below else "Nowhere.")
        + "\n\n**Files**: releases of 300 rows at ε = 1; of 20 owners, the list of their files "
        "before, and the merged one after.\n\n" + _files(rows)
    )
