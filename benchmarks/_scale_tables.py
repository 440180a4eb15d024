"""The tables of speed and memory at growing sizes, against what is possible and against others."""

from _table import load, percent, table


def limits():
    rows, counts = [], []
    for r in load("limits")["rows"]:
        if r["what"] == "directions":
            counts.append([r["n_directions"], f"{r['errors_for_class']:.1f}",
                           f"{r['errors_for_all']:.1f}", r["of"]])  # fmt: skip
            continue
        rows.append(
            [
                r["n_layers"],
                r["n_jobs"],
                r["what"],
                f"{r['seconds']:.2f} s",
                f"{r['bare_seconds']:.2f} s",
                f"{r['ratio']:.2f}",
                percent(r["accuracy"]) if "accuracy" in r else "",
            ]
        )
    header = ["layers", "threads", "", "skdp", "bare calls", "ratio", "accuracy"]
    counted = ["directions", "computed to find the class", "to know all errors", "of"]
    return (
        table(header, rows)
        + "\n\nErrors of a digit that are computed in full, one layer:\n\n"
        + table(counted, counts)
    )


def growth():
    record = load("growth")
    rows = [
        [
            r["what"],
            f"{r['size']:,}",
            f"{r['fit_seconds']:.2f} s",
            f"{r['data_mib']:.0f} MiB",
            f"{r['model_mib']:.0f} MiB",
            f"{r['fit_peak_above_data_mib']:.0f} MiB",
            f"{r['queries']:,}",
            *(f"{r[f'{name}_seconds']:.2f} s" for name in ("predict", "predict_4", "predict_2")),
            *(percent(r[f"{name}_accuracy"]) for name in ("predict", "predict_4", "predict_2")),
        ]
        for r in record["rows"]
    ]
    probes = ("all", "n_probe=4", "n_probe=2")
    header = ["", "size", "fit", "data", "model", "peak of fit above the data", "queries"]
    header += [f"predict, {probe}" for probe in probes] + [
        f"accuracy, {probe}" for probe in probes
    ]
    slopes = record["settings"]["exponents"]
    exponents = "; ".join(
        f"{name.replace('_', ' ')} {slope:.2f}" for name, slope in slopes.items()
    )
    return table(header, rows) + f"\n\nExponents: {exponents}."


def digits_models():
    rows = [
        [
            r["model"],
            f"{r['rows']:,}",
            percent(r["accuracy"]),
            f"{r['fit_seconds']:.1f} s",
            f"{r['predict_seconds']:.2f} s",
            f"{1e6 * r['predict_seconds'] / r['queries']:.0f} µs",
            f"{r['fit_peak_above_data_mib']:.0f} MiB",
        ]
        for r in load("digits_models")["rows"]
    ]
    header = ["model", "rows", "accuracy", "fit", "predict", "a query"]
    return table([*header, "peak of fit above the data"], rows)


def memory():
    rows = [
        [
            {"source": "DPSource", "classifier": "WideCDMMAClassifier"}[r["kind"]],
            r["setting"] if r["kind"] == "source" else f"{r['setting']} layers",
            r["data"],
            r["step"],
            f"{r['before_mib']:.0f} MiB",
            f"{r['peak_mib']:.0f} MiB",
            f"{r['peak_mib'] / r['data_mib']:.2f}",
        ]
        for r in load("memory")["rows"]
    ]
    header = ["", "setting", "data", "step", "held before", "peak above the data"]
    return table([*header, "relative to the data"], rows)


def startup():
    imports, first, encoded = [], [], []
    for r in load("startup")["rows"]:
        if r["what"] == "import":
            ratios = [f"{r[key]:.2f}" for key in r if key.startswith("ratio_to")]
            imports.append([r["case"], f"{r['seconds']:.2f} s", *ratios])
        elif r["what"] == "first":
            keys = ("load", "first", "median_of_both", "again")
            steps = [f"{1000 * r[key]:.0f} ms" for key in keys]
            first.append([r["case"], *steps])
        else:
            encoded.append([r["case"], f"{r['million_values_a_second']:.1f}"])
    names = [row[0] for row in imports]
    return "\n\n".join(
        [
            table(["import", "seconds", *(f"relative to {name}" for name in names)], imports),
            table(["release", "load", "predict 1,000 rows", "both, median", "once more"], first),
            table(["columns", "million values encoded a second"], encoded),
        ]
    )
