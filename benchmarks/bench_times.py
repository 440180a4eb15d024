"""Outcomes that are times to an event: models of whole records, and transfers to another site.

It needs scikit-survival, whose metrics judge all, and Opacus for DP-SGD.

times: this package and others on the same rows; test rows are a third of the table, followed up to
the public horizon. Concordance is Harrell's and by inverse probability of censoring; the Brier
score is integrated over nine times from a tenth of the horizon to nine tenths of it; calibration
is the mean predicted survival less that of Kaplan and Meier, at a quarter, half and three quarters
of the horizon. Of the package itself also the expected concordance; then releases of owners that
share all rows, merged, beside one release of the same rows: with the same ε, and with as much
noise as the owners' releases have together.

simulated: times with known hazards, of a release and of Cox regression on the same rows, with
usual follow-up, with 2% followed five times as long as the others, with competing events, and with
late entry: as time since entry with the entry as a column, as the guide says, and as if all were
followed from time 0. Test rows have their true times. Errors are those of the predicted
probability of the event at a quarter, half and three quarters of the time at which the release's
curves end; "bias" is their mean, "error" the root of their mean square.

transfer: what do a release about a time and few outcomes give another site, compared with either?
Tables are split by a column that is left out, or at random as a check; a release of one part is
the source, and another part the target, with 0, 20, 60 and all outcomes (of half of its rows; the
others are tested, 1,500 at most). Figures are Harrell's concordance and the integrated Brier score
(between the first and the last tenth of times of events; weights of inverse censoring; lower is
better), means over draws of the noise and of the rows whose outcome is known: of the transfer, of
the release alone, and of a penalized Cox regression of these outcomes alone (scikit-survival's
Coxnet with hardly any L1, on the release's functions of columns, its strength by the
cross-validated partial likelihood; with fewer than five events the strongest). Priors of
DPTransferSurvival were chosen by the first group of tables, and are judged by the second.
"""

import itertools
from functools import partial
from itertools import product

import _bench
import numpy as np
import pandas as pd
from _bench import cell_of, epsilon_of
from _data import TIMES, times_of
from _data import times as table_of
from _fits import LEVELS, TOGETHER, merged_and_whole
from _peers import DELTA, TIMES_SMALL, terms_times
from _peers import TIMES as METHODS
from sklearn.model_selection import StratifiedKFold
from sksurv.linear_model import CoxnetSurvivalAnalysis
from sksurv.metrics import (
    concordance_index_censored,
    concordance_index_ipcw,
    integrated_brier_score,
)
from sksurv.nonparametric import kaplan_meier_estimator

from skdp import DPStatisticsSource, DPTransferSurvival, TabularEncoder

OWNERS, FEWEST = (4, 12), 200  # rows of an owner at least


def plan(draws):
    """Groups of cells whose rows are made together."""
    for draw, name in product(range(3 * draws), TIMES):
        if draw >= draws and len(table_of(name)[1]) >= TIMES_SMALL:
            continue
        for model in ("skdp", *METHODS):
            private = model == "skdp" or METHODS[model][1]
            clear = ("clear",) if model == "skdp" or not private else ()
            for level in (*clear, *(LEVELS if private else ())):
                yield [cell_of(name, level, model, "default", draw, None)]
    for draw, name, n in product(range(draws), TIMES, OWNERS):
        if len(times_of(name, draw)[1]) >= n * FEWEST:
            for level in LEVELS:
                yield [cell_of(name, level, m, f"{n} owners", draw, None) for m in TOGETHER]


def make_release(rows, part, epsilon):
    """Return the release of a part of the rows to learn from, of all for None."""
    X, y, _, _, schema = rows
    if part is not None:
        X, y = X.iloc[part], y[part]
    return DPStatisticsSource(epsilon, DELTA, encoder=schema).fit(X, y).release_


def worth(risks, survival, y, y_test, horizon):
    """Return how well risks order the times of test rows, and how well curves are calibrated."""
    found = {"c": concordance_index_censored(y_test["event"], y_test["time"], risks)[0]}
    # Times at which somebody is left in both.
    last = min(y["time"].max(), y_test["time"].max())
    inside = y_test["time"] < y["time"].max()
    if np.ptp(risks) > 0:
        at = 0.9 * last
        found["ipcw"] = concordance_index_ipcw(y, y_test[inside], risks[inside], tau=at)[0]
    if survival is None:
        return found
    times = np.linspace(0.1, 0.9, 9) * min(horizon, 0.999 * last)
    times = times[times < y_test["time"][inside].max()]  # all but those of few rows that end early
    found["brier"] = integrated_brier_score(y, y_test[inside], survival(times)[inside], times)
    steps, shares = kaplan_meier_estimator(y_test["event"], y_test["time"])
    for quarter in (0.25, 0.5, 0.75):
        share = shares[np.searchsorted(steps, quarter * horizon, side="right") - 1]
        found[f"calibration_{quarter}"] = survival(quarter * horizon * np.ones(1)).mean() - share
    return {name: float(value) for name, value in found.items()}


def of_release(release, rows):
    """Return the worth of a release, and what it expects of itself."""
    _, y, X_test, y_test, schema = rows
    curves = release.predict_survival_function(X_test, return_array=True)

    def survival(times):
        places = np.searchsorted(release.unique_times_, times, side="right") - 1
        return np.where(places >= 0, curves[:, np.maximum(places, 0)], 1.0)

    mean, low, high = map(float, release.model.hazards.concordance)
    expected = {"expected": mean, "expected_low": low, "expected_high": high}
    # Curves of a release end where few rows are followed.
    end = float(release.unique_times_[-1])
    found = worth(release.predict(X_test), survival, y, y_test, end)
    more = {"sampling_sd": sampling_sd(release.predict(X_test), y_test)}
    return found | expected | more | {"end": end / schema.outcome.horizon}


def sampling_sd(risks, y):
    """Return the sampling error of the concordance of test rows, by leaving out tenths."""
    found = []
    for k in range(10):
        kept = np.arange(len(y)) % 10 != k
        found.append(concordance_index_censored(y["event"][kept], y["time"][kept], risks[kept])[0])
    return float(np.sqrt(9) * np.std(found))


def measure(cells):
    """Return the row of a model, or those of owners that share all rows at random."""
    cell, rows = cells[0], times_of(cells[0]["case"], cells[0]["draw"])
    epsilon = epsilon_of(cell["level"])
    with _bench.processor() as timer:
        if len(cells) > 1:
            parts = np.array_split(np.arange(len(rows[1])), int(cell["variant"].split()[0]))
            releases = merged_and_whole(partial(make_release, rows), epsilon, parts)
        elif cell["model"] == "skdp":
            releases = [make_release(rows, None, epsilon)]
        else:
            return [peer(cell, epsilon, *rows)]
    pairs = zip(cells, releases, strict=True)
    return [{**c, **of_release(r, rows), "fit_seconds": timer.seconds} for c, r in pairs]


def peer(cell, epsilon, X, y, X_test, y_test, schema):
    encoder = TabularEncoder(schema).fit(X)
    learn, test = (encoder.transform(part) for part in (X, X_test))
    method, _ = METHODS[cell["model"]]
    more = {"columns": encoder.column_kinds_} if method is terms_times else {}
    with _bench.processor() as timer:
        risks, survival = method(learn, y, test, epsilon, cell["draw"], **more)
    found = worth(risks, survival, y, y_test, schema.outcome.horizon)
    return {**cell, **found, "fit_seconds": timer.seconds}


def times(options):
    _bench.fill("times", plan(options.draws or 5), measure, again=options.again)


SIMULATED = ("usual", "2% longer", "competing events", "late entry", "late entry ignored")
SIZES, SIM_HORIZON, SHAPE = (1000, 5000), 10.0, 1.5
EFFECTS = np.array([1.5, -1.0, 0.7, 0.0])


def event_times(rng, risk, after=0.0):
    """Return times of hazards that rise with time, if they are later than ``after``."""
    scale = 8 * np.exp(-risk / SHAPE)
    return scale * ((after / scale) ** SHAPE + rng.exponential(1, len(risk))) ** (1 / SHAPE)


def probabilities_by(times, risk, after=0.0):
    """Return the probability of an event by times since ``after``, (n_samples, n_times)."""
    scale, after = 8 * np.exp(-risk / SHAPE)[:, None], np.reshape(after, (-1, 1))
    return 1 - np.exp((after / scale) ** SHAPE - ((after + times) / scale) ** SHAPE)


def simulate(case, n, rng):
    """Return columns, codes of events, times as the source has them, log-hazards and entries."""
    late = case.startswith("late entry")
    X = rng.random((8 * n if late else n, len(EFFECTS)))
    risk = X @ EFFECTS - EFFECTS.sum() / 2
    entry = rng.uniform(0, 6, len(X)) if late else np.zeros(len(X))
    times = event_times(rng, risk)
    seen = np.flatnonzero(times > entry)[:n]
    X, risk, entry, times = X[seen], risk[seen], entry[seen], times[seen]
    other = np.full(n, np.inf)
    if case == "competing events":
        other = rng.exponential(12 * np.exp(-(X[:, 0] - 0.5)), n)
    left = entry + rng.uniform(0, SIM_HORIZON, n)
    if case == "2% longer":
        left = np.where(rng.random(n) < 0.02, SIM_HORIZON, SIM_HORIZON / 5)
    ends = np.minimum(np.minimum(times, other), left)
    codes = np.where(ends == left, 0, np.where(ends == times, 1, 2))
    return X, codes, ends, risk, entry


def prepared(case, X, ends, entry):
    """Return the columns and times that an owner gives."""
    X = pd.DataFrame(X, columns=list("abcd"))
    if case != "late entry":
        return X, ends
    return X.assign(entry=entry), ends - entry


def simulated_rows(cells):
    cell = cells[0]
    case, n = cell["case"], int(cell["variant"].split()[0])
    rng = np.random.default_rng([cell["draw"], n])
    X, codes, ends, _, entry = simulate(case, n, rng)
    X, times = prepared(case, X, ends, entry)
    columns = {name: {"type": "numeric", "low": 0, "high": 1} for name in "abcd"}
    if case == "late entry":
        columns["entry"] = {"type": "numeric", "low": 0, "high": 6}
    outcome = {"type": "event", "horizon": SIM_HORIZON, "event_value": 1, "competing": [2]}
    schema = {"version": 1, "columns": columns, "outcome": outcome}
    source = DPStatisticsSource(epsilon_of(cell["level"]), DELTA, encoder=schema)
    release = source.fit(X, pd.DataFrame({"event": codes, "time": times})).release_
    end = float(release.unique_times_[-1])
    at = end * np.array([0.25, 0.5, 0.75])
    # Test rows have their true times, and enter as the others do.
    T, _, _, risk, entered = simulate(case, 4000, rng)
    after = entered if case == "late entry" else 0.0
    true, truth = event_times(rng, risk, after) - after, probabilities_by(at, risk, after)
    asked, _ = prepared(case, T, true, entered)
    y_test = np.rec.fromarrays([true <= end, np.minimum(true, end)], names="event,time")
    y = np.rec.fromarrays([codes == 1, np.minimum(times, SIM_HORIZON)], names="event,time")
    encode = release.encode
    risks, survival = METHODS["Cox"][0](encode(X), y, encode(asked), None, 0)
    sides = {
        "skdp": (release.predict(asked), release.predict_proba_at(asked, at)),
        "Cox": (risks, 1 - survival(at)),
    }
    found, exits = [], release.statistics
    for each in cells:
        ranks, p = sides[each["model"]]
        happened = (true[:, None] <= at).astype(float)
        figures = {
            "c": concordance_index_censored(y_test["event"], y_test["time"], ranks)[0],
            "brier": ((happened - p) ** 2).mean(),
            "bias": (p - truth).mean(),
            "error": np.sqrt(((p - truth) ** 2).mean()),
            "end": end / SIM_HORIZON,
            "left": float((times >= end).sum()),
        }
        for k, share in enumerate((0.25, 0.5, 0.75)):
            figures[f"bias_{share}"] = (p - truth)[:, k].mean()
        if case == "competing events":
            figures["counted"] = float(exits.sums.competing.sum() - (codes == 2).sum())
        if each["model"] == "skdp":
            figures["expected"] = float(release.model.hazards.concordance[0])
        found.append({**each, **{name: float(value) for name, value in figures.items()}})
    return found


def simulated(options):
    cells = product(range(options.draws or 10), SIMULATED, SIZES, ("clear", *LEVELS))
    groups = [
        [cell_of(case, level, model, f"{n} rows", draw, None) for model in ("skdp", "Cox")]
        for draw, case, n, level in cells
    ]
    _bench.fill("times_simulated", groups, simulated_rows, again=options.again)


MOST_TEST, MOST_LABELS = 1500, 6000
ALPHAS = np.geomspace(10, 1e-3, 13)
# Group, table and the column it is split by; None: at random.
CASES = (
    *((1, "nwtco", "instit"), (1, "nwtco", "study"), (1, "heart_failure", None)),
    *((2, "flchain", "sex"), (2, "gbsg2", None)),
)


def log_likelihood(y, risks):
    """Return Breslow's partial likelihood, of risks (n_samples, n_alphas)."""
    order = np.argsort(-y["time"], kind="stable")
    at_risk = np.logaddexp.accumulate(risks[order], axis=0)
    earlier = -y["time"][order]
    last = np.searchsorted(earlier, earlier, side="right") - 1
    return ((risks[order] - at_risk[last]) * y["event"][order][:, np.newaxis]).sum(axis=0)


def coxnet(Z, y):
    model = CoxnetSurvivalAnalysis(l1_ratio=0.01, alphas=ALPHAS, fit_baseline_model=True)
    return model.fit(Z, y)


def penalized(Z, y):
    """Return a penalized Cox regression, and its strength."""
    if y["event"].sum() < 5:
        return coxnet(Z, y), ALPHAS[0]
    likely = np.zeros(len(ALPHAS))
    for train, _ in StratifiedKFold(5, shuffle=True, random_state=0).split(Z, y["event"]):
        model = coxnet(Z[train], y[train])
        risks = np.column_stack([model.predict(Z, alpha=alpha) for alpha in model.alphas_])
        gain = log_likelihood(y, risks) - log_likelihood(y[train], risks[train])
        likely[: len(gain)] += gain
    return coxnet(Z, y), ALPHAS[likely.argmax()]


def figures(y, risks, curves, times):
    """Return concordance and integrated Brier score; curves are constant outside their times."""
    c = concordance_index_censored(y["event"], y["time"], risks)[0]
    survival = np.array([curve(np.clip(times, *curve.domain)) for curve in curves])
    return float(c), float(integrated_brier_score(y, y, survival, times))


def of_labels(Z, y, known, test, times):
    """Return figures of a regression of outcomes alone, those of a constant without any event."""
    if not y["event"][known].any():
        return 0.5, np.nan
    kept = Z[known].std(axis=0) > 0
    center, scale = Z[known][:, kept].mean(axis=0), Z[known][:, kept].std(axis=0)
    S = (Z[:, kept] - center) / scale
    model, alpha = penalized(S[known], y[known])
    curves = model.predict_survival_function(S[test], alpha=alpha)
    return figures(y[test], model.predict(S[test], alpha=alpha), curves, times)


def transfers(X, y, schema, parts, draws, epsilon):
    """Yield the number of outcomes known, and figures of transfer, release and these alone."""
    found = {}
    for draw in range(draws):
        here, order = parts(draw)
        made = DPStatisticsSource(epsilon, encoder=schema, random_state=draw)
        release = made.fit(X.iloc[here], y[here]).release_
        n_test = min(len(order) // 2, MOST_TEST)
        test, pool = order[:n_test], order[n_test:][:MOST_LABELS]
        ends = np.quantile(y["time"][test][y["event"][test]], [0.1, 0.9])
        times = np.linspace(*np.minimum(ends, 0.99 * y["time"][test].max()), 30)
        encoded = release.encode(X)
        Z, asked = release.regression.basis.encode(encoded), encoded[test]

        def of_model(model, y=y[test], asked=asked, times=times):
            curves = model.predict_survival_function(asked)
            return figures(y, model.predict(asked), curves, times)

        for n in (0, 20, 60, len(pool)):
            known = np.random.default_rng(draw).permutation(pool)[:n]
            labels = y[pool].copy()
            labels["time"][~np.isin(pool, known)] = np.nan
            model = DPTransferSurvival(release).fit(encoded[pool], labels)
            sides = of_model(model), of_model(release), of_labels(Z, y, known, test, times)
            row = (float(y["event"][known].sum()), *itertools.chain(*sides))
            found.setdefault(n if n < len(pool) else "all", []).append(row)
    sides = product(("transfer", "release", "outcomes"), ("c", "ibs"))
    names = ["events", *(f"{what}_{side}" for side, what in sides)]
    for n, values in found.items():
        means = (None if np.isnan(m) else m for m in np.mean(values, axis=0).tolist())
        yield {"labels": n} | dict(zip(names, means, strict=True))


def cases():
    """Yield group and name of each case, its table, and its rows of both sides of a draw."""
    for group, name, by in CASES:
        X, y, schema = table_of(name)
        if by is None:
            for start in (0, 1):
                yield (
                    group,
                    f"{name}, random {start}",
                    X,
                    y,
                    schema,
                    partial(halves, len(y), start),
                )
            continue
        kept = schema.restrict([column for column in schema.names if column != by])
        for source, target in itertools.permutations(X[by].unique().tolist(), 2):
            rows = [np.flatnonzero(X[by] == site) for site in (source, target)]
            case = f"{name}, {by}: {source} to {target}"
            yield group, case, X[list(kept.names)], y, kept, partial(sites, *rows)


def halves(n, start, draw):
    order = np.random.default_rng(draw).permutation(n)
    return order[start::2], order[1 - start :: 2]


def sites(here, there, draw):
    return here, np.random.default_rng(draw).permutation(there)


def transfer(options):
    draws = options.draws or 12
    rows = (
        {"group": group, "case": case, "level": epsilon} | row
        for (group, case, *data), epsilon in product(cases(), (1.0, 4.0))
        for row in transfers(*data, draws, epsilon)
    )
    _bench.save("times_transfer", rows, {"draws": draws})


if __name__ == "__main__":
    _bench.main(__doc__, times=times, simulated=simulated, transfer=transfer)
