"""The tables of regressions of a number, beside other packages, and of merged owners."""

from _comparisons import by_draw, paired
from _numbers_peers import METHODS
from _table import Values, grouped, pick, table, unique, where, with_columns

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
    for (level, model), some in list(grouped(rows, "level", "model").items()):
        n = min(len(where(some, case=case)) for case in cases)
        for k in range(n):  # of a table with more draws, each n-th
            each = (pick([r for r in some if r["draw"] % n == k], "value", case=c) for c in cases)
            mean = Values(values.mean for values in each).mean
            rows.append({"level": level, "model": model, "draw": k, "case": MEAN, "value": mean})
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
    """By how much "auto" is above each peer, and whether a table is below the best of them."""
    rows, cases = _ours(record)
    names = [name for name, method in METHODS.items() if "clear" not in method.levels]
    body = []
    for level in LEVELS:
        some, budget = where(rows, level=level), level.removeprefix("record ")
        for name in names:
            cells = [_less(where(some, case=case), name) for case in cases]
            ahead = "yes" if cells[0] and cells[0].mean > 0 else "**no**"
            body.append([name, budget, *map(_shown, cells), ahead])
        cells = [_less(where(some, case=case), *names) for case in cases]
        enough = all(cell.mean >= -ENOUGH for cell in cells[1:] if cell)
        last = "yes" if enough else "**no**"
        body.append(["best of each column", budget, *map(_shown, cells), last])
    return table(["less", "ε", *cases, "ahead; no table .01 below"], body)


def _less(rows, *names):
    """Differences by draw to the best of some methods."""
    own = by_draw(where(rows, model="auto"), "value")
    others = [by_draw(where(rows, model=name), "value") for name in names]
    others = [found for found in others if found]
    if not others:
        return Values()
    return paired(own, max(others, key=lambda found: Values(found.values()).mean))


def _shown(values):
    return f"{values:+.3f ±e}"
