"""The tables of records of mixed columns: the transfer beside what either side has by itself."""

from collections import Counter
from dataclasses import dataclass

from _comparisons import Paired
from _table import level_name, load, mean_of, pick, table
from _tables_peers import TABLES

# Of each measure its name, and whether more of it is better (1) or worse (-1).
MEASURES = {
    "auc": ("area under the ROC curve", 1),
    "log_loss": ("log loss", -1),
    "brier": ("Brier score", -1),
    "balanced_accuracy": ("balanced accuracy", 1),
    "balanced_decision": ("balanced accuracy of decisions at the mean probability", 1),
}
# What the tables call the models of bench_records.py, in their order.
NAMES = {
    "target": "target alone",
    "self-training": "self-training",
    "all labels": "all labels",
    "source": "source alone",
    "transfer": "transfer",
}
# Largest loss of area under the ROC curve that counts as none where columns differ.
SAME = 0.01
OUTCOMES = ("win", "tie", "loss")


@dataclass(frozen=True)
class Cell:
    """A transfer, and what it is compared with, in one measure.

    ``values`` has the measure of each model by draw; ``better`` is the better of the source and
    the target alone, ``gain`` what the transfer has more of it, or less where less is better.
    """

    case: str
    level: str
    labels: int
    sign: int
    values: dict
    better: str

    @property
    def of_records(self):
        """Whether the release protects whole records."""
        return self.level.startswith("record")

    @property
    def gain(self):
        return self.gain_over(self.better)

    def gain_over(self, model):
        """Return by how much the transfer is better than another model, draw by draw."""
        ours, theirs = (
            {draw: self.sign * value for draw, value in self.values[name].items()}
            for name in ("transfer", model)
        )
        return Paired.of(ours, theirs)

    @property
    def outcome(self):
        """A tie within one standard error."""
        gain = self.gain
        return OUTCOMES[1 if abs(gain.mean) <= gain.error else 0 if gain.mean > 0 else 2]


def cells(rows, measure):
    """Yield a cell for each table, level and number of labels that has transfers."""
    _, sign = MEASURES[measure]
    found: dict = {}
    for row in rows:
        key = row["case"], row["level"], row["model"], row["labels"]
        found.setdefault(key, {})[row["draw"]] = row[measure]
    for case, level, model, labels in found:
        if model != "transfer":
            continue
        keys = {"all labels": ("-", None), "source": (level, 0), "transfer": (level, labels)}
        values = {
            name: found.get((case, of_level, name, n), {})
            for name in NAMES
            for of_level, n in [keys.get(name, ("-", labels))]
        }
        draws = values["transfer"].keys()
        alone = {
            name: sign * mean_of([values[name][draw] for draw in shared])
            for name in ("source", "target")
            if (shared := draws & values[name].keys())
        }
        yield Cell(case, level, labels, sign, values, max(alone, key=alone.get))


def tables():
    """How often the transfer is better than its parts; and every cell."""
    rows = load("records")["rows"]
    draws = len({row["draw"] for row in rows})
    found = {measure: sorted(cells(rows, measure), key=_place) for measure in MEASURES}
    parts = [_ABOUT.format(draws=draws), _outcomes(found)]
    for measure, (name, sign) in MEASURES.items():
        better = "more is better" if sign > 0 else "less is better"
        parts += [f"{name[0].upper()}{name[1:]}, {better}:", _each(found[measure])]
    return "\n\n".join([*parts, "Seconds of a fit, means over draws:", _seconds(rows)])


_ABOUT = (
    "Mean and standard error over {draws} draws on the target's test rows, each draw with splits, "
    "labels and noise of its own; ε of a record by noisy statistics (δ = 1e-5), ε of an element "
    "of the encoded rows by noisy rows. *Target alone* is logistic regression on the labelled "
    "rows, ten of each class; *self-training* is scikit-learn's around it, on all rows; *all "
    "labels* is logistic regression on all rows with their labels. *Gain*: by how much the "
    "transfer is better than the better of source and target alone, draw by draw, with its "
    "standard error; a tie is within one standard error."
)


def _place(cell):
    epsilon = float(cell.level.rpartition(" ")[2])
    return TABLES.index(cell.case), not cell.of_records, -epsilon, cell.labels


def _outcomes(found):
    """Wins, ties and losses of each measure, kind of release and number of labels."""
    body = []
    for measure, those in found.items():
        for labels, of_records in sorted({(c.labels, c.of_records) for c in those}):
            some = [c for c in those if (c.labels, c.of_records) == (labels, of_records)]
            kind = "noisy statistics" if of_records else "noisy rows"
            counts = Counter(cell.outcome for cell in some)
            head = [MEASURES[measure][0], labels, kind]
            body.append([*head, *(counts[each] for each in OUTCOMES), *_means(some)])
    gains = ("gain", "over the source", "over the target")
    names = ("wins", "ties", "losses")
    return table(["measure", "labels of a class", "release", *names, *gains], body)


def _means(those):
    """Mean gains over the better part, over the source and over the target, where there is one."""
    gains = [[cell.gain for cell in those]]
    gains += [
        [cell.gain_over(name) for cell in those if cell.values[name]]
        for name in ("source", "target")
    ]
    return [f"{mean_of([gain.mean for gain in some]):+.4f}" if some else "–" for some in gains]


def _each(those):
    body = [
        [
            cell.case,
            level_name(cell.level),
            cell.labels,
            *(_mean(cell.values[name]) for name in NAMES),
            f"{cell.gain.mean:+.4f} ± {cell.gain.error:.4f}",
            cell.outcome,
        ]
        for cell in those
    ]
    return table(["case", "release", "labels of a class", *NAMES.values(), "gain", ""], body)


def _mean(values):
    """Mean and standard error, as text."""
    if not values:
        return "–"
    found = Paired.of(values, dict.fromkeys(values, 0.0))
    return f"{found.mean:.3f} ± {found.error:.3f}"


def _seconds(rows):
    kinds = dict.fromkeys((row["model"], row["level"], row["labels"]) for row in rows)
    body = []
    for model, level, labels in kinds:
        times = [
            pick(rows, "fit_seconds", model=model, level=level, labels=labels, case=case)
            for case in TABLES
        ]
        head = [NAMES[model], "–" if level == "-" else level_name(level), _labels(labels)]
        body.append([*head, *(f"{mean_of(some):.2f}" if some else "–" for some in times)])
    return table(["", "release", "labels of a class", *TABLES], body)


def _labels(labels):
    return "all" if labels is None else labels


def columns():
    """Areas under the ROC curve where the target has other columns than the source."""
    rows = load("records_columns")["rows"]
    keys = dict.fromkeys(
        (row["case"], row["level"], row["labels"]) for row in rows if row["model"] == "transfer"
    )
    body = []
    for case, level, labels in keys:
        of_cell = [row for row in rows if (row["case"], row["level"]) == (case, level)]
        source = {row["draw"]: row["auc"] for row in of_cell if row["model"] == "source"}
        same, other = (
            {
                row["draw"]: row["auc"]
                for row in of_cell
                if (row["model"], row["variant"], row["labels"]) == ("transfer", variant, labels)
            }
            for variant in ("all columns", "other columns")
        )
        found = Paired.of(other, same)
        difference = f"{found.mean:+.4f} ± {found.error:.4f}"
        within = "yes" if found.mean >= -SAME else "**no**"
        head = [case, level_name(level), labels]
        body.append([*head, *map(_mean, (source, same, other)), difference, within])
    names = ["source alone", "all columns", "other columns", "difference", f"within {SAME:g}"]
    return (
        "Area under the ROC curve, mean and standard error over draws. The target has all columns "
        "of the source, or lacks two of them (hours-per-week and race on adult, kappa and "
        "creatinine on flchain) and has three others (capital-loss and workclass, sample.yr and "
        "flc.grp, and noise). *Source alone* has all of its columns.\n\n"
        + table(["case", "release", "labels of a class", *names], body)
    )
