"""The tables of many owners: merged releases against lists, single ones, and one of all rows."""

from _comparisons import TITLES, Cell, by_draw, sign_of
from _merging_data import CASES
from _table import grouped, pick, unique, where

NONE, OTHERS, ALL = "-", "others", "all"
MEASURES = ("auc", "log_loss", "accuracy")
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
HOSPITALS = "four hospitals"
GAIN = "+.3f ±e"


def best_owners(rows):
    """Return rows of the owner of each target whose releases are best on average over draws.

    Only of cases whose owners are the same in each draw; one row for each measure.
    """
    single = [row for row in rows if row["model"].startswith("single, ")]
    kept, made = ("case", "variant", "level", "labels", "draw"), []
    for some in grouped(single, "case", "variant", "level").values():
        for measure in MEASURES:
            there = [row for row in some if row[measure] is not None]
            owners = {
                name: sign_of(measure) * pick(there, measure, model=name).mean
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
    return Cell(rows[0] if rows else {}, values, sign=sign_of(measure))


def violations(rows):
    """Return a line for each place where a model falls below what it should reach."""
    lines = []
    for name, level, some in places(rows):
        best = BEST_OWNER if name.startswith(HOSPITALS) else "best single"
        for measure in MEASURES:
            cell = compared(some, measure)
            against = [(model, best) for model in ("merged", "list")]
            for model, other in (*against, ("merged", "equal noise")):
                gain = cell.gain(other, model)
                if gain and _is_below(gain, other == best):
                    lines.append([name, level, TITLES[measure], model, other, format(gain, GAIN)])
    return lines


def _is_below(gain, of_best):
    if of_best:
        return gain.mean + gain.error < -MOST_BELOW
    return gain.mean < -max(2 * gain.error, MOST_BELOW / 2)


def with_best(record):
    return record["rows"] + best_owners(record["rows"])


def hospitals(record):
    """Means over the four hospitals in each draw, in the order of the table."""
    names, rows = list(HOSPITAL_PARTS.values()), []
    for (variant, labels), name in HOSPITAL_PARTS.items():
        some = where(with_best(record), case=CASES["heart"], variant=variant, labels=labels)
        for (model, level, draw), each in grouped(some, "model", "level", "draw").items():
            if model in HOSPITAL_MODELS:
                means = {name: pick(each, name).mean for name in MEASURES if pick(each, name)}
                row = {"releases": name, "model": model, "ε": f"ε = {level}", "draw": draw}
                rows.append({**row, **means})
    order = HOSPITAL_MODELS.index
    return sorted(rows, key=lambda row: (names.index(row["releases"]), order(row["model"])))


def cuts(record):
    """Rows of adult and of six tables, and gains of merged releases as those of more models."""
    rows = []
    for case, _, some in places(record["rows"]):
        if case.startswith(HOSPITALS):
            continue
        rows += some
        for other in ("equal noise", "best single"):
            head = {"case": case, "level": some[0]["level"], "model": f"gain over {other}"}
            for measure in ("auc", "log_loss"):
                gain = compared(some, measure).gain(other, "merged")
                rows += [{**head, measure: value} for value in gain]
    return rows


FILES = {
    "shown": lambda r: r["variant"] in ("before", "after"),
    "kib": lambda r: r["bytes"] / 1024,
    "place": lambda r: [
        ("13 columns", "adult", "one release", "20 owners", "before", "after").index(r[name])
        for name in ("case", "model", "variant")
    ],
}
