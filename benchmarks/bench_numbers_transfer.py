"""What do a release about a number and few outcomes give another site, compared with either?

Tables are split by a column that is left out; a release of one site is the source, and each other
site the target, with 10, 30, 100 and all outcomes (half of its rows, 6,000 at most; the others
are tested). R² is that of the number, on a logarithmic scale where the outcome has one, over draws
of the rows whose outcome is known: of the transfer, of the release alone, and of ridge regression
of these rows alone on the release's functions of columns, its strength by cross-validation.

Priors of DPTransferRegressor were chosen by the first group of tables. Larger, less probable
strengths came after a look at the second group, and the reach of a row after one at the third.
"""

from itertools import product

import _bench
import numpy as np
import pandas as pd
from _confidence_data import CUT, categories, numbers, outcomes
from _files import load_table
from _numbers_data import DIABETES, diabetes
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score

from skdp import DPStatisticsSource, DPTransferRegressor
from skdp.datasets import load_heart_disease

MOST_TEST, MOST_LABELS = 1500, 6000
SITES = dict(zip("DEFGHIJ", ["D-F"] * 3 + ["G-H"] * 2 + ["I-J"] * 2, strict=True))


# Wider bounds than those of the benchmark of releases.
DOCTOR = categories(
    lc=(0.0, 3.258096, 3.931826, 4.564348),
    health=("excellent", "good", "fair", "poor"),
    **dict.fromkeys(("idp", "physlim", "child", "black"), (False, True)),
)
DOCTOR |= numbers(**dict.fromkeys(("lpi", "fmde", "lfam"), (0, 10)))
DOCTOR |= numbers(**dict.fromkeys(("ndisease", "linc", "educdec", "age"), (0, 100)))


def tables():
    """Yield group, rows, the outcome's name, bounds and scale, columns, sites and their name."""
    rows, schema = outcomes("vietnam_expenditure"), CUT["vietnam"][2]
    for site in ("urban", "farm"):
        yield 1, rows, "lntotal", {"low": 6, "high": 13}, schema, rows[site], site
    heart = load_heart_disease()
    schema, hospital = heart.schema["columns"], pd.Series(heart.hospital)
    yield 1, heart.data, "thalach", {"low": 50, "high": 220}, schema, hospital, "hospital"
    rows, outcome = outcomes("diamonds"), {"low": 300, "high": 2e4, "log": True}
    yield 2, rows, "price", outcome, CUT["diamonds"][2], rows["color"].map(SITES), "color"
    rows = outcomes("doctor_contacts")
    for log in (False, True):
        yield 2, rows, "mdu", {"low": 0, "high": 80, "log": log}, DOCTOR, rows["sex"], "sex"
    rows = diabetes()
    yield 2, rows, "target", {"low": 25, "high": 350}, DIABETES, rows["sex"], "sex"
    others = {"adult": "hours-per-week", "actg175": "cd40", "whas500": "hr", "flchain": "kappa"}
    for name, target in others.items():
        table = load_table(name, 0)
        site, schema = "gender" if "gender" in table.data else "sex", table.schema["columns"]
        outcome = {k: v for k, v in schema[target].items() if k in ("low", "high", "log")}
        schema = {k: v for k, v in schema.items() if k != "flc.grp"}  # follows from kappa
        yield 3, table.data, target, outcome, schema, table.data[site], site


def measured(release, encoded, y, order, draws):
    """Yield the number of outcomes known, and R² of transfer, release and these alone, by draw."""
    outcome, n_test = release.outcome, min(len(order) // 2, MOST_TEST)
    test, pool = order[:n_test], order[n_test:][:MOST_LABELS]
    t, Z = outcome.positions(y), release.regression.basis.encode(encoded)
    alone = r2_score(t[test], outcome.positions(release.predict(encoded[test])))
    for n in (10, 30, 100, len(pool)):
        if 0.8 * len(pool) < n < len(pool) or n > len(pool):
            continue
        scores = []
        for draw in range(draws if n < len(pool) else 1):
            known = np.random.default_rng(draw).permutation(pool)[:n]
            labels = np.where(np.isin(pool, known), y[pool], np.nan)
            model = DPTransferRegressor(release).fit(encoded[pool], labels)
            mean, deviation = model.predict(encoded[test], return_std=True)
            ridge = RidgeCV(np.logspace(-3, 5, 20)).fit(Z[known], t[known])
            r2 = r2_score(t[test], outcome.positions(mean))
            of_ridge = r2_score(t[test], np.clip(ridge.predict(Z[test]), 0, 1))
            scores.append((r2, of_ridge, np.mean(np.abs(y[test] - mean) < 1.2816 * deviation)))
        transfer, of_labels, covered = np.mean(scores, axis=0).tolist()
        found = {"labels": n if n < len(pool) else "all", "transfer": transfer}
        yield found | {"release": alone, "outcomes": of_labels, "covered": covered}


def rows(options):
    for group, X, target, outcome, schema, sites, by in tables():
        schema = {k: v for k, v in schema.items() if k not in (target, by)}
        encoder = {"version": 1, "columns": schema, "outcome": {"type": "number", **outcome}}
        y, known = np.asarray(X[target], float), X[target].notna().to_numpy()
        X, site = X[list(schema)], np.where(known, sites.astype(str), "")
        log, names = " (log)" * outcome.get("log", False), [k for k in dict.fromkeys(site) if k]
        for epsilon, source in product((1.0, 4.0), names):
            here = site == source
            made = DPStatisticsSource(epsilon, encoder=encoder, model="linear")
            release = made.fit(X[here], y[here]).release_
            for other in [name for name in names if name != source]:
                own = np.random.default_rng(0).permutation(np.flatnonzero(site == other))
                case = f"{target}{log}, {by}: {source} to {other}"
                for found in measured(release, release.encode(X), y, own, options.draws):
                    yield {"group": group, "case": case, "level": epsilon} | found


if __name__ == "__main__":
    found = pd.DataFrame(_bench.run("numbers_transfer", rows, __doc__, draws=6))
    found["ahead"] = found["transfer"] - found[["release", "outcomes"]].max(axis=1)
    found["won"], found["lost"] = found["ahead"] > 0.01, found["ahead"] < -0.01
    kinds = {"ahead": ["mean", "min"], "won": "sum", "lost": "sum", "case": "size"}
    means = dict.fromkeys(["transfer", "release", "outcomes", "covered"], "mean")
    print(found.groupby(["group", "labels"], sort=False).agg(means | kinds).round(3).to_string())
    print(found.groupby("group").agg(kinds).round(3).to_string())
