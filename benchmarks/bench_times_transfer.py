"""What do a release about a time and few outcomes give another site, compared with either?

Tables are split by a column that is left out, or at random as a check; a release of one part is
the source, and another part the target, with 0, 20, 60 and all outcomes (of half of its rows; the
others are tested, 1,500 at most). Figures are Harrell's concordance and the integrated Brier score
(between the first and the last tenth of times of events; weights of inverse censoring; lower is
better), means over draws of the noise and of the rows whose outcome is known: of the transfer, of
the release alone, and of a penalized Cox regression of these outcomes alone (scikit-survival's
Coxnet with hardly any L1, on the release's functions of columns, its strength by the
cross-validated partial likelihood; with fewer than five events the strongest).

Priors of DPTransferSurvival were chosen by the first group of tables, and are judged by the
second. It needs scikit-survival.
"""

import itertools
from functools import partial

import _bench
import numpy as np
import pandas as pd
from _times_data import whole
from sklearn.model_selection import StratifiedKFold
from sksurv.linear_model import CoxnetSurvivalAnalysis
from sksurv.metrics import concordance_index_censored, integrated_brier_score

from skdp import DPStatisticsSource, DPTransferSurvival

MOST_TEST, MOST_LABELS = 1500, 6000
ALPHAS = np.geomspace(10, 1e-3, 13)
# Table and the column it is split by; None: at random.
CASES = {
    1: [("nwtco", "instit"), ("nwtco", "study"), ("heart_failure", None)],
    2: [("flchain", "sex"), ("gbsg2", None)],
}


def log_likelihood(y, risks):
    """Return Breslow's partial likelihood, of risks (n_samples, n_alphas)."""
    order = np.argsort(-y["time"], kind="stable")
    at_risk = np.logaddexp.accumulate(risks[order], axis=0)
    earlier = -y["time"][order]
    last = np.searchsorted(earlier, earlier, side="right") - 1
    return ((risks[order] - at_risk[last]) * y["event"][order][:, np.newaxis]).sum(axis=0)


def coxnet(Z, y, alphas=ALPHAS):
    model = CoxnetSurvivalAnalysis(l1_ratio=0.01, alphas=alphas, fit_baseline_model=True)
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


def figures(y, risks, survival, times):
    """Return concordance and integrated Brier score."""
    c = concordance_index_censored(y["event"], y["time"], risks)[0]
    return float(c), float(integrated_brier_score(y, y, survival, times))


def at(curves, times):
    """Return values of curves, constant outside their times."""
    return np.array([curve(np.clip(times, *curve.domain)) for curve in curves])


def of_labels(Z, y, known, test, times):
    """Return figures of a regression of outcomes alone, those of a constant without any event."""
    if not y["event"][known].any():
        return 0.5, np.nan
    kept = Z[known].std(axis=0) > 0
    center, scale = Z[known][:, kept].mean(axis=0), Z[known][:, kept].std(axis=0)
    S = (Z[:, kept] - center) / scale
    model, alpha = penalized(S[known], y[known])
    curves = model.predict_survival_function(S[test], alpha=alpha)
    return figures(y[test], model.predict(S[test], alpha=alpha), at(curves, times), times)


def measured(X, y, schema, parts, draws, epsilon):
    """Yield the number of outcomes known, and figures of transfer, release and these alone."""
    horizon = schema.outcome.horizon
    followed = [y["event"] & (y["time"] <= horizon), np.minimum(y["time"], horizon)]
    y = np.rec.fromarrays(followed, names="event,time")
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
        Z = release.regression.basis.encode(encoded)
        survival = at(release.predict_survival_function(encoded[test]), times)
        alone = figures(y[test], release.predict(encoded[test]), survival, times)
        for n in (0, 20, 60, len(pool)):
            known = np.random.default_rng(draw).permutation(pool)[:n]
            labels = y[pool].copy()
            labels["time"][~np.isin(pool, known)] = np.nan
            model = DPTransferSurvival(release).fit(encoded[pool], labels)
            survival = at(model.predict_survival_function(encoded[test]), times)
            transfer = figures(y[test], model.predict(encoded[test]), survival, times)
            label = of_labels(Z, y, known, test, times)
            key = n if n < len(pool) else "all"
            n_events = float(y["event"][known].sum())
            found.setdefault(key, []).append((n_events, *transfer, *alone, *label))
    sides = itertools.product(("transfer", "release", "outcomes"), ("c", "ibs"))
    names = ["events", *(f"{what}_{side}" for side, what in sides)]
    for n, values in found.items():
        means = np.mean(values, axis=0).tolist()
        means = [None if np.isnan(mean) else mean for mean in means]
        yield {"labels": n} | dict(zip(names, means, strict=True))


def cases(group):
    """Yield the name of each case, its table, and its rows of source and target of a draw."""
    for name, by in CASES[group]:
        X, y, schema = whole(name)
        if by is None:
            for start in (0, 1):
                yield f"{name}, random {start}", X, y, schema, partial(halves, len(y), start)
            continue
        kept = schema.restrict([column for column in schema.names if column != by])
        for source, target in itertools.permutations(X[by].unique().tolist(), 2):
            numbers = [np.flatnonzero(X[by] == site) for site in (source, target)]
            name_of_case = f"{name}, {by}: {source} to {target}"
            yield name_of_case, X[list(kept.names)], y, kept, partial(sites, *numbers)


def halves(n, start, draw):
    order = np.random.default_rng(draw).permutation(n)
    return order[start::2], order[1 - start :: 2]


def sites(here, there, draw):
    return here, np.random.default_rng(draw).permutation(there)


def rows(options):
    for group in map(int, _bench.names(options.groups)):
        for (case, *data), epsilon in itertools.product(cases(group), (1.0, 4.0)):
            for row in measured(*data, options.draws, epsilon):
                yield {"group": group, "case": case, "level": epsilon} | row


def summary(found):
    """Print means, and wins and losses beyond .01 of the better side."""
    for what, sign in (("c", 1), ("ibs", -1)):
        sides = sign * found[[f"{what}_release", f"{what}_outcomes"]]
        ahead = sign * found[f"{what}_transfer"] - sides.max(axis=1)
        found[f"{what}_ahead"] = ahead
        found[f"{what}_won"], found[f"{what}_lost"] = ahead > 0.01, ahead < -0.01
        of = [f"{what}_{of}" for of in ("transfer", "release", "outcomes")]
        kinds = {f"{what}_ahead": ["mean", "min"], f"{what}_won": "sum", f"{what}_lost": "sum"}
        kinds |= {"case": "size"}
        means = dict.fromkeys(["events", *of], "mean")
        table = found.groupby(["group", "labels"], sort=False).agg(means | kinds)
        print(table.round(4).to_string())
        print(found.groupby("group").agg(kinds).round(4).to_string())


if __name__ == "__main__":
    summary(pd.DataFrame(_bench.run("times_transfer", rows, __doc__, draws=4, groups="1,2")))
