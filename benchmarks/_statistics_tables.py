"""The tables of releases of private statistics, beside other packages and the target alone."""

from _comparisons import comparisons, less_best, means_over
from _table import epsilon_name, grouped, table, where, with_columns
from _tables_peers import METHODS, OWN, TABLES
from bench_adaptation import CHOSEN_ON

# What the tables call the models of bench_statistics.py.
NAMES = {
    "source": "source alone",
    "target": "target alone",
    "logistic regression, target": "target alone, logistic regression",
    "forest on samples": "random forest on samples of the release",
    "logistic regression on samples": "logistic regression on samples of the release",
    "quadratic discriminant on samples": "quadratic discriminant on samples of the release",
}
MEAN = "mean of the six"


COLUMNS = {
    "name": lambda r: NAMES.get(r["model"], r["model"]),
    "epsilon": lambda r: "–" if r["model"].startswith("target") else f"{r['level']:g}",
}


def _order(row):
    """The ceiling, then by falling budget and by name, then what needs no source."""
    level = row["level"]
    if level.startswith("record"):
        return 1, -float(level.removeprefix("record ")), row["model"]
    return (0 if level == "clear" else 2), 0.0, row["model"]


def _budget(level):
    return epsilon_name(level.removeprefix("record ")) if level.startswith("record") else "–"


def peers(record):
    """Rows of six tables, and means over these of each draw that has all."""
    rows, cases = list(record["rows"]), (MEAN, *TABLES)
    rows += list(means_over(TABLES, rows, ("auc", "log_loss", "brier"), MEAN))
    rows.sort(key=lambda row: (*_order(row), cases.index(row["case"])))
    counts = sorted({len(some) for some in grouped(rows, "case", "level", "model").values()})
    seeds = " or ".join(map(str, counts))
    return with_columns(
        rows,
        name=lambda row: f"**{OWN}**" if row["model"] == OWN else row["model"],
        budget=lambda row: _budget(row["level"]),
        seeds=lambda row: seeds,
    )


def differences(record):
    """Paired differences to the best peer of each column, and to the one in the same terms."""
    rows = peers(record)
    names = [name for name, method in METHODS.items() if method.python]
    same = [name for name in names if METHODS[name].view == "terms"]
    others = [name for name in names if name not in same]
    body = []
    for level in METHODS[OWN].levels:
        for title, of_title in (("best peer", others), (*same, same)):
            some = where(rows, level=level)
            cells = (_difference(where(some, case=case), of_title) for case in (MEAN, *TABLES))
            body.append([title, _budget(level), *cells])
    return table(["less", "ε", MEAN, *TABLES], body)


def _difference(rows, names):
    """The package's own method less the best of some others, as text."""
    values, best = less_best(rows, OWN, names, "auc")
    return f"{values:+.3f ±e}" + f" ({best})" * (len(names) > 1 and bool(values))


def compared(record):
    """Rows by draw of each transfer, of what it starts from, and of its gain."""
    for cell in comparisons(record["rows"]):
        below = cell.gain().mean < -cell.gain().error
        head = {name: cell.place[name] for name in ("case", "level", "labels")}
        values = {model: cell.all_of(model) for model in cell.values} | {"gain": cell.gain()}
        for model, some in values.items():
            yield from ({**head, "below": below, "model": model, "value": v} for v in some)


# The rule of adaptation was chosen on some cases, and is judged by others, which come first.
ADAPTATION = {
    "kind": lambda r: "chosen" if r["case"] in CHOSEN_ON else "judged",
    "place": lambda r: r["case"] in CHOSEN_ON,
    "gain": lambda r: r["accuracy"] - r["accuracy_alone"],
}
