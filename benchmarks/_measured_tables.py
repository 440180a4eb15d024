"""What tables show of simple results beyond their columns: columns made of others, and words."""

import numpy as np
from _confidence_data import CHOOSING, JUDGING
from _table import grouped, table, unique, where, with_columns
from scipy.stats import spearmanr


def _above(row):
    """By how many errors an estimate is above the truth."""
    return (row["estimate"] - row["truth"]) / row["standard_error"]


# Columns that are made of others, for the option "with".
PLANS = {
    "noise": lambda r: r["level"] if isinstance(r["level"], str) else f"ε = {r['level']}",
    "ten": lambda r: r["case"] in (*CHOOSING, *JUDGING),
    "finite": lambda r: not isinstance(r["level"], str),
    "error": lambda r: r["planned"] - r["auc"],
    "size": lambda r: abs(r["planned"] - r["auc"]),
    "loss_error": lambda r: r["planned_loss"] - r["log_loss"],
    "right": lambda r: float(
        (r["planned_loss"] < r["base_log_loss"]) == (r["log_loss"] < r["base_log_loss"])
    ),
}
ATTACKS = {"attack": lambda r: r["attack"].replace("_", " ")}
LEAKAGE = {"above": _above, "truth": lambda r: abs(r["truth"])}
MODELS = {
    "model": lambda r: "DPSource" if r["kind"] == "source" else "WideCDMMAClassifier",
    "relative": lambda r: r["peak_mib"] / r["data_mib"],
    "setting": lambda r: r["setting"] + " layers" * (r["kind"] == "classifier"),
}
# Models of bench_secure_sum.py, in their order.
SUMS = ("no noise", "single", "merged", "secure sum", "secure sum, a tenth", "one release")
SUMS += ("one release, auto",)
SECURE_SUMS = {
    "noise": lambda r: (
        "ε = ∞" if r["model"] == "no noise" else f"ε = {r['level']:g}, {r['model']}"
    ),
    "all": lambda r: r["variant"].endswith("all rows") and r["case"] != "heart disease",
    "place": lambda r: (r["model"] != "no noise", -r["level"], SUMS.index(r["model"])),
}
# Models of bench_neural.py: what the table calls them, and the figures of the papers by ε.
NEURAL = {
    "adaptive": ("AdLM, noise per batch, centered", {"0.25": 90.2, "0.5": 93.66}),
    "identical": ("ILM, noise per batch, centered", {"0.25": 88.46, "0.5": 92.39}),
    "adaptive, as printed": ("AdLM, noise per batch, as printed", {"0.5": 93.66}),
    "adaptive, noise per row": ("AdLM, noise per row, centered", {}),
    "cdbn": ("pCDBN, noise per batch", {"0.5": 93.08}),
    "cdbn, noise per row": ("pCDBN, noise per row", {}),
    "tcdbn": ("TCDBN, no noise", {}),
    "dpsgd": ("DP-SGD (Opacus)", {"0.25": 82.09, "0.5": 88.59}),
    "statistics": ("**DPStatisticsSource**", {}),
}


def mnist(record):
    plain = record["rows"][-1]

    def ratio(what):
        return lambda row: (
            plain[what] / row[what] if row["n_layers"] == plain["n_layers"] else None
        )

    return with_columns(record["rows"], fit=ratio("fit_seconds"), predict=ratio("predict_seconds"))


BEFORE = "c88a3bb"


def _code(row):
    return "before" if row["variant"] == BEFORE else "now"


def claims(record):
    rows = where(record["rows"], part="classes")
    cases = unique(rows, "case")
    # Of each case what has no noise comes last.
    rows.sort(key=lambda row: (cases.index(row["case"]), row["level"] == "-"))
    names = {"-": "logistic regression"}
    return with_columns(rows, code=_code, level=lambda row: names.get(row["level"], row["level"]))


def areas(record):
    def share_and_area(condition, name):
        """Whether something is so, in one column, and the area where it is, in another."""
        return {name: condition, f"{name}_auc": lambda row: row["auc"] if condition(row) else None}

    rows = with_columns(
        where(record["rows"], part="areas"),
        code=_code,
        tables=lambda row: "four hospitals" if row["case"].startswith("heart") else "six tables",
        error=lambda row: abs(row["expected"] - row["auc"]),
        within=lambda row: row.get("low", 0) <= row["auc"] <= row.get("high", 1),
        **share_and_area(lambda row: row["expected"] < 0.55, "refused"),
        **share_and_area(lambda row: row.get("low", 1) <= 0.5, "warned"),
        **share_and_area(lambda row: row.get("low", 0) > 0.5, "others"),
    )
    return sorted(rows, key=lambda row: row["tables"], reverse=True)


SHOWN = ("logistic regression", "5 neighbors", "SVC", "CDMMAClassifier")


def defaults(record):
    """Rows of classifiers, those of skdp before and after its defaults changed."""
    return with_columns(
        where(record["rows"], model=SHOWN),
        name=lambda r: f"{r['model']}, {r['variant']}" if r["model"] == SHOWN[-1] else r["model"],
        half=lambda r: "choosing" if r["level"] == "chosen" else "judging",
    )


def audits(record):
    return with_columns(record["rows"], fits=lambda row: 2 * record["settings"]["trials"])


ESTIMATES = (
    *("no labels, as claimed", "no labels", "10 labels", "30 labels", "100 labels"),
    *("LEEP, 100 labels", "LogME, 100 labels", "worth"),
)


def correlations(record):
    return "\n\n".join(_correlations(record["rows"], what) for what in ("worth", "gain"))


def _correlations(rows, what):
    kinds = {kind: where(rows, kind=kind) for kind in unique(rows, "kind")}
    lines = [
        [f"{kind}, {len(some)} releases", *_within(some, what)] for kind, some in kinds.items()
    ]
    lines.append([f"all, {len(rows)}, of one target", *_within(rows, what)])
    pooled = (f"{_correlation(rows, key, what):.2f}" for key in ESTIMATES)
    lines.append([f"all, {len(rows)}, together", *pooled])
    return table([what, *ESTIMATES], lines)


def _within(rows, what):
    """Mean correlations within targets and draws of three releases or more."""
    groups = [some for some in grouped(rows, "case", "draw").values() if len(some) >= 3]
    for key in ESTIMATES:
        found = np.array([_correlation(some, key, what) for some in groups])
        found = found[~np.isnan(found)]
        error = np.std(found) / np.sqrt(len(found)) if len(found) else 0
        yield f"{np.mean(found):.2f} ± {error:.2f}" if len(found) else "–"


def _correlation(rows, key, what):
    values = [[r[name] for r in rows] for name in (key, what)]
    return np.nan if min(map(np.ptp, values)) == 0 else spearmanr(*values).statistic


def exponents(record):
    slopes = record["settings"]["exponents"].items()
    text = "; ".join(f"{name.replace('_', ' ')} {slope:.2f}" for name, slope in slopes)
    return f"Exponents: {text}."
