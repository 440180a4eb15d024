"""The tables of classifiers, noise, information, audits, encryption, federations."""

from math import inf

import numpy as np
from _table import Table, listing, of, pick, show, table, unique, where
from _tables_peers import TABLES
from scipy.stats import spearmanr

SPREAD = "{mean:.1p} ± {sd:.1p} %"
ACCURACY = "{accuracy:.2p} %"


def _privacy(rows):
    epsilon = float(rows[0]["epsilon"])
    return "not private" if epsilon == inf else f"{epsilon:g}"


def mnist(record):
    rows = record["rows"]
    plain = rows[-1]
    for row in rows:
        for what in ("fit", "predict"):
            same = row["n_layers"] == plain["n_layers"]
            ratio = plain[f"{what}_seconds"] / row[f"{what}_seconds"]
            row[what] = f"{ratio:.1f}×" if same else ""
    return listing(
        rows,
        {
            "model": "{model}",
            "layers": "{n_layers}",
            "accuracy": ACCURACY,
            "fit": "{fit_seconds:.0f} s",
            "predict": "{predict_seconds:.0f} s",
            "fit faster by": "{fit}",
            "predict faster by": "{predict}",
            "peak of fit above the data": ("{fit_peak_above_data_mib:.0f} MiB", ""),
        },
    )


mnist_split = Table(
    {
        "inference": "{inference}",
        "layers": "{n_layers}",
        "ten folds, mean ± sd": SPREAD,
        "range": "{min:.2p} % … {max:.2p} %",
        "first 9,000 / last 1,000": "{last_1000:.2p} %",
    }
)
private_digits = Table(
    {
        "ε": "{epsilon:g}",
        "noise": "{noise}",
        "E\\|v\\|": "{expected_magnitude:.3f}",
        "accuracy, mean ± sd": SPREAD,
    }
)
fuzzy_digits = Table(
    {
        "": ("test noise, sd {test_noise_sd:g}", "training noise, ε = {epsilon:g}"),
        "accuracy, ten folds, mean ± sd": SPREAD,
    }
)
# Of SERUMS D3.1 (2019), Table 4.1.
REPORTED = {
    "reported for the fuzzy model": (0.9863, 0.9825, 0.9630, 0.9019, 0.7818, 0.6335),
    "reported for its CNN": (0.9897, 0.9608, 0.8198, 0.6227, 0.4482, 0.3203),
}


def test_noise(record):
    found = {row["model"]: row["scores"] for row in record["rows"]} | REPORTED
    rows = [[name, *(f"{100 * v:.2f} %" for v in scores)] for name, scores in found.items()]
    return table(["model", *(f"sd {sd:g}" for sd in record["settings"]["test_noise_sd"])], rows)


def fuzzy_privacy(record):
    rows = sorted(record["rows"], key=lambda row: (row["delta"], row["epsilon"]))
    make = Table(
        {"δ": "{delta:g}", "ε": "{epsilon:g}"},
        by=("delta", "epsilon"),
        across=("noise", (SPREAD, "(ε ≥ 1)")),
        about="![accuracy](../../benchmarks/results/fuzzy_privacy.png)",
    )
    return make({"rows": rows})


human_activity = Table({"ε": _privacy}, by=("epsilon",), across=("model", SPREAD))
predict_memory = Table(
    {
        "features": "{n_features:,}",
        "rows": "{n_rows:,}",
        "peak above input and output": "{peak_above_in_and_out_mib:.0f} MiB",
    }
)
noise = Table(
    {
        "noise": "`{noise}`",
        "million values a second": "{million_values_a_second:.3g}",
        "speed relative to NumPy": "{speed_ratio_to_numpy:.3g}",
        "values": "{values:,}",
        "peak above input and output": "{peak_above_in_and_out_mib:.0f} MiB",
    }
)
accounting = Table(
    {
        "what": "{what}",
        "noise": "{noise}",
        "ε per element": "{epsilon:g}",
        "ε by closed form": "{closed_form_epsilon:.4g} (δ = {closed_form_delta:.1g})",
        "ε at δ = {delta:g} by privacy-loss distribution": "{tight_epsilon:.4g}",
    }
)


def _title(attack):
    return attack.replace("_", " ")


_ATTACKED = {"model": "{model}", "ε per element": _privacy}
_ATTACKS = {"by": ("model", "epsilon")}
_ACCURACIES = Table(
    {**_ATTACKED, "members": "{train_accuracy:.0p} %", "others": "{test_accuracy:.0p} %"},
    across=("attack", "{accuracy:.3f}", _title),
    about="Accuracy of each attack with as many members as others, mean over {draws} draws "
    "(guessing: 0.5), and what the model itself reaches on members and others:",
    **_ATTACKS,
)
_AREAS = Table(
    {**_ATTACKED, "claimed per record": lambda rows: f"{rows[0]['record_epsilon']:g}"},
    across=("attack", "{auc:.3f}", _title),
    then={
        "TPR at 1 %": lambda rows: f"{max(pick(rows, 'tpr_at_1%')):.0%}",
        "audited ε ≥": lambda rows: f"{max(pick(rows, 'epsilon_lower')):.2f}",
    },
    about="Area under the ROC curve, and the greatest true-positive rate at 1 % false positives "
    "and lower bound of ε (95 % confidence each) that any attack and draw found, beside the ε "
    "that is claimed for a record:",
    **_ATTACKS,
)


def attacks(record):
    return f"{_ACCURACIES(record)}\n\n{_AREAS(record)}"


def _refuted(rows):
    bound = show("{epsilon_lower:.2f}", rows)
    return f"**{bound}**" if rows[0]["refuted"] else bound


def _first(key):
    return lambda rows: f"{float(rows[0][key]):.2f}"


def _power(audit, subject, unit):
    def sizes(cell):
        return "size", cell, f"{{:,}} {unit}".format

    below = tuple(
        Table({"": f"{name}, first row"}, by=("audit",), across=sizes(_first(key)))
        for name, key in (("detects at least", "epsilon_detectable"), ("limit", "epsilon_limit"))
    )
    columns = {subject: "{audited}: {leak}"}
    by, rows = ("audited", "leak"), {"audit": audit}
    return Table(columns, by=by, across=sizes(_refuted), below=below, where=rows)


_POWER = (
    _power("mechanism", "leak", "trials"),
    _power("membership inference", "model", "records"),
)
_ALARMS = {
    "audited": "{audited}",
    "unit": "{unit}",
    "false alarms": lambda rows: "{refuted} of {audits}".format_map(rows[0]),
}


def audit_power(record):
    tables = "\n\n".join(make(record) for make in _POWER)
    return (
        "Lower bound of ε that the audit finds, bold where it refutes the claim. An audit of this "
        "size refutes, about every other time, a mechanism whose true ε is what it *detects at "
        f"least*, and none can show more than the *limit*.\n\n{tables}\n\n"
        "Right mechanisms that were refuted, at 90 % confidence:\n\n"
        + listing(where(record["rows"], audit="false alarms"), _ALARMS)
    )


_BOUNDS = {
    "bound": "{epsilon_lower:.2f}",
    "by one event": "{event_epsilon_lower:.2f}",
    "μ": "{mu_lower:.2f} of {mu:.2f}",
}


def release_audit(record):
    fits = 2 * record["settings"]["trials"]
    right = where(record["rows"], bug="none")
    wrong = [row for row in record["rows"] if row not in right]
    stands = {"refuted": lambda rows: "no" if rows[0]["passed"] else "yes"}
    falls = {"refuted": lambda rows: "no" if rows[0]["passed"] else "**yes**"}
    return (
        f"Lower bound of the ε of a source of statistics, by {fits:,} fits, the default number, "
        "half of them with one more record, at 95 % confidence and δ = 1e-5: the greater of that "
        "of the Gaussian losses it states, by μ, and of one whatever its losses are, by a single "
        "event.\n\n"
        + listing(right, {"ε": "{epsilon:g}", **_BOUNDS, **stands})
        + "\n\nOf sources with a planted bug, that claim ε = 10:\n\n"
        + listing(wrong, {"bug": "{bug}", "model": "{model}", **_BOUNDS, **falls})
    )


noise_information = Table(
    {
        "ε": "{epsilon:g}",
        "noise": lambda rows: show(
            "{noise}, δ = {delta:g}" if rows[0]["delta"] else "{noise}", rows
        ),
        "E\\|v\\|": "{expected_magnitude:.4g}",
        "E v²": "{variance:.4g}",
        "nats, uniform value": "{nats_of_a_uniform_value:.3g}",
        "bound, any prior": "{bound_of_any_prior:.3g}",
        "nats, two points": "{nats_of_two_points:.3g}",
        "bound, two points": "{bound_of_two_points:.3g}",
    }
)


def _errors_above(rows, truth):
    return [(row["estimate"] - row[truth]) / row["standard_error"] for row in rows]


_KNOWN = {
    "case": "{part}, {case}",
    "truth": lambda rows: f"{abs(rows[0]['truth']):.4f}",
    "estimate": "{estimate:.4f}",
    "error": "{standard_error:.4f}",
    "above by": lambda rows: f"{max(_errors_above(rows, 'truth')):+.1f}",
    "largest, shuffled": lambda rows: f"{max(pick(rows, 'largest_of_null')):.4f}",
    "best column": "{columns_best:.3f}",
    "sum of columns": "{columns_sum:.3f}",
}


def _digits_cell(rows):
    found = pick(rows, "estimate")
    return f"{found:.3f} ± {np.std(found):.3f}"


def _digits_title(level):
    return f"ε = {level.removesuffix('.0').replace('inf', '∞')}"


def leakage(record):
    rows = record["rows"]
    known = where(rows, part=("Gaussian pairs", "categories"))
    bounds = {"across": ("epsilon", "{estimate:.3f} ≤ {bound:.3f}", "ε = {:g}".format)}
    digits = {"across": ("epsilon", _digits_cell, _digits_title)}
    above = _errors_above(where(rows, part="bounds"), "bound")
    of_case = {"by": ("case",)}
    parts = [
        "5,000 rows of which the information is known, in nats: means over draws, the error of "
        "one draw, and by how many errors the largest is above the truth. Beside them "
        "`mutual_info_regression` of scikit-learn, of each of the ten columns by itself.",
        listing(known, _KNOWN, by=("part", "case")),
        "Lower and upper bounds of the same data, 1,000 to 4,000 rows; means over draws. Where "
        "the upper bound is attained, as of two values, estimates lie on both sides.",
        Table({"unit": "{case}"}, where={"part": "bounds"}, **bounds, **of_case)(record),
        f"{sum(z > 0 for z in above)} of {len(above)} estimates are above their bound, the "
        f"farthest by {max(above):.1f} standard errors.",
        "The ink of 1,797 digits of 8 × 8 pixels, in nats (± a standard deviation over draws): "
        "what is left in noisy pixels, ε for one pixel, in the codes that a CDMMA makes of them, "
        "and in the class probabilities of a WideCDMMAClassifier.",
        Table({"released": "{case}"}, where={"part": "digits"}, **digits, **of_case)(record),
    ]
    return "\n\n".join(parts)


_ESTIMATES = (
    *("no labels, as claimed", "no labels", "10 labels", "30 labels", "100 labels"),
    *("LEEP, 100 labels", "LogME, 100 labels", "worth"),
)


def transferability(record):
    rows = record["rows"]
    parts = [
        "Spearman's rank correlation of estimates with what releases turned out to be worth on "
        "other rows: in nats, and as the gain in log loss over a few labels alone. Among the "
        "releases for one target (three or more), means over targets and draws with their error; "
        "in the last line of all releases together. The last column: worth itself with the gain."
    ]
    for what in ("worth", "gain"):
        lines = []
        for kind in unique(rows, "kind"):
            some = where(rows, kind=kind)
            lines.append([f"{kind}, {len(some)} releases", *_within(some, what)])
        lines.append([f"all, {len(rows)}, of one target", *_within(rows, what)])
        pooled = (f"{_correlation(rows, key, what):.2f}" for key in _ESTIMATES)
        lines.append([f"all, {len(rows)}, together", *pooled])
        parts.append(table([what, *_ESTIMATES], lines))
    return "\n\n".join(parts)


def _within(rows, what):
    groups: dict = {}
    for r in rows:
        groups.setdefault((r["case"], r["draw"]), []).append(r)
    groups = [some for some in groups.values() if len(some) >= 3]
    cells = []
    for key in _ESTIMATES:
        found = np.array([_correlation(some, key, what) for some in groups])
        found = found[~np.isnan(found)]
        error = np.std(found) / np.sqrt(len(found)) if len(found) else 0
        cells.append(f"{np.mean(found):.2f} ± {error:.2f}" if len(found) else "–")
    return cells


def _correlation(rows, key, what):
    values = [[r[name] for r in rows] for name in (key, what)]
    return np.nan if min(map(np.ptp, values)) == 0 else spearmanr(*values).statistic


def _size(key):
    def cell(rows):
        n_bytes = rows[0][key]
        scale, unit = (1e6, "MB") if n_bytes >= 1e6 else (1e3, "kB")
        return f"{n_bytes / scale:.{0 if n_bytes >= 10 * scale else 1}f} {unit}"

    return cell


_QUERIES = {"digits": "digits", "ties": "made up, many ties"}
_COMBINATION = {
    "participants × classes": "{participants} × {classes}",
    "queries": lambda rows: _QUERIES[rows[0]["queries"]],
    "equal to plain": "{n_equal} of {n_queries}",
    "query, processor": "{query_cpu_seconds:.1f} s",
    "query": "{query_seconds:.1f} s",
    "first query": "{first_seconds:.0f} s",
    "encryption": lambda rows: f"{1000 * rows[0]['encrypt_seconds']:.0f} ms",
    "circuit": "{compile_seconds:.0f} s",
    "keys": "{keys_seconds:.0f} s",
    "secret key": _size("secret_key_bytes"),
    "evaluation keys": _size("evaluation_keys_bytes"),
    "scores": _size("scores_bytes"),
    "class": _size("class_bytes"),
}


def combination(record):
    return (
        f"{record['rows'][0]['library']}, on one core. The first query unpacks the evaluation "
        "keys. Encryption and the size of scores are for one query and participant; keys and "
        "messages are those of `skdp.secure`, signatures included.\n\n"
        + listing(record["rows"], _COMBINATION)
    )


_FRAMEWORKS = {"flower": "Flower", "nvflare": "NVIDIA FLARE"}


def _refusals(rows):
    refused = rows[0]["refused"].items()
    return "; ".join(f"{o}: {why if len(why) < 60 else f'{why[:60]}…'}" for o, why in refused)


_PROCESSES = {
    "framework": lambda rows: _FRAMEWORKS[rows[0]["case"]],
    "owners": "{variant}",
    "until merged": "{run_seconds:.0f} s",
    "bytes sent": lambda rows: f"{len(rows[0]['bytes'])} × {max(rows[0]['bytes'].values()):,}",
    "bytes merged": "{merged_bytes:,}",
    "equals the merge of the owners' files": lambda rows: "yes" if rows[0]["equal"] else "**no**",
    "refused": _refusals,
    "error text elsewhere": lambda rows: "**yes**" if rows[0]["leaked"] else "no",
}


def federation(record):
    longest = max(row["timeout"] for row in record["rows"] if "hangs" in row["variant"])
    return (
        "Four hospitals of `load_heart_disease`, each a process, ε = 4, over the loopback "
        "interface. Seconds are those from the first process on; where one hangs, the server "
        f"waits {longest} s for it.\n\n" + listing(record["rows"], _PROCESSES)
    )


_PAIR = "{auc:.3f} / {log_loss:.3f}"
_BY_LEVEL = {
    f"ε = {level:g}, {model}": of(_PAIR, level=level, model=model)
    for level in (4.0, 1.0)
    for model in ("merged", "one noise")
}
_NOISES = {"cut into": "{variant}", "ε = ∞": of(_PAIR, model="no noise"), **_BY_LEVEL}
_ALL_ROWS = [f"{owners} owners, all rows" for owners in (4, 20, 100)]


def one_noise(record):
    six = {"case": TABLES, "variant": _ALL_ROWS}
    mean = Table({"table": "mean of six", **_NOISES}, by=("variant",), where=six)
    make = Table({"table": "{case}", **_NOISES}, by=("case", "variant"), below=(mean,))
    n_draws = len(unique(record["rows"], "draw"))
    return (
        f"AUC / log loss at the target without labels, means of {n_draws} draws. Merged: the "
        "releases of all owners, each with its own noise. One noise: one release of all their "
        "rows, what distributed noise under secure aggregation would come to.\n\n" + make(record)
    )


# Models of bench_neural.py: what the table calls them, and the figures of the papers by ε.
_NEURAL = {
    "adaptive": ("AdLM, noise per batch, centred", {"0.25": 90.2, "0.5": 93.66}),
    "identical": ("ILM, noise per batch, centred", {"0.25": 88.46, "0.5": 92.39}),
    "adaptive, as printed": ("AdLM, noise per batch, as printed", {"0.5": 93.66}),
    "adaptive, noise per row": ("AdLM, noise per row, centred", {}),
    "cdbn": ("pCDBN, noise per batch", {"0.5": 93.08}),
    "cdbn, noise per row": ("pCDBN, noise per row", {}),
    "tcdbn": ("TCDBN, no noise", {}),
    "dpsgd": ("DP-SGD (Opacus)", {"0.25": 82.09, "0.5": 88.59}),
    "statistics": ("**DPStatisticsSource**", {}),
}


def _published(rows):
    stated = _NEURAL[rows[0]["model"]][1].get(rows[0]["level"])
    return f"{stated} %" if stated else "–"


def _of_one_row(rows):
    epsilon = max(guarantee["epsilon"] for guarantee in pick(rows, "guarantee"))
    return "∞" if epsilon == inf else f"{epsilon:.4g}"


neural = Table(
    {
        "": lambda rows: _NEURAL[rows[0]["model"]][0],
        "ε": "{level:ε}",
        "accuracy": "{accuracy:.1f ±} % ({accuracy:count})",
        "paper": _published,
        "one record: ε": _of_one_row,
        "fit": "{fit_seconds:.0f} s",
    },
    by=("model", "level"),
    about="Accuracy on the 10,000 test digits (60,000 to train on), mean and standard deviation "
    "over seeds, their number in brackets. **ε**: the parameter, the papers' budget. **One "
    "record**: what `guarantee_` states for one labelled record, added or removed (DP-SGD, "
    "statistics; δ = 1e-5) or replaced; ∞ is no guarantee. The papers train for 500 to 2,400 "
    "epochs (AdLM, pCDBN), here it is 3 epochs, 2 of DP-SGD, and 1 of each lower layer and 15 "
    'above for pCDBN. *Centred* is `normalization="batch"`, which cancels the noise that the '
    "rows of a batch share; *as printed* is the response normalisation of the paper. Seconds "
    "of one fit on one core, beside other work.\n\n"
    "![accuracy](../../benchmarks/results/neural.png)",
)


def networks(record):
    names = list(_NEURAL)
    order = {"key": lambda row: (names.index(row["model"]), float(row["level"]))}
    return neural({"rows": sorted(record["rows"], **order)})
