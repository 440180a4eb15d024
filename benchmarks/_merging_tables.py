"""The tables of many owners: merged releases against lists, single ones, and one of all rows."""

from _comparisons import Cell, by_draw
from _merging_data import CASES
from _table import grouped, listing, pick, table, unique, where

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
AT_ONE = (BEST_OWNER, "best single", "mean single", "list", "merged", "equal noise", "no privacy")
# Without labels a transfer of one release predicts what it does alone, or hardly anything else.
MODELS = (
    "best single", "mean single", "mean of log-odds", "list", "merged", "equal noise",
    "one noise", "no privacy",
)  # fmt: skip
HOSPITALS = "four hospitals"
MEAN, GAIN = ".3f ±e", "+.3f ±e"


def best_owners(rows):
    """Return rows of the owner of each target whose releases are best on average over draws.

    Only of cases whose owners are the same in each draw; one row for each measure.
    """
    single = [row for row in rows if row["model"].startswith("single, ")]
    kept, made = ("case", "variant", "level", "labels", "draw"), []
    for some in grouped(single, "case", "variant", "level").values():
        for measure, (_, sign) in MEASURES.items():
            there = [row for row in some if measure in row]
            owners = {
                name: sign * pick(there, measure, model=name).mean
                for name in unique(there, "model")
            }
            best = where(there, model=max(owners, key=owners.get, default=None))
            made += [{n: row[n] for n in (*kept, measure)} | {"model": BEST_OWNER} for row in best]
    return made


def places(rows):
    """Yield name, ε and rows of each place in which models are compared."""
    hospitals = where(rows, case=CASES["heart"])
    parts = [
        (f"{HOSPITALS}, {name}", where(hospitals, variant=variant, labels=labels))
        for (variant, labels), name in HOSPITAL_PARTS.items()
    ]
    parts += [(case, where(rows, case=case)) for case in (*CASES["adult"], *CASES["tables"])]
    for name, some in parts:
        for level in _levels(some):
            yield name, level, where(some, level=level)


def _levels(rows):
    return sorted(unique(rows, "level"), key=float, reverse=True)


def compared(rows, measure):
    """Return a cell of all models; values of a draw are means over the cases."""
    models = grouped(rows, "model").items()
    values = {model: by_draw(some, measure) for (model,), some in models}
    return Cell(rows[0] if rows else {}, values, sign=MEASURES[measure][1])


def violations(rows):
    """Return a line for each place where a model falls below what it should reach."""
    lines = []
    for name, level, some in places(rows):
        best = BEST_OWNER if name.startswith(HOSPITALS) else "best single"
        for measure, (title, _) in MEASURES.items():
            cell = compared(some, measure)
            against = [(model, best) for model in ("merged", "list")]
            for model, other in (*against, ("merged", "equal noise")):
                gain = cell.gain(other, model)
                if gain and _is_below(gain, other == best):
                    lines.append([name, level, title, model, other, format(gain, GAIN)])
    return lines


def _is_below(gain, of_best):
    if of_best:
        return gain.mean + gain.error < -MOST_BELOW
    return gain.mean < -max(2 * gain.error, MOST_BELOW / 2)


def _hospitals(rows):
    hospitals = where(rows, case=CASES["heart"])
    columns, body = [(e, m) for e in _levels(hospitals) for m in MEASURES_SHOWN], []
    for (variant, labels), name in HOSPITAL_PARTS.items():
        for model in HOSPITAL_MODELS:
            some = where(hospitals, variant=variant, labels=labels, model=model)
            cells = (compared(where(some, level=level), m) for level, m in columns)
            if some:
                texts = (format(cell.all_of(model), MEAN) for cell in cells)
                body.append([name, model, *texts])
    names = [f"{MEASURES[measure][0]}, ε = {level}" for level, measure in columns]
    return table(["releases of", "model", *names], body)


MEASURES_SHOWN = ("accuracy", "auc", "log_loss")


def _each_hospital(rows):
    body = []
    for case in CASES["heart"]:
        some = where(rows, case=case, variant=OTHERS, labels=0)
        for level in _levels(some):
            cell = compared(where(some, level=level), "accuracy")
            body.append([case.partition(", ")[2], level, *cell.texts(AT_ONE, MEAN)])
    return table(["target", "ε", *AT_ONE], body)


def _others(rows, measure):
    body = []
    for case, level, some in places(rows):
        if not case.startswith(HOSPITALS):
            cell = compared(some, measure)
            gains = (cell.gain(other, "merged") for other in ("equal noise", "best single"))
            texts = (format(gain, GAIN) for gain in gains)
            body.append([case, level, *cell.texts(MODELS, MEAN), *texts])
    header = ["cut", "ε", *MODELS, "merged over equal noise", "merged over best single"]
    return table(header, body)


_FILES = {
    "encoded columns": "{n_encoded}",
    "of": "{model}",
    "": "{variant}",
    "KiB": lambda rows: f"{pick(rows, 'bytes').mean / 1024:.1f}",
    "ms to load": "{load_ms:.1f}",
    "ms to predict 1,000 rows first": "{first_ms:.1f}",
}


def _files(rows):
    key = ("case", "model", "variant")
    order = ("13 columns", "adult", "one release", "20 owners", "before", "after")
    some = where(rows, case=order[:2], variant=order[4:])
    return listing(
        sorted(some, key=lambda row: [order.index(row[name]) for name in key]), _FILES, key
    )


def tables(record):
    rows = record["rows"] + best_owners(record["rows"])
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
