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
