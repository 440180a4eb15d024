"""What owners learn before and after a release.

confidence: log loss of releases, alone and merged, and that of the same ranking with the best
slope and intercept on the test rows, whose distribution is the source's.

merging: owners of parts of a table, their releases merged, against single ones, one release of all
rows, and no privacy. Each draw has rows and noise of its own.

sums: what one noise for all owners gains over the sum of their noises, through the real protocol.
The source's rows of six tables are dealt to 4, 20 and 100 owners at random; of adult 4 and 20
owners have 300 rows each as well; three hospitals are the owners where the fourth is the target.
All parties of the secure sum are in this process. Every model is linear, as that of the secure sum
is, but for "one release, auto". "single" is the release of one owner, the mean of three.

descent: what owners gain who learn together by gradient descent. 8,000 rows of adult are dealt to
4 and 20 owners, through the real protocol, and as many rows are predicted.

planning: does a plan say what releases will be worth? It knows the schema, the number of rows, the
frequencies of the classes in per cent, and the cross-validated AUC of a logistic regression on all
rows, as a published model would tell. Ten tables judge it; what simulated tables look like was
chosen on the hospitals.

evaluation: how near do private evaluations come, and do their intervals hold what they promise? A
model of half of the rows is evaluated on rows drawn with replacement from the other half, whose
own figures are so the true ones. Figures that noise leaves open are left out, and counted.

bounds: what are bounds and categories worth that ``quantile_bounds`` finds behind noise? All
columns of a table at once, whose rows are taken for private.
"""

import functools
from itertools import product
from unittest import mock

import _bench
import numpy as np
import pandas as pd
from _bench import cell_of
from _data import CHOOSING, HEART, JUDGING, LEAST, TABLES, table, take, two_classes, whole
from _fits import TOGETHER, merged_and_whole
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import (
    DPStatisticsSource,
    DPTransferClassifier,
    Release,
    TabularEncoder,
    evaluate_privately,
    plan_release,
    quantile_bounds,
)
from skdp.datasets import load_heart_disease
from skdp.federated import SecureSum, SecureSumOwner
from skdp.noise import GaussianQueries
from skdp.privacy import PrivacyLedger
from skdp.secure import Identity
from skdp.tabular import NumericColumn, as_schema

# Rows of an owner, and owners; rows for a target to learn from, and most rows to be predicted.
SIZES, OWNERS = (100, 300, 1000, 4000), (1, 4, 12)
N_UNLABELED, MOST_TEST = 300, 4000


def calibrated(y, probabilities):
    """Return log loss, by how much it is above that with the best slope and intercept, and AUC."""
    p = np.clip(probabilities, LEAST, 1 - LEAST)
    odds = np.clip(logit(p), -30, 30)[:, np.newaxis]
    odds /= max(odds.std(), LEAST)
    best = LogisticRegression(C=np.inf, max_iter=1000).fit(odds, y).predict_proba(odds)[:, 1]
    loss = log_loss(y, p)
    gap = loss - log_loss(y, np.clip(best, LEAST, 1 - LEAST))
    return {"log_loss": loss, "gap": gap, "auc": roc_auc_score(y, p)}


def predicted(rows, n_owners, n_rows, epsilon):
    """Yield the name and the worth of what is predicted by releases of a draw."""
    (X, y), schema, test, rest = rows
    parts = np.split(rest[: n_rows * n_owners], n_owners)
    source = DPStatisticsSource(epsilon, encoder=schema, model="linear")
    releases = [source.fit(*take((X, y), part)).release_ for part in parts]
    release = Release.merge(releases, disjoint=True) if n_owners > 1 else releases[0]
    (X_test, y_test), (unlabeled, _) = take((X, y), test), take((X, y), rest[-N_UNLABELED:])
    claims = {}
    if release.linear is not None and release.linear.expected_auc is not None:
        claims = {"expected_auc": release.linear.expected_auc[0, 1]}
    yield "release", calibrated(y_test, release.predict_proba(X_test)[:, 1]) | claims
    # Without labels, rows of the source serve where there are no others.
    model = DPTransferClassifier(release, random_state=0).fit(unlabeled, None)
    yield "transfer", calibrated(y_test, model.predict_proba(X_test)[:, 1])


def confidence_rows(draws):
    for name, draw in product((*CHOOSING, *JUDGING), range(draws)):
        (X, y), schema = two_classes(name)
        order = np.random.RandomState(draw).permutation(len(y))
        test, rest = np.split(order, [min(len(order) // 3, MOST_TEST)])
        rate = y[test].mean()
        base = log_loss(y[test], np.full(len(test), rate))
        for size, owners, epsilon in product(SIZES, OWNERS, (0.5, 1.0, 4.0, 8.0)):
            if len(rest) >= size * owners:
                cell = {"table": name, "size": size, "owners": owners, "epsilon": epsilon}
                rows = (X, y), schema, test, rest
                for predictor, found in predicted(rows, owners, size, epsilon):
                    over = {"over": found["log_loss"] - base}
                    yield cell | {"predictor": predictor} | found | over


def confidence(options):
    """Keep a row of each cell: means over its draws, and the worst of them."""
    draws = options.draws or 3
    with mock.patch.object(GaussianQueries, "add", _bench.quick_noise()):
        frame = pd.DataFrame(confidence_rows(draws))
    chosen = frame["table"].isin(CHOOSING)
    frame.insert(0, "half", np.where(chosen, "to choose by", "to judge by"))
    cells = frame.groupby([*frame.columns[:5], "predictor"], sort=False)
    rows = cells.mean().drop(columns="over").assign(worst=cells["over"].max()).reset_index()
    rows = [row.dropna().to_dict() for _, row in rows.iterrows()]
    _bench.save("confidence", rows, {"draws": draws})


# Of adult: owners at random, or by values of a column, ages in ten of equal size; all rows of a
# table: five owners at random.
CUTS = {f"adult, {n} owners": n for n in (5, 20, 60)}
CUTS |= {"adult by workclass": "workclass", "adult by age": "age"}
N_ROWS, N_OWNERS, MOST_OWNED = 300, 5, 2000
WHOLE = [f"{name}, {N_OWNERS} owners" for name in sorted(TABLES) if name != "adult"]
WHOLE += [f"adult, whole, {N_OWNERS} owners"]
SINGLE, NOT_PRIVATE = "best single", "no privacy"


def federation(case, draw):
    """Return rows and labels of owners, and those of the test, and the schema."""
    rows, schema = two_classes(case.split(",")[0] if case not in CUTS else "adult")
    order = np.random.RandomState(draw).permutation(len(rows[1]))
    test, rest = np.split(order, [min(len(order) // 3, MOST_TEST)])
    rest = rest[min(len(rest) // 4, 1000) :]  # the others are the target's
    return (
        [take(rows, part) for part in _owned(rows[0], CUTS.get(case), rest)],
        take(rows, test),
        schema,
    )


def _owned(X, cut, rest):
    """Return numbers of rows of each owner, of shuffled ones."""
    if cut is None:
        return np.array_split(rest[: N_OWNERS * MOST_OWNED], N_OWNERS)
    if isinstance(cut, int):
        return np.split(rest[: cut * N_ROWS], cut)
    values = X[cut].iloc[rest]
    if cut == "age":
        values = pd.qcut(values.rank(method="first"), 10, labels=False)
    parts = [rest[(values == value).to_numpy()] for value in values.dropna().unique()]
    return [part[:N_ROWS] for part in parts if len(part) >= N_ROWS]


def merged_rows(cells):
    """Return what each model is worth, of releases that the owners make anew."""
    owners, (X_test, y_test), schema = federation(cells[0]["case"], cells[0]["draw"])
    X, y = zip(*owners, strict=True)
    pooled, singles = (pd.concat(X, ignore_index=True), np.concatenate(y)), []

    def make(part, epsilon):
        source = DPStatisticsSource(epsilon, encoder=schema, classes=(0, 1))
        release = source.fit(*(pooled if part is None else part)).release_
        singles.extend([release] if part is not None else [])
        return release

    epsilon = float(cells[0]["level"])
    models = dict(zip(TOGETHER, merged_and_whole(make, epsilon, owners), strict=True))
    steps = (TabularEncoder(schema), StandardScaler(), LogisticRegression(max_iter=1000))
    models[NOT_PRIVATE] = make_pipeline(*steps).fit(*pooled)
    areas = {
        name: roc_auc_score(y_test, model.predict_proba(X_test)[:, 1])
        for name, model in (*models.items(), *enumerate(singles))
    }
    areas[SINGLE] = max(areas.pop(k) for k in range(len(singles)))
    return [{**cell, "auc": float(areas[cell["model"]])} for cell in cells]


def merging(options):
    groups = (
        [cell_of(case, level, name, None, draw, 0) for name in (SINGLE, *TOGETHER, NOT_PRIVATE)]
        for draw, case, level in product(range(options.draws or 5), (*CUTS, *WHOLE), ("4", "1"))
    )
    _bench.fill("merging", groups, merged_rows, again=options.again)


PRIVATE = ("single", "merged", "secure sum", "secure sum, a tenth", "one release")


def sum_cells(n_draws):
    variants = {name: [f"{n} owners, all rows" for n in (4, 20, 100)] for name in TABLES}
    variants["adult"] += [f"{n} owners, {N_ROWS} rows" for n in (4, 20)]
    variants = {HEART: ["3 owners, all rows"], **variants}
    for case, draw in product(variants, range(n_draws)):
        for variant, level in product(variants[case], (4.0, 1.0)):
            for model in (*PRIVATE, "one release, auto", "no noise"):
                if (model != "no noise" or level == 4.0) and (
                    model != "secure sum, a tenth" or int(variant.split()[0]) >= 20
                ):
                    yield [cell_of(case, level, model, variant, draw, 0)]


@functools.lru_cache(maxsize=4)
def parties(case, variant, draw):
    """Return rows, labels and schema, the owners' rows, and those of tests."""
    if case == HEART:
        hospital = load_heart_disease().hospital
        target = sorted(set(hospital))[draw % 4]
        owners = [np.flatnonzero(hospital == h) for h in sorted(set(hospital)) if h != target]
        return *whole(case), owners, np.flatnonzero(hospital == target)
    data = table(case, draw)
    n_owners, size = int(variant.split()[0]), variant.split(", ")[1]
    rows = np.random.RandomState(1000 + draw).permutation(data.source)
    if size != "all rows":
        rows = rows[: n_owners * N_ROWS]
    return data.data, data.target, data.schema, np.array_split(rows, n_owners), data.test


def secure_sum(X, y, schema, parts, epsilon, n_colluding, model="linear"):
    """Return the release of all parties' messages, and the bytes that an owner sent and got."""
    identities = [Identity.generate(f"owner {i}") for i in range(len(parts))]
    public = [identity.public for identity in identities]
    plan = SecureSum.create(
        schema, public, epsilon=epsilon, delta=1e-5, model=model, n_colluding=n_colluding
    )
    owners = []
    for identity, rows in zip(identities, parts, strict=True):
        mine = X.iloc[rows], y[rows]
        if model == "linear":
            accumulator = plan.accumulator()
            accumulator.add(*mine)
            mine = accumulator
        owners.append(SecureSumOwner(plan, identity, mine, ledger=PrivacyLedger()))
    joined = [owner.join() for owner in owners]
    sent, got, rounds, request = len(joined[0]), 0, 0, plan.combine(joined)
    while isinstance(request, bytes):
        answers = [owner.answer(request) for owner in owners]
        sent, got, rounds = sent + len(answers[0]), got + len(request), rounds + 1
        request = plan.combine([request, *answers])
    return request, {"sent": sent, "received": got, "rounds": rounds}


def sum_releases(model, X, y, schema, parts, epsilon):
    """Return releases of a model, whose qualities are averaged, and what else was measured."""

    def release(rows, **settings):
        settings = {"epsilon": epsilon, "model": "linear"} | settings
        return DPStatisticsSource(encoder=schema, **settings).fit(X.iloc[rows], y[rows]).release_

    everything = np.concatenate(parts)
    if model == "single":
        return [release(rows) for rows in parts[:3]], {}
    if model == "merged":
        return [Release.merge([release(rows) for rows in parts], disjoint=True)], {}
    if model.startswith("secure sum"):
        t = len(parts) // 10 if "tenth" in model else 1
        released, traffic = secure_sum(X, y, schema, parts, epsilon, t)
        return [released], traffic
    if model == "no noise":
        return [release(everything, epsilon=np.inf)], {}
    return [release(everything, model="auto" if "auto" in model else "linear")], {}


def sum_rows(cells):
    [cell] = cells
    X, y, schema, parts, test = parties(cell["case"], cell["variant"], cell["draw"])
    releases, more = sum_releases(cell["model"], X, y, schema, parts, cell["level"])
    positive, found = y[test] == releases[0].classes[1], []
    for release in releases:
        p = release.predict_proba(X.iloc[test])[:, 1]
        loss = log_loss(positive, np.clip(p, LEAST, 1 - LEAST))
        found.append((roc_auc_score(positive, p), loss))
    auc, loss = np.mean(found, axis=0).tolist()
    return [{**cell, "auc": auc, "log_loss": loss, **more}]


def sums(options):
    _bench.fill("secure_sum", sum_cells(options.draws or 5), sum_rows, again=options.again)


N_TOGETHER = 8000
WAYS = {
    f"{way}, {model}": (way, model)
    for model in ("linear", "gradients")
    for way in ("merged", "together", "one release")
}


def descent_row(cells):
    """Return how well owners predict adult, who merge releases or learn together."""
    [cell] = cells
    (X, y), schema = two_classes("adult")
    order = np.random.RandomState(2000 + cell["draw"]).permutation(len(y))
    test, rows = np.split(order[: 2 * N_TOGETHER], 2)
    parts = np.array_split(rows, int(cell["variant"].split()[0]))
    (way, model), more = WAYS[cell["model"]], {}

    def release(some):
        source = DPStatisticsSource(cell["level"], encoder=schema, model=model)
        return source.fit(X.iloc[some], y[some]).release_

    with _bench.processor() as timer:
        if way == "together":
            made, more = secure_sum(X, y, schema, parts, cell["level"], 1, model)
        elif way == "merged":
            made = Release.merge([release(part) for part in parts], disjoint=True)
        else:
            made = release(rows)
    p = made.predict_proba(X.iloc[test])[:, 1]
    found = {"auc": roc_auc_score(y[test], p), "log_loss": log_loss(y[test], p)}
    return [{**cell, **found, **more, "seconds": timer.seconds}]


def descent(options):
    groups = (
        [cell_of("adult", level, way, f"{n} owners", draw, 0)]
        for level, draw, n, way in product((1.0, 4.0), range(options.draws or 4), (4, 20), WAYS)
    )
    _bench.fill("descent", groups, descent_row, again=options.again)


PLANNED = (0.1, 0.25, 0.5, 1.0, 4.0)


def planned_cases():
    """Yield name, rows, labels 0 and 1, and schema."""
    frame, labels, schema = whole(HEART)
    y = (labels == schema.classes[1]).astype(int)
    sites = np.asarray(load_heart_disease().hospital)
    schema = as_schema({**schema.to_mapping(), "classes": [0, 1]})
    yield "hospitals together", frame, y, schema
    for site in np.unique(sites):
        yield str(site), frame[sites == site], y[sites == site], schema
    for name in (*CHOOSING, *JUDGING):
        (frame, y), schema = two_classes(name)
        yield name, frame, y, as_schema(schema)


def planned_rows(draws, name, frame, y, schema):
    """Yield a row for each ε."""
    encoded = np.asarray(TabularEncoder(schema).fit_transform(frame))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = LogisticRegression(max_iter=500)
    scores = cross_val_predict(model, encoded, y, cv=folds, method="predict_proba")[:, 1]
    n, share = min(5000, int(0.6 * len(y))), float(np.clip(round(y.mean(), 2), 0.01, 0.99))
    settings = {"effects": roc_auc_score(y, scores), "n_draws": draws, "random_state": 0}
    plan = plan_release(schema, n, (1 - share, share), PLANNED, **settings)
    planned = plan.table.set_index("epsilon")
    for epsilon in (*PLANNED, np.inf):
        reached = []
        for seed in range(draws):
            order = np.random.default_rng(seed).permutation(len(y))
            learn, test = order[:n], order[n : n + 20_000]
            source = DPStatisticsSource(epsilon, encoder=schema)
            p = source.fit(frame.iloc[learn], y[learn]).release_.predict_proba(encoded[test])
            reached.append((roc_auc_score(y[test], p[:, 1]), log_loss(y[test], p)))
        areas, losses = np.transpose(reached)
        row = {"case": name, "rows": n, "auc": np.mean(areas), "log_loss": np.mean(losses)}
        if epsilon == np.inf:
            yield row | {"level": "no noise", "planned": planned.iloc[0]["auc_without_noise"]}
            continue
        line = planned.loc[epsilon]
        row |= {"level": epsilon, "planned": line["auc"], "planned_loss": line["log_loss"]}
        yield row | {"base_log_loss": line["base_log_loss"]} | _reached(plan, epsilon, areas)


def _reached(plan, epsilon, areas):
    """Return which shares of areas reach goals to which the plan gives a chance."""
    goals = np.linspace(0.3, 1, 701)
    chances = np.array([plan.chance(goal).droplevel([0, 1])[epsilon] for goal in goals])
    return {
        f"reached_{chance:g}": np.mean(areas >= goals[np.argmin(np.abs(chances - chance))])
        for chance in (0.8, 0.5, 0.2)
    }


def planning(options):
    draws = options.draws or 10
    rows = (row for case in planned_cases() for row in planned_rows(draws, *case))
    _bench.save("planning", rows, {"draws": draws})


EVALUATED = (("heart disease", 200), ("heart disease", 1000), ("flchain", 1000), ("adult", 10_000))
FIGURES = ("AUC", "log loss", "Brier score", "accuracy")


class Scored:
    """A model whose probabilities are the rows themselves."""

    def __init__(self, classes):
        self.classes_ = classes

    def predict_proba(self, X):
        return X


def figures(*evaluated):
    """Return value, low and high of each figure."""
    evaluation = evaluate_privately(*evaluated)
    found = (evaluation.auc(), evaluation.log_loss(), evaluation.brier_score())
    found = (*found, evaluation.confusion()["accuracy"])
    return [(each.value, each.low, each.high) for each in found]


def evaluated_rows(draws, name, n_rows):
    frame, y, schema = whole(name)
    X = np.asarray(TabularEncoder(schema).fit_transform(frame))
    learn, rest = np.array_split(np.random.default_rng(0).permutation(len(y)), 2)
    model = LogisticRegression(max_iter=500).fit(X[learn], y[learn])
    model, p, y = Scored(model.classes_), model.predict_proba(X[rest]), y[rest]
    true = np.array(figures(model, p, y, np.inf))[:, 0]
    rng = np.random.default_rng(1)
    chosen = [rng.integers(len(y), size=n_rows) for _ in range(draws)]
    plain = np.array([figures(model, p[rows], y[rows], np.inf) for rows in chosen])
    for epsilon in (0.1, 0.5, 1.0, 4.0):
        found = np.array([figures(model, p[rows], y[rows], epsilon) for rows in chosen])
        for k, figure in enumerate(FIGURES):
            value, low, high = found[~np.isnan(found[:, k, 0]), k].T
            row = {"case": name, "rows": n_rows, "level": epsilon, "figure": figure}
            row["error_without_noise"] = np.sqrt(np.mean((plain[:, k, 0] - true[k]) ** 2))
            row["known"] = len(value) / draws
            if len(value):
                row["error"] = np.sqrt(np.mean((value - true[k]) ** 2))
                row["held"] = np.mean((low <= true[k]) & (true[k] <= high))
            yield row


def evaluation(options):
    draws = options.draws or 40
    rows = (row for case in EVALUATED for row in evaluated_rows(draws, *case))
    _bench.save("evaluation", rows, {"draws": draws})


def bounds_row(draws, name, epsilon):
    frame, _, schema = whole(name)
    names = {True: [], False: []}
    for column in schema.columns:
        names[isinstance(column, NumericColumn)].append(column.name)
    hidden, widths, clipped, unlisted = [], [], [], []
    for _ in range(draws):
        found = quantile_bounds(frame, names[True], names[False], epsilon=epsilon)
        hidden.append(len(found.left_out) / len(schema.columns))
        for column in found.schema.columns if found.schema else ():
            cells = frame[column.name].dropna()
            if isinstance(column, NumericColumn):
                values = cells.astype(float)
                low, high = np.quantile(values, [0.01, 0.99])
                widths.append((column.high - column.low) / (high - low))
                clipped.append(np.mean((values < column.low) | (values > column.high)))
            else:
                codes = column.codes(cells)
                unlisted.append(np.mean((codes < 0) | (codes >= len(column.categories))))
    row = {"case": name, "level": epsilon, "rows": len(frame), "columns": len(schema.columns)}
    return row | {
        "hidden": np.mean(hidden),
        "width": np.median(widths) if widths else None,
        "widest": np.max(widths) if widths else None,
        "clipped": np.mean(clipped) if clipped else None,
        "unlisted": np.mean(unlisted) if unlisted else None,
    }


def bounds(options):
    draws = options.draws or 10
    names = ("whas500", HEART, "actg320", "actg175", "flchain", "randhie", "adult")
    rows = (bounds_row(draws, *cell) for cell in product(names, (0.1, 0.5, 1.0, 4.0)))
    _bench.save("bounds", rows, {"draws": draws})


if __name__ == "__main__":
    tasks = (confidence, merging, sums, descent, planning, evaluation, bounds)
    _bench.main(__doc__, **{task.__name__: task for task in tasks})
