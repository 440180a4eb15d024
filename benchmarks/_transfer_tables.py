"""The tables of transfers from noisy rows: every model at every level, and other settings."""

from _plan import ALONE, CASES, DPSGD, NONE
from _table import (
    Table,
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
    table,
    where,
)

# Variants of the papers' strategies that fill a cell, the first that was measured.
FIRST = {
    "alignment": ("default", "five-layers"),
    "multitask": ("default", "gamma+five-layers", "five-layers"),
}
PAPERS = tuple(FIRST)
LABELS = {"activity": 5, "office": None}  # of a class; 10 elsewhere
# Releases that a noise-aware fit can come from.
NOISE_AWARE = ("noise_aware", "all")
MEAN = "{accuracy:.1f ±} %"
COUNTED = f"{MEAN} ({{accuracy:count}})"
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


def main_table(name):
    """Return what makes a table with one row for each privacy level."""

    def make(record):
        rows = usual(name, record["rows"])
        text = listing(_by_level(rows), MAIN, by=("level",))
        return _without(where(rows, level=NONE, variant="default")) + text + _footnotes(text)

    return make


def _without(rows):
    papers = ", ".join(
        f"{model} {show(COUNTED, some)}" for model in PAPERS if (some := where(rows, model=model))
    )
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


_LABELS = {
    "labels": lambda rows: str(10 * rows[0]["labels"]),
    "noise-aware": MEAN,
    "its pseudo-labels": PSEUDO,
    "fits": "{accuracy:count}",
}


def labels_table(record):
    """USPS to MNIST with 100 to 500 labels."""
    rows = where(record["rows"], level="0.1", model="noise_aware")
    rows.sort(key=lambda row: row["labels"])
    return "At ε = 0.1.\n\n" + listing(rows, _LABELS, by=("labels",))


def mnist_five_layers(record):
    """Both strategies with one inference and a source of five layers."""
    source = {"model": ALONE, "variant": "papers+five-layers"}
    variants = {"alignment": "five-layers", "multitask": "gamma+five-layers"}
    columns = [("ε", "{level:ε}"), (ALONE, of(MEAN, **source))]
    for model, variant in variants.items():
        ours = {"model": model, "variant": variant}

        def ratio(rows, ours=ours):
            seconds = (pick(rows, "fit_seconds", **each).mean for each in (ours, source))
            return f"{next(seconds) / next(seconds):.1f}×"

        columns += [(model, of(MEAN, **ours)), ("its pseudo-labels", of(PSEUDO, **ours))]
        columns.append(("its time / source fit", ratio))
    rows = _by_level(record["rows"])
    kept = levels(where(rows, variant="gamma+five-layers"))
    none = where(record["rows"], model="alignment", level=NONE, variant="default")
    return (
        f"Test accuracy on the last 1,000 digits, over {len(none)} draws of the labels, both "
        'strategies with `inference="gamma"`, sources with five layers (variants `five-layers`, '
        "`gamma+five-layers`). Without a source (self-training): "
        f"{show(f'{MEAN}, its pseudo-labels {PSEUDO}', none)}.\n\n"
        + listing(where(rows, level=kept), columns, by=("level",))
    )


def mnist_variant(model, variant, source, none, words):
    """Return what makes the table of a strategy with other settings, and without a source."""
    ours = {"model": model, "variant": variant}
    columns = {
        "ε": "{level:ε}",
        ALONE: of(MEAN, model=ALONE, variant=source),
        model: of(MEAN, **ours),
        "its pseudo-labels": of(PSEUDO, **ours),
        "draws": of("{accuracy:count}", **ours),
    }

    def make(record):
        alone = where(record["rows"], model="alignment", level=NONE, variant=none)
        rows = where(record["rows"], level=levels(where(record["rows"], **ours)))
        return (
            f"{words} (variant `{variant}`). Without a source: "
            f"{show(f'{MEAN}, its pseudo-labels {PSEUDO}', alone)}.\n\n"
            + listing(_by_level(rows), columns, by=("level",))
        )

    return make


def usps(variant, none="default", words=""):
    """Return what makes the table of the papers' strategies by number of labels."""

    def make(record):
        here = where(record["rows"], model=PAPERS, variant=variant, level=("0.1", "1"))
        here.sort(key=lambda row: (row["labels"], row["level"]))
        alone = where(record["rows"], model="alignment", level=NONE, variant=none)
        columns = {
            "labels": lambda rows: str(10 * rows[0]["labels"]),
            "ε": "{level:ε}",
            **{model: of(COUNTED, model=model) for model in PAPERS},
            "no source": lambda rows: show(COUNTED, where(alone, labels=rows[0]["labels"])),
        }
        text = listing(here, columns, by=("labels", "level"))
        return f"{words}Variant `{variant}`. Number of label draws in brackets.\n\n{text}"

    return make


self_training = Table(
    {
        "self-training without a source": "{variant}",
        "accuracy": MEAN,
        "pseudo-labels": PSEUDO,
    },
    by=("variant",),
)


def _thousands(rows):
    return Values(rows[0]["thousands"])


test_digits = Table(
    {
        "ε": "{epsilon:ε}",
        "ten blocks of 1,000": lambda rows: f"{_thousands(rows):.1f ±} %",
        "the hardest": lambda rows: f"{min(_thousands(rows)):.1f} %",
        "the last, used above": lambda rows: f"{_thousands(rows)[-1]:.1f} %",
    }
)


def office(record):
    """The papers' strategies beside peers that see the source, pair by pair."""
    names, body = {"-": "no source", "clear": "sees the source"}, []
    for (model, level), some in grouped(record["rows"], "model", "level").items():
        values = Values(pick(some, case=case)[0] for case in CASES["office"])
        source = names.get(level, f"ε = {epsilon_name(level)}")
        body.append([model, source, f"**{values:.1f}**", *(f"{value:.1f}" for value in values)])
    pairs = [f"{case[0]}→{case.split(' to ')[1][0]}".upper() for case in CASES["office"]]
    return (
        "A = amazon, C = caltech, D = dslr, W = webcam; means over 20 canonical trials. Rows "
        "divided by their sum, then z-scores in each domain: sensitivity 1 is one standard "
        "deviation of one visual word, and the source's means and deviations count as public. "
        "Sources with five layers.\n\n" + table(["per cent", "source", "mean", *pairs], body)
    )
