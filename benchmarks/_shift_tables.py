"""The tables of targets that differ from their source: the transfer against either side alone."""

from collections import Counter
from itertools import product

from _comparisons import OUTCOMES, TITLES, Cell, by_draw, sign_of
from _shift_data import TARGETS
from _table import NOTHING, Values, grouped, pick, table, unique, where, with_columns

NONE = "-"
# Of each measure the largest difference that counts as none.
MEASURES = {"log_loss": 0.01, "auc": 0.005}
# What the tables call the models of bench_shift.py.
NAMES = {
    "release": "release alone",
    "labels": "labels alone",
    "boosting": "boosting",
    "transfer": "transfer",
    "class prior": "transfer, frequencies given",
}
# The two sides whose better one the transfer is not to fall below.
SIDES = ("release", "labels")
TASKS = {"heart": "four hospitals", "tables": "six tables by a column", "adult": "adult"}
MEAN, GAIN = ".3f", "+.3f ±e"


def sources(row):
    return {NONE: NONE, "all": "three"}.get(row["source"], "one")


def shown(cell):
    """Return the number of labels, and how they were drawn, as text."""
    labels, sampling = (cell.place[name] for name in ("labels", "variant"))
    text = "all" if labels is None else f"{labels}"
    return text if sampling == NONE else f"{text}, {sampling}"


def place(cell, name):
    """Return where a cell is, with a name of the target."""
    return [name, sources(cell.place), cell.place["level"].removeprefix("record "), shown(cell)]


def cells(rows, measure):
    """Return the cells of a measure; from one hospital: draws are means over the three others."""
    rows = [{**row, "sources": sources(row)} for row in rows]
    groups = grouped(rows, "task", "case", "sources", "level", "labels", "variant")
    found = {}
    for key, some in groups.items():
        models = grouped(some, "model").items()
        found[key] = {model: by_draw(of_model, measure) for (model,), of_model in models}
    made = []
    for key, own in found.items():
        if "transfer" in own:
            task, case, of_sources, level, n, sampling = key
            alone = found.get((task, case, NONE, NONE, n, sampling), {})
            release = found[task, case, of_sources, level, 0, NONE]["release"]
            values = {"release": release, **alone, **own}
            made.append(Cell(groups[key][0], values, SIDES, sign_of(measure), MEASURES[measure]))
    return made


def draws(record):
    """How many draws targets have, as text."""
    found = {len(cell.values["transfer"]) for cell in cells(record["rows"], "log_loss")}
    return [{"draws": " or ".join(map(str, sorted(found, reverse=True)))}]


def outcomes(record):
    """Wins, ties and losses against each other model, by measure and labels."""
    found = {measure: cells(record["rows"], measure) for measure in MEASURES}
    body = []
    others = [name for name in NAMES if name != "transfer"]
    labels = dict.fromkeys(map(shown, found["log_loss"]))
    for measure, own in product(MEASURES, labels):
        some = [cell for cell in found[measure] if shown(cell) == own]
        counts = [_counts(some, lambda cell: cell.better)]
        counts += [_counts(some, lambda cell, name=name: name) for name in others]
        body.append([TITLES[measure], own, *counts])
    header = ["measure", "labels", "better side", *(NAMES[name] for name in others)]
    return table(header, body)


def _counts(some, other):
    counts = Counter(cell.outcome(other(cell)) for cell in some if other(cell) in cell.values)
    return " / ".join(str(counts[each]) for each in OUTCOMES) if counts else "–"


def means(record):
    """Rows of the mean of each model over draws, in each measure and cell."""
    names = ("target", "sources", "ε", "labels")
    for measure in MEASURES:
        for cell in cells(record["rows"], measure):
            head = dict(zip(names, place(cell, cell.place["case"]), strict=True))
            head |= {"measure": TITLES[measure], "targets": TASKS[cell.place["task"]]}
            for model, name in NAMES.items():
                values = cell.all_of(model)
                yield {**head, "model": name, "value": values.mean if values else None}


def labels(record):
    """Rows of each data set, source and number of labels, with a text for each choice of these.

    A choice has its mean difference to a random one over draws, with the standard error, and
    whether it gains or loses more than that.
    """
    names = {case: name for name, cases in TARGETS.items() for case in cases}
    data = {"heart": "four hospitals", "tables": "twelve targets of tables"}
    rows = with_columns(record["rows"], data=lambda r: data.get(names.get(r["case"]), r["case"]))
    for (name, level, n_labels), some in grouped(rows, "data", "level", "labels").items():
        for measure in ("log_loss", "auc" if name in data.values() else "accuracy"):
            head = {"data": name, "level": level, "labels": n_labels, "measure": TITLES[measure]}
            head["random"] = _shown(measure, pick(some, measure, variant="random"))
            yield head | {
                variant: _difference(some, variant, measure)
                for variant in unique(some, "variant")
                if variant != "random"
            }


def _difference(rows, variant, measure):
    """Return the mean difference of a choice of labels to a random one, as text."""
    pairs = grouped(where(rows, variant=("random", variant)), "case", "draw").values()
    values = [{row["variant"]: row[measure] for row in pair} for pair in pairs]
    values = [v[variant] - v["random"] for v in values if None not in v.values()]
    if len(values) < 2:
        return NOTHING
    mean, error = Values(values).mean, Values(values).error
    better = (mean < 0) == (measure == "log_loss")
    text = _shown(measure, values, "+", " ±e")
    return f"{text}, **{'gain' if better else 'loss'}**" if abs(mean) > error else text


def _shown(measure, values, sign="", spread=""):
    number = f"{sign}{'.1f' if measure == 'accuracy' else '.3f'}"
    return f"{Values(values):{number}{spread}}"
