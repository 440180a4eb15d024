"""The long tables of the transfers: every model at every privacy level."""

from _plan import ALONE, DPSGD
from _table import (
    counted,
    first_variant,
    level_name,
    levels,
    mean_of,
    mean_spread,
    n_missing,
    pick,
    strictness,
    table,
    transfer_rows,
)

# Variants of the papers' strategies that fill a cell, the first that was measured.
FIRST = {
    "alignment": ("default", "five-layers"),
    "multitask": ("default", "gamma+five-layers", "five-layers"),
}
LABELS = {"activity": 5, "office": None}  # of a class; 10 elsewhere
# Releases that a noise-aware fit can come from.
NOISE_AWARE = ("noise_aware", "all")


def usual(name):
    """Rows of a transfer table that have its usual number of labels."""
    labels = LABELS.get(name, 10)
    return [row for row in transfer_rows(name) if row["labels"] in (labels, None)]


def papers_cell(rows, model, level):
    """Fits with the default settings or, where there are too few, with others, marked."""
    values, variant = first_variant(rows, FIRST[model], model=model, level=level)
    mark = {"five-layers": " †", "gamma+five-layers": " ‡"}.get(variant, "")
    return counted(values) + mark if values else "–"


def main_table(name):
    """One row for each privacy level."""
    rows, body = usual(name), []
    for level in sorted(levels(rows), key=strictness):
        ours = {"level": level, "model": "noise_aware"}
        accuracy = pick(rows, **ours)
        weights = [values[-1] for values in pick(rows, "source_weight", **ours)]
        peer = (
            pick(rows, level=level, model=ALONE, variant=DPSGD),
            pick(rows, level=level, model=DPSGD),
        )
        body.append(
            [
                level_name(level),
                mean_spread(pick(rows, level=level, model=ALONE, variant=NOISE_AWARE)),
                f"**{mean_spread(accuracy)}**",
                mean_spread(pick(rows, "transduction", **ours)),
                f"{mean_of(weights):.2f}" if weights else "–",
                *(papers_cell(rows, model, level) for model in FIRST),
                *map(mean_spread, peer),
                len(accuracy),
            ]
        )
    header = ["privacy", ALONE, "noise-aware", "its pseudo-labels", "weight of the source"]
    header += [*FIRST, f"{DPSGD}, released", f"{DPSGD}, tuned", "fits"]
    return _without(name, rows) + table(header, body) + _footnotes(body) + _lacking(name)


def _without(name, rows):
    none = {"level": "-", "variant": "default"}
    ours, pseudo = (
        mean_spread(pick(rows, key, model="noise_aware", **none))
        for key in ("accuracy", "transduction")
    )
    papers = ", ".join(
        f"{model} {counted(values)}"
        for model in FIRST
        if (values := pick(rows, model=model, **none))
    )
    return (
        f"The same without a source: {ours}, its pseudo-labels {pseudo}. The papers' strategies "
        f"without one: {papers}. Fits of the papers' strategies in brackets. DP-SGD: the network "
        "that the source owner releases, and the same trained further on the labelled rows.\n\n"
    )


def _footnotes(body):
    text, notes = str(body), []
    if "†" in text:
        notes.append("† with a source of five layers; elsewhere it has one.")
    if "‡" in text:
        notes.append('‡ with a source of five layers and `inference="gamma"`.')
    return "\n\n" + " ".join(notes) if notes else ""


def _lacking(name):
    lacking = n_missing(name)
    return f"\n\n{lacking} rows of the plan are not measured yet." if lacking else ""


def labels_table():
    """USPS to MNIST with 100 to 500 labels."""
    rows, body = transfer_rows("usps-mnist"), []
    for labels in (10, 20, 30, 40, 50):
        ours = {"level": "0.1", "model": "noise_aware", "labels": labels}
        accuracy, pseudo = pick(rows, **ours), pick(rows, "transduction", **ours)
        body.append([10 * labels, mean_spread(accuracy), mean_spread(pseudo), len(accuracy)])
    return "At ε = 0.1.\n\n" + table(["labels", "noise-aware", "its pseudo-labels", "fits"], body)
