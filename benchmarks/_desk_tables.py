"""The tables of what owners learn before and after a release, and of what releases claim."""

from _table import Table, listing, of, pick, unique, where
from _tables_peers import TABLES

ALL = ("",)


def _held(rows):
    """Return the share that holds, and half the width where there is one."""
    width = rows[0]["width"]
    return f"{rows[0]['held']:.3f}" + ("" if width is None else f" ({width / 2:.3f})")


def _mean_held(rows):
    """Return the share of all intervals that hold their value."""
    total = sum(row["intervals"] for row in rows)
    return f"{sum(row['held'] * row['intervals'] for row in rows) / total:.3f}"


def _kinds(cell):
    kinds = ("mean", "share", "missing", "deviation")
    return {kind: of(lambda rows: cell(rows) if rows else "–", kind=kind) for kind in kinds}


columns = Table(
    {"Table": "{case}", "Rows": "{rows:,}", "ε": "{level}", **_kinds(_held)},
    by=("case", "level"),
    below=(
        Table(
            {"Table": "**all**", "Rows": "", "ε": "{level}", **_kinds(_mean_held)}, by=("level",)
        ),
    ),
    about="Share of the intervals of 95 % of `Release.describe_columns` that hold the value of "
    "the distribution that rows were drawn from, over {draws} draws of rows and noise; in "
    "brackets the median half width in units of the range (deviations: of columns that are not "
    "logarithmic).",
)
evaluation = Table(
    {"Rows of": "{case}", "Number": "{rows:,}", "ε": "{level}"},
    by=("case", "rows", "level"),
    across=("figure", "{error:.3f} ({error_without_noise:.3f}), {held:.3f}"),
    below=(
        Table(
            {"Rows of": "**all**, held", "Number": "", "ε": ""},
            by=ALL,
            across=("figure", "{held:.3f}"),
        ),
    ),
    about="A logistic regression of half of the rows, evaluated by `evaluate_privately` on rows "
    "drawn from the other half, {draws} draws: root-mean-square error (in brackets that without "
    "noise), and share of the intervals of 95 % that hold the true value.",
)
synthetic = Table(
    {"Table": "{case}", "Rows": "{rows:,}", "ε": "{level}"},
    by=("case", "level"),
    then={
        name.replace("_", " "): f"{{{name}:.3f}}"
        for name in (
            *("release", "synthetic", "by_class", "real"),
            *("distance", "correlations", "told_apart"),
        )
    },
    about="Area under the ROC curve on other real rows: of the release; of boosting of its "
    "synthetic rows, and of rows drawn by class from normal distributions; of boosting of the "
    "real rows. Then what `compare_tables` says: the mean distance of columns, the mean "
    "difference of correlations, and the area with which boosting tells rows apart. Means over "
    "{draws} draws.",
)
bounds = Table(
    {
        "Table": "{case}",
        "Rows": "{rows:,}",
        "Columns": "{columns}",
        "ε": "{level}",
        "hidden": "{hidden:.1%}",
        "width": "{width:.2f} ({widest:.1f})",
        "clipped": "{clipped:.1%}",
        "unlisted": "{unlisted:.1%}",
    },
    about="All columns of a table by `quantile_bounds`, {draws} draws: share of the columns that "
    "noise hides; width of the bounds in units of that between the true quantiles of 1 and 99 %, "
    "median (largest); share of values that are clipped, mean over columns; share of values that "
    "are none of the listed categories.",
)
gradients = Table(
    {
        "Shape": "{case}",
        "Features": "{features:,}",
        "`OrientedGradients`": "{transformer_time:.2f}",
        "bare filters": "{filters_time:.2f}",
        "bare FFT": "{fft_time:.2f}",
        "memory": "{mib:.0f} MiB",
    },
    about="Seconds for 10,000 random images, one thread, fastest of {repeats}: "
    "`OrientedGradients`; Gaussian filters of SciPy on one image of each of its directions and "
    "scales, without anything before or after; the same smoothing by FFT. Memory is what the "
    "transformer needs besides rows and features.",
)
additive = Table(
    {
        "Table": "{case}",
        "Rows": "{rows:,}",
        "Draws": of("{draw:count}", model="linear"),
        "ε": "{level}",
    },
    by=("case", "rows", "level"),
    across=("model", "{auc:.4f} ({log_loss:.3f})"),
    then={
        "auto is additive": of("{is_additive:.0%}", model="auto"),
        "seconds": of("{fit_seconds:.1f}", model="additive"),
    },
    about="Releases of some rows of a table on others: area under the ROC curve (log loss) of "
    '`DPStatisticsSource` with model "linear", "additive", and "auto", which chooses; means over '
    "draws, δ = 1e-5. Adult: complete cases, seven of ten to learn from; and as many of these as "
    "are named. Seconds are those of a processor.",
)


def _level(level):
    return level if isinstance(level, str) else f"ε = {level}"


def _errors(name, key, cases):
    columns = {"Rows of": name, "Number": ""}
    return Table(columns, by=ALL, across=("level", f"{{{key}:+.3f}}", _level), where=cases)


planning = Table(
    {"Rows of": "{case}", "Number": "{rows:,}"},
    by=("case",),
    across=("level", "{planned:.3f} / {auc:.3f}", _level),
    below=tuple(
        _errors(f"**{name}**, {what}", key, cases)
        for name, cases in (("six tables", {"case": TABLES}), ("all", {}))
        for what, key in (("mean error", "error"), ("mean size of the error", "size"))
    ),
    about="Area under the ROC curve of releases of random rows on other rows, and what "
    "`plan_release` says of it by the schema, the number of rows, the frequencies to one digit, "
    "and the AUC of a cross-validated logistic regression of all rows. Means over {draws} draws. "
    "What simulated tables look like was chosen on the hospitals together; single hospitals are "
    "so small that the areas themselves are uncertain by some .05. Planned / reached.",
)


def planned(record):
    for row in record["rows"]:
        row["error"] = row["planned"] - row["auc"]
        row["size"] = abs(row["error"])
    return planning(record)


hospitals = Table(
    {"": "{model}", "AUC": "{auc:.3f ±}", "log loss": "{log_loss:.3f ±}"},
    by=("model",),
    about="Each of the four hospitals is the fourth in turn; values of a draw are means over "
    "them. Mean ± standard deviation over {draws} draws of noise and of the {labels} patients "
    "with a diagnosis; ε = 4 for a whole record, δ = 1e-5.",
)

BEFORE = "c88a3bb"
_CLAIM = "{claim:.2f} / {accuracy:.2f}"
_LOSS = "{log_loss:.3f} ({log_loss:.3f sd})"


def _of_both(title, cell):
    return {f"{title} before": of(cell, variant=BEFORE), title: of(cell, variant=("now", "-"))}


_classes = Table(
    {
        "labels": "{case}",
        "ε": "{level:ε}",
        **_of_both("log loss", _LOSS),
        **_of_both("claim / accuracy", _CLAIM),
    },
    by=("case", "level"),
    about="Log loss on other rows of the source's own distribution (means over {draws} draws; "
    "standard deviation in brackets), accuracy, and the mean largest probability, which is what "
    "a release claims. *Before*: weights of each class against the rest, as they are. Without "
    "noise, a logistic regression on the same functions of the columns.",
)
_models = Table(
    {
        "rows": "{case}",
        "model": "{model}",
        "ε": "{level}",
        "accuracy": "{accuracy:.3f}",
        "claim": "{claim:.3f}",
    },
    by=("case", "model", "level"),
    about="Accuracy and claim of the other models on other rows of the source's own "
    "distribution, means over {draws} draws.",
)


def _both(key):
    before, now = (of(f"{{{key}:.3f}}", variant=code) for code in (BEFORE, "now"))
    return lambda rows: f"{before(rows)} → {now(rows)}"


def _share(some, rows):
    return f"{100 * len(some) / len(rows):.0f} %" if rows else "–"


def _refused(rows):
    before = where(rows, variant=BEFORE)
    some = [row for row in before if row["expected"] < 0.55]
    return f"{_share(some, before)} ({pick(some, 'auc'):.2f})"


def _warned(rows):
    now = where(rows, variant="now")
    some, others = (
        [row for row in now if (row["low"] <= 0.5) == warned] for warned in (True, False)
    )
    return f"{_share(some, now)} ({pick(some, 'auc'):.2f}; {pick(others, 'auc'):.2f})"


def _within(rows):
    now = where(rows, variant="now")
    return _share([row for row in now if row["low"] <= row["auc"] <= row["high"]], now)


_AREAS = {
    "rows of": "{of}",
    "ε": "{level}",
    "area": of("{auc:.3f}", variant="now"),
    "expected": _both("expected"),
    "error": _both("error"),
    "within": _within,
    "refused before (area)": _refused,
    "warned now (area; others)": _warned,
}
_ABOUT_AREAS = (
    "Expected area under the ROC curve of releases of two classes, and the area on other rows: "
    "six tables (150, 300 and 1,000 rows) and four hospitals (60 % of the patients; the others "
    "are few, so that the area itself is uncertain by some .05). *Error*: mean of "
    "|expected - area|; *within*: share of the areas in the interval of 80 %; *warned*: share of "
    "the releases whose interval begins at 0.5, and the area of these and of the others. Before, "
    "releases whose expected area was below .55 were not to be handed out."
)


def calibration(record):
    parts = {part: where(record["rows"], part=part) for part in ("classes", "models", "areas")}
    cases = unique(parts["classes"], "case")
    # Of each case what has no noise comes last.
    parts["classes"].sort(key=lambda row: (cases.index(row["case"]), row["level"] == "-"))
    for row in parts["classes"]:
        row["level"] = row["level"].replace("-", "logistic regression")
    for row in parts["areas"]:
        row["of"] = "four hospitals" if row["case"].startswith("heart") else "six tables"
        row["error"] = abs(row["expected"] - row["auc"])
    parts["areas"].sort(key=lambda row: row["of"], reverse=True)
    found = []
    for make, rows in ((_classes, parts["classes"]), (_models, parts["models"])):
        found.append(make({"rows": rows, "settings": {"draws": len(unique(rows, "draw"))}}))
    return "\n\n".join([*found, _ABOUT_AREAS, listing(parts["areas"], _AREAS, ("of", "level"))])
