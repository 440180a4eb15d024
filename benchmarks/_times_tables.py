"""The tables of times to an event, beside other models, and of merged owners."""

from _table import grouped, table

NAMES = {
    "skdp": "skdp",
    "DP logistic": "DP logistic",
    "DP-SGD, Cox loss": "DP-SGD, Cox loss",
    "Cox": "Cox, not private",
    "penalized Cox": "penalized Cox, not private",
    "boosting": "boosting, not private",
}
LEVELS = ("record 4", "record 1", "record 0.5", "clear")
CASES = ("flchain", "nwtco", "gbsg2", "whas500", "heart_failure")


QUARTERS = ("calibration_0.25", "calibration_0.5", "calibration_0.75")
COLUMNS = {
    "name": lambda r: NAMES[r["model"]],
    "budget": lambda r: "∞" if r["level"] == "clear" else r["level"].removeprefix("record "),
    "place": lambda r: [
        order.index(r[name])
        for name, order in (("case", CASES), ("level", LEVELS), ("model", [*NAMES]))
    ],
    # How far curves of survival are from those observed, and by how much above them.
    "calibration": lambda r: sum(abs(r[name]) for name in QUARTERS) / 3,
    "excess": lambda r: sum(r[name] for name in QUARTERS) / 3,
    # Of the package itself, how far the expected concordance is from that reached.
    "error": lambda r: abs(r["expected"] - r["c"]),
    "above": lambda r: r["expected"] - r["c"],
    "holds": lambda r: r["expected_low"] <= r["c"] <= r["expected_high"],
}
# By how much a transfer is better or worse than the better side.
MARGINS = {"c": 0.01, "ibs": 0.005}
GROUPS = {1: "to choose by", 2: "to judge by"}


def wins(record):
    """How often the transfer is better than the better side, as good, or worse."""
    body = []
    for (group, labels), some in grouped(record["rows"], "group", "labels").items():
        if not labels:
            continue
        gains = {name: [_gain(row, name) for row in some] for name in MARGINS}
        texts = [
            f"{sum(g > m for g in gains[n])} / {sum(abs(g) <= m for g in gains[n])} / "
            f"{sum(g < -m for g in gains[n])}; worst {min(gains[n]):+.3f}"
            for n, m in MARGINS.items()
        ]
        body.append([GROUPS[group], labels, *texts])
    return table(["tables", "outcomes", "concordance", "Brier score"], body)


def _gain(row, name):
    """By how much a transfer is better than the better side."""
    own, *sides = (row[f"{name}_{side}"] for side in ("transfer", "release", "outcomes"))
    sides = [side for side in sides if side is not None]
    return own - max(sides) if name == "c" else min(sides) - own
