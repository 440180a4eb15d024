"""Outcomes that are numbers: private regressions of whole records, and transfers to another site.

numbers: this and other packages on the same rows; ``--peers`` as for ``bench_tables.py``. R² on
test rows is that of the outcome between its public bounds (of a price, its logarithm). Of the
package itself also the share of outcomes in its intervals of 80 %, and the R² that the release
expects; then releases of owners that share all rows, merged, beside one release of the same rows:
with the same ε, and with as much noise as the owners' releases have together.

transfer: what do a release about a number and few outcomes give another site, compared with
either? Tables are split by a column that is left out; a release of one site is the source, and
each other site the target, with 10, 30, 100 and all outcomes (half of its rows, 6,000 at most; the
others are tested). R² is that of the number, on a logarithmic scale where the outcome has one: of
the transfer, of the release alone, and of ridge regression of the known outcomes alone on the
release's functions of columns, its strength by cross-validation. Priors of DPTransferRegressor
were chosen by the first group of tables. Larger, less probable strengths came after a look at the
second group, and the reach of a row after one at the third.

totals: predicted totals over the true ones, the share in intervals of 80 %, and R² of the outcome
itself, for amounts, hours and visits, from releases with 0 and 100 known outcomes of other rows.
Constants of the distribution of a number were chosen by the first four tables.
"""

from functools import partial
from itertools import product

import _bench
import numpy as np
import pandas as pd
from _bench import cell_of, epsilon_of
from _data import DIABETES, DIAMONDS, NUMBERS, VIETNAM, categories, numbers_of, numeric, outcomes
from _data import table as load_table
from _fits import LEVELS, TOGETHER, merged_and_whole
from _peers import DELTA, asking
from _peers import NUMBERS as METHODS
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score

from skdp import DPStatisticsSource, DPTransferRegressor
from skdp.datasets import load_heart_disease

OWN, MERGED = ("linear", "auto"), ("linear", "auto")
OWNERS, FEWEST = (4, 12), 300  # rows of an owner at least


def make_release(rows, model, part, epsilon):
    """Return the release of a part of the rows to learn from, of all for None."""
    part = slice(None) if part is None else part
    source = DPStatisticsSource(epsilon, DELTA, encoder=rows.columns, model=model)
    return source.fit(rows.X.iloc[part], rows.y[part]).release_


def worth(release, rows):
    """R² reached and expected, and the share of outcomes in intervals of 80 %."""
    found, ends = release.predict(rows.X_test, return_interval=0.8)
    expected, low, high = map(float, release.regression.r2)
    r2 = r2_score(rows.y_test, found)
    # By how much R² depends on each test row, for its sampling error.
    squares = (rows.y_test - rows.y_test.mean()) ** 2
    influence = ((1 - r2) * squares - (rows.y_test - found) ** 2) / squares.mean()
    return {
        "r2": r2,
        "sampling_sd": float(influence.std() / np.sqrt(len(influence))),
        "inside": float(np.mean((ends[:, 0] <= rows.y_test) & (rows.y_test <= ends[:, 1]))),
        "expected_r2": expected,
        "expected_low": low,
        "expected_high": high,
    }


def own(cells):
    """Return the row of a model, or those of owners that share all rows at random."""
    rows = numbers_of(cells[0]["case"], cells[0]["draw"], framed=True)
    epsilon, (model, _, owners) = (
        epsilon_of(cells[0]["level"]),
        cells[0]["variant"].partition(", "),
    )
    with _bench.processor() as timer:
        if owners:
            parts = np.array_split(np.arange(len(rows.y)), int(owners.split()[0]))
            releases = merged_and_whole(partial(make_release, rows, model), epsilon, parts)
        else:
            releases = [make_release(rows, cells[0]["model"], None, epsilon)]
    pairs = zip(cells, releases, strict=True)
    return [{**c, **worth(r, rows), "fit_seconds": timer.seconds} for c, r in pairs]


def plan(methods, draws):
    """Groups of cells whose rows are made together."""
    for seed, name, model in product(range(4 * draws), NUMBERS, (*OWN, *methods)):
        if seed < draws or name == "diabetes":  # with few rows, whose draws differ more
            for level in METHODS[model].levels if model in METHODS else LEVELS:
                yield [cell_of(name, level, model, "default", seed, None)]
    for seed, name, n in product(range(min(draws, 3)), NUMBERS, OWNERS):
        if len(numbers_of(name, seed).y) >= n * FEWEST:
            for level, model in product(LEVELS, MERGED):
                place = (f"{model}, {n} owners", seed, None)
                yield [cell_of(name, level, each, *place) for each in TOGETHER]


def numbers(options):
    asks = {m: asking("NUMBERS", m, options.peers.get(METHODS[m].python)) for m in METHODS}

    def measure(cells):
        cell = cells[0]
        if cell["model"] not in METHODS:
            return own(cells)
        rows = numbers_of(cell["case"], cell["draw"])
        reply = asks[cell["model"]](rows, cell["level"], cell["draw"])
        return [{**cell, "r2": r2_score(rows.y_test, reply.pop("scores")), **reply}]

    groups = plan([name for name in METHODS if asks[name]], options.draws or 5)
    _bench.fill("numbers", groups, measure, again=options.again)


MOST_TEST, MOST_LABELS = 1500, 6000
SITES = dict(zip("DEFGHIJ", ["D-F"] * 3 + ["G-H"] * 2 + ["I-J"] * 2, strict=True))
# Wider bounds than those of the benchmark of releases.
DOCTOR = categories(
    lc=(0.0, 3.258096, 3.931826, 4.564348),
    health=("excellent", "good", "fair", "poor"),
    **dict.fromkeys(("idp", "physlim", "child", "black"), (False, True)),
)
DOCTOR |= numeric(**dict.fromkeys(("lpi", "fmde", "lfam"), (0, 10)))
DOCTOR |= numeric(**dict.fromkeys(("ndisease", "linc", "educdec", "age"), (0, 100)))


def sites():
    """Yield group, rows, the outcome's name, bounds and scale, columns, sites and their name."""
    rows = outcomes("vietnam_expenditure")
    for site in ("urban", "farm"):
        yield 1, rows, "lntotal", {"low": 6, "high": 13}, VIETNAM, rows[site], site
    heart = load_heart_disease()
    schema, hospital = heart.schema["columns"], pd.Series(heart.hospital)
    yield 1, heart.data, "thalach", {"low": 50, "high": 220}, schema, hospital, "hospital"
    rows, outcome = outcomes("diamonds"), {"low": 300, "high": 2e4, "log": True}
    yield 2, rows, "price", outcome, DIAMONDS, rows["color"].map(SITES), "color"
    rows = outcomes("doctor_contacts")
    for log in (False, True):
        yield 2, rows, "mdu", {"low": 0, "high": 80, "log": log}, DOCTOR, rows["sex"], "sex"
    rows = outcomes("diabetes")
    yield 2, rows, "target", {"low": 25, "high": 350}, DIABETES, rows["sex"], "sex"
    others = {"adult": "hours-per-week", "actg175": "cd40", "whas500": "hr", "flchain": "kappa"}
    for name, target in others.items():
        data = load_table(name, 0)
        site, schema = "gender" if "gender" in data.data else "sex", data.schema["columns"]
        outcome = {k: v for k, v in schema[target].items() if k in ("low", "high", "log")}
        schema = {k: v for k, v in schema.items() if k != "flc.grp"}  # follows from kappa
        yield 3, data.data, target, outcome, schema, data.data[site], site


def transfers(release, encoded, y, order, draws):
    """Yield the number of outcomes known, and R² of transfer, release and these alone, by draw."""
    outcome, n_test = release.outcome, min(len(order) // 2, MOST_TEST)
    test, pool = order[:n_test], order[n_test:][:MOST_LABELS]
    t, Z = outcome.positions(y), release.statistics.basis.encode(encoded)
    alone = release.predict(encoded[test], statistic="median")
    alone = r2_score(t[test], outcome.positions(alone))
    for n in (10, 30, 100, len(pool)):
        if 0.8 * len(pool) < n < len(pool) or n > len(pool):
            continue
        scores = []
        for draw in range(draws if n < len(pool) else 1):
            known = np.random.default_rng(draw).permutation(pool)[:n]
            labels = np.where(np.isin(pool, known), y[pool], np.nan)
            model = DPTransferRegressor(release).fit(encoded[pool], labels)
            mean, ends = model.predict(encoded[test], return_interval=0.8, statistic="median")
            ridge = RidgeCV(np.logspace(-3, 5, 20)).fit(Z[known], t[known])
            r2 = r2_score(t[test], outcome.positions(mean))
            of_ridge = r2_score(t[test], np.clip(ridge.predict(Z[test]), 0, 1))
            inside = (ends[:, 0] <= y[test]) & (y[test] <= ends[:, 1])
            scores.append((r2, of_ridge, np.mean(inside)))
        transfer, of_labels, covered = np.mean(scores, axis=0).tolist()
        found = {"labels": n if n < len(pool) else "all", "transfer": transfer}
        yield found | {"release": alone, "outcomes": of_labels, "covered": covered}


def transfer_rows(draws):
    for group, X, target, outcome, schema, site, by in sites():
        schema = {k: v for k, v in schema.items() if k not in (target, by)}
        encoder = {"version": 1, "columns": schema, "outcome": {"type": "number", **outcome}}
        y, known = np.asarray(X[target], float), X[target].notna().to_numpy()
        X, site = X[list(schema)], np.where(known, site.astype(str), "")
        log, names = " (log)" * outcome.get("log", False), [k for k in dict.fromkeys(site) if k]
        for epsilon, source in product((1.0, 4.0), names):
            here = site == source
            made = DPStatisticsSource(epsilon, encoder=encoder, model="linear")
            release = made.fit(X[here], y[here]).release_
            for other in [name for name in names if name != source]:
                order = np.random.default_rng(0).permutation(np.flatnonzero(site == other))
                case = f"{target}{log}, {by}: {source} to {other}"
                for found in transfers(release, release.encode(X), y, order, draws):
                    yield {"group": group, "case": case, "level": epsilon} | found


def transfer(options):
    draws = options.draws or 6
    _bench.save("numbers_transfer", transfer_rows(draws), {"draws": draws})


def amounts(draw):
    """Yield names, rows, outcomes and schemas of tables of amounts, hours and visits."""
    rng, n = np.random.RandomState(draw), 20_000
    rows, box = outcomes("vietnam_expenditure"), {"type": "number", "low": 0, "log": True}
    bounds = {"low": 400, "high": 440_000}
    yield "expenditure", rows, np.exp(rows["lntotal"]), VIETNAM, box | bounds
    rows = outcomes("doctor_contacts")
    yield "visits", rows, rows["mdu"], DOCTOR, box | {"high": 80, "step": 1}
    X = pd.DataFrame(rng.uniform(-1, 1, (n, 6)), columns=list("abcdef"))
    columns = numeric(**dict.fromkeys(X.columns, (-1, 1)))
    cost = np.exp(6 + X["a"] + 0.7 * X["b"] - 0.5 * X["c"] + 0.9 * rng.standard_normal(n))
    yield "lognormal", X, cost, columns, box | {"low": 10, "high": 30_000}
    some = rng.rand(n) < 1 / (1 + np.exp(-(0.2 + 1.2 * X["a"] - X["d"] + 0.5 * X["e"])))
    yield "zeros", X, cost * some, columns, box | {"high": 30_000, "zero": True}
    rows = outcomes("diamonds")
    yield "diamonds", rows, rows["price"], DIAMONDS, box | {"low": 300, "high": 20_000}
    linear = {"type": "number", "low": 0}
    for table, name, high in (("adult", "hours-per-week", 100), ("randhie", "disea", 60)):
        data = load_table(table, 0)
        columns = {k: v for k, v in data.schema["columns"].items() if k != name}
        yield name, data.data, data.data[name], columns, linear | {"high": high}


def total_rows(draws):
    for draw in range(draws):
        for case, X, y, columns, outcome in amounts(draw):
            y = np.clip(np.asarray(y, float), outcome["low"], outcome["high"])
            order = np.random.RandomState(draw).permutation(len(y))
            test, learn = np.split(order, [min(len(y) // 4, 4000)])
            schema = {"version": 1, "columns": columns, "outcome": outcome}
            X = X[list(columns)]
            for epsilon, known in product((0.5, 1.0, 4.0), (0, 100)):
                if known == 0:
                    source = DPStatisticsSource(epsilon, DELTA, encoder=schema)
                    release = source.fit(X.iloc[learn], y[learn]).release_
                labels = np.where(np.arange(len(test)) < known, y[test], np.nan)
                model = DPTransferRegressor(release).fit(X.iloc[test], labels)
                others = test[known:]
                mean, ends = model.predict(X.iloc[others], return_interval=0.8)
                inside = (ends[:, 0] <= y[others]) & (y[others] <= ends[:, 1])
                found = {"case": case, "draw": draw, "level": epsilon, "labels": known}
                found |= {"total": float(mean.sum() / y[others].sum())}
                found |= {"inside": float(inside.mean()), "r2": r2_score(y[others], mean)}
                yield found


def totals(options):
    draws = options.draws or 2
    _bench.save("numbers_totals", total_rows(draws), {"draws": draws})


if __name__ == "__main__":
    _bench.main(__doc__, numbers=numbers, transfer=transfer, totals=totals)
