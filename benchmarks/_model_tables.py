"""The tables of classifiers, noise, privacy and memory."""

from _table import levels, load, percent, pick, spread, table


def mnist():
    *models, plain = load("mnist")["rows"]
    rows = []
    for row in [*models, plain]:
        speed = ["", ""]
        if row["n_layers"] == plain["n_layers"]:
            speed = [f"{plain[key] / row[key]:.1f}×" for key in ("fit_seconds", "predict_seconds")]
        rows.append(
            [
                row["model"],
                row["n_layers"],
                percent(row["accuracy"]),
                f"{row['fit_seconds']:.0f} s",
                f"{row['predict_seconds']:.0f} s",
                *speed,
                f"{row['fit_peak_above_data_mib']:.0f} MiB" if row is not plain else "",
            ]
        )
    header = ["model", "layers", "accuracy", "fit", "predict", "fit faster by"]
    return table([*header, "predict faster by", "peak of fit above the data"], rows)


def mnist_split():
    rows = [
        [
            r["inference"],
            r["n_layers"],
            spread(r),
            f"{percent(r['min'])} … {percent(r['max'])}",
            percent(r["last_1000"]),
        ]
        for r in load("mnist_split")["rows"]
    ]
    header = ["inference", "layers", "ten folds, mean ± sd", "range", "first 9,000 / last 1,000"]
    return table(header, rows)


def private_digits():
    rows = [
        [f"{r['epsilon']:g}", r["noise"], f"{r['expected_magnitude']:.3f}", spread(r)]
        for r in load("private_digits")["rows"]
    ]
    return table(["ε", "noise", "E\\|v\\|", "accuracy, mean ± sd"], rows)


def fuzzy_digits():
    rows = [
        [
            f"test noise, sd {r['test_noise_sd']:g}"
            if "epsilon" not in r
            else f"training noise, ε = {r['epsilon']:g}",
            spread(r),
        ]
        for r in load("fuzzy_digits")["rows"]
    ]
    return table(["", "accuracy, ten folds, mean ± sd"], rows)


def test_noise():
    record = load("test_noise")
    levels = [f"sd {sd:g}" for sd in record["settings"]["test_noise_sd"]]
    rows = [[r["model"], *map(percent, r["scores"])] for r in record["rows"]]
    report = (0.9863, 0.9825, 0.9630, 0.9019, 0.7818, 0.6335)
    report_cnn = (0.9897, 0.9608, 0.8198, 0.6227, 0.4482, 0.3203)
    rows.append(["reported for the fuzzy model", *map(percent, report)])
    rows.append(["reported for its CNN", *map(percent, report_cnn)])
    return table(["model", *levels], rows)


def fuzzy_privacy():
    record = load("fuzzy_privacy")["rows"]
    names = ["optimal", "Gaussian, analytic", "Gaussian, classical"]
    cells: dict = {}
    for r in record:
        cells.setdefault((r["delta"], r["epsilon"]), {})[r["noise"]] = spread(r)
    rows = [
        [f"{d:g}", f"{e:g}", *(cells[d, e].get(name, "(ε ≥ 1)") for name in names)]
        for d, e in sorted(cells)
    ]
    image = "![accuracy](../../benchmarks/results/fuzzy_privacy.png)"
    return f"{image}\n\n" + table(["δ", "ε", *names], rows)


def human_activity():
    cells: dict = {}
    for r in load("human_activity")["rows"]:
        cells.setdefault(r["epsilon"], {})[r["model"]] = spread(r)
    rows = [
        ["not private" if epsilon == float("inf") else f"{epsilon:g}", *models.values()]
        for epsilon, models in cells.items()
    ]
    return table(["ε", *next(iter(cells.values()))], rows)


def noise():
    rows = [
        [
            f"`{r['noise']}`",
            f"{r['million_values_a_second']:.3g}",
            f"{r['speed_ratio_to_numpy']:.3g}",
            f"{r['values']:,}",
            f"{r['peak_above_in_and_out_mib']:.0f} MiB",
        ]
        for r in load("noise")["rows"]
    ]
    header = ["noise", "million values a second", "speed relative to NumPy", "values"]
    return table([*header, "peak above input and output"], rows)


def accounting():
    record = load("accounting")
    rows = [
        [
            r["what"],
            r["noise"],
            f"{r['epsilon']:g}",
            f"{r['closed_form_epsilon']:.4g} (δ = {r['closed_form_delta']:.1g})",
            f"{r['tight_epsilon']:.4g}",
        ]
        for r in record["rows"]
    ]
    tight = f"ε at δ = {record['settings']['delta']:g} by privacy-loss distribution"
    return table(["what", "noise", "ε per element", "ε by closed form", tight], rows)


def attacks():
    rows = load("attacks")["rows"]
    names = list(dict.fromkeys(r["attack"] for r in rows))
    accuracies, areas = [], []
    for model in dict.fromkeys(r["model"] for r in rows):
        for epsilon in levels(rows, "epsilon"):
            here = [r for r in rows if (r["model"], r["epsilon"]) == (model, epsilon)]
            start = [model, "not private" if epsilon == "inf" else f"{float(epsilon):g}"]
            fits = [100 * sum(pick(here, f"{part}_accuracy")) / len(here) for part in
                    ("train", "test")]  # fmt: skip
            found = {n: [r for r in here if r["attack"] == n] for n in names}
            accuracies.append(
                [*start, *(f"{fit:.0f} %" for fit in fits)]
                + [f"{sum(pick(found[n])) / len(found[n]):.3f}" for n in names]
            )
            areas.append(
                [*start, f"{here[0]['record_epsilon']:g}"]
                + [f"{sum(pick(found[n], 'auc')) / len(found[n]):.3f}" for n in names]
                + [
                    f"{max(pick(here, 'tpr_at_1%')):.0%}",
                    f"{max(pick(here, 'epsilon_lower')):.2f}",
                ]
            )
    title = [name.replace("_", " ") for name in names]
    first = ["model", "ε per element"]
    draws = max(r["draw"] for r in rows) + 1
    return (
        f"Accuracy of each attack with as many members as others, mean over {draws} draws "
        "(guessing: 0.5), and what the model itself reaches on members and others:\n\n"
        + table([*first, "members", "others", *title], accuracies)
        + "\n\nArea under the ROC curve, and the greatest true-positive rate at 1 % false "
        "positives and lower bound of ε (95 % confidence each) that any attack and draw "
        "found, beside the ε that is claimed for a record:\n\n"
        + table([*first, "claimed per record", *title, "TPR at 1 %", "audited ε ≥"], areas)
    )


def predict_memory():
    rows = [
        [f"{r['n_features']:,}", f"{r['n_rows']:,}", f"{r['peak_above_in_and_out_mib']:.0f} MiB"]
        for r in load("predict_memory")["rows"]
    ]
    return table(["features", "rows", "peak above input and output"], rows)
