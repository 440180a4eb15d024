"""The papers' strategies with other settings, and what decides their figures."""

from _plan import ALONE, CASES
from _table import (
    epsilon_name,
    levels,
    load,
    mean_of,
    mean_spread,
    pick,
    strictness,
    table,
    transfer_rows,
)
from _transfer_tables import FIRST

PAPERS = tuple(FIRST)


def mnist_five_layers():
    """Both strategies with one inference and a source of five layers."""
    rows = transfer_rows("mnist-mnist")
    variants = {"alignment": "five-layers", "multitask": "gamma+five-layers"}
    body = []
    for level in _levels(rows, "gamma+five-layers"):
        source = {"level": level, "model": ALONE, "variant": "papers+five-layers"}
        cells = [epsilon_name(level), mean_spread(pick(rows, **source))]
        seconds = mean_of(pick(rows, "fit_seconds", **source))
        for model, variant in variants.items():
            ours = {"level": level, "model": model, "variant": variant}
            cells += [mean_spread(pick(rows, **ours))]
            cells += [mean_spread(pick(rows, "transduction", **ours))]
            cells += [f"{mean_of(pick(rows, 'fit_seconds', **ours)) / seconds:.1f}×"]
        body.append(cells)
    header = ["ε", ALONE]
    for model in variants:
        header += [model, "its pseudo-labels", "its time / source fit"]
    accuracy, pseudo, n_draws = _alone(rows, "default")
    return (
        f"Test accuracy on the last 1,000 digits, over {n_draws} draws of the labels, both "
        'strategies with `inference="gamma"`, sources with five layers (variants `five-layers`, '
        f"`gamma+five-layers`). Without a source (self-training): {accuracy}, its pseudo-labels "
        f"{pseudo}.\n\n" + table(header, body)
    )


def mnist_variant(model, variant, source, none, words):
    """One strategy with other settings, and the same without a source."""
    rows = transfer_rows("mnist-mnist")
    body = []
    for level in _levels([row for row in rows if row["model"] == model], variant):
        ours = {"level": level, "model": model, "variant": variant}
        accuracy = pick(rows, **ours)
        alone = pick(rows, level=level, model=ALONE, variant=source)
        pseudo = pick(rows, "transduction", **ours)
        body.append(
            [epsilon_name(level), *map(mean_spread, (alone, accuracy, pseudo)), len(accuracy)]
        )
    accuracy, pseudo, _ = _alone(rows, none)
    header = ["ε", ALONE, model, "its pseudo-labels", "draws"]
    return (
        f"{words} (variant `{variant}`). Without a source: {accuracy}, its pseudo-labels "
        f"{pseudo}.\n\n" + table(header, body)
    )


def usps(name, variant, none="default", words=""):
    """The papers' strategies by number of labels, and the same without a source."""
    rows, body = transfer_rows(name), []
    here = [r for r in rows if r["model"] in PAPERS and r["variant"] == variant]
    here = [r for r in here if r["level"] in ("0.1", "1")]
    for labels in sorted({r["labels"] for r in here}):
        alone = pick(rows, labels=labels, model="alignment", level="-", variant=none)
        for level in ("0.1", "1"):
            found = [pick(here, labels=labels, level=level, model=model) for model in PAPERS]
            if any(found):
                cells = (f"{mean_spread(values)} ({len(values)})" for values in (*found, alone))
                body.append([10 * labels, epsilon_name(level), *cells])
    header = ["labels", "ε", *PAPERS, "no source"]
    return f"{words}Variant `{variant}`. Number of label draws in brackets.\n\n" + table(
        header, body
    )


def _levels(rows, variant):
    return sorted(levels([row for row in rows if row["variant"] == variant]), key=strictness)


def _alone(rows, variant):
    none = {"model": "alignment", "level": "-", "variant": variant}
    accuracy, pseudo = pick(rows, **none), pick(rows, "transduction", **none)
    return mean_spread(accuracy), mean_spread(pseudo), len(accuracy)


def self_training():
    rows = load("transfer_gap")["rows"]
    body = [
        [
            name,
            mean_spread(pick(rows, variant=name)),
            mean_spread(pick(rows, "transduction", variant=name)),
        ]
        for name in dict.fromkeys(r["variant"] for r in rows)
    ]
    return table(["self-training without a source", "accuracy", "pseudo-labels"], body)


def test_digits():
    rows = [
        [epsilon_name(r["epsilon"]), mean_spread(r["thousands"]),
         f"{min(r['thousands']):.1f} %", f"{r['thousands'][-1]:.1f} %"]
        for r in load("transfer_blocks")["rows"]
    ]  # fmt: skip
    return table(["ε", "ten blocks of 1,000", "the hardest", "the last, used above"], rows)


def office():
    """The papers' strategies beside peers that see the source, pair by pair."""
    rows, body = load("office")["rows"], []
    for model, level in dict.fromkeys((r["model"], r["level"]) for r in rows):
        values = [pick(rows, model=model, level=level, case=case)[0] for case in CASES["office"]]
        name = {"-": "no source", "clear": "sees the source"}.get(level)
        cells = [model, name or f"ε = {epsilon_name(level)}", f"**{mean_of(values):.1f}**"]
        body.append([*cells, *(f"{value:.1f}" for value in values)])
    pairs = [f"{case[0]}→{case.split(' to ')[1][0]}".upper() for case in CASES["office"]]
    return (
        "A = amazon, C = caltech, D = dslr, W = webcam; means over 20 canonical trials. Rows "
        "divided by their sum, then z-scores in each domain: sensitivity 1 is one standard "
        "deviation of one visual word, and the source's means and deviations count as public. "
        "Sources with five layers.\n\n" + table(["per cent", "source", "mean", *pairs], body)
    )
