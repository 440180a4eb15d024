"""What pages show of results beyond their columns: rows, columns made of others, whole tables.

Functions take the record of a result file; ``from`` and ``@`` of a pattern name them, and ``with``
names dictionaries of columns, each a function of a row.
"""

import functools
from collections import Counter
from dataclasses import dataclass
from itertools import product

import numpy as np
from _bench import epsilon_of
from _data import CHOOSING, HOSPITALS, JUDGING, SPLITS, TABLES
from _peers import CLASSES, LEARNERS, NUMBERS, OWN, SYNTHETIC
from _plan import ALONE, DPSGD, LEVELS, NONE, PLAN, file_of
from _table import (
    NOTHING,
    Values,
    epsilon_name,
    first_variant,
    grouped,
    level_name,
    load,
    pick,
    table,
    unique,
    where,
    with_columns,
)
from bench_images import CHOSEN_ON
from scipy.stats import spearmanr

from skdp.release import HALF_WIDTH

OUTCOMES = ("win", "tie", "loss")
TITLES = {
    "auc": "AUC",
    "log_loss": "log loss",
    "brier": "Brier score",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
}
BUDGETS = ("record 4", "record 1", "record 0.5")


def sign_of(measure):
    """Return 1 where more of a measure is better, -1 where it is worse."""
    return -1 if measure in ("log_loss", "brier") else 1


def by_draw(rows, measure):
    """Return the mean of a measure in each draw."""
    found: dict = {}
    for row in rows:
        if row.get(measure) is not None:
            found.setdefault(row["draw"], Values()).append(row[measure])
    return {draw: values.mean for draw, values in found.items()}


def paired(ours, theirs):
    """Return the differences of two mappings from draws to values, on the draws of both."""
    return Values(ours[draw] - theirs[draw] for draw in ours if draw in theirs)


@dataclass(frozen=True)
class Cell:
    """Models compared at one place in one measure, whose values each has by draw.

    ``place`` is a row from there. ``sides`` are what a transfer starts from; ``sign`` is -1 where
    less is better, and ``least`` the largest difference that counts as none.
    """

    place: dict
    values: dict
    sides: tuple = ()
    sign: int = 1
    least: float = 0.0

    @property
    def better(self):
        """The better side, on the draws of the transfer."""
        means = {}
        for name in self.sides:
            draws = self.values["transfer"].keys() & self.values.get(name, {}).keys()
            if draws:
                means[name] = self.sign * Values(self.values[name][draw] for draw in draws).mean
        return max(means, key=means.get)

    def gain(self, over=""):
        """Return by how much the transfer is better than a model, or the better side, by draw."""
        gains = paired(self.values["transfer"], self.values.get(over or self.better, {}))
        return Values(self.sign * gain for gain in gains)

    def outcome(self, over=""):
        """Say whether it wins; within a standard error, or what counts as none, is a tie."""
        gain = self.gain(over)
        if abs(gain.mean) <= max(gain.error, self.least):
            return OUTCOMES[1]
        return OUTCOMES[0 if gain.mean > 0 else 2]

    def all_of(self, model):
        """Return the values of a model, none where it was not measured."""
        return Values(self.values.get(model, {}).values())


def less_best(rows, own, names, measure):
    """Return a model's differences by draw to the best of some others, and the name of that."""
    values = {name: by_draw(where(rows, model=name), measure) for name in names}
    values = {name: found for name, found in values.items() if found}
    best = max(values, key=lambda name: Values(values[name].values()).mean, default="")
    return paired(by_draw(where(rows, model=own), measure), values.get(best, {})), best


def means_over(cases, rows, measures, name):
    """Yield rows of means over cases, as a case; of one with more draws, over each n-th."""
    for (level, model), some in grouped(rows, "level", "model").items():
        n = min(len(where(some, case=case)) for case in cases)
        for k in range(n):
            parts = [[r for r in where(some, case=c) if r["draw"] % n == k] for c in cases]
            means = {m: Values(pick(part, m).mean for part in parts).mean for m in measures}
            yield {"level": level, "model": model, "draw": k, "case": name, **means}


def budget_of(row):
    return row["level"].removeprefix("record ").replace("clear", "–")


# Which model, at which privacy level.
TRANSFERS = {
    "mnist-mnist": "MNIST → MNIST, 100 labels",
    "activity": "human activity, 5 labels a class",
    "office": "Office+Caltech, 3 labels a class",
    "mnist-usps": "MNIST → USPS, 100 labels",
    "usps-mnist": "USPS → MNIST, 100 labels",
}
SHOWN = ("8", "1", "0.1", "record 8", "record 1")
# Variants of the papers' strategies that fill a cell, the first that was measured.
FIRST = {
    "alignment": ("default", "five-layers"),
    "multitask": ("default", "gamma+five-layers", "five-layers"),
}


@functools.cache
def usual(name):
    """Return rows of a transfer table that have its usual number of labels."""
    labels = {"activity": 5, "office": None}.get(name, 10)
    return where(load(file_of(name))["rows"], labels=(labels, None))


def figures(record):
    return _figures()


@functools.cache
def _figures():
    """Rows of each transfer at each level, with the name of their cell, and of other results."""
    rows = []
    for name in PLAN:
        kinds = {
            "": where(usual(name), model="noise_aware", variant="default"),
            f"{DPSGD} ": where(usual(name), model=DPSGD, variant="default"),
            "alone ": where(usual(name), model=ALONE, variant=("noise_aware", "all")),
            "network ": where(usual(name), model=ALONE, variant=DPSGD),
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


def of_cell(cell):
    return pick(_figures(), cell=cell)


def papers(name, level):
    """The better of the papers' strategies on average, and its name."""
    found = {m: first_variant(usual(name), FIRST[m], model=m, level=level)[0] for m in FIRST}
    found = {model: values for model, values in found.items() if values}
    best = max(found, key=lambda model: found[model].mean, default="")
    return found.get(best, Values()), best


def best_models(record):
    body = []
    for name, level in product(TRANSFERS, SHOWN):
        values, strategy = papers(name, level)
        cells = (NONE, f"alone {level}", level, f"network {level}", f"{DPSGD} {level}")
        found = [of_cell(f"{name} {cell}") for cell in cells]
        found.insert(3, values)
        best = max(values.mean for values in found if values)
        texts = [_marked(values, best) for values in found]
        texts[3] += f" {strategy}"
        title = TRANSFERS[name] if level == SHOWN[0] else ""
        body.append([title, level_name(level), *texts])
    header = ["transfer", "privacy of the source", "target alone", ALONE, "noise-aware"]
    header += ["the papers' better strategy", f"{DPSGD}, released", f"{DPSGD}, tuned"]
    return table(header, body)


def _marked(values, best):
    if not values:
        return NOTHING
    text = f"{values:.1f ±}% ({len(values)})"
    return f"**{text}**" if values.mean == best else text


def papers_ahead(record):
    pairs = {(n, level): papers(n, level)[0] for n, level in product(PLAN, LEVELS[1:])}
    pairs = {cell: (v, of_cell(" ".join(cell))) for cell, v in pairs.items() if v}
    pairs = {cell: pair for cell, pair in pairs.items() if pair[1]}
    ahead = [
        f"{TRANSFERS[name].partition(',')[0]} at {level_name(level)} "
        f"({values:.1f ±}% against {own:.1f ±}%)"
        for (name, level), (values, own) in pairs.items()
        if values.mean > own.mean
    ]
    return [{"number": len(ahead), "compared": len(pairs), "ahead": "; ".join(ahead)}]


def shift_counts(record):
    """Cells in which a transfer is better than the better side, and worse, by how labels are."""
    row = {}
    found = shift_cells(load("shift")["rows"], "log_loss")
    for start, stratified in (("", False), ("few_", True)):
        some = [c for c in found if (c.place["variant"] == "stratified") == stratified]
        outcomes = Counter(cell.outcome() for cell in some)
        row[f"{start}won"], row[f"{start}lost"] = outcomes[OUTCOMES[0]], outcomes[OUTCOMES[2]]
        row[f"{start}cells"] = len(some)
    return [row]


# Images.
ADAPTATION = {
    "kind": lambda r: "chosen" if r["case"] in CHOSEN_ON else "judged",
    "place": lambda r: r["case"] in CHOSEN_ON,
    "gain": lambda r: r["accuracy"] - r["accuracy_alone"],
}


def transfers(record):
    """Rows by draw of each transfer, of its source and target alone, and of its gain."""
    rows = record["rows"]
    for (case, level, labels), own in grouped(
        where(rows, model="transfer"), "case", "level", "labels"
    ).items():
        target = where(rows, case=case, model="target", labels=labels)
        # On the rows that the transfer is asked about, where the source is asked about others.
        source = by_draw(own, "source_alone")
        source = source or by_draw(where(rows, case=case, level=level, model="source"), "accuracy")
        values = {"source": source, "transfer": by_draw(own, "accuracy")}
        values |= {"target": by_draw(target, "accuracy")}
        cell = Cell(own[0], values, ("target", "source"))
        head = {"case": case, "level": level, "labels": labels}
        head["below"] = cell.gain().mean < -cell.gain().error
        for model in values:
            yield from ({**head, "model": model, "value": v} for v in cell.all_of(model))
        yield from ({**head, "model": "gain", "value": v} for v in cell.gain())


def holds(row, expected, reached):
    """Return whether an 80% interval holds what is reached, up to the test rows' own error."""
    low, high = row["expected_low"] - expected, row["expected_high"] - expected
    of_test = HALF_WIDTH * row["sampling_sd"]
    return -np.hypot(low, of_test) <= reached - expected <= np.hypot(high, of_test)


# Numbers.
OWN_NUMBERS = {"linear": "skdp, linear", "gradients": "skdp, gradients", "auto": "skdp, auto"}
MEAN_OF_FOUR = "mean of the four"
NUMBER_COLUMNS = {
    "name": lambda r: OWN_NUMBERS.get(r["model"], r["model"]),
    "own": lambda r: r["model"] in OWN_NUMBERS,
    "budget": budget_of,
    # Of merged owners.
    "kind": lambda r: r["variant"].partition(", ")[0],
    "owners": lambda r: r["variant"].partition(", ")[2],
    # A value below 0 counts as 0; how far the expected R² is from it, and by how much above it.
    "reached": lambda r: max(r["r2"], 0.0),
    "error": lambda r: abs(r["expected_r2"] - max(r["r2"], 0.0)),
    "excess": lambda r: r["expected_r2"] - max(r["r2"], 0.0),
    "holds": lambda r: holds(r, r["expected_r2"], max(r["r2"], 0.0)),
}


def number_peers(record):
    """Rows that compare methods, R² below 0 as 0, with means over the tables."""
    rows = where(record["rows"], variant="default")
    rows = with_columns(rows, value=lambda row: max(row["r2"], 0.0))
    cases, order = [MEAN_OF_FOUR, *unique(rows, "case")], [*OWN_NUMBERS, *NUMBERS]
    rows += list(means_over(cases[1:], rows, ["value"], MEAN_OF_FOUR))
    rows.sort(key=lambda row: ((*BUDGETS, "clear").index(row["level"]), order.index(row["model"])))
    rows.sort(key=lambda row: cases.index(row["case"]))
    counts = {len(some) for some in grouped(rows, "case", "level", "model").values()}
    draws = " to ".join(map(str, sorted({min(counts), max(counts)})))
    return with_columns(rows, draws=lambda row: draws)


def number_differences(record):
    """By how much "auto" is above each peer, and in which tables it is .01 below it."""
    rows, body = number_peers(record), []
    cases = unique(rows, "case")
    names = [name for name, method in NUMBERS.items() if "clear" not in method.levels]
    for level, methods in product(BUDGETS, (*([name] for name in names), names)):
        some = where(rows, level=level)
        cells = [less_best(where(some, case=c), "auto", methods, "value")[0] for c in cases]
        title = methods[0] if len(methods) == 1 else "best of each column"
        ahead = "yes" if cells[0].mean > 0 else "**no**"
        below = [c for c, cell in zip(cases[1:], cells[1:], strict=True) if cell.mean < -0.01]
        shown = (f"{values:+.3f ±e}" for values in cells)
        budget = level.removeprefix("record ")
        texts = [title, budget, *shown, ahead, f"**{', '.join(below)}**" if below else "none"]
        body.append(texts)
    return table(["less", "ε", *cases, "ahead in the mean", "tables .01 below"], body)


# Owners.
PLANS = {
    "noise": lambda r: r["level"] if isinstance(r["level"], str) else f"ε = {r['level']}",
    "ten": lambda r: r["case"] in (*CHOOSING, *JUDGING),
    "finite": lambda r: not isinstance(r["level"], str),
    "error": lambda r: r["planned"] - r["auc"],
    "size": lambda r: abs(r["planned"] - r["auc"]),
    "loss_error": lambda r: r["planned_loss"] - r["log_loss"],
    "right": lambda r: float(
        (r["planned_loss"] < r["base_log_loss"]) == (r["log_loss"] < r["base_log_loss"])
    ),
}
# Models of bench_owners.py, in their order.
SUMS = ("no noise", "single", "merged", "secure sum", "secure sum, a tenth", "one release")
SUMS += ("one release, auto",)
SECURE_SUMS = {
    "noise": lambda r: (
        "ε = ∞" if r["model"] == "no noise" else f"ε = {r['level']:g}, {r['model']}"
    ),
    "all": lambda r: r["variant"].endswith("all rows") and r["case"] != "heart disease",
    "place": lambda r: (r["model"] != "no noise", -r["level"], SUMS.index(r["model"])),
}


def merged_owners(record):
    """Rows of models, and gains of merged releases as those of more models."""
    cases = unique(record["rows"], "case")
    groups = grouped(record["rows"], "case", "level").items()
    for (case, level), some in sorted(groups, key=lambda each: cases.index(each[0][0])):
        yield from some
        merged = by_draw(where(some, model="merged"), "auc")
        for other in ("equal noise", "best single"):
            gains = paired(merged, by_draw(where(some, model=other), "auc"))
            head = {"case": case, "level": level, "model": f"gain over {other}"}
            yield from ({**head, "auc": gain} for gain in gains)


# Privacy.
ATTACKS = {"attack": lambda r: r["attack"].replace("_", " ")}
LEAKAGE = {
    "above": lambda r: (r["estimate"] - r["truth"]) / r["standard_error"],
    "truth": lambda r: abs(r["truth"]),
}
ESTIMATES = (
    *("no labels, as claimed", "no labels", "10 labels", "30 labels", "100 labels"),
    *("LEEP, 100 labels", "LogME, 100 labels", "worth"),
)


def correlations(record):
    return "\n\n".join(_correlations(record["rows"], what) for what in ("worth", "gain"))


def _correlations(rows, what):
    kinds = {kind: where(rows, kind=kind) for kind in unique(rows, "kind")}
    lines = [
        [f"{kind}, {len(some)} releases", *_within(some, what)] for kind, some in kinds.items()
    ]
    lines.append([f"all, {len(rows)}, of one target", *_within(rows, what)])
    pooled = (f"{_correlation(rows, key, what):.2f}" for key in ESTIMATES)
    lines.append([f"all, {len(rows)}, together", *pooled])
    return table([what, *ESTIMATES], lines)


def _within(rows, what):
    """Mean correlations within targets and draws of three releases or more."""
    groups = [some for some in grouped(rows, "case", "draw").values() if len(some) >= 3]
    for key in ESTIMATES:
        found = Values(_correlation(some, key, what) for some in groups)
        found = Values(value for value in found if not np.isnan(value))
        error = np.std(found) / np.sqrt(len(found)) if found else 0
        yield f"{found.mean:.2f} ± {error:.2f}" if found else NOTHING


def _correlation(rows, key, what):
    values = [[r[name] for r in rows] for name in (key, what)]
    return np.nan if min(map(np.ptp, values)) == 0 else spearmanr(*values).statistic


# Tables.
MEAN_OF_SIX = "mean of the six"


def class_peers(record):
    """Rows of six tables, and means over these of each draw that has all."""
    rows, cases = list(record["rows"]), (MEAN_OF_SIX, *TABLES)
    rows += list(means_over(TABLES, rows, ("auc", "log_loss", "brier"), MEAN_OF_SIX))
    order = ("clear", *BUDGETS, "-")
    rows.sort(key=lambda r: (order.index(r["level"]), r["model"], cases.index(r["case"])))
    counts = sorted({len(some) for some in grouped(rows, "case", "level", "model").values()})
    seeds = " or ".join(map(str, counts))
    return with_columns(
        rows,
        name=lambda row: f"**{OWN}**" if row["model"] == OWN else row["model"],
        budget=lambda row: budget_of(row).replace("-", NOTHING),
        seeds=lambda row: seeds,
    )


def class_differences(record):
    """Paired differences to the best peer of each column, and to the one in the same terms."""
    rows, body = class_peers(record), []
    names = [name for name, method in CLASSES.items() if method.python]
    same = [name for name in names if CLASSES[name].view == "terms"]
    others = [name for name in names if name not in same]
    cases = (MEAN_OF_SIX, *TABLES)
    for level, (title, methods) in product(BUDGETS, (("best peer", others), (*same, same))):
        some = where(rows, level=level)
        cells = [less_best(where(some, case=case), OWN, methods, "auc") for case in cases]
        texts = (f"{v:+.3f ±e}" + f" ({best})" * (len(methods) > 1) for v, best in cells)
        body.append([title, level.removeprefix("record "), *texts])
    return table(["less", "ε", *cases], body)


def synthetic_rows(record):
    """Rows by level and model, the release first."""
    order = [OWN, *(f"{maker}, {learner}" for maker in SYNTHETIC for learner in LEARNERS)]
    rows = sorted(
        record["rows"], key=lambda r: (BUDGETS.index(r["level"]), order.index(r["model"]))
    )
    package = {v for row in rows for k, v in (row.get("peer") or {}).items() if k == "dpmm"}
    return with_columns(
        rows,
        name=lambda row: f"**{OWN}**" if row["model"] == OWN else row["model"],
        budget=budget_of,
        package=lambda row: " and ".join(sorted(package)),
    )


RECORD_MODELS = ("target", "self-training", "all labels", "source", "transfer")
RECORD_MEASURES = ("auc", "log_loss", "brier", "balanced_accuracy")


def record_cells(rows, measure):
    """Return a cell for each table, level and number of labels that has transfers."""
    groups, cells = grouped(rows, "case", "level", "model", "labels"), []
    for (case, level, model, labels), some in groups.items():
        if model == "transfer":
            keys = {"all labels": ("-", None), "source": (level, 0), "transfer": (level, labels)}
            values = {}
            for name in RECORD_MODELS:
                of_level, n = keys.get(name, ("-", labels))
                values[name] = by_draw(groups.get((case, of_level, name, n), ()), measure)
            cells.append(Cell(some[0], values, ("source", "target"), sign_of(measure), 1e-12))
    return sorted(cells, key=_place_of_record)


def _place_of_record(cell):
    place = cell.place
    order = (not _of_records(cell), -epsilon_of(place["level"]), place["labels"])
    return TABLES.index(place["case"]), *order


def _of_records(cell):
    return cell.place["level"].startswith("record")


def record_outcomes(record):
    """Wins, ties and losses of each measure, kind of release and number of labels."""
    body = []
    for measure in RECORD_MEASURES:
        groups: dict = {}
        for cell in record_cells(record["rows"], measure):
            groups.setdefault((cell.place["labels"], _of_records(cell)), []).append(cell)
        for (labels, of_records), some in sorted(groups.items()):
            counts = Counter(cell.outcome() for cell in some)
            kind = "noisy statistics" if of_records else "noisy rows"
            gains = [[cell.gain() for cell in some]]
            gains += [[c.gain(n) for c in some if c.values[n]] for n in ("source", "target")]
            means = (Values(gain.mean for gain in each) for each in gains)
            head = [TITLES[measure], labels, kind, *(counts[each] for each in OUTCOMES)]
            body.append([*head, *(f"{each:+.4f}" for each in means)])
    gains = ("gain", "over the source", "over the target")
    names = ("wins", "ties", "losses")
    return table(["measure", "labels of a class", "release", *names, *gains], body)


def record_values(record):
    """Rows of the value of each model by draw, in each measure and cell."""
    for measure in ("auc", "log_loss"):
        for cell in record_cells(record["rows"], measure):
            head = {"measure": measure, **cell.place, "release": level_name(cell.place["level"])}
            for name in RECORD_MODELS:
                yield from ({**head, "model": name, "value": v} for v in cell.all_of(name))


# Targets.
# Of each measure the largest difference that counts as none.
SHIFT_MEASURES = {"log_loss": 0.01, "auc": 0.005}
SHIFT_MODELS = {
    "release": "release alone",
    "labels": "labels alone",
    "boosting": "boosting",
    "transfer": "transfer",
    "class prior": "transfer, frequencies given",
}
TASKS = {"heart": "four hospitals", "tables": "six tables by a column", "adult": "adult"}


def shift_cells(rows, measure):
    """Return the cells of a measure; from one hospital: draws are means over the three others."""
    names = {NONE: NONE, "all": "three"}
    rows = [{**row, "sources": names.get(row["source"], "one")} for row in rows]
    groups = grouped(rows, "task", "case", "sources", "level", "labels", "variant")
    found = {}
    for key, some in groups.items():
        models = grouped(some, "model").items()
        found[key] = {model: by_draw(of_model, measure) for (model,), of_model in models}
    made, sides = [], ("release", "labels")
    for key, own in found.items():
        if "transfer" in own:
            task, case, sources, level, n, sampling = key
            alone = found.get((task, case, NONE, NONE, n, sampling), {})
            release = found[task, case, sources, level, 0, NONE]["release"]
            values, least = {"release": release, **alone, **own}, SHIFT_MEASURES[measure]
            made.append(Cell(groups[key][0], values, sides, sign_of(measure), least))
    return made


def _shown_labels(cell):
    """Return the number of labels, and how they were drawn, as text."""
    labels, sampling = (cell.place[name] for name in ("labels", "variant"))
    text = "all" if labels is None else f"{labels}"
    return text if sampling == NONE else f"{text}, {sampling}"


def shift_draws(record):
    """How many draws targets have, as text."""
    found = {len(cell.values["transfer"]) for cell in shift_cells(record["rows"], "log_loss")}
    return [{"draws": " or ".join(map(str, sorted(found, reverse=True)))}]


def shift_outcomes(record):
    """Wins, ties and losses against each other model, by measure and labels."""
    body, others = [], [name for name in SHIFT_MODELS if name != "transfer"]
    for measure in SHIFT_MEASURES:
        groups: dict = {}
        for cell in shift_cells(record["rows"], measure):
            groups.setdefault(_shown_labels(cell), []).append(cell)
        for labels, some in groups.items():
            counts = [_counts(some, lambda cell: cell.better)]
            counts += [_counts(some, lambda cell, name=name: name) for name in others]
            body.append([TITLES[measure], labels, *counts])
    header = ["measure", "labels", "better side", *(SHIFT_MODELS[name] for name in others)]
    return table(header, body)


def _counts(some, other):
    counts = Counter(cell.outcome(other(cell)) for cell in some if other(cell) in cell.values)
    return " / ".join(str(counts[each]) for each in OUTCOMES) if counts else NOTHING


def shift_means(record):
    """Rows of the mean of each model over draws, in each measure and cell."""
    for measure in SHIFT_MEASURES:
        for cell in shift_cells(record["rows"], measure):
            head = {
                "sources": cell.place["sources"],
                "ε": budget_of(cell.place),
                "labels": _shown_labels(cell),
                "measure": TITLES[measure],
                "targets": TASKS[cell.place["task"]],
            }
            for model, name in SHIFT_MODELS.items():
                values = cell.all_of(model)
                yield {**head, "model": name, "value": values.mean if values else None}


def label_choices(record):
    """Rows of each data set, source and number of labels, with a text for each choice of these.

    A choice has its mean difference to a random one over draws, with the standard error, and
    whether it gains or loses more than that.
    """
    data = dict.fromkeys(HOSPITALS, "four hospitals")
    data |= dict.fromkeys(SPLITS, "twelve targets of tables")
    rows = with_columns(record["rows"], data=lambda r: data.get(r["case"], r["case"]))
    for (name, level, n_labels), some in grouped(rows, "data", "level", "labels").items():
        for measure in ("log_loss", "auc" if name in data.values() else "accuracy"):
            head = {"data": name, "level": level, "labels": n_labels, "measure": TITLES[measure]}
            head["random"] = _shown(measure, pick(some, measure, variant="random"))
            yield head | {
                variant: _difference(some, variant, measure)
                for variant in unique(some, "variant")
                if variant != "random"
            }


def _difference(rows, variant, measure):
    """Return the mean difference of a choice of labels to a random one, as text."""
    pairs = grouped(where(rows, variant=("random", variant)), "case", "draw").values()
    values = [{row["variant"]: row[measure] for row in pair} for pair in pairs]
    values = Values(v[variant] - v["random"] for v in values if None not in v.values())
    if len(values) < 2:
        return NOTHING
    better = (values.mean < 0) == (measure == "log_loss")
    text = _shown(measure, values, "+", " ±e")
    differs = abs(values.mean) > values.error
    return f"{text}, **{'gain' if better else 'loss'}**" if differs else text


def _shown(measure, values, sign="", spread=""):
    number = f"{sign}{'.1f' if measure == 'accuracy' else '.3f'}"
    return f"{values:{number}{spread}}"


# Times.
TIME_MODELS = {
    "skdp": "skdp",
    "DP logistic": "DP logistic",
    "DP-SGD, Cox loss": "DP-SGD, Cox loss",
    "DP-SGD in skdp's terms": "DP-SGD in skdp's terms",
    "Cox": "Cox, not private",
    "penalized Cox": "penalized Cox, not private",
    "boosting": "boosting, not private",
}
TIME_ORDERS = {
    "case": ("flchain", "nwtco", "gbsg2", "whas500", "heart_failure"),
    "level": (*BUDGETS, "clear"),
    "model": (*TIME_MODELS,),
}
QUARTERS = ("calibration_0.25", "calibration_0.5", "calibration_0.75")
TIME_COLUMNS = {
    "name": lambda r: TIME_MODELS[r["model"]],
    "budget": lambda r: epsilon_name(budget_of(r).replace(NOTHING, "inf")),
    "place": lambda r: [order.index(r[name]) for name, order in TIME_ORDERS.items()],
    # How far curves of survival are from those observed, and by how much above them.
    "calibration": lambda r: sum(abs(r[name]) for name in QUARTERS) / 3,
    "excess": lambda r: sum(r[name] for name in QUARTERS) / 3,
    # Of the package itself, how far the expected concordance is from that reached.
    "error": lambda r: abs(r["expected"] - r["c"]),
    "above": lambda r: r["expected"] - r["c"],
    "holds": lambda r: holds(r, r["expected"], r["c"]),
}


def time_wins(record):
    """How often the transfer is better than the better side, as good, or worse."""
    body = []
    for (group, labels), some in grouped(record["rows"], "group", "labels").items():
        if labels:
            texts = []
            for name, margin in (("c", 0.01), ("ibs", 0.005)):
                gains = [_gain(row, name) for row in some]
                counts = [sum(g > margin for g in gains), 0, sum(g < -margin for g in gains)]
                counts[1] = len(gains) - sum(counts)
                texts.append(f"{' / '.join(map(str, counts))}; worst {min(gains):+.3f}")
            body.append([{1: "to choose by", 2: "to judge by"}[group], labels, *texts])
    return table(["tables", "outcomes", "concordance", "Brier score"], body)


def _gain(row, name):
    """By how much a transfer is better than the better side."""
    own, *sides = (row[f"{name}_{side}"] for side in ("transfer", "release", "outcomes"))
    sides = [side for side in sides if side is not None]
    return own - max(sides) if name == "c" else min(sides) - own


def defaults(record):
    """Rows of classifiers, those of skdp before and after its defaults changed."""
    return with_columns(
        record["rows"],
        name=lambda r: r["model"] + f", {r['variant']}" * r["model"].startswith("CDMMA"),
        half=lambda r: "choosing" if r["level"] == "chosen" else "judging",
    )
