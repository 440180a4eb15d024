"""The tables of the owner's desk: intervals of columns, and plans of releases."""

from _table import load, mean_of, table

ABOUT_COLUMNS = (
    "Share of the intervals of 95 % of `Release.describe_columns` that hold the value of the "
    "distribution that rows were drawn from, over {draws} draws of rows and noise; in brackets "
    "the median half width in units of the range (deviations: of columns that are not "
    "logarithmic)."
)
ABOUT_PLANNING = (
    "Area under the ROC curve of releases of random rows on other rows, and what `plan_release` "
    "says of it by the schema, the number of rows, the frequencies to one digit, and the AUC of a "
    "cross-validated logistic regression of all rows. Means over {draws} draws. What simulated "
    "tables look like was chosen on the hospitals together; single hospitals are so small that "
    "the areas themselves are uncertain by some .05."
)
ABOUT_EVALUATION = (
    "A logistic regression of half of the rows, evaluated by `evaluate_privately` on rows drawn "
    "from the other half, {draws} draws: root-mean-square error (in brackets that without noise), "
    "and share of the intervals of 95 % that hold the true value."
)
ABOUT_SYNTHETIC = (
    "Area under the ROC curve on other real rows: of the release; of boosting of its synthetic "
    "rows, and of rows drawn by class from normal distributions; of boosting of the real rows. "
    "Then what `compare_tables` says: the mean distance of columns, the mean difference of "
    "correlations, and the area with which boosting tells rows apart. Means over {draws} draws."
)
ABOUT_ADDITIVE = (
    "Releases of some rows of a table on others: area under the ROC curve (log loss) of "
    '`DPStatisticsSource` with model "linear", "additive", and "auto", which chooses; means over '
    "draws, δ = 1e-5. Adult: complete cases, seven of ten to learn from; and as many of these as "
    "are named. Seconds are those of a processor."
)
ABOUT_BOUNDS = (
    "All columns of a table by `quantile_bounds`, {draws} draws: share of the columns that noise "
    "hides; width of the bounds in units of that between the true quantiles of 1 and 99 %, median "
    "(largest); share of values that are clipped, mean over columns; share of values that are "
    "none of the listed categories."
)
ABOUT_GRADIENTS = (
    "Seconds for 10,000 random images, one thread, fastest of {repeats}: `OrientedGradients`; "
    "Gaussian filters of SciPy on one image of each of its directions and scales, without "
    "anything before or after; the same smoothing by FFT. Memory is what the transformer needs "
    "besides rows and features."
)
FIGURES = ("release", "synthetic", "by_class", "real", "distance", "correlations", "told_apart")
KINDS = ("mean", "share", "missing", "deviation")
TABLES = ("whas500", "actg320", "actg175", "flchain", "randhie", "adult")


def columns():
    record = load("columns")
    rows = record["rows"]
    levels = sorted({row["level"] for row in rows})
    header = ["Table", "Rows", "ε", *KINDS]
    body = []
    for case in dict.fromkeys(row["case"] for row in rows):
        for level in levels:
            some = {r["kind"]: r for r in rows if r["case"] == case and r["level"] == level}
            n = next(iter(some.values()))["rows"]
            body.append([case, f"{n:,}", level, *(_held(some.get(kind)) for kind in KINDS)])
    for level in levels:
        cells = (
            _mean_held([r for r in rows if r["kind"] == kind and r["level"] == level])
            for kind in KINDS
        )
        body.append(["**all**", "", level, *cells])
    about = ABOUT_COLUMNS.format(draws=record["settings"]["draws"])
    return f"{about}\n\n{table(header, body)}"


def _held(row):
    if row is None:
        return "–"
    width = "" if row["width"] is None else f" ({row['width'] / 2:.3f})"
    return f"{row['held']:.3f}{width}"


def _mean_held(rows):
    """Return the share of all intervals that hold their value."""
    total = sum(row["intervals"] for row in rows)
    return f"{sum(row['held'] * row['intervals'] for row in rows) / total:.3f}"


def planning():
    record = load("planning")
    rows = record["rows"]
    levels = list(dict.fromkeys(row["level"] for row in rows))
    header = ["Rows of", "Number", *(f"ε = {level}" for level in levels[:-1]), levels[-1]]
    body = []
    for case in dict.fromkeys(row["case"] for row in rows):
        some = [row for row in rows if row["case"] == case]
        cells = (f"{row['planned']:.3f} / {row['auc']:.3f}" for row in some)
        body.append([case, f"{some[0]['rows']:,}", *cells])
    for name, cases in (("six tables", TABLES), ("all", None)):
        for what, sign in (("mean error", lambda e: e), ("mean size of the error", abs)):
            cells = (f"{mean_of(sizes):+.3f}" for sizes in _errors(rows, levels, cases, sign))
            body.append([f"**{name}**, {what}", "", *cells])
    about = ABOUT_PLANNING.format(draws=record["settings"]["draws"])
    return f"{about} Planned / reached.\n\n{table(header, body)}"


def _errors(rows, levels, cases, sign):
    for level in levels:
        yield [
            sign(row["planned"] - row["auc"])
            for row in rows
            if row["level"] == level and (cases is None or row["case"] in cases)
        ]


def evaluation():
    record = load("evaluation")
    rows = record["rows"]
    names = list(dict.fromkeys(row["figure"] for row in rows))
    header = ["Rows of", "Number", "ε", *names]
    body = []
    for case in dict.fromkeys((row["case"], row["rows"]) for row in rows):
        some = [row for row in rows if (row["case"], row["rows"]) == case]
        for level in dict.fromkeys(row["level"] for row in some):
            cells = (
                f"{row['error']:.3f} ({row['error_without_noise']:.3f}), {row['held']:.3f}"
                for row in some
                if row["level"] == level
            )
            body.append([case[0], f"{case[1]:,}", level, *cells])
    cells = (f"{mean_of([r['held'] for r in rows if r['figure'] == name]):.3f}" for name in names)
    body.append(["**all**, held", "", "", *cells])
    about = ABOUT_EVALUATION.format(draws=record["settings"]["draws"])
    return f"{about}\n\n{table(header, body)}"


def synthetic():
    record = load("synthetic")
    rows = record["rows"]
    names = [name.replace("_", " ") for name in FIGURES]
    body = []
    for case, level in dict.fromkeys((row["case"], row["level"]) for row in rows):
        some = [row for row in rows if (row["case"], row["level"]) == (case, level)]
        cells = (f"{mean_of([row[name] for row in some]):.3f}" for name in FIGURES)
        body.append([case, f"{some[0]['rows']:,}", level, *cells])
    about = ABOUT_SYNTHETIC.format(draws=record["settings"]["draws"])
    return f"{about}\n\n{table(['Table', 'Rows', 'ε', *names], body)}"


def bounds():
    record = load("bounds")
    header = ["Table", "Rows", "Columns", "ε", "hidden", "width", "clipped", "unlisted"]
    body = []
    for row in record["rows"]:
        known = row["width"] is not None
        width = f"{row['width']:.2f} ({row['widest']:.1f})" if known else "–"
        shares = (row["hidden"], row["clipped"], row["unlisted"])
        hidden, *others = ("–" if share is None else f"{share:.1%}" for share in shares)
        body.append(
            [row["case"], f"{row['rows']:,}", row["columns"], row["level"], hidden, width, *others]
        )
    return f"{ABOUT_BOUNDS.format(draws=record['settings']['draws'])}\n\n{table(header, body)}"


def gradients():
    record = load("gradients")
    names = ("transformer", "filters", "fft")
    body = [
        [row["case"], f"{row['features']:,}", *times, f"{row['mib']:.0f} MiB"]
        for row in record["rows"]
        for times in [[f"{row[f'{name}_time']:.2f}" for name in names]]
    ]
    header = ["Shape", "Features", "`OrientedGradients`", "bare filters", "bare FFT", "memory"]
    about = ABOUT_GRADIENTS.format(repeats=record["settings"]["repeats"])
    return f"{about}\n\n{table(header, body)}"


def additive():
    rows = load("additive")["rows"]
    models = ("linear", "additive", "auto")
    body = []
    for key in dict.fromkeys((row["case"], row["rows"], row["level"]) for row in rows):
        some = [row for row in rows if (row["case"], row["rows"], row["level"]) == key]
        cells = []
        for model in models:
            own = [row for row in some if row["model"] == model]
            area, loss = (mean_of([row[name] for row in own]) for name in ("auc", "log_loss"))
            cells.append(f"{area:.4f} ({loss:.3f})")
        chosen = mean_of([row["is_additive"] for row in some if row["model"] == "auto"])
        seconds = mean_of([row["fit_seconds"] for row in some if row["model"] == "additive"])
        case, n, level = key
        draws = len(some) // len(models)
        body.append([case, f"{n:,}", draws, level, *cells, f"{chosen:.0%}", f"{seconds:.1f}"])
    header = ["Table", "Rows", "Draws", "ε", *models, "auto is additive", "seconds"]
    return f"{ABOUT_ADDITIVE}\n\n{table(header, body)}"
