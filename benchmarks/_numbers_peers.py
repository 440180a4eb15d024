"""Other private regressions of a number, each as one function, and a server of them.

A method is a function ``(rows, epsilon, seed) -> places``: rows are encoded, and outcomes and
predictions lie between public bounds, 0 and 1. ``python _numbers_peers.py NAME`` answers as
``_tables_peers.py`` does. All protect a whole record with its outcome:

AdaSSP, BoostedAdaSSP: add or remove, (epsilon, 1e-5). Written here after the papers, with the
exact composition of Gaussian noise for both, which is less noise than in the first paper.

TukeyEM: replace one, (epsilon, 1e-5), as rows are shared out among models by their number, which
is public. Where it fails (``None`` in its paper), the lower bound is predicted.

DP-EBM (interpret), DP-SGD (Opacus): add or remove, (epsilon, 1e-5); the number of rows is public.

diffprivlib: replace one, epsilon, without delta; the number of rows is public.
"""

import functools
import sys
from functools import partial

import numpy as np
from _tables_peers import (
    DELTA,
    Method,
    blocks,
    boosted,
    serve,
    sgd_method,
    size_of,
    trained,
    unit_rows,
)

# The settings below are the best of some in mean R² over the tables, with test outcomes of
# further seeds: in favor of the peers.
# Rounds, constant column, clipping of rows (relative to the greatest norm) and of residuals, and
# the place that is subtracted from outcomes, by budget.
ADA = dict.fromkeys((0.5, 1.0, 4.0), (1, 0.5, 0.35, 0.5, 0.5))
BOOSTED = dict.fromkeys((0.5, 1.0), (40, 0.25, 0.35, 0.05, 0.5)) | {4.0: (10, 0.5, 0.35, 0.1, 0.5)}
# DP-EBM: most bins of a column, leaves of a tree and rounds, by number of rows and budget.
EBM = {
    "large": {4.0: (16, 3, 300), 1.0: (16, 2, 300), 0.5: (8, 2, 300)},
    "small": {4.0: (16, 2, 300), 1.0: (8, 2, 50), 0.5: (8, 2, 50)},
}
# DP-SGD: sampling rate and epochs; step and norm that gradients are clipped to; and that place.
RATES = {"small": (0.5, 40), "large": (0.1, 30)}
STEPS = {
    ("linear", "small"): {4.0: (0.3, 0.1), 1.0: (0.1, 0.1), 0.5: (0.3, 0.03)},
    ("linear", "large"): {4.0: (0.1, 1.0), 1.0: (0.3, 0.3), 0.5: (0.3, 0.3)},
    ("hidden", "small"): {4.0: (0.3, 0.1), 1.0: (0.3, 0.1), 0.5: (0.1, 0.1)},
    ("hidden", "large"): {4.0: (0.3, 0.3), 1.0: (0.3, 0.3), 0.5: (1.0, 0.03)},
}
ORIGINS = {"linear": 0.5, "hidden": 0.0}
# TukeyEM: numbers of models to choose from.
N_MODELS = (50, 75, 100, 150, 200, 250, 300, 400, 500, 750, 1000, 1500, 2000)


def _sides(rows, constant, radius):
    """Centered rows, with a constant, clipped to a share of the greatest norm of a schema."""
    for X in (rows.X, rows.X_test):
        X = unit_rows(X, rows.columns, constant) / radius
        yield X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)


def _noise(epsilon):
    """The deviation of Gaussian noise of sensitivity 1, for a third of the budget."""
    from skdp.privacy import gaussian_sigma

    return np.sqrt(3) * gaussian_sigma(epsilon, DELTA)


def ada_ssp(rows, epsilon, seed, settings):
    """Ridge regression on noisy sums, whose penalty follows the noise; boosted on residuals."""
    n_rounds, constant, radius, clip, origin = settings[epsilon]
    rng = np.random.default_rng(seed)
    X, X_test = _sides(rows, constant, radius)
    noise, square, d = _noise(epsilon), X.T @ X, X.shape[1]
    upper = np.triu(rng.normal(scale=noise, size=(d, d)))
    smallest = np.linalg.eigvalsh(square)[0] + noise * rng.normal()
    smallest = max(smallest - 1.96 * noise, 0)
    penalty = max(np.sqrt(d) * noise * 1.96 - smallest, 0)
    noisy = square + upper + np.triu(upper, 1).T + penalty * np.eye(d)
    weights, y = np.zeros(d), rows.y - origin
    for _ in range(n_rounds):
        residuals = np.clip(y - X @ weights, -clip, clip)
        sums = X.T @ residuals + noise * clip * np.sqrt(n_rounds) * rng.normal(size=d)
        weights += np.linalg.solve(noisy, sums)
    return X_test @ weights + origin


def tukey_em(rows, epsilon, seed):
    """One of many regressions on parts of the rows, by the depth of its coefficients."""
    rng = np.random.default_rng(seed)
    first = [places.start for kind, places in blocks(rows.columns) if kind > 1]
    X, X_test = (
        np.column_stack([np.delete(some, first, axis=1), np.ones(len(some))])
        for some in (rows.X, rows.X_test)
    )
    n, d = X.shape
    m = n_models(epsilon, n, d)
    parts = np.array_split(rng.permutation(n), m)
    models = np.array([np.linalg.lstsq(X[p], rows.y[p], rcond=None)[0] for p in parts])
    chosen = _deep(models, epsilon, rng)
    return np.zeros(len(X_test)) if chosen is None else X_test @ chosen


def _deep(models, epsilon, rng):
    """Propose, test, release: a point of great depth by the exponential mechanism."""
    edges, volumes, t, distance = _depths(models, epsilon, rng)
    if distance + rng.laplace(scale=2 / epsilon) <= np.log(1 / (2 * DELTA)) * 2 / epsilon:
        return None
    of_depth = volumes[t:] - volumes[t]  # of depth t + 1 and more
    exact = np.exp(of_depth) - np.append(np.exp(of_depth[1:]), 0)
    odds = np.log(exact + 1e-300) + epsilon / 2 * np.arange(len(exact))
    depth = t + np.argmax(odds + rng.gumbel(size=len(odds)))
    low, high = edges[depth], edges[-1 - depth]
    points = rng.uniform(low, high, size=(10_000, len(low)))
    if depth + 1 < len(volumes):
        inner = (points > edges[depth + 1]) & (points < edges[-2 - depth])
        points = points[~inner.all(axis=1)]
    return points[0] if len(points) else (low + high) / 2


def _depths(models, epsilon, rng):
    """Sorted coefficients, volumes by depth, and how many rows are between here and failure."""
    edges = np.sort(models + 1e-10 * rng.random(models.shape), axis=0)
    n_depths = len(models) // 2
    volumes = np.log(edges[::-1][:n_depths] - edges[:n_depths]).sum(axis=1)
    t, least, distance = n_depths // 2, np.log(DELTA / 8) - epsilon / 2, -1
    for k in range(t - 1):
        inner = volumes[t + k + 1 : -1]
        more = volumes[t - k - 2] - inner - epsilon / 4 * np.arange(1, len(inner) + 1)
        if not (more <= least).any():
            break
        distance = k
    return edges, volumes, t, distance


@functools.cache
def n_models(epsilon, n, d):
    """The paper's heuristic: as few models as pass the test on synthetic regressions."""
    rng = np.random.default_rng(0)
    threshold = np.log(1 / (2 * DELTA)) * 2 / epsilon
    for m in N_MODELS:
        degrees = n // m - d + 1
        if degrees < 1:
            break
        found = []
        for _ in range(5):
            models = rng.normal(size=(m, d)) / np.sqrt(rng.chisquare(degrees, (m, 1)))
            found.append(_depths(models, epsilon, rng)[-1])
        if np.median(found) > threshold + 4 / epsilon:
            return m
    return max(n // d, 4)


def dp_ebm(rows, epsilon, seed):
    """Boosted sums of step functions of one column each."""
    from interpret.privacy import DPExplainableBoostingRegressor as Boosting

    settings = {"privacy_target_min": 0.0, "privacy_target_max": 1.0}
    settings |= ebm_settings(epsilon, len(rows.y))
    model, test = boosted(Boosting, rows, epsilon, seed, **settings)
    return model.predict(test)


def ebm_settings(epsilon, n_rows):
    chosen = EBM[size_of(n_rows)][epsilon]
    return dict(zip(("max_bins", "max_leaves", "max_rounds"), chosen, strict=True))


def diffprivlib_linear(rows, epsilon, seed):
    """Least squares by a perturbed objective."""
    from diffprivlib.models import LinearRegression

    # A constant column, whose sums have their noise as others, is better than the package's means.
    X, X_test = (np.column_stack([some, np.ones(len(some))]) for some in (rows.X, rows.X_test))
    model = LinearRegression(
        epsilon=epsilon,
        bounds_X=(0.0, 1.0),
        bounds_y=(-0.5, 0.5),
        fit_intercept=False,
        random_state=seed,
    )
    return model.fit(X, rows.y - 0.5).predict(X_test) + 0.5


def dp_sgd(rows, epsilon, seed, settings, hidden=0):
    """Least squares, linear or with one layer of hidden units, by DP-SGD."""
    half = np.where(rows.columns < 2, 0.5, 0.0)
    chosen = sgd_settings(epsilon, len(rows.y), settings)
    origin = chosen.pop("origin")
    data = rows.X - half, rows.y - origin, rows.X_test - half
    how = (epsilon, seed, hidden)
    return trained(*data, "mse_loss", *how, from_zero=True, **chosen) + origin


def sgd_settings(epsilon, n_rows, settings):
    size = size_of(n_rows)
    (rate, epochs), (step, clip) = RATES[size], STEPS[settings, size][epsilon]
    chosen = {"rate": rate, "epochs": epochs, "step": step, "clip": clip}
    return {**chosen, "origin": ORIGINS[settings]}


def ridge(rows, epsilon, seed):
    """Ridge regression without privacy."""
    from sklearn.linear_model import RidgeCV

    model = RidgeCV(np.logspace(-3, 5, 17))
    return model.fit(rows.X, rows.y).predict(rows.X_test)


def boosting(rows, epsilon, seed):
    """Gradient boosting without privacy."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(random_state=seed)
    return model.fit(rows.X, rows.y).predict(rows.X_test)


def _ada(settings):
    names = ("rounds", "constant", "radius", "clip", "origin")
    return Method(
        partial(ada_ssp, settings=settings),
        "encoded",
        ("skdp",),
        settings=lambda epsilon, n_rows: dict(zip(names, settings[epsilon], strict=True)),
    )


def _clear(scores, module):
    return Method(scores, "encoded", (module,), levels=("clear",))


_sgd = partial(sgd_method, view="encoded", fit=dp_sgd, settings_of=sgd_settings)
METHODS = {
    "AdaSSP": _ada(ADA),
    "BoostedAdaSSP": _ada(BOOSTED),
    "TukeyEM": Method(tukey_em, "encoded", ("numpy",)),
    "DP-EBM": Method(dp_ebm, "encoded", ("interpret.privacy",), "interpret", ebm_settings),
    "diffprivlib": Method(diffprivlib_linear, "encoded", ("diffprivlib.models",), "diffprivlib"),
    "DP-SGD, linear": _sgd("linear"),
    "DP-SGD, 16 hidden": _sgd("hidden", hidden=16),
    "ridge regression": _clear(ridge, "sklearn.linear_model"),
    "gradient boosting": _clear(boosting, "sklearn.ensemble"),
}
if __name__ == "__main__":
    serve(sys.argv[1], METHODS)
