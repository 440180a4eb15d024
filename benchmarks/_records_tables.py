"""The tables of records of mixed columns: the transfer beside what either side has by itself."""

from collections import Counter

from _comparisons import OUTCOMES, TITLES, Cell, by_draw, paired, sign_of
from _store import epsilon_of
from _table import Values, grouped, level_name, table, where
from _tables_peers import TABLES

MEASURES = ("auc", "log_loss", "brier", "balanced_accuracy", "balanced_decision")
# What the tables call the models of bench_records.py, in their order.
NAMES = {
    "target": "target alone",
    "self-training": "self-training",
    "all labels": "all labels",
    "source": "source alone",
    "transfer": "transfer",
}
SIDES = ("source", "target")
# Differences of a transfer that is its source, by the order of sums.
ROUNDING = 1e-12
# Largest loss of area under the ROC curve that counts as none where columns differ.
SAME = 0.01


def cells(rows, measure):
    """Yield a cell for each table, level and number of labels that has transfers."""
    found = grouped(rows, "case", "level", "model", "labels")
    for (case, level, model, labels), some in found.items():
        if model != "transfer":
            continue
        keys = {"all labels": ("-", None), "source": (level, 0), "transfer": (level, labels)}
        values = {}
        for name in NAMES:
            of_level, n = keys.get(name, ("-", labels))
            values[name] = by_draw(found.get((case, of_level, name, n), ()), measure)
        yield Cell(some[0], values, SIDES, sign_of(measure), ROUNDING)


def _of_records(cell):
    return cell.place["level"].startswith("record")


def _order(cell):
    place = cell.place
    order = (not _of_records(cell), -epsilon_of(place["level"]), place["labels"])
    return TABLES.index(place["case"]), *order


def _sorted(record):
    """Cells of each measure, in the order of the tables."""
    return {m: sorted(cells(record["rows"], m), key=_order) for m in MEASURES}


def outcomes(record):
    """Wins, ties and losses of each measure, kind of release and number of labels."""
    body = []
    for measure, those in _sorted(record).items():
        kinds = sorted({(cell.place["labels"], _of_records(cell)) for cell in those})
        for labels, of_records in kinds:
            some = [
                c for c in those if (c.place["labels"], _of_records(c)) == (labels, of_records)
            ]
            kind = "noisy statistics" if of_records else "noisy rows"
            counts = Counter(cell.outcome() for cell in some)
            head = [TITLES[measure], labels, kind, *(counts[each] for each in OUTCOMES)]
            gains = [[cell.gain() for cell in some]]
            gains += [[c.gain(name) for c in some if c.values[name]] for name in SIDES]
            means = (Values(gain.mean for gain in each) for each in gains)
            body.append([*head, *(f"{each:+.4f}" for each in means)])
    gains = ("gain", "over the source", "over the target")
    names = ("wins", "ties", "losses")
    return table(["measure", "labels of a class", "release", *names, *gains], body)


def values(record):
    """Rows of the value of each model by draw, and of the gain, in each measure and cell."""
    for measure, those in _sorted(record).items():
        for cell in those:
            head = {"measure": measure, "outcome": cell.outcome(), **cell.place}
            head["release"] = level_name(cell.place["level"])
            for name in NAMES:
                yield from ({**head, "model": name, "value": v} for v in cell.all_of(name))
            yield from ({**head, "model": "gain", "value": v} for v in cell.gain())


def columns(record):
    """Rows of targets with all columns and with others, of their source, and of differences."""
    rows = record["rows"]
    transfers = grouped(where(rows, model="transfer"), "case", "level", "labels")
    for (case, level, labels), some in transfers.items():
        values = {"source": by_draw(where(rows, case=case, level=level, model="source"), "auc")}
        for kind in ("all columns", "other columns"):
            values[kind] = by_draw(where(some, variant=kind), "auc")
        found = paired(values["other columns"], values["all columns"])
        head = {"case": case, "release": level_name(level), "labels": labels}
        head["within"] = found.mean >= -SAME
        for kind, by in {**values, "difference": dict(enumerate(found))}.items():
            yield from ({**head, "kind": kind, "auc": value} for value in by.values())
