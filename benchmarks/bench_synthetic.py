"""What are synthetic rows of a release worth, and how near are they to real ones?

Boosting learns from 20,000 synthetic rows (of small tables 8,000) and is judged on other real
rows. "by_class" are rows as `Release.sample` drew them before, and still does for arrays. Schemas
have the steps of public drafts.
"""

from dataclasses import replace
from itertools import product

import _bench
import numpy as np
from _tables_data import TABLES_AND_HOSPITALS, whole
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from skdp import DPStatisticsSource, TabularEncoder, schema_from
from skdp.tabular import NumericColumn

LEVELS = (0.5, 1.0, 4.0)
MOST_ROWS, MANY = 20_000, 5_000


def with_steps(schema, frame):
    """Return the schema with the steps that a draft of the table, which is public, finds."""
    drafted = dict(zip(frame.columns, schema_from(frame, public=True).columns, strict=True))
    columns = [_with_step(column, drafted[column.name]) for column in schema.columns]
    return replace(schema, columns=tuple(columns))


def _with_step(column, drafted):
    if not isinstance(column, NumericColumn):
        return column
    step = drafted.step if isinstance(drafted, NumericColumn) else 1.0  # two whole numbers
    fits = step is not None and abs(column.low / step - round(column.low / step)) < 1e-6
    return replace(column, step=step) if fits else column


def by_class(release, n, draw):
    """Return rows of one normal distribution by class, and the numbers of their classes."""
    moments, rng = release.moments, np.random.default_rng(draw)
    labels = rng.choice(len(release.classes), n, p=moments.frequencies)
    rows = np.empty((n, release.n_features))
    for c in range(len(release.classes)):
        here = np.flatnonzero(labels == c)
        covariance = moments.covariance(c if len(moments.covariances) > 1 else 0)
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0))
        rows[here] = moments.means[c] + rng.standard_normal((len(here), len(root))) @ root.T
    return np.clip(rows, 0, 1), labels


def learned(rows, labels, X, y):
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(rows, labels)
    return roc_auc_score(y, model.predict_proba(X)[:, 1])


def likeness(real, synthetic, draw):
    """Return how correlations differ, and how well boosting tells as many rows of each apart."""
    pairs = np.triu_indices(real.shape[1], 1)
    first, second = (np.nan_to_num(np.corrcoef(rows, rowvar=False)) for rows in (real, synthetic))
    n = min(len(real), len(synthetic), 10_000)
    both, origin = np.vstack([real[:n], synthetic[:n]]), np.repeat([0, 1], n)
    folds = StratifiedKFold(3, shuffle=True, random_state=draw)
    boosting = HistGradientBoostingClassifier(random_state=draw)
    p = cross_val_predict(boosting, both, origin, cv=folds, method="predict_proba")[:, 1]
    differences = np.abs(first - second)[pairs]
    return {"correlations": differences.mean(), "told_apart": roc_auc_score(origin, p)}


def measured(name, epsilon, draw):
    table, target, schema = whole(name)
    schema = with_steps(schema, table)
    positive = target == schema.classes[1]
    X = np.asarray(TabularEncoder(schema).fit_transform(table))
    order = np.random.default_rng(draw).permutation(len(X))
    n = min(MOST_ROWS, int(0.6 * len(X)))
    train, test = order[:n], order[n : n + 10_000]
    source = DPStatisticsSource(epsilon, encoder=schema)
    release = source.fit(table.iloc[train], target[train]).release_
    n_synthetic = MOST_ROWS if n > MANY else 8_000
    frame, labels = release.sample(n_synthetic, draw, as_frame=True)
    encoder = TabularEncoder(schema).fit(frame)
    synthetic = np.asarray(encoder.transform(frame))
    rows, codes = by_class(release, n_synthetic, draw)
    rows = np.asarray(encoder.transform(encoder.inverse_transform(rows)))
    column = list(release.classes).index(schema.classes[1])
    found = {
        "release": roc_auc_score(positive[test], release.predict_proba(X[test])[:, column]),
        "real": learned(X[train], positive[train], X[test], positive[test]),
        "synthetic": learned(synthetic, labels == schema.classes[1], X[test], positive[test]),
        "by_class": learned(rows, codes == column, X[test], positive[test]),
        **likeness(X[train], synthetic, draw),
    }
    return {"case": name, "level": epsilon, "draw": draw, "rows": n, **found}


def rows(options, *cell):
    return (measured(*cell, draw) for draw in range(options.draws))


if __name__ == "__main__":
    cells = product(TABLES_AND_HOSPITALS, LEVELS)
    _bench.run("synthetic", rows, __doc__, over=cells, draws=3)
