"""Does what a release is expected to be worth rank releases as what they turn out to be worth?

Worth: how many nats a release says about the classes of other rows (their entropy less its log
loss); gain: by how much the log loss of a transfer with few labels (five a class; ten of images
and sensors) is lower with it than with these labels alone. Estimates stand beside LEEP (Nguyen et
al., 2020, of posteriors) and LogME (You et al., 2021, of log-posteriors).
"""

from itertools import product

import _bench
import numpy as np
from _shift_data import HOSPITALS, SPLITS, scenario
from bench_adaptation import rows_of
from sklearn.metrics import log_loss

from skdp import DPStatisticsSource, DPTransferClassifier
from skdp.datasets import hide_labels
from skdp.information import transferability
from skdp.tabular import TabularEncoder

ARRAYS = {
    "activity": ("activity 0", "activity 1"),
    "images": ("MNIST, pixels", "USPS, pixels"),
    "office": ("office",),
}
N_SOURCE, N_LEARN, N_TEST = 10_000, 1000, 2000


def leep(posteriors, labels):
    """Return the log expected empirical prediction of labels by the release's classes."""
    joint = np.array([posteriors[labels == c].sum(axis=0) for c in np.unique(labels)])
    given = joint / np.maximum(joint.sum(axis=0), 1e-12)
    codes = np.unique(labels, return_inverse=True)[1]
    return float(np.log(np.maximum((posteriors * given[codes]).sum(axis=1), 1e-12)).mean())


def logme(features, labels):
    """Return the logarithm of the evidence a row of linear regressions of each class."""
    n, d = features.shape
    u, s, _ = np.linalg.svd(features, full_matrices=False)
    squares, found = s**2, []
    for c in np.unique(labels):
        y = (labels == c).astype(float)
        z = (u.T @ y) ** 2
        rest = max(y @ y - z.sum(), 1e-12)
        alpha = beta = 1.0
        for _ in range(50):
            t = alpha / beta
            gamma = (squares / (squares + t)).sum()
            norm = (squares * z / (squares + t) ** 2).sum()
            residual = (z * (t / (squares + t)) ** 2).sum() + rest
            alpha, beta = gamma / max(norm, 1e-12), (n - gamma) / residual
        evidence = d * np.log(alpha) + n * np.log(beta) - n * np.log(2 * np.pi)
        evidence -= beta * residual + alpha * norm + np.log(alpha + beta * squares).sum()
        evidence -= (d - len(s)) * np.log(alpha)
        found.append(evidence / 2 / n)
    return float(np.mean(found))


def claimed(posteriors):
    """Return the information that posteriors claim, in nats."""
    p = np.maximum(posteriors, 1e-12)
    mean = p.mean(axis=0)
    return float((p * np.log(p)).sum(axis=1).mean() - (mean * np.log(mean)).sum())


def qualities(model, X, y, classes):
    p = model.predict_proba(X)
    right = np.mean(model.classes_[p.argmax(axis=1)] == y)
    return log_loss(y, np.clip(p, 1e-6, 1), labels=classes), float(right)


def estimates(release, X, y, draw):
    """Return all estimates of a release by rows of which labels are looked at or not."""
    p = release.predict_proba(X)
    found = {
        "no labels": transferability(release, X, random_state=draw).estimate,
        "no labels, as claimed": claimed(p),
    }
    order = np.random.RandomState(draw).permutation(len(y))
    for n in (10, 30, 100):
        some = order[:n]
        rows = X.iloc[some] if hasattr(X, "iloc") else X[some]
        found[f"{n} labels"] = transferability(release, rows, y[some], random_state=draw).estimate
    some = order[:100]
    return found | {
        "LEEP, 100 labels": leep(p[some], y[some]),
        "LogME, 100 labels": logme(np.log(np.maximum(p[some], 1e-6)), y[some]),
    }


def judged(kind, case, draw, target, releases, n_labels, encode=np.asarray):
    """Yield a row for each release of a target: estimates, and what it turned out to be worth."""
    X, y, X_test, y_test = target
    classes = np.unique(np.concatenate([y, y_test]))
    marked = hide_labels(y, n_labels, random_state=draw)
    unaided = DPTransferClassifier(None, random_state=draw).fit(encode(X), marked)
    alone = qualities(unaided, encode(X_test), y_test, classes)
    shares = np.unique(y_test, return_counts=True)[1] / len(y_test)
    worth_of_nothing = -float(shares @ np.log(shares))
    for name, release in releases:
        with_it = DPTransferClassifier(release, random_state=draw).fit(X, marked)
        loss, right = qualities(with_it, X_test, y_test, classes)
        yield {
            "kind": kind,
            "case": case,
            "draw": draw,
            "release": name,
            "classes": len(classes),
            "gain": alone[0] - loss,
            "points": 100 * (right - alone[1]),
            "worth": worth_of_nothing - qualities(release, X_test, y_test, classes)[0],
            **estimates(release, X, y, draw),
        }


def tables(kind, targets, draws):
    for target, draw in product(targets, range(draws)):
        rows = scenario(target, draw)
        releases = []
        for (name, source), epsilon in product(rows.sources.items(), (8.0, 2.0, 0.5)):
            release = DPStatisticsSource(epsilon, encoder=rows.schema).fit(*source).release_
            releases.append((f"{name}, ε = {epsilon:g}", release))
        own = rows.X, rows.y, rows.X_test, rows.y_test
        encode = TabularEncoder(rows.schema).fit(rows.X).transform
        yield from judged(kind, target, draw, own, releases, 5, encode)


def arrays(kind, cases, draws):
    for case in cases:
        (X_source, y_source), (X, y) = rows_of(case)
        for draw in range(draws if kind != "images" else 1):
            rng = np.random.RandomState(draw)
            taken = rng.permutation(len(y_source))[:N_SOURCE]
            order = rng.permutation(len(y))
            learn, test = order[:N_LEARN], order[N_LEARN : N_LEARN + N_TEST]
            if len(test) < 500:
                learn, test = np.array_split(order, 2)
            releases = []
            for model, epsilon in product(("linear", "mixtures", "logistic"), (8.0, 1.0)):
                settings = {"bounds": (0, 1), "classes": np.unique(y)}
                source = DPStatisticsSource(epsilon, model=model, **settings)
                release = source.fit(X_source[taken], y_source[taken]).release_
                releases.append((f"{model}, ε = {epsilon:g}", release))
            own = X[learn], y[learn], X[test], y[test]
            yield from judged(kind, case, draw, own, releases, 10)


def rows(options):
    yield from tables("hospitals", HOSPITALS, options.draws)
    yield from tables("tables", SPLITS, options.draws)
    for kind, cases in ARRAYS.items():
        yield from arrays(kind, cases, options.draws)


if __name__ == "__main__":
    _bench.run("transferability", rows, __doc__, draws=2)
