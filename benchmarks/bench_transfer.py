"""All transfers, models and privacy levels: computes the rows that a table still lacks.

``_plan.py`` says which rows each table has; options choose some of them, as ``--levels "8,record
8"``. Every draw of labels has a source with new noise of its own, made only where a row needs it.
"DP-SGD" needs torch and opacus, and is left out without them.
"""

import importlib.util
import warnings
from itertools import groupby

import _bench
from _plan import (
    ALONE,
    DPSGD,
    NONE,
    PLAN,
    choice_of,
    file_of,
    fit_settings,
    layers_of,
    source_settings,
    wanted,
)
from _store import Results, circumstances


def run(table, cells, results, task, make, redo=False):
    """Compute the rows that are missing, whole draws first, and write each.

    ``task(table, case)`` gives the data, ``make(table, level, rows, settings)`` a source.
    """
    made = 0
    for case, of_case in groupby(cells, lambda cell: cell["case"]):
        todo = [cell for cell in of_case if redo or cell not in results]
        if not todo:
            continue
        source_rows, target = task(table, case)
        for _, group in groupby(sorted(todo, key=source_of), key=source_of):
            made += run_source(table, list(group), results, source_rows, target, make, redo)
    return made


def source_of(cell):
    """What rows share that one source serves, draws first."""
    return cell["draw"], cell["level"], cell["model"] == DPSGD, layers_of(cell)


def run_source(table, cells, results, source_rows, target, make, redo):
    """Compute all rows of one source; return how many were written."""
    results.reload()
    cells = [cell for cell in cells if redo or cell not in results]  # by another process
    if not cells:
        return 0
    draw, level = cells[0]["draw"], cells[0]["level"]
    settings = source_settings(table, cells)
    source = make(table, level, source_rows(draw), settings)
    if level != NONE:
        *_, X_test, y_test = target(draw, cells[0]["labels"])
        alone = {**cells[0], "model": ALONE, "variant": source_name(settings), "labels": None}
        scores = {"accuracy": source.score(X_test, y_test), "fit_seconds": source.seconds}
        results.add({**alone, **scores, "source": source.settings}, redo)
    made = 0
    for cell in cells:
        fit = {} if cell["model"] == DPSGD else fit_settings(cell)
        result = source.transfer(target(draw, cell["labels"], choice_of(cell)), **fit)
        row = {**cell, **result, "source": source.settings, "settings": fit}
        made += results.add(row, redo)
        print({k: row[k] for k in (*cell, "accuracy")}, flush=True)
    return made


def source_name(settings):
    """Variant of the row of a source alone."""
    if "parts" not in settings:
        return DPSGD
    return settings["parts"] + ("+five-layers" if settings["n_layers"] == 5 else "")


class Maker:
    """Makes sources; a network by DP-SGD, whose seed is fixed, once for all draws."""

    def __init__(self, n_jobs):
        self.n_jobs, self.networks, self.rows = n_jobs, {}, None

    def __call__(self, table, level, rows, settings):
        if "parts" in settings:
            from _fits import Source

            return Source(level, rows, n_jobs=self.n_jobs, **settings)
        from _dpsgd import Network

        if rows is not self.rows:
            self.networks, self.rows = {}, rows
        if level not in self.networks:
            self.networks[level] = Network(level, rows, pictures="-" in table, **settings)
        return self.networks[level]


def installed(cells):
    """Return the rows that can be computed here."""
    if all(importlib.util.find_spec(name) for name in ("torch", "opacus")):
        return cells
    kept = [cell for cell in cells if cell["model"] != DPSGD]
    if len(kept) < len(cells):
        print(f"{len(cells) - len(kept)} rows of DP-SGD are left out: torch or opacus is missing")
    return kept


def arguments():
    parser = _bench.parser_of(__doc__, draws=0, redo=False, n_jobs=1)
    parser.add_argument("table", choices=PLAN)
    choices = ("models", "variants", "levels", "labels")
    for name in choices:
        parser.add_argument(f"--{name}", type=_bench.names, metavar="A,B")
    args = parser.parse_args()
    try:
        return args, wanted(args.table, **{n: getattr(args, n) for n in (*choices, "draws")})
    except ValueError as error:
        parser.error(str(error))


def main():
    args, cells = arguments()
    command = f"python benchmarks/bench_transfer.py {args.table}"
    results = Results(file_of(args.table), command)
    missing = [cell for cell in cells if args.redo or cell not in results]
    print(f"{len(missing)} of {len(cells)} rows to compute")
    if cells := installed(missing):
        from _tasks import task

        warnings.simplefilter("ignore")  # epsilon = inf is the reference here
        results.run = circumstances()  # the commit that this process has loaded
        print(run(args.table, cells, results, task, Maker(args.n_jobs), args.redo), "rows")


if __name__ == "__main__":
    main()
