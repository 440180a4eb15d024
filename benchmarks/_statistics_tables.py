"""The tables of releases of private statistics, beside other packages and the target alone."""

from collections import Counter

from _comparisons import Paired, comparisons
from _table import counted, epsilon_name, load, mean_of, pick, table
from _tables_peers import METHODS, OWN, TABLES

# What the tables call the models of bench_statistics.py.
NAMES = {
    "source": "source alone",
    "target": "target alone",
    "logistic regression, target": "target alone, logistic regression",
    "forest on samples": "random forest on samples of the release",
    "logistic regression on samples": "logistic regression on samples of the release",
    "quadratic discriminant on samples": "quadratic discriminant on samples of the release",
}


def tables_peers():
    """Areas under the ROC curve by method, budget and table; differences; other measures."""
    rows = load("tables_peers")["rows"]
    counts = Counter((row["case"], row["level"], row["model"]) for row in rows)
    draws = " or ".join(map(str, sorted(set(counts.values()))))
    methods = list(dict.fromkeys((row["level"], row["model"]) for row in rows))
    methods.sort(key=lambda method: _order(*method))
    areas, others = [], []
    for level, model in methods:
        ours = [row for row in rows if (row["level"], row["model"]) == (level, model)]
        head = [f"**{model}**" if model == OWN else model, _budget(level)]
        cases = (None, *TABLES)
        areas.append([*head, *(_area(list(_by_draw(ours, "auc", c).values())) for c in cases)])
        others.append([*head, *_other_measures(ours)])
    return (
        "Area under the ROC curve on the target's test rows, mean and standard deviation over "
        f"{draws} seeds, each with its own splits, labels and noise. All but one see the "
        "source's rows and no label of the target; *target* sees the target's 10 labelled rows "
        "of each class (20 on randhie) and no source; *source* is without privacy. δ = 1e-5, a "
        f"whole record with its label: {OWN}, DP-EBM and DP-SGD add or remove one, diffprivlib "
        f"(δ = 0) replaces one, and for all but {OWN} the number of rows is public. The "
        f"settings of all of them, those in {OWN} too, were chosen on these tables, with the test "
        "labels of further seeds and at no cost in ε. *In skdp's terms*: on the public functions "
        f"of columns that {OWN} uses.\n\n"
        + table(["AUC", "ε", "mean of the six", *TABLES], areas)
        + f"\n\nAUC of {OWN} less that of another method, and the standard error of this "
        "difference over the seeds of both. *Best peer*: of each column, as the packages come:\n\n"
        + table(["less", "ε", "mean of the six", *TABLES], _differences(rows))
        + "\n\nAccuracy on adult (76 % are in the larger class), log loss and Brier score of the "
        "probabilities (means over the six tables), and processor seconds of one fit and the "
        "scores of all test rows:\n\n"
        + table(["", "ε", *OTHER_MEASURES, *(f"{name}, s" for name in TABLES)], others)
    )


OTHER_MEASURES = ("accuracy, adult", "log loss", "Brier score")


def _other_measures(rows):
    accuracy = pick(rows, case="adult")
    cells = [f"{mean_of(accuracy):.1f} %" if accuracy else "–"]
    for measure in ("log_loss", "brier"):
        values = _by_draw(rows, measure, None).values()
        cells.append(f"{mean_of(values):.3f}" if values else "–")
    seconds = [pick(rows, "fit_seconds", case=name) for name in TABLES]
    return cells + [f"{mean_of(values):.2f}" if values else "–" for values in seconds]


def _by_draw(rows, measure, case):
    """Values of a table by draw; of all tables (None), the means of draws that have all."""
    if case is not None:
        return {row["draw"]: row[measure] for row in rows if row["case"] == case}
    draws = dict.fromkeys(row["draw"] for row in rows)
    found = {draw: pick(rows, measure, draw=draw) for draw in draws}
    return {draw: mean_of(v) for draw, v in found.items() if len(v) == len(TABLES)}


def _differences(rows):
    """Paired differences to the best peer of each column, and to the one in the same terms."""
    peers = [name for name, method in METHODS.items() if method.python]
    same = [name for name in peers if METHODS[name].view == "terms"]
    found = []
    for level in METHODS[OWN].levels:
        ours = [row for row in rows if row["level"] == level]
        for title, names in (("best peer", set(peers) - set(same)), (*same, same)):
            cells = [_difference(ours, names, case) for case in (None, *TABLES)]
            found.append([title, _budget(level), *cells])
    return found


def _difference(rows, names, case):
    """The package's own method less the best of some others, as text."""
    values = {
        name: _by_draw([row for row in rows if row["model"] == name], "auc", case)
        for name in (OWN, *names)
    }
    own, others = values.pop(OWN), {name: found for name, found in values.items() if found}
    if not own or not others:
        return "–"
    best = max(others, key=lambda name: mean_of(others[name].values()))
    paired = Paired.of(own, others[best])
    return f"{paired.mean:+.3f} ± {paired.error:.3f}" + f" ({best})" * (len(names) > 1)


def releases(task, about):
    """Accuracy by case, budget, model and labels; and whether a transfer falls below a part."""
    rows = load(f"statistics_{task}")["rows"]
    keys = ("case", "level", "model", "labels")
    cells = dict.fromkeys(tuple(row[key] for key in keys) for row in rows)
    body = [
        [case, _level(level, model), NAMES.get(model, model), labels, counted(values)]
        for case, level, model, labels in cells
        for values in [pick(rows, case=case, level=level, model=model, labels=labels)]
    ]
    return (
        f"{about} In brackets the number of draws.\n\n"
        + table(["case", "ε for a record", "model", "labels", "accuracy"], body)
        + f"\n\n{BELOW}\n\n"
        + _comparisons(rows, "labels", lambda values: counted(list(values)))
    )


# Cases of bench_adaptation.py on which the rule was chosen.
CHOSEN_ON = ("activity 0", "activity 1", "USPS, pixels", "office")


def adaptation():
    """Accuracy and log loss of a release alone and of a transfer, without labels and with 100."""
    rows = load("adaptation")["rows"]
    kinds = ("case", "model", "level")
    cells = dict.fromkeys(tuple(row[key] for key in kinds) for row in rows)
    body, worst = [], {"chosen": [], "judged": []}
    for cell in sorted(cells, key=lambda cell: cell[0] in CHOSEN_ON):
        case, model, level = cell
        kind = "chosen" if case in CHOSEN_ON else "judged"
        none, some = (
            next(r for r in rows if tuple(r[k] for k in kinds) == cell and r["labels"] == labels)
            for labels in (0, 10)
        )
        gains = [each["accuracy"] - each["accuracy_alone"] for each in (none, some)]
        worst[kind] += gains
        adapted = f"{none['adapted']:.1f}" if "adapted" in none else "–"
        losses = none["log_loss_alone"], none["log_loss"], some["log_loss"]
        body.append(
            [case, kind, model, f"{level:g}", f"{none['accuracy_alone']:.1f}"]
            + [f"{none['claimed_alone']:.1f}", adapted]
            + [f"{gain:+.1f}" for gain in gains]
            + [f"{loss:.2f}" for loss in losses]
        )
    header = ["case", "the rule was", "model", "ε", "release alone", "claimed", "adapted alone"]
    header += ["no label", "10 labels a class", "log loss, release alone", "no label", "10"]
    least = ", ".join(
        f"{min(gains):+.1f} where it was {kind} and {sum(gains) / len(gains):+.1f} on average"
        for kind, gains in worst.items()
        if gains
    )
    return (
        "Accuracy on the target's unlabelled rows in per cent, and points gained on the release "
        "alone. *Claimed*: the mean largest probability by the release. *Adapted alone*: what "
        "follows the target's rows, where it was taken; otherwise the release alone predicts. "
        f"Least and mean gains: {least}. The rule was *chosen* on some cases and *judged* on the "
        "others, though all had been seen before, so that judging is no proof.\n\n"
        + table(header, body)
    )


BELOW = (
    "Transfer beside the source alone and the target alone; *difference*: less the better of "
    "these, with the standard error over draws; *below*: whether by more than that."
)


def never_below(about):
    """Areas under the ROC curve of the source and the target alone, and of the transfer."""
    rows = load("statistics_tables")["rows"]
    return f"{about} {BELOW}\n\n" + _comparisons(
        rows, "labels of a class", lambda values: _area(list(values))
    )


def _comparisons(rows, of_labels, text):
    found = list(comparisons(rows))
    models = [name for name in NAMES if any(name in each.values for each in found)]
    body = []
    for each in found:
        digits = 4 if each.measure == "auc" else 2
        difference = each.difference
        parts = [each.values.get(name, {}).values() for name in (*models, "transfer")]
        found_difference = f"{difference.mean:+.{digits}f} ± {difference.error:.{digits}f}"
        head = [each.case, f"{each.level:g}", each.labels]
        below = "**yes**" if difference.below else "no"
        body.append([*head, *map(text, parts), found_difference, below])
    names = [NAMES[name] for name in models]
    return table(["case", "ε", of_labels, *names, "transfer", "difference", "below"], body)


def _level(level, model):
    return "–" if model.startswith("target") else f"{level:g}"


def _order(level, model):
    """The ceiling, then by falling budget and by name, then what needs no source."""
    if level.startswith("record"):
        return 1, -float(level.removeprefix("record ")), model
    return (0 if level == "clear" else 2), 0.0, model


def _budget(level):
    return epsilon_name(level.removeprefix("record ")) if level.startswith("record") else "–"


def _area(values):
    if not values:
        return "–"
    mean = mean_of(values)
    sd = (sum((v - mean) ** 2 for v in values) / max(len(values) - 1, 1)) ** 0.5
    return f"{mean:.3f} ± {sd:.3f}" if len(values) > 1 else f"{mean:.3f}"
