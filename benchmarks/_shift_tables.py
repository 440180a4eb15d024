"""The tables of targets that differ from their source: the transfer against either side alone."""

from collections import Counter
from dataclasses import dataclass
from itertools import product

import numpy as np
from _comparisons import Paired
from _records_tables import OUTCOMES
from _table import load, mean_of, pick, table

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


@dataclass(frozen=True)
class Cell:
    """One kind of transfer to one target, in one measure: values of each model by draw."""

    task: str
    case: str
    sources: str
    level: str
    labels: int | None
    sampling: str
    measure: str
    values: dict

    def gain(self, over, model="transfer"):
        """Return by how much a model is better than another, draw by draw."""
        sign = MEASURES[self.measure][1]
        ours, theirs = (
            {draw: sign * value for draw, value in self.values[name].items()}
            for name in (model, over)
        )
        return Paired.of(ours, theirs)

    @property
    def better(self):
        """The better side: the release alone or the labels alone."""
        sign = MEASURES[self.measure][1]
        sides = [name for name in SIDES if name in self.values]
        return max(sides, key=lambda name: sign * mean_of(self.values[name].values()))

    def outcome(self, over, model="transfer"):
        """Say whether a model wins; within a standard error, or what counts as none, is a tie."""
        gain = self.gain(over, model)
        if abs(gain.mean) <= max(gain.error, MEASURES[self.measure][2]):
            return OUTCOMES[1]
        return OUTCOMES[0 if gain.mean > 0 else 2]

    @property
    def shown(self):
        """Number of labels, and how they were drawn, as text."""
        labels = "all" if self.labels is None else f"{self.labels}"
        return labels if self.sampling == NONE else f"{labels}, {self.sampling}"

    @property
    def epsilon(self):
        return self.level.removeprefix("record ")

    def means(self):
        """Mean of each model as text."""
        return [
            f"{mean_of(self.values[name].values()):.3f}" if name in self.values else "–"
            for name in NAMES
        ]


def cells(rows, measure):
    """Return the cells of a measure; from one hospital: draws are means over the three others."""
    found: dict = {}
    for row in rows:
        of_model = found.setdefault(_key(row), {}).setdefault(row["model"], {})
        of_model.setdefault(row["draw"], []).append(row[measure])
    values = {
        key: {
            model: {draw: mean_of(some) for draw, some in draws.items()}
            for model, draws in models.items()
        }
        for key, models in found.items()
    }
    made = []
    for key, own in values.items():
        if "transfer" in own:
            target, sources, level, labels, sampling = key
            alone = values.get((target, NONE, NONE, labels, sampling), {})
            release = values[target, sources, level, 0, NONE]["release"]
            models = {"release": release, **alone, **own}
            made.append(Cell(*target, sources, level, labels, sampling, measure, models))
    return made


def _key(row):
    sources = {NONE: NONE, "all": "three"}.get(row["source"], "one")
    return (row["task"], row["case"]), sources, row["level"], row["labels"], row["variant"]


def tables():
    """How often the transfer is better than its parts, where it is worse; and every cell."""
    rows = load("shift")["rows"]
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
    shown = dict.fromkeys(cell.shown for cell in found["log_loss"])
    for measure, model, labels in product(MEASURES, ("transfer", "class prior"), shown):
        some = [cell for cell in found[measure] if cell.shown == labels]
        others = [name for name in NAMES if name != "transfer"]
        counts = [_counts(some, lambda cell: cell.better, model)]
        counts += [_counts(some, lambda cell, name=name: name, model) for name in others]
        body.append([MEASURES[measure][0], NAMES[model], labels, *counts])
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
        below = [cell for cell in found if cell.outcome(cell.better) == OUTCOMES[2]]
        counts.append(f"{name}: {len(below)} of {len(found)} cells")
        for cell in below:
            gain = cell.gain(cell.better)
            place = [cell.case, cell.sources, cell.epsilon, cell.shown]
            body.append([name, *place, *cell.means(), f"{gain.mean:+.3f} ± {gain.error:.3f}"])
    header = ["measure", "target", "sources", "ε", "labels", *NAMES.values(), "gain"]
    return table(header, body) + "\n\n" + "; ".join(counts) + "."


def _averages(found):
    """Means of each measure over the targets of a task."""
    body = []
    for measure, of_measure in found.items():
        places: dict = {}
        for cell in of_measure:
            place = (TASKS[cell.task], cell.sources, cell.epsilon, cell.shown)
            places.setdefault(place, []).append(cell)
        for place, some in places.items():
            means = [
                [mean_of(cell.values[name].values()) for cell in some if name in cell.values]
                for name in NAMES
            ]
            texts = [f"{mean_of(each):.3f}" if each else "–" for each in means]
            body.append([MEASURES[measure][0], *place, *texts])
    return table(["measure", "targets", "sources", "ε", "labels", *NAMES.values()], body)


def _each(found):
    body = [
        [loss.case, loss.sources, loss.epsilon, loss.shown, *loss.means(), *area.means()]
        for loss, area in zip(found["log_loss"], found["auc"], strict=True)
    ]
    names = [f"*{letter}*, {name}" for letter in "la" for name in NAMES.values()]
    return table(["target", "sources", "ε", "labels", *names], body)


def hospitals():
    """The quickstart's question: means over the hospitals, and their spread over the draws."""
    record = load("hospitals")
    rows, body = record["rows"], []
    for model in dict.fromkeys(row["model"] for row in rows):
        cells = [np.array(pick(rows, key, model=model)) for key in ("auc", "log_loss")]
        body.append([model, *(f"{c.mean():.3f} ± {c.std(ddof=1):.3f}" for c in cells)])
    about = (
        "Each of the four hospitals is the fourth in turn; values of a draw are means over them. "
        "Mean ± standard deviation over {draws} draws of noise and of the {labels} patients with "
        "a diagnosis; ε = 4 for a whole record, δ = 1e-5."
    )
    return about.format(**record["settings"]) + "\n\n" + table(["", "AUC", "log loss"], body)
