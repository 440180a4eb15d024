"""The tables of targets that differ from their source: the transfer against either side alone."""

from collections import Counter
from itertools import product

from _comparisons import OUTCOMES, Cell, by_draw
from _table import Values, grouped, table

NONE = "-"
# Of each measure its name, whether more of it is better (1) or worse (-1), and the largest
# difference that counts as none.
MEASURES = {
    "log_loss": ("log loss", -1, 0.01),
    "auc": ("area under the ROC curve", 1, 0.005),
    "calibration": ("calibration error", -1, 0.01),
    "balanced_accuracy": ("balanced accuracy", 1, 0.01),
}
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
            made.append(Cell(groups[key][0], values, SIDES, *MEASURES[measure][1:]))
    return made


def tables(record):
    """How often the transfer is better than its parts, where it is worse; and every cell."""
    rows = record["rows"]
    found = {measure: cells(rows, measure) for measure in MEASURES}
    draws = sorted({len(cell.values["transfer"]) for cell in found["log_loss"]}, reverse=True)
    return "\n\n".join(
        [
            _ABOUT.format(draws=" or ".join(map(str, draws))),
            _outcomes(found),
            "Cells in which the transfer is below the better of release and labels alone by more "
            "than one standard error, and by more than .01 in log loss, .005 in area; *gain* is "
            "that difference with its standard error. Of two methods that are equally good, one "
            "is below the other by more than a standard error in a sixth of all cells.",
            violations(rows),
            "Means over targets:",
            _averages(found),
            "Means over draws of every cell; *l* is log loss, *a* the area under the ROC curve:",
            _each(found),
        ]
    )


_ABOUT = (
    "Means over {draws} draws, fewer of larger tables, of splits, labels and noise; δ = 1e-5, "
    "whole records. The release is of one hospital (each of the three others; values of a draw "
    "are their means) or there are three; of the rows on one side of a column; of men for women, "
    "or of employees of private firms for others. Half of the target's rows are to learn from, of "
    "which *labels* are known, drawn at random or (*stratified*) half of them of each class, as "
    "`label_sampling` says; the measures are of the other half. *Release alone*: its own "
    "probabilities, of three the mean of their log-probabilities. *Labels alone*: logistic "
    "regression with cross-validated strength; *boosting*: scikit-learn's histogram-based "
    "gradient boosting. *Frequencies given*: `class_prior` has those of the target's learning "
    "rows. The calibration error is the mean difference of probability and frequency in ten bins "
    "by quantiles; decisions of the balanced accuracy are those at probability 1/2."
)


def _outcomes(found):
    """Wins, ties and losses against each other model, by measure and labels."""
    body = []
    others = [name for name in NAMES if name != "transfer"]
    labels = dict.fromkeys(map(shown, found["log_loss"]))
    for measure, model, own in product(MEASURES, ("transfer", "class prior"), labels):
        some = [cell for cell in found[measure] if shown(cell) == own]
        counts = [_counts(some, lambda cell: cell.better, model)]
        counts += [_counts(some, lambda cell, name=name: name, model) for name in others]
        body.append([MEASURES[measure][0], NAMES[model], own, *counts])
    header = ["measure", "model", "labels", "better side", *(NAMES[name] for name in others)]
    ties = ", ".join(f"{least:g} in {name}" for name, _, least in MEASURES.values())
    return (
        "Wins / ties / losses by cells, a tie being within one standard error over draws of the "
        f"difference, or within {ties}; *better side*: the better of release and labels alone.\n\n"
        + table(header, body)
    )


def _counts(some, other, model):
    counts = Counter(
        cell.outcome(other(cell), model)
        for cell in some
        if other(cell) in cell.values and other(cell) != model
    )
    return " / ".join(str(counts[each]) for each in OUTCOMES) if counts else "–"


def violations(rows):
    """Say in which cells the transfer is below the better side, and how many there are."""
    body, counts = [], []
    for measure in ("log_loss", "auc"):
        name, found = MEASURES[measure][0], cells(rows, measure)
        below = [cell for cell in found if cell.outcome() == OUTCOMES[2]]
        counts.append(f"{name}: {len(below)} of {len(found)} cells")
        for cell in below:
            where = place(cell, cell.place["case"])
            body.append([name, *where, *cell.texts(NAMES, MEAN), format(cell.gain(), GAIN)])
    header = ["measure", "target", "sources", "ε", "labels", *NAMES.values(), "gain"]
    return table(header, body) + "\n\n" + "; ".join(counts) + "."


def _averages(found):
    """Means of each measure over the targets of a task."""
    body = []
    for measure, of_measure in found.items():
        places: dict = {}
        for cell in of_measure:
            places.setdefault(tuple(place(cell, TASKS[cell.place["task"]])), []).append(cell)
        for where, some in places.items():
            means = [
                Values(cell.all_of(name).mean for cell in some if name in cell.values)
                for name in NAMES
            ]
            body.append([MEASURES[measure][0], *where, *(format(each, MEAN) for each in means)])
    return table(["measure", "targets", "sources", "ε", "labels", *NAMES.values()], body)


def _each(found):
    body = [
        [*place(loss, loss.place["case"]), *loss.texts(NAMES, MEAN), *area.texts(NAMES, MEAN)]
        for loss, area in zip(found["log_loss"], found["auc"], strict=True)
    ]
    names = [f"*{letter}*, {name}" for letter in "la" for name in NAMES.values()]
    return table(["target", "sources", "ε", "labels", *names], body)
