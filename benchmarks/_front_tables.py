"""The page that compares: which model at which privacy level, against which peer."""

import functools
from collections import Counter

import _shift_tables
from _comparisons import OUTCOMES
from _plan import ALONE, DPSGD, LEVELS, NONE, PLAN, file_of
from _table import Values, first_variant, level_name, load, pick, table, where, with_columns
from _transfer_tables import FIRST, NOISE_AWARE, usual

TITLES = {
    "mnist-mnist": "MNIST → MNIST, 100 labels",
    "activity": "human activity, 5 labels a class",
    "office": "Office+Caltech, 3 labels a class",
    "mnist-usps": "MNIST → USPS, 100 labels",
    "usps-mnist": "USPS → MNIST, 100 labels",
}
SHOWN = ("8", "1", "0.1", "record 8", "record 1")
WITH_NOISE = LEVELS[1:]
ALIKE = ("mnist-mnist", "activity", "office")  # transfers whose sides have the same features


@functools.cache
def usual_rows(name):
    return usual(name, load(file_of(name))["rows"])


def figures(record=None):
    return _figures()


@functools.cache
def _figures():
    """Rows of each transfer at each level, with the name of their cell, and of other results."""
    rows = []
    for name in PLAN:
        kinds = {
            "": where(usual_rows(name), model="noise_aware", variant="default"),
            f"{DPSGD} ": where(usual_rows(name), model=DPSGD, variant="default"),
            "alone ": where(usual_rows(name), model=ALONE, variant=NOISE_AWARE),
            # The same for every draw of labels.
            "network ": where(usual_rows(name), model=ALONE, variant=DPSGD, draw=0),
        }
        least = pick(kinds[""], level=NONE).mean
        for kind, some in kinds.items():
            rows += with_columns(
                where(some, level=LEVELS),
                cell=lambda row, start=f"{name} {kind}": start + row["level"],
                gain=lambda row, least=least: (row["accuracy"] or 0) - least,
                weight=lambda row: row["source_weight"][-1],
            )
    mnist, people = (load(f"statistics_{name}")["rows"] for name in ("mnist", "activity"))
    others = {
        "pixels": where(mnist, case="pixels", level=8.0, model="source"),
        "gradients": where(mnist, case="oriented gradients", level=8.0, model="source"),
        "people": where(people, model="transfer", level=1.0, labels=5),
        "svm": where(load("office")["rows"], model="SVM-t"),
    }
    return rows + [{**row, "cell": cell} for cell, some in others.items() for row in some]


def of_cell(cell, key="accuracy"):
    return pick(figures(), key, cell=cell)


def papers(name, level):
    """The better of the papers' strategies on average, and its name."""
    rows = usual_rows(name)
    found = {m: first_variant(rows, FIRST[m], model=m, level=level)[0] for m in FIRST}
    found = {model: values for model, values in found.items() if values}
    best = max(found, key=lambda model: found[model].mean, default="")
    return found.get(best, Values()), best


def best_models(record):
    body = []
    for name, title in TITLES.items():
        for level in SHOWN:
            values, strategy = papers(name, level)
            cells = (NONE, f"alone {level}", level, f"network {level}", f"{DPSGD} {level}")
            found = [of_cell(f"{name} {cell}") for cell in cells]
            found.insert(3, values)
            best = max(values.mean for values in found if values)
            texts = [_marked(values, best) for values in found]
            texts[3] += f" {strategy}"
            body.append([title if level == SHOWN[0] else "", level_name(level), *texts])
    header = ["transfer", "privacy of the source", "target alone", ALONE, "noise-aware"]
    header += ["the papers' better strategy", f"{DPSGD}, released", f"{DPSGD}, tuned"]
    return table(header, body)


def _marked(values, best):
    if not values:
        return "–"
    text = f"{values:.1f ±} % ({len(values)})"
    return f"**{text}**" if values.mean == best else text


def _compared():
    cells = [(name, level) for name in PLAN for level in WITH_NOISE]
    return [(n, level) for n, level in cells if of_cell(f"{n} {level}") and papers(n, level)[0]]


def papers_ahead(record=None):
    ahead = [
        f"{TITLES[name].partition(',')[0]} at {level_name(level)} "
        f"({papers(name, level)[0]:.1f ±} % against {of_cell(f'{name} {level}'):.1f ±} %)"
        for name, level in _compared()
        if papers(name, level)[0].mean > of_cell(f"{name} {level}").mean
    ]
    return [{"number": len(ahead), "compared": len(_compared()), "ahead": "; ".join(ahead)}]


def shift(record=None):
    """Cells in which a transfer is better than the better side, and worse, by how labels are."""
    found = _shift_tables.cells(load("shift")["rows"], "log_loss")
    stratified = [cell for cell in found if cell.place["variant"] == "stratified"]
    others = [cell for cell in found if cell.place["variant"] != "stratified"]
    row = {}
    for start, some in (("", others), ("few_", stratified)):
        outcomes = Counter(cell.outcome() for cell in some)
        row[f"{start}won"], row[f"{start}lost"] = outcomes[OUTCOMES[0]], outcomes[OUTCOMES[2]]
        row[f"{start}cells"] = len(some)
    return [row]


def _all(column, holds, cells):
    return all(holds(of_cell(cell, column).mean) for cell in cells)


def _ahead(cell, other):
    return of_cell(cell).mean > of_cell(other).mean


OTHER_FEATURES = [
    f"{name} {level}" for name in ("mnist-usps", "usps-mnist") for level in WITH_NOISE
]
# What each sentence of advice rests on.
HOLDS = {
    "default": lambda: _all("gain", lambda v: v > -0.05, (f"{n} {e}" for n, e in _compared())),
    "elements": lambda: _all("gain", lambda v: v > 1.5, (f"{name} 8" for name in ALIKE)),
    "frequencies": lambda: _all("weight", lambda v: v < 0.05, (f"{name} 0.1" for name in ALIKE)),
    "papers": lambda: 0 < papers_ahead()[0]["number"] < 4,
    "statistics": lambda: (
        _ahead("gradients", "mnist-mnist network record 8")
        and _ahead("people", "activity network record 1")
    ),
    "other features": lambda: _all("weight", lambda v: v < 0.005, OTHER_FEATURES),
    "shift": lambda: shift()[0]["won"] > shift()[0]["lost"],
    "few labels": lambda: abs(of_cell("svm").mean - of_cell("office 0.1").mean) < 2,
}
