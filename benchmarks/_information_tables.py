"""Tables of what noise, codes and predictions say, in nats."""

import numpy as np
from _table import load, table


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
