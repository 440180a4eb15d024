"""Tables of what noise, codes and predictions say, in nats."""

import numpy as np
from _table import load, table
from scipy.stats import spearmanr


def noise_information():
    rows = [
        [
            f"{r['epsilon']:g}",
            r["noise"] + (f", δ = {r['delta']:g}" if r["delta"] else ""),
            f"{r['expected_magnitude']:.4g}",
            f"{r['variance']:.4g}",
            f"{r['nats_of_a_uniform_value']:.3g}",
            f"{r['bound_of_any_prior']:.3g}",
            f"{r['nats_of_two_points']:.3g}",
            f"{r['bound_of_two_points']:.3g}",
        ]
        for r in load("noise_information")["rows"]
    ]
    header = ["ε", "noise", "E\\|v\\|", "E v²", "nats, uniform value", "bound, any prior"]
    return table([*header, "nats, two points", "bound, two points"], rows)


def leakage():
    rows = load("leakage")["rows"]
    return "\n\n".join(
        [
            "5,000 rows of which the information is known, in nats: means over draws, the error "
            "of one draw, and by how many errors the largest is above the truth. Beside them "
            "`mutual_info_regression` of scikit-learn, of each of the ten columns by itself.",
            _known(rows),
            "Lower and upper bounds of the same data, 1,000 to 4,000 rows; means over draws. "
            "Where the upper bound is attained, as of two values, estimates lie on both sides.",
            _bounds(rows),
            "The ink of 1,797 digits of 8 × 8 pixels, in nats (± a standard deviation over "
            "draws): what is left in noisy pixels, ε for one pixel, in the codes that a CDMMA "
            "makes of them, and in the class probabilities of a WideCDMMAClassifier.",
            _digits(rows),
        ]
    )


def _select(rows, **wanted):
    return [r for r in rows if all(r[key] == value for key, value in wanted.items())]


def _mean(rows, key):
    return float(np.mean([r[key] for r in rows]))


def _known(rows):
    lines = []
    for part in ("Gaussian pairs", "categories"):
        for case in dict.fromkeys(r["case"] for r in _select(rows, part=part)):
            some = _select(rows, part=part, case=case)
            above = max((r["estimate"] - r["truth"]) / r["standard_error"] for r in some)
            columns = (
                [f"{_mean(some, key):.3f}" for key in ("columns_best", "columns_sum")]
                if "columns_best" in some[0]
                else ["–", "–"]
            )
            lines.append(
                [
                    f"{part}, {case}",
                    f"{abs(some[0]['truth']):.4f}",
                    f"{_mean(some, 'estimate'):.4f}",
                    f"{_mean(some, 'standard_error'):.4f}",
                    f"{above:+.1f}",
                    f"{max(r['largest_of_null'] for r in some):.4f}",
                    *columns,
                ]
            )
    header = ["case", "truth", "estimate", "error", "above by", "largest, shuffled"]
    return table([*header, "best column", "sum of columns"], lines)


def _bounds(rows):
    rows = _select(rows, part="bounds")
    levels = sorted({r["epsilon"] for r in rows})
    lines = []
    for case in dict.fromkeys(r["case"] for r in rows):
        cells = []
        for level in levels:
            some = _select(rows, case=case, epsilon=level)
            cells.append(f"{_mean(some, 'estimate'):.3f} ≤ {_mean(some, 'bound'):.3f}")
        lines.append([case, *cells])
    above = [(r["estimate"] - r["bound"]) / r["standard_error"] for r in rows]
    said = (
        f"{sum(z > 0 for z in above)} of {len(above)} estimates are above their bound, the "
        f"farthest by {max(above):.1f} standard errors."
    )
    return table(["unit", *[f"ε = {level:g}" for level in levels]], lines) + "\n\n" + said


def _digits(rows):
    rows = _select(rows, part="digits")
    levels = list(dict.fromkeys(r["epsilon"] for r in rows))
    lines = []
    for case in dict.fromkeys(r["case"] for r in rows):
        cells = []
        for level in levels:
            found = [r["estimate"] for r in _select(rows, case=case, epsilon=level)]
            cells.append(f"{np.mean(found):.3f} ± {np.std(found):.3f}")
        lines.append([case, *cells])
    names = [f"ε = {level.removesuffix('.0').replace('inf', '∞')}" for level in levels]
    return table(["released", *names], lines)


_ESTIMATES = (
    "no labels, as claimed",
    "no labels",
    "10 labels",
    "30 labels",
    "100 labels",
    "LEEP, 100 labels",
    "LogME, 100 labels",
)


def transferability():
    rows = load("transferability")["rows"]
    kinds = dict.fromkeys(r["kind"] for r in rows)
    parts = [
        "Spearman's rank correlation of estimates with what releases turned out to be worth on "
        "other rows: in nats, and as the gain in log loss over a few labels alone. Among the "
        "releases for one target (three or more), means over targets and draws with their error; "
        "in the last line of all releases together. The last column: worth itself with the gain."
    ]
    for what in ("worth", "gain"):
        lines = []
        for name, some in {kind: _select(rows, kind=kind) for kind in kinds}.items():
            lines.append([f"{name}, {len(some)} releases", *_within(some, what)])
        lines.append([f"all, {len(rows)}, of one target", *_within(rows, what)])
        lines.append([f"all, {len(rows)}, together", *_pooled(rows, what)])
        parts.append(table([what, *_ESTIMATES, "worth"], lines))
    return "\n\n".join(parts)


def _within(rows, what):
    groups: dict = {}
    for r in rows:
        groups.setdefault((r["case"], r["draw"]), []).append(r)
    groups = [some for some in groups.values() if len(some) >= 3]
    cells = []
    for key in (*_ESTIMATES, "worth"):
        found = [_correlation(some, key, what) for some in groups]
        found = [value for value in found if not np.isnan(value)]
        error = np.std(found) / np.sqrt(len(found)) if found else 0
        cells.append(f"{np.mean(found):.2f} ± {error:.2f}" if found else "–")
    return cells


def _pooled(rows, what):
    return [f"{_correlation(rows, key, what):.2f}" for key in (*_ESTIMATES, "worth")]


def _correlation(rows, key, what):
    values = [[r[name] for r in rows] for name in (key, what)]
    return np.nan if min(map(np.ptp, values)) == 0 else spearmanr(*values).statistic
