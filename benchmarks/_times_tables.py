"""The tables of times to an event, beside other models, and of merged owners."""

from _measured_tables import with_columns
from _table import grouped, table, where

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


def _sorted(rows):
    """Rows with names, by table, method and budget."""
    rows = with_columns(rows, name=lambda row: NAMES[row["model"]], budget=_budget)
    order = list(NAMES)
    rows.sort(key=lambda row: (LEVELS.index(row["level"]), order.index(row["model"])))
    rows.sort(key=lambda row: CASES.index(row["case"]))
    return rows


def _budget(row):
    return "∞" if row["level"] == "clear" else row["level"].removeprefix("record ")


def peers(record):
    """Rows of all methods."""
    return _sorted(where(record["rows"], variant="default"))


def curves(record):
    """Rows of methods with curves of survival, and how far these are from those observed."""
    rows = [row for row in peers(record) if "brier" in row]
    quarters = ("calibration_0.25", "calibration_0.5", "calibration_0.75")
    return with_columns(
        rows,
        calibration=lambda row: sum(abs(row[name]) for name in quarters) / 3,
        excess=lambda row: sum(row[name] for name in quarters) / 3,
    )


def expected(record):
    """Rows of the package itself with how far the expected concordance is from that reached."""
    return with_columns(
        _sorted(where(record["rows"], variant="default", model="skdp")),
        error=lambda row: abs(row["expected"] - row["c"]),
        above=lambda row: row["expected"] - row["c"],
        holds=lambda row: row["expected_low"] <= row["c"] <= row["expected_high"],
    )


def merged(record):
    """Rows of owners' releases."""
    rows = [row for row in record["rows"] if row["variant"] != "default"]
    return with_columns(rows, budget=_budget)


# By how much a transfer is better or worse than the better side.
MARGINS = {"c": 0.01, "ibs": 0.005}
GROUPS = {1: "to choose by", 2: "to judge by"}


def transfer(record):
    """Rows of a target with some outcomes, as texts where there may be none."""

    def alone(row):
        if row["ibs_outcomes"] is None:
            return "–"
        return f"{row['c_outcomes']:.3f} ({row['ibs_outcomes']:.3f})"

    rows = with_columns(record["rows"], alone=alone)
    return with_columns(rows, known=lambda row: f"{row['labels']} ({row['events']:.0f})")


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
