"""The tables of releases of private statistics, beside other packages and the target alone."""

from _comparisons import by_draw, comparisons, paired
from _table import Values, epsilon_name, grouped, listing, of, pick, table, where
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
COUNTED = "{:.1f ±} % ({:count})"


def _by_draw(rows, measure, case):
    """Return values of a table by draw; of all (None), the means of draws that have all."""
    if case is not None:
        return by_draw(where(rows, case=case), measure)
    of_draw = {draw: pick(some, measure) for (draw,), some in grouped(rows, "draw").items()}
    return {draw: v.mean for draw, v in of_draw.items() if len(v) == len(TABLES)}


def _mean_of_six(measure, spec):
    return lambda rows: format(Values(_by_draw(rows, measure, None).values()), spec)


def _order(row):
    """The ceiling, then by falling budget and by name, then what needs no source."""
    level = row["level"]
    if level.startswith("record"):
        return 1, -float(level.removeprefix("record ")), row["model"]
    return (0 if level == "clear" else 2), 0.0, row["model"]


def _budget(level):
    return epsilon_name(level.removeprefix("record ")) if level.startswith("record") else "–"


def _method(rows):
    return f"**{OWN}**" if rows[0]["model"] == OWN else rows[0]["model"]


_HEAD = {"ε": lambda rows: _budget(rows[0]["level"])}
_AREAS = {
    "AUC": _method,
    **_HEAD,
    "mean of the six": _mean_of_six("auc", ".3f ±"),
    **{name: of("{auc:.3f ±}", case=name) for name in TABLES},
}
_OTHERS = {
    "": _method,
    **_HEAD,
    "accuracy, adult": of("{accuracy:.1f} %", case="adult"),
    "log loss": _mean_of_six("log_loss", ".3f"),
    "Brier score": _mean_of_six("brier", ".3f"),
    **{f"{name}, s": of("{fit_seconds:.2f}", case=name) for name in TABLES},
}


def tables_peers(record):
    """Areas under the ROC curve by method, budget and table; differences; other measures."""
    rows = sorted(record["rows"], key=_order)
    counts = sorted({len(some) for some in grouped(rows, "case", "level", "model").values()})
    method = ("level", "model")
    return (
        "Area under the ROC curve on the target's test rows, mean and standard deviation over "
        f"{' or '.join(map(str, counts))} seeds, each with its own splits, labels and noise. All "
        "but one see the source's rows and no label of the target; *target* sees the target's 10 "
        "labelled rows of each class (20 on randhie) and no source; *source* is without privacy. "
        f"δ = 1e-5, a whole record with its label: {OWN}, DP-EBM and DP-SGD add or remove one, "
        f"diffprivlib (δ = 0) replaces one, and for all but {OWN} the number of rows is public. "
        f"The settings of all of them, those in {OWN} too, were chosen on these tables, with the "
        "test labels of further seeds and at no cost in ε. *In skdp's terms*: on the public "
        f"functions of columns that {OWN} uses.\n\n"
        + listing(rows, _AREAS, method)
        + f"\n\nAUC of {OWN} less that of another method, and the standard error of this "
        "difference over the seeds of both. *Best peer*: of each column, as the packages come:\n\n"
        + table(["less", "ε", "mean of the six", *TABLES], _differences(rows))
        + "\n\nAccuracy on adult (76 % are in the larger class), log loss and Brier score of the "
        "probabilities (means over the six tables), and processor seconds of one fit and the "
        "scores of all test rows:\n\n" + listing(rows, _OTHERS, method)
    )


def _differences(rows):
    """Paired differences to the best peer of each column, and to the one in the same terms."""
    peers = [name for name, method in METHODS.items() if method.python]
    same = [name for name in peers if METHODS[name].view == "terms"]
    found = []
    for level in METHODS[OWN].levels:
        ours = where(rows, level=level)
        for title, names in (("best peer", sorted(set(peers) - set(same))), (*same, same)):
            cells = [_difference(ours, names, case) for case in (None, *TABLES)]
            found.append([title, _budget(level), *cells])
    return found


def _difference(rows, names, case):
    """The package's own method less the best of some others, as text."""
    values = {name: _by_draw(where(rows, model=name), "auc", case) for name in (OWN, *names)}
    own, others = values.pop(OWN), {name: found for name, found in values.items() if found}
    if not own or not others:
        return "–"
    best = max(others, key=lambda name: Values(others[name].values()).mean)
    return f"{paired(own, others[best]):+.3f ±e}" + f" ({best})" * (len(names) > 1)


def _level(rows):
    return "–" if rows[0]["model"].startswith("target") else f"{rows[0]['level']:g}"


_RELEASES = {
    "case": "{case}",
    "ε for a record": _level,
    "model": lambda rows: NAMES.get(rows[0]["model"], rows[0]["model"]),
    "labels": "{labels}",
    "accuracy": "{accuracy:.1f ±} % ({accuracy:count})",
}
BELOW = (
    "Transfer beside the source alone and the target alone; *difference*: less the better of "
    "these, with the standard error over draws; *below*: whether by more than that."
)


def releases(about):
    """Accuracy by case, budget, model and labels; and whether a transfer falls below a part."""

    def make(record):
        rows = record["rows"]
        text = listing(rows, _RELEASES, ("case", "level", "model", "labels"))
        compared = _comparisons(rows, "labels", lambda v: COUNTED.format(v, v) if v else "–", 2)
        return f"{about} In brackets the number of draws.\n\n{text}\n\n{BELOW}\n\n{compared}"

    return make


def never_below(record):
    """Areas under the ROC curve of the source and the target alone, and of the transfer."""
    return (
        "Area under the ROC curve on the target's test rows, mean and standard deviation over "
        f"draws, each with its own splits, labels and noise; δ = 1e-5. {BELOW}\n\n"
        + _comparisons(record["rows"], "labels of a class", "{:.3f ±}".format, 4)
    )


def _comparisons(rows, of_labels, text, digits):
    found = list(comparisons(rows))
    models = [name for name in NAMES if any(cell.values.get(name) for cell in found)]
    body = []
    for cell in found:
        gain = cell.gain()
        head = [cell.place["case"], f"{cell.place['level']:g}", cell.place["labels"]]
        parts = [text(cell.all_of(name)) for name in (*models, "transfer")]
        below = "**yes**" if gain.mean < -gain.error else "no"
        body.append([*head, *parts, format(gain, f"+.{digits}f ±e"), below])
    names = [NAMES[name] for name in models]
    return table(["case", "ε", of_labels, *names, "transfer", "difference", "below"], body)


# Cases of bench_adaptation.py on which the rule was chosen.
CHOSEN_ON = ("activity 0", "activity 1", "USPS, pixels", "office")
_ADAPTATION = [
    ("case", "{case}"),
    ("the rule was", "{kind}"),
    ("model", "{model}"),
    ("ε", "{level:g}"),
    ("release alone", of("{accuracy_alone:.1f}", labels=0)),
    ("claimed", of("{claimed_alone:.1f}", labels=0)),
    ("adapted alone", of("{adapted:.1f}", labels=0)),
    ("no label", of("{gain:+.1f}", labels=0)),
    ("10 labels a class", of("{gain:+.1f}", labels=10)),
    ("log loss, release alone", of("{log_loss_alone:.2f}", labels=0)),
    ("no label", of("{log_loss:.2f}", labels=0)),
    ("10", of("{log_loss:.2f}", labels=10)),
]


def adaptation(record):
    """Accuracy and log loss of a release alone and of a transfer, without labels and with 100."""
    rows = sorted(record["rows"], key=lambda row: row["case"] in CHOSEN_ON)
    for row in rows:
        row["kind"] = "chosen" if row["case"] in CHOSEN_ON else "judged"
        row["gain"] = row["accuracy"] - row["accuracy_alone"]
    gains = {kind: pick(rows, "gain", kind=kind) for kind in ("chosen", "judged")}
    least = ", ".join(
        f"{min(some):+.1f} where it was {kind} and {some.mean:+.1f} on average"
        for kind, some in gains.items()
        if some
    )
    return (
        "Accuracy on the target's unlabelled rows in per cent, and points gained on the release "
        "alone. *Claimed*: the mean largest probability by the release. *Adapted alone*: what "
        "follows the target's rows, where it was taken; otherwise the release alone predicts. "
        f"Least and mean gains: {least}. The rule was *chosen* on some cases and *judged* on the "
        "others, though all had been seen before, so that judging is no proof.\n\n"
        + listing(rows, _ADAPTATION, ("case", "model", "level"))
    )
