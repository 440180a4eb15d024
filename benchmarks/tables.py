"""Write README.md of this folder from the result files, and from nothing else.

python benchmarks/tables.py
"""

import json
from pathlib import Path

HERE = Path(__file__).parent


def load(name):
    return json.loads((HERE / "results" / f"{name}.json").read_text())


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def percent(value):
    return f"{100 * value:.2f} %"


def spread(row):
    return f"{100 * row['mean']:.1f} ± {100 * row['sd']:.1f} %"


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
            f"{r['time_ratio_to_numpy']:.2f}",
            f"{r['peak_above_in_and_out_mib']:.0f} MiB",
        ]
        for r in load("noise")["rows"]
    ]
    return table(["noise", "time relative to NumPy", "peak above input and output"], rows)


def predict_memory():
    rows = [
        [f"{r['n_features']:,}", f"{r['n_rows']:,}", f"{r['peak_above_in_and_out_mib']:.0f} MiB"]
        for r in load("predict_memory")["rows"]
    ]
    return table(["features", "rows", "peak above input and output"], rows)


SECTIONS = [
    ("All of MNIST, defaults", mnist, "mnist"),
    ("9,000/1,000 splits of 10,000 MNIST digits", mnist_split, "mnist_split"),
    ("Private training, 9,000 MNIST digits, δ = 1e-5, d = 1", private_digits, "private_digits"),
    ("Deep fuzzy classifier, 9,000/1,000 splits of MNIST digits", fuzzy_digits, "fuzzy_digits"),
    ("All of MNIST with noise on the test digits", test_noise, "test_noise"),
    ("Deep fuzzy classifier, accuracy against ε and δ", fuzzy_privacy, "fuzzy_privacy"),
    ("Human activity, five people left out", human_activity, "human_activity"),
    ("Noise for 47 million float32 values", noise, "noise"),
    ("Memory of a prediction", predict_memory, "predict_memory"),
]


def main():
    text = "# Benchmarks\n\nGenerated from `results/` by `python benchmarks/tables.py`.\n"
    for title, make, name in SECTIONS:
        record = load(name)
        text += f"\n## {title}\n\n{make()}\n\n"
        text += f"`{record['command']}` on {record['cores']} cores.\n"
    (HERE / "README.md").write_text(text)


main()
