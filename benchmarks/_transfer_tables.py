"""The tables of private transfer."""

from _table import HERE, epsilon_name, levels, load, mean_spread, pick, table


def transfer_mnist():
    rows = load("transfer_mnist")["rows"]
    body = []
    for epsilon in levels(rows):
        cells = [epsilon_name(epsilon), *(f"{a:.1f} %" for a in
                 pick(rows, epsilon=epsilon, model="source alone"))]  # fmt: skip
        [fit] = pick(rows, "fit_seconds", epsilon=epsilon, model="source alone")
        for model in ("alignment", "multitask"):
            wanted = {"epsilon": epsilon, "model": model}
            seconds = pick(rows, "fit_seconds", **wanted)
            cells += [mean_spread(pick(rows, **wanted))]
            cells += [mean_spread(pick(rows, "transduction", **wanted))]
            cells += [f"{sum(seconds) / len(seconds) / fit:.1f}×"]
        body.append(cells)
    header = ["ε", "source alone"]
    for model in ("alignment", "multitask"):
        header += [model, "its pseudo-labels", "its time / source fit"]
    alone = [mean_spread(pick(rows, key, model="no source")) for key in
             ("accuracy", "transduction")]  # fmt: skip
    n_draws = len(pick(rows, model="no source"))
    return (
        f"Test accuracy on the last 1,000 digits, over {n_draws} draws of the labels, both "
        'strategies with `inference="gamma"`. Without a '
        f"source (self-training): {alone[0]}, its pseudo-labels {alone[1]}.\n\n"
        + table(header, body)
    )


def variant(name, model, text):
    rows = load(name)["rows"]
    body = [
        [
            epsilon_name(epsilon),
            *(f"{a:.1f} %" for a in pick(rows, epsilon=epsilon, model="source alone")),
            mean_spread(pick(rows, epsilon=epsilon, model=model)),
            mean_spread(pick(rows, "transduction", epsilon=epsilon, model=model)),
            len(pick(rows, epsilon=epsilon, model=model)),
        ]
        for epsilon in levels(rows)
        if pick(rows, epsilon=epsilon, model=model)
    ]
    alone = [mean_spread(pick(rows, key, model="no source")) for key in
             ("accuracy", "transduction")]  # fmt: skip
    header = ["ε", "source alone", model, "its pseudo-labels", "draws"]
    return f"{text} Without a source: {alone[0]}, its pseudo-labels {alone[1]}.\n\n" + table(
        header, body
    )


def transfer_mnist_multitask():
    return variant("transfer_mnist_multitask", "multitask", "With its default inference.")


def transfer_mnist_folds():
    text = (
        "`n_folds=4`, so that no pseudo-label confirms itself, and "
        "`n_components=(4, 6, 8, 10, 15, 20, 20)`."
    )
    return variant("transfer_mnist_folds", "alignment", text)


def transfer_usps(name):
    cells = {}  # what ran again, with more draws or another strategy, takes its place
    for part in (name, f"{name}_multitask", f"{name}_100"):
        fresh = {}
        for r in [r for r in rows_of(part) if r["model"] != "source fit"]:
            fresh.setdefault((r["labels"], r["epsilon"], r["model"]), []).append(r)
        cells |= fresh
    rows = [row for cell in cells.values() for row in cell]
    body = []
    for labels in dict.fromkeys(r["labels"] for r in rows):
        here = [r for r in rows if r["labels"] == labels]
        alone = pick(here, model="no source")
        for epsilon in levels(here):
            accuracies = [pick(here, epsilon=epsilon, model=m) for m in ("alignment", "multitask")]
            cells = [f"{mean_spread(a)} ({len(a)})" for a in (*accuracies, alone)]
            body.append([labels, epsilon_name(epsilon), *cells])
    header = ["labels", "ε", "alignment", "multitask", "no source"]
    return "Number of label draws in brackets.\n\n" + table(header, body)


def transfer_usps_folds(name):
    return "`n_folds=4` and `n_components=(4, 6, 8, 10, 15, 20, 20)`. " + transfer_usps(name)


def transfer_gap():
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


def transfer_blocks():
    rows = [
        [epsilon_name(r["epsilon"]), mean_spread(r["thousands"]),
         f"{min(r['thousands']):.1f} %", f"{r['thousands'][-1]:.1f} %"]
        for r in load("transfer_blocks")["rows"]
    ]  # fmt: skip
    return table(["ε", "ten blocks of 1,000", "the hardest", "the last, used above"], rows)


def office():
    rows = load("office")["rows"]
    models = dict.fromkeys(r["model"] for r in rows)
    pairs = list(dict.fromkeys((r["source"], r["target"]) for r in rows))
    body = []
    for model in models:
        values = [pick(rows, model=model, source=s, target=t)[0] for s, t in pairs]
        body.append([model, f"**{sum(values) / len(values):.1f}**", *(f"{v:.1f}" for v in values)])
    header = ["per cent", "mean", *(f"{s[0]}→{t[0]}".upper() for s, t in pairs)]
    return (
        "A = amazon, C = caltech, D = dslr, W = webcam. Rows divided by their sum, then z-scores "
        "in each domain: sensitivity 1 is one standard deviation of one visual word, and the "
        "source's means and deviations count as public. The models from SVM-t to subspace "
        "alignment see the source in the clear.\n\n" + table(header, body)
    )


def rows_of(name):
    """Rows of a result file, if it is there."""
    return load(name)["rows"] if (HERE / "results" / f"{name}.json").exists() else []


def noise_aware(name, *papers):
    """One row for each privacy level; the papers' strategies from runs of their own."""
    rows, older = rows_of(name), []
    for part in (f"{name}_rest", f"{name}_none"):  # what ran again counts
        if new := rows_of(part):
            seen = {r["level"] for r in rows}
            rows = rows + [r for r in new if r["level"] not in seen]
            older.append(f"`{part}`")
    others = papers_runs(papers)
    peer, files = name.replace("noise_aware", "dpsgd"), ", ".join(f"`{part}`" for part in papers)
    outside = rows_of(peer)
    body = []
    found = {r["level"] for r in rows if r["model"] == "noise_aware"}
    for level in sorted(found, key=strictness):
        ours = {"level": level, "model": "noise_aware"}
        alone = pick(rows, level=level, model="source alone (noise_aware)")
        accuracy = pick(rows, **ours)
        weights = [values[-1] for values in pick(rows, "source_weight", **ours)]
        cells = [level_name(level), mean_spread(alone) if alone[0] is not None else "–"]
        cells += [f"**{mean_spread(accuracy)}**", mean_spread(pick(rows, "transduction", **ours))]
        cells += [f"{sum(weights) / len(weights):.2f}"]
        for model in ("alignment", "multitask"):
            accuracies = (papers_accuracy(runs, level, model) for runs in others)
            cells.append(next(filter(None, accuracies), ""))
        cells += [mean_spread(pick(outside, key, level=level)) for key in ("alone", "tuned")]
        body.append([*cells, len(accuracy)])
    none = {"level": "-", "model": "no source"}
    alone = [mean_spread(pick(rows, key, **none)) for key in ("accuracy", "transduction")]
    rest = f"Levels that the command below does not name: {', '.join(older)}. " if older else ""
    header = [
        "privacy",
        "source alone",
        "noise-aware",
        "its pseudo-labels",
        "weight of the source",
    ]
    return (
        f"The same without a source: {alone[0]}, its pseudo-labels {alone[1]}. {rest}The papers' "
        f"strategies, fits in brackets, are from {files}, DP-SGD from `{peer}`: the network that "
        "the source owner releases, and the same trained further on the labelled rows.\n\n"
        + table([*header, "alignment", "multitask", "DP-SGD", "and tuned", "fits"], body)
    )


def strictness(level):
    unit, _, epsilon = level.rpartition(" ")
    return unit, -float(epsilon)


def level_name(level):
    unit, _, epsilon = level.rpartition(" ")
    return f"ε = {epsilon_name(epsilon)} {'for a record' if unit else 'for an element'}"


def papers_runs(papers):
    """Rows of each result file; those of ``bench_noise_aware`` together, every draw once."""
    files, draws = [rows_of(part) for part in papers], {}
    for r in [r for rows in files for r in rows if "level" in r]:
        draws.setdefault((r["case"], r["level"], r["model"], r.get("draw")), r)
    return [rows for rows in files if rows and "level" not in rows[0]] + [list(draws.values())]


def papers_accuracy(rows, level, model):
    """Accuracy in the result files of the papers' strategies, which differ in form."""
    if "level" in rows[0]:
        values = pick(rows, level=level, model=model)
        return counted(values)
    if any("source" in r for r in rows):
        name = f"{model}, epsilon={level}"
        values = [r["accuracy"] for r in rows if r["model"] == name]
        return f"{sum(values) / len(values):.1f} %" if values else ""
    names = (level, f"{level}.0")
    values = [r["accuracy"] for r in rows if r["model"] == model and r.get("epsilon") in names]
    return counted(values)


def counted(values):
    return f"{mean_spread(values)} ({len(values)})" if values else ""


def noise_aware_labels():
    """USPS to MNIST with 100 to 500 labels."""
    body = []
    for per_class in (10, 20, 30, 40, 50):
        part = "noise_aware_usps_mnist" + ("" if per_class == 10 else f"_{10 * per_class}")
        ours = {"level": "0.1", "model": "noise_aware"}
        accuracy = pick(rows_of(part), **ours)
        labels = mean_spread(pick(rows_of(part), "transduction", **ours))
        body.append([10 * per_class, mean_spread(accuracy), labels, len(accuracy)])
    return "At ε = 0.1.\n\n" + table(["labels", "noise-aware", "its pseudo-labels", "fits"], body)
