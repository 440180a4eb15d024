"""The tables of what releases claim: log loss of several classes, and expected areas."""

from _table import load, mean_of, table

BEFORE = "c88a3bb"
ABOUT_CLASSES = (
    "Log loss on other rows of the source's own distribution (means over {draws} draws; standard "
    "deviation in brackets), accuracy, and the mean largest probability, which is what a release "
    "claims. *Before*: weights of each class against the rest, as they are. Without noise, a "
    "logistic regression on the same functions of the columns."
)
ABOUT_MODELS = (
    "Accuracy and claim of the other models on other rows of the source's own distribution, means "
    "over {draws} draws."
)
ABOUT_AREAS = (
    "Expected area under the ROC curve of releases of two classes, and the area on other rows: "
    "six tables (150, 300 and 1,000 rows) and four hospitals (60 % of the patients; the others "
    "are few, so that the area itself is uncertain by some .05). *Error*: mean of "
    "|expected - area|; *within*: share of the areas in the interval of 80 %; *warned*: share of "
    "the releases whose interval begins at 0.5, and the area of these and of the others. Before, "
    "releases whose expected area was below .55 were not to be handed out."
)


def tables():
    rows = load("calibration")["rows"]
    parts = {part: [row for row in rows if row["part"] == part] for part in MAKERS}
    return "\n\n".join(make(parts[part]) for part, make in MAKERS.items() if parts[part])


def _of(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _unique(rows, key):
    return list(dict.fromkeys(row[key] for row in rows))


def _mean(rows, key, digits=3):
    return f"{mean_of([row[key] for row in rows]):.{digits}f}" if rows else "–"


def _spread(rows, key):
    if len(rows) < 2:
        return _mean(rows, key)
    values = [row[key] for row in rows]
    mean = mean_of(values)
    sd = (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5
    return f"{mean:.3f} ({sd:.3f})"


def _classes(rows):
    body = []
    for case in _unique(rows, "case"):
        for level in [level for level in _unique(rows, "level") if level != "-"]:
            now, before = (
                _of(rows, case=case, level=level, variant=code) for code in ("now", BEFORE)
            )
            losses = [_spread(before, "log_loss"), _spread(now, "log_loss")]
            claims = [
                f"{_mean(each, 'claim', 2)} / {_mean(each, 'accuracy', 2)}"
                for each in (before, now)
            ]
            body.append([case, "∞" if level == "inf" else level, *losses, *claims])
        own = _of(rows, case=case, model="logistic")
        claim = f"{_mean(own, 'claim', 2)} / {_mean(own, 'accuracy', 2)}"
        body.append([case, "logistic regression", "–", _spread(own, "log_loss"), "–", claim])
    names = ["labels", "ε", "log loss before", "log loss", "claim / accuracy before"]
    draws = len(_unique(rows, "draw"))
    return f"{ABOUT_CLASSES.format(draws=draws)}\n\n{table([*names, 'claim / accuracy'], body)}"


def _models(rows):
    body = [
        [case, model, level, _mean(these, "accuracy"), _mean(these, "claim")]
        for case in _unique(rows, "case")
        for model in _unique(rows, "model")
        for level in _unique(rows, "level")
        if (these := _of(rows, case=case, model=model, level=level))
    ]
    names = ["rows", "model", "ε", "accuracy", "claim"]
    draws = len(_unique(rows, "draw"))
    return f"{ABOUT_MODELS.format(draws=draws)}\n\n{table(names, body)}"


def _areas(rows):
    body = []
    for name, chosen in (
        ("six tables", [row for row in rows if not row["case"].startswith("heart")]),
        ("four hospitals", [row for row in rows if row["case"].startswith("heart")]),
    ):
        for level in _unique(chosen, "level"):
            before, now = (_of(chosen, level=level, variant=code) for code in (BEFORE, "now"))
            warned = [row for row in now if row["low"] <= 0.5]
            others = [row for row in now if row["low"] > 0.5]
            refused = [row for row in before if row["expected"] < 0.55]
            body.append(
                [
                    name,
                    level,
                    _mean(now, "auc"),
                    f"{_mean(before, 'expected')} → {_mean(now, 'expected')}",
                    f"{_error(before)} → {_error(now)}",
                    _share([r for r in now if r["low"] <= r["auc"] <= r["high"]], now),
                    f"{_share(refused, before)} ({_mean(refused, 'auc', 2)})",
                    f"{_share(warned, now)} ({_mean(warned, 'auc', 2)}; "
                    f"{_mean(others, 'auc', 2)})",
                ]
            )
    names = ["rows of", "ε", "area", "expected", "error", "within", "refused before (area)"]
    return f"{ABOUT_AREAS}\n\n{table([*names, 'warned now (area; others)'], body)}"


def _share(some, rows):
    return f"{100 * len(some) / len(rows):.0f} %" if rows else "–"


def _error(rows):
    return f"{mean_of([abs(row['expected'] - row['auc']) for row in rows]):.3f}" if rows else "–"


MAKERS = {"classes": _classes, "models": _models, "areas": _areas}
