"""The tables of transfers from noisy rows: every model at every level, and other settings."""

from _plan import ALONE, CASES, DPSGD, NONE, PAPERS
from _table import (
    epsilon_name,
    first_variant,
    grouped,
    levels,
    pick,
    strictness,
    where,
    with_columns,
)

# Variants of the papers' strategies that fill a cell, the first that was measured.
FIRST = {
    "alignment": ("default", "five-layers"),
    "multitask": ("default", "gamma+five-layers", "five-layers"),
}
MARKS = {"five-layers": " †", "gamma+five-layers": " ‡"}
NOTES = {
    "†": "† with a source of five layers; elsewhere it has one.",
    "‡": '‡ with a source of five layers and `inference="gamma"`.',
}
LABELS = {"activity": 5, "office": None}  # of a class; 10 elsewhere
# Releases that a noise-aware fit can come from.
NOISE_AWARE = ("noise_aware", "all")


def usual(name, rows):
    """Return rows of a transfer table that have its usual number of labels."""
    return where(rows, labels=(LABELS.get(name, 10), None))


def _by_level(rows):
    order = sorted(levels(rows), key=strictness)
    return sorted(where(rows, level=order), key=lambda row: order.index(row["level"]))


def _named(record):
    return usual(record["command"].split()[-1], record["rows"])


def usual_labels(record):
    """Rows of each level by their kind; of the papers' strategies a variant with enough fits."""
    rows = []
    for some in grouped(_by_level(_named(record)), "level").values():
        kinds = {
            "alone": where(some, model=ALONE, variant=NOISE_AWARE),
            "ours": where(some, model="noise_aware", variant="default"),
            "network": where(some, model=ALONE, variant=DPSGD),
            "tuned": where(some, model=DPSGD),
        }
        for model, variants in FIRST.items():
            _, variant = first_variant(some, variants, model=model)
            kinds[model] = where(some, model=model, variant=variant)
        for kind, each in kinds.items():
            rows += with_columns(each, kind=lambda row, kind=kind: kind)
    return with_columns(
        rows,
        weight=lambda row: row["source_weight"][-1],
        mark=lambda row: MARKS.get(row["variant"], ""),
    )


def without(record):
    """The same without a source, with the papers' strategies as text."""
    rows = where(_named(record), level=NONE, variant="default")
    found = {model: pick(rows, model=model) for model in PAPERS}
    text = ", ".join(
        f"{m} {values:.1f ±} % ({len(values)})" for m, values in found.items() if values
    )
    return with_columns(where(rows, model="noise_aware"), papers=lambda row: text)


def footnotes(record):
    marks = pick(usual_labels(record), "mark", kind=PAPERS)
    return " ".join(note for mark, note in NOTES.items() if f" {mark}" in marks)


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


# Pairs of domains, and what is known of their source.
DOMAINS = {
    "pair": lambda r: "→".join(name[0].upper() for name in r["case"].split(" to ")),
    "source": lambda r: {"-": "no source", "clear": "sees the source"}.get(
        r["level"], f"ε = {epsilon_name(r['level'])}"
    ),
    "place": lambda r: CASES["office"].index(r["case"]),
}
