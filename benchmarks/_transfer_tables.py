"""The tables of transfers from noisy rows: every model at every level, and other settings."""

from _plan import CASES, NONE, PAPERS
from _table import (
    epsilon_name,
    grouped,
    pick,
    where,
    with_columns,
)

# Variants of the papers' strategies that fill a cell, the first that was measured.
FIRST = {
    "alignment": ("default", "five-layers"),
    "multitask": ("default", "gamma+five-layers", "five-layers"),
}
LABELS = {"activity": 5, "office": None}  # of a class; 10 elsewhere
# Releases that a noise-aware fit can come from.
NOISE_AWARE = ("noise_aware", "all")


def usual(name, rows):
    """Return rows of a transfer table that have its usual number of labels."""
    return where(rows, labels=(LABELS.get(name, 10), None))


def _named(record):
    return usual(record["command"].split()[-1], record["rows"])


def without(record):
    """The same without a source, with the papers' strategies as text."""
    rows = where(_named(record), level=NONE, variant="default")
    found = {model: pick(rows, model=model) for model in PAPERS}
    text = ", ".join(
        f"{m} {values:.1f ±} % ({len(values)})" for m, values in found.items() if values
    )
    return with_columns(where(rows, model="noise_aware"), papers=lambda row: text)


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
