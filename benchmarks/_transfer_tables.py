"""The tables of transfers from noisy rows: every model at every level, and other settings."""

from _measured_tables import with_columns
from _plan import ALONE, CASES, DPSGD, NONE, PAPERS
from _table import (
    Values,
    epsilon_name,
    first_variant,
    grouped,
    levels,
    listing,
    of,
    pick,
    show,
    strictness,
    where,
)

# Variants of the papers' strategies that fill a cell, the first that was measured.
FIRST = {
    "alignment": ("default", "five-layers"),
    "multitask": ("default", "gamma+five-layers", "five-layers"),
}
LABELS = {"activity": 5, "office": None}  # of a class; 10 elsewhere
# Releases that a noise-aware fit can come from.
NOISE_AWARE = ("noise_aware", "all")
MEAN = "{accuracy:.1f ±} %"
PSEUDO = "{transduction:.1f ±} %"


def usual(name, rows):
    """Return rows of a transfer table that have its usual number of labels."""
    return where(rows, labels=(LABELS.get(name, 10), None))


def _weight(rows):
    """Return the weight of the source in the last round."""
    found = Values(values[-1] for values in pick(rows, "source_weight", model="noise_aware"))
    return f"{found:.2f}"


def _papers(model):
    """Return a cell: fits with the default settings or, where too few, with others, marked."""

    def cell(rows):
        values, variant = first_variant(rows, FIRST[model], model=model)
        mark = {"five-layers": " †", "gamma+five-layers": " ‡"}.get(variant, "")
        return f"{values:.1f ±} % ({len(values)}){mark}" if values else "–"

    return cell


MAIN = {
    "privacy": "{level:level}",
    ALONE: of(MEAN, model=ALONE, variant=NOISE_AWARE),
    "noise-aware": of(f"**{MEAN}**", model="noise_aware"),
    "its pseudo-labels": of(PSEUDO, model="noise_aware"),
    "weight of the source": _weight,
    **{model: _papers(model) for model in PAPERS},
    f"{DPSGD}, released": of(MEAN, model=ALONE, variant=DPSGD),
    f"{DPSGD}, tuned": of(MEAN, model=DPSGD),
    "fits": of("{accuracy:count}", model="noise_aware"),
}


def _by_level(rows):
    order = sorted(levels(rows), key=strictness)
    return sorted(where(rows, level=order), key=lambda row: order.index(row["level"]))


def usual_labels(record):
    """One row for each privacy level."""
    rows = usual(record["command"].split()[-1], record["rows"])
    text = listing(_by_level(rows), MAIN, by=("level",))
    return _without(where(rows, level=NONE, variant="default")) + text + _footnotes(text)


def _without(rows):
    counted = {model: show(_papers(model), where(rows, model=model)) for model in PAPERS}
    papers = ", ".join(f"{model} {text}" for model, text in counted.items() if text != "–")
    ours = show(f"{MEAN}, its pseudo-labels {PSEUDO}", where(rows, model="noise_aware"))
    return (
        f"The same without a source: {ours}. The papers' strategies "
        f"without one: {papers}. Fits of the papers' strategies in brackets. DP-SGD: the network "
        "that the source owner releases, and the same trained further on the labelled rows.\n\n"
    )


def _footnotes(text):
    notes = []
    if "†" in text:
        notes.append("† with a source of five layers; elsewhere it has one.")
    if "‡" in text:
        notes.append('‡ with a source of five layers and `inference="gamma"`.')
    return "\n\n" + " ".join(notes) if notes else ""


def _beside(record, source, *variants):
    """Rows of models with some variants, and of their sources alone, at the levels of the last."""
    rows = record["rows"]
    ours = [where(rows, model=model, variant=variant) for model, variant in variants]
    alone = where(rows, model=ALONE, variant=source)
    return _by_level(where(sum(ours, alone), level=levels(ours[-1])))


def five_layers(record):
    """Both strategies with one inference, and their seconds in units of those of a source."""
    variants = (("alignment", "five-layers"), ("multitask", "gamma+five-layers"))
    rows = _beside(record, "papers+five-layers", *variants)
    found = grouped(where(rows, model=ALONE), "level").items()
    seconds = {level: pick(some, "fit_seconds").mean for (level,), some in found}
    return with_columns(rows, times=lambda row: row["fit_seconds"] / seconds[row["level"]])


def multitask_alone(record):
    return _beside(record, "multitask+five-layers", ("multitask", "five-layers"))


def alignment_folds(record):
    return _beside(record, "folds+five-layers", ("alignment", "folds+five-layers"))


def papers(record):
    """Rows of the papers' strategies at two levels, and of no source with as many labels."""
    rows = where(record["rows"], model=PAPERS, level=("0.1", "1"))
    for variant, labels, level in grouped(rows, "variant", "labels", "level"):
        kind = "folds" if "folds" in variant else "default"
        none = {"model": "alignment", "level": NONE, "labels": labels, "variant": kind}
        place = {"model": "no source", "variant": variant, "level": level}
        rows += [{**row, **place} for row in where(record["rows"], **none)]
    return rows


def blocks(record):
    """Accuracies on ten blocks of a thousand digits."""
    return with_columns(
        record["rows"],
        mean=lambda row: Values(row["thousands"]).mean,
        sd=lambda row: Values(row["thousands"]).sd,
        least=lambda row: min(row["thousands"]),
        last=lambda row: row["thousands"][-1],
    )


def domains(record):
    """Rows with the names of their pair of domains and of their source, pair by pair."""
    names = {"-": "no source", "clear": "sees the source"}
    rows = with_columns(
        record["rows"],
        pair=lambda row: "→".join(name[0].upper() for name in row["case"].split(" to ")),
        source=lambda row: names.get(row["level"], f"ε = {epsilon_name(row['level'])}"),
    )
    return sorted(rows, key=lambda row: CASES["office"].index(row["case"]))
