"""What one noise for all owners gains over the sum of their noises, through the real protocol.

The source's rows of six tables are dealt to 4, 20 and 100 owners at random; of adult 4 and 20
owners have 300 rows each as well; three hospitals are the owners where the fourth is the target.
All parties of the secure sum are in this process. Every model is linear, as that of the secure sum
is, but for "one release, auto". "single" is the release of one owner, the mean of three.
"""

import functools

import _bench
import numpy as np
from _tables_data import HOSPITALS, probability_qualities, scenario, whole
from _tables_peers import TABLES

from skdp import DPStatisticsSource, Release
from skdp.datasets import load_heart_disease
from skdp.federated import SecureSum, SecureSumOwner
from skdp.privacy import PrivacyLedger
from skdp.secure import Identity

LEVELS = (4.0, 1.0)
OWNERS = (4, 20, 100)
# Rows of an owner of adult, in the variants that fix them.
N_ROWS = 300
WANTED = ("auc", "log_loss")
DELTA = 1e-5
PRIVATE = ("single", "merged", "secure sum", "secure sum, a tenth", "one release")


def variants(case):
    if case == HOSPITALS:
        return ["3 owners, all rows"]
    names = [f"{owners} owners, all rows" for owners in OWNERS]
    if case == "adult":
        names += [f"{owners} owners, {N_ROWS} rows" for owners in OWNERS[:2]]
    return names


def cells(n_draws):
    return [
        {"case": case, "level": level, "model": model, "variant": variant, "draw": draw}
        | {"labels": 0}
        for case in (HOSPITALS, *TABLES)
        for draw in range(n_draws)
        for variant in variants(case)
        for level in LEVELS
        for model in (*PRIVATE, "one release, auto", "no noise")
        if (model != "no noise" or level == LEVELS[0])
        and (model != "secure sum, a tenth" or int(variant.split()[0]) >= 20)
    ]


@functools.lru_cache(maxsize=4)
def parties(case, variant, draw):
    """Return rows, labels and schema, the owners' rows, and those of tests."""
    if case == HOSPITALS:
        X, y, schema = whole(case)
        hospital = load_heart_disease().hospital
        target = sorted(set(hospital))[draw % 4]
        owners = [np.flatnonzero(hospital == h) for h in sorted(set(hospital)) if h != target]
        return X, y, schema, owners, np.flatnonzero(hospital == target)
    data = scenario(case, draw)
    n_owners, size = int(variant.split()[0]), variant.split(", ")[1]
    rows = np.random.RandomState(1000 + draw).permutation(data.source)
    if size != "all rows":
        rows = rows[: n_owners * N_ROWS]
    return data.data, data.target, data.schema, np.array_split(rows, n_owners), data.test


def secure_sum(X, y, schema, parts, epsilon, n_colluding):
    """Return the release of all parties' messages, and the bytes that an owner sent and got."""
    identities = [Identity.generate(f"owner {i}") for i in range(len(parts))]
    public = [identity.public for identity in identities]
    plan = SecureSum.create(schema, public, epsilon=epsilon, delta=DELTA, n_colluding=n_colluding)

    owners = []
    for identity, rows in zip(identities, parts, strict=True):
        accumulator = plan.accumulator()
        accumulator.add(X.iloc[rows], y[rows])
        owners.append(SecureSumOwner(plan, identity, accumulator, ledger=PrivacyLedger()))
    joined = [owner.join() for owner in owners]
    sent, got, request = len(joined[0]), 0, plan.combine(joined)
    for _ in range(2):
        answers = [owner.answer(request) for owner in owners]
        sent, got = sent + len(answers[0]), got + len(request)
        request = plan.combine([request, *answers])
    return request, {"sent": sent, "received": got}


def make(model, X, y, schema, parts, epsilon):
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


def measure(cells):
    [cell] = cells
    X, y, schema, parts, test = parties(cell["case"], cell["variant"], cell["draw"])
    with _bench.Timer() as fit:
        releases, more = make(cell["model"], X, y, schema, parts, cell["level"])
    positive = (y[test] == releases[0].classes[1]).astype(int)
    found = [
        probability_qualities(positive, release.predict_proba(X.iloc[test])[:, 1])
        for release in releases
    ]
    worth = {name: float(np.mean([one[name] for one in found])) for name in WANTED}
    return [{**cell, "n_rows": sum(map(len, parts)), **worth, **more, "fit_seconds": fit.seconds}]


if __name__ == "__main__":
    options = _bench.options_of(__doc__, draws=5)
    _bench.complete("secure_sum", ([cell] for cell in cells(options.draws)), measure)
