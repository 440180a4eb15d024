"""Write README.md of this folder from the result files, and from nothing else.

python benchmarks/tables.py
"""

from functools import partial

from _table import HERE, levels, load, percent, pick, spread, table
from _transfer_tables import (
    noise_aware,
    noise_aware_labels,
    office,
    transfer_blocks,
    transfer_gap,
    transfer_mnist,
    transfer_mnist_folds,
    transfer_mnist_multitask,
    transfer_usps,
    transfer_usps_folds,
)


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
    return "![accuracy](results/fuzzy_privacy.png)\n\n" + table(["δ", "ε", *names], rows)


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
        for epsilon in levels(rows):
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


def section(title, make, *names):
    """Return a section made from result files; the first says how it was run."""
    return title, partial(make, *names), names[0]


SECTIONS = [
    section(
        "Noise-aware transfer, MNIST to MNIST: 9,000 digits, 100 labels",
        noise_aware,
        "noise_aware_mnist_mnist",
        "transfer_mnist",
        "papers_mnist_mnist",
        "papers_mnist_mnist_records",
        "papers_mnist_mnist_more",
    ),
    section(
        "Noise-aware transfer, MNIST to USPS, 100 labels",
        noise_aware,
        "noise_aware_mnist_usps",
        "transfer_mnist_usps",
        "transfer_mnist_usps_multitask",
        "papers_mnist_usps",
        "papers_mnist_usps_alignment",
        "papers_mnist_usps_alignment_more",
        "papers_mnist_usps_alignment_8",
        "papers_mnist_usps_multitask",
        "papers_mnist_usps_multitask_more",
        "papers_mnist_usps_multitask_8",
        "papers_mnist_usps_records",
        "papers_mnist_usps_records_more",
    ),
    section(
        "Noise-aware transfer, USPS to MNIST, 100 labels",
        noise_aware,
        "noise_aware_usps_mnist",
        "transfer_usps_mnist_100",
        "papers_usps_mnist",
        "papers_usps_mnist_more",
    ),
    (
        "Noise-aware transfer, USPS to MNIST, 100 to 500 labels",
        noise_aware_labels,
        "noise_aware_usps_mnist_200",
    ),
    section(
        "Noise-aware transfer, human activity: ten people to twenty, 5 labels a class",
        noise_aware,
        "noise_aware_activity",
        "papers_activity",
    ),
    section(
        "Noise-aware transfer, Office+Caltech with SURF features",
        noise_aware,
        "noise_aware_office",
        "office",
        "papers_office",
    ),
    (
        "Private transfer, 60,000 MNIST digits to 9,000 with 100 labels, δ = 1e-5, d = 1",
        transfer_mnist,
        "transfer_mnist",
    ),
    (
        'Private transfer, MNIST to MNIST, "multitask" by itself',
        transfer_mnist_multitask,
        "transfer_mnist_multitask",
    ),
    ("Private transfer, MNIST to MNIST, folds", transfer_mnist_folds, "transfer_mnist_folds"),
    ("What decides these figures: the target's self-training", transfer_gap, "transfer_gap"),
    ("What decides these figures: the test digits", transfer_blocks, "transfer_blocks"),
    section("Private transfer, MNIST to USPS", transfer_usps, "transfer_mnist_usps"),
    section("Private transfer, USPS to MNIST", transfer_usps, "transfer_usps_mnist"),
    section(
        "Private transfer, MNIST to USPS, folds", transfer_usps_folds, "transfer_mnist_usps_folds"
    ),
    section(
        "Private transfer, USPS to MNIST, folds", transfer_usps_folds, "transfer_usps_mnist_folds"
    ),
    ("Private transfer, Office+Caltech with SURF features", office, "office"),
    ("All of MNIST, defaults", mnist, "mnist"),
    ("9,000/1,000 splits of 10,000 MNIST digits", mnist_split, "mnist_split"),
    ("Private training, 9,000 MNIST digits, δ = 1e-5, d = 1", private_digits, "private_digits"),
    ("Deep fuzzy classifier, 9,000/1,000 splits of MNIST digits", fuzzy_digits, "fuzzy_digits"),
    ("All of MNIST with noise on the test digits", test_noise, "test_noise"),
    ("Deep fuzzy classifier, accuracy against ε and δ", fuzzy_privacy, "fuzzy_privacy"),
    ("Human activity, five people left out", human_activity, "human_activity"),
    ("Noise on one core", noise, "noise"),
    ("Several releases, and whole records", accounting, "accounting"),
    ("Membership inference on models that overfit", attacks, "attacks"),
    ("Memory of a prediction", predict_memory, "predict_memory"),
]


def main():
    text = "# Benchmarks\n\nGenerated from `results/` by `python benchmarks/tables.py`.\n"
    for title, make, name in SECTIONS:
        if not (HERE / "results" / f"{name}.json").exists():
            continue  # not run yet
        record = load(name)
        text += f"\n## {title}\n\n{make()}\n\n"
        text += f"`{record['command']}` on {record['cores']} cores.\n"
    (HERE / "README.md").write_text(text)


main()
