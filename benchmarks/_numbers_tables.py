"""The tables of regressions of a number, beside other packages, and of merged owners."""

from _comparisons import less_best, means_over
from _numbers_peers import METHODS
from _table import grouped, table, unique, where, with_columns

OWN = {"linear": "skdp, linear", "additive": "skdp, additive", "auto": "skdp, auto"}
LEVELS = ("record 4", "record 1", "record 0.5")
MEAN = "mean of the four"
ENOUGH = 0.01  # by which a table may be below the best peer
COLUMNS = {
    "name": lambda r: OWN.get(r["model"], r["model"]),
    "own": lambda r: r["model"] in OWN,
    "budget": lambda r: r["level"].removeprefix("record ").replace("clear", "–"),
    # Of merged owners.
    "kind": lambda r: r["variant"].partition(", ")[0],
    "owners": lambda r: r["variant"].partition(", ")[2],
    # A value below 0 counts as 0; how far the expected R² is from it, and by how much above it.
    "reached": lambda r: max(r["r2"], 0.0),
    "error": lambda r: abs(r["expected_r2"] - max(r["r2"], 0.0)),
    "excess": lambda r: r["expected_r2"] - max(r["r2"], 0.0),
    "holds": lambda r: r["expected_low"] <= max(r["r2"], 0.0) <= r["expected_high"],
}


def _ours(record):
    """Rows that compare methods, R² below 0 as 0, with means over the tables."""
    rows = where(record["rows"], variant="default")
    rows = with_columns(rows, value=lambda row: max(row["r2"], 0.0))
    cases = unique(rows, "case")
    rows += list(means_over(cases, rows, ["value"], MEAN))
    return rows, (MEAN, *cases)


def peers(record):
    """Rows with names, by budget and method, and how many draws each method has."""
    rows, cases = _ours(record)
    order = (*OWN, *METHODS)
    rows.sort(key=lambda row: ((*LEVELS, "clear").index(row["level"]), order.index(row["model"])))
    rows.sort(key=lambda row: cases.index(row["case"]))
    counts = {len(some) for some in grouped(rows, "case", "level", "model").values()}
    draws = " to ".join(map(str, sorted({min(counts), max(counts)})))
    return with_columns(rows, draws=lambda row: draws)


def differences(record):
    """By how much "auto" is above each peer, and in which tables it is below it."""
    rows, cases = _ours(record)
    names = [name for name, method in METHODS.items() if "clear" not in method.levels]
    body = []
    for level in LEVELS:
        some, budget = where(rows, level=level), level.removeprefix("record ")
        for methods in (*([name] for name in names), names):
            cells = [less_best(where(some, case=c), "auto", methods, "value")[0] for c in cases]
            title = methods[0] if len(methods) == 1 else "best of each column"
            ahead = "yes" if cells[0].mean > 0 else "**no**"
            below = [
                c for c, cell in zip(cases[1:], cells[1:], strict=True) if cell.mean < -ENOUGH
            ]
            shown = (f"{values:+.3f ±e}" for values in cells)
            body.append(
                [title, budget, *shown, ahead, f"**{', '.join(below)}**" if below else "none"]
            )
    return table(["less", "ε", *cases, "ahead in the mean", "tables .01 below"], body)
