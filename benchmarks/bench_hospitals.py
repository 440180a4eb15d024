"""What do the releases of three hospitals and few labels give a fourth one?

The quickstart's question, each of four hospitals being the fourth in turn; a draw is a random
choice of the patients whose diagnosis is known, and noise of its own. Compared are the transfer
from three releases and the labels; the three releases alone, added up; a logistic regression of
the labels alone, its penalty chosen by cross-validation; and the same of these labels and all
records of the other hospitals, which would need somebody to see them all.
"""

import _bench
import numpy as np
from _shift_data import smoothed
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score

from skdp import DPStatisticsSource, DPTransferClassifier, Release, TabularEncoder
from skdp.datasets import load_heart_disease

EPSILON = 4.0
HEART = load_heart_disease()
X, Y, HOSPITAL = HEART.data, HEART.target, HEART.hospital
ENCODED = TabularEncoder(HEART.schema).fit_transform(X)


def release_of(hospital):
    here = hospital == HOSPITAL
    return DPStatisticsSource(EPSILON, encoder=HEART.schema).fit(X[here], Y[here]).release_


def logistic_regression(known, asked):
    folds = min(5, *np.bincount(Y[known], minlength=2))
    if folds < 2:  # one patient of a class or none: everybody gets the share of the ill
        return np.full(len(asked), smoothed(Y[known]))
    settings = {"scoring": "neg_log_loss", "max_iter": 2000, "l1_ratios": (0.0,)}
    model = LogisticRegressionCV(Cs=10, cv=folds, **settings)
    return model.fit(ENCODED[known], Y[known]).predict_proba(ENCODED[asked])[:, 1]


def predictions(target, n_labels, rng):
    """Yield each model's name, the patients it is asked about, and what it says of them."""
    own = rng.permutation(np.flatnonzero(target == HOSPITAL))
    known, asked = own[:n_labels], own[n_labels:]
    others = [name for name in dict.fromkeys(HOSPITAL) if name != target]
    releases = [release_of(name) for name in others]
    labels = np.where(np.arange(len(own)) < n_labels, Y[own], -1)
    model = DPTransferClassifier(releases, label_sampling="random", random_state=0)
    yield "transfer", asked, model.fit(X.iloc[own], labels).predict_proba(X.iloc[asked])[:, 1]
    merged = Release.merge(releases, disjoint=True)
    yield "releases alone", asked, merged.predict_proba(X.iloc[asked])[:, 1]
    yield "labels alone", asked, logistic_regression(known, asked)
    pooled = np.r_[np.flatnonzero(target != HOSPITAL), known]
    yield "all records, not private", asked, logistic_regression(pooled, asked)


def rows(options):
    for draw in range(options.draws):
        found: dict = {}
        for target in dict.fromkeys(HOSPITAL):
            rng = np.random.default_rng(draw)
            for model, asked, p in predictions(target, options.labels, rng):
                scores = roc_auc_score(Y[asked], p), log_loss(Y[asked], p)
                found.setdefault(model, []).append(scores)
        for model, scores in found.items():
            auc, loss = map(float, np.mean(scores, axis=0))
            row = {"model": model, "draw": draw, "auc": auc, "log_loss": loss}
            yield row | {"labels": options.labels, "level": EPSILON}


if __name__ == "__main__":
    _bench.run("hospitals", rows, __doc__, draws=20, labels=30)
