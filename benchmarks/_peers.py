"""Other ways to learn from private records of a table, each as one function; a server of them.

``python _peers.py KIND NAME`` reads tasks from standard input, one JSON object a line (a file of
rows, level, seed), and answers each on standard output: so a peer runs in an environment of its
own. A method of ``CLASSES`` is a function ``(rows, epsilon, seed) -> scores``, log-odds of class
1; of ``NUMBERS`` it returns outcomes, which lie between public bounds, 0 and 1. Those of ``TIMES``
are further down. What each guarantee covers, by the documents and the code of its package:

DPStatisticsSource (skdp), DP-EBM (interpret), DP-SGD (Opacus): (epsilon, 1e-5), add or remove one
record with its label. The number of records is private in the first only; of DP-EBM it sets how
full a bin must be, of DP-SGD the rate of sampling, and counts as public, as do names of classes
and categories. DP-EBM gets bounds, and missing values have a column, so that neither comes from
the rows.

DP-SGD in skdp's terms, of numbers and times: written here, on the basis functions of the package,
by all rows in each step, so that the noise of all steps composes exactly; add or remove, and the
number of rows is public.

MST, PrivBayes, AIM (dpmm): (epsilon, 1e-5), add or remove, by the package's own accounting. As
many rows are drawn as there are, so that their number is public, and so are bins.

diffprivlib: epsilon, without delta, replace one record with its label; the number of records is
public. Noise on the objective (Chaudhuri, Monteleoni and Sarwate, 2011), whose theorem is for rows
of norm at most 1 and penalises every coefficient; the package allows larger norms and adds an
intercept without a penalty. Here rows, a constant among them, have norm at most 1, and no other
intercept is fitted, so that the theorem applies as it stands; scores are no worse for it.

AdaSSP, BoostedAdaSSP: add or remove, (epsilon, 1e-5). Written here after the papers, with the
exact composition of Gaussian noise for both, which is less noise than in the first paper.

TukeyEM: replace one, (epsilon, 1e-5), as rows are shared out among models by their number, which
is public. Where it fails (``None`` in its paper), the lower bound is predicted.
"""

import functools
import importlib
import json
import math
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

DELTA = 1e-5
# The settings below had the best mean AUC over tables, or came within 0.01 of it, among some ten
# for each budget (three to seven in skdp's terms), with test labels of further seeds: in favor of
# the peers. Fewer rows than this are a small source; DP-SGD and DP-EBM have other settings for
# one, and the number of rows is public in the guarantee of both.
SMALL = 4000
# DP-EBM: most bins of a column, by budget; all other settings are the package's own: fewer rounds
# and larger steps were no better by more than 0.01.
BINS_SMALL = 8
BINS = {4.0: 32, 1.0: 32, 0.5: 16}
# diffprivlib: inverse of the penalty, by budget, and the constant column of its rows.
INVERSE_PENALTY = {4.0: 1.0, 1.0: 0.1, 0.5: 0.03}
CONSTANT = 0.5
# DP-SGD: sampling rate, epochs and step, by method, size and budget; gradients of a row are
# clipped to norm 1: 0.3, with a larger step, was as good for a linear score, and 3 worse.
MOMENTUM = 0.9
CLIP = 1.0
SGD = {
    ("linear", "small"): {4.0: (0.5, 60, 0.3), 1.0: (0.5, 10, 0.5), 0.5: (0.5, 10, 0.3)},
    ("linear", "large"): {4.0: (0.1, 10, 3.0), 1.0: (0.1, 10, 1.0), 0.5: (0.1, 10, 1.0)},
    ("terms", "small"): {4.0: (0.5, 60, 0.2), 1.0: (0.5, 20, 0.3), 0.5: (0.5, 10, 0.3)},
    ("terms", "large"): {4.0: (0.1, 10, 0.9), 1.0: (0.1, 10, 0.3), 0.5: (0.1, 10, 0.3)},
    ("hidden", "small"): {4.0: (0.25, 10, 0.3), 1.0: (0.25, 10, 0.3), 0.5: (0.25, 10, 0.1)},
    ("hidden", "large"): {4.0: (0.1, 30, 0.3), 1.0: (0.1, 10, 0.3), 0.5: (0.1, 10, 0.3)},
}


@dataclass(frozen=True)
class Rows:
    """Rows to learn from and rows to score, with labels 0 and 1, and what is public of columns.

    ``columns`` is the schema of a frame; of encoded rows, for each column 0 if it is numeric, 1
    if it is binary, k if it is one of k indicators of a category; otherwise None.
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    columns: object = None

    def save(self, path):
        np.savez(path, **{name: value for name, value in vars(self).items() if value is not None})

    @classmethod
    def load(cls, path):
        with np.load(path) as arrays:
            return cls(**arrays)


def statistics_source(rows, epsilon, seed):
    """Noisy statistics, and a linear score by them."""
    from skdp import DPStatisticsSource, TabularEncoder

    encoder = TabularEncoder(rows.columns)
    source = DPStatisticsSource(epsilon, DELTA, encoder=encoder, classes=(0, 1))
    scores = source.fit(rows.X, rows.y).release_.scores(rows.X_test)
    return scores[:, 1] - scores[:, 0]


def dp_ebm(rows, epsilon, seed):
    """Boosted sums of step functions of one column each."""
    from interpret.privacy import DPExplainableBoostingClassifier as Boosting

    bins = BINS_SMALL if len(rows.y) < SMALL else BINS[epsilon]
    model, test = boosted(Boosting, rows, epsilon, seed, max_bins=bins)
    return model.decision_function(test)


def boosted(estimator, rows, epsilon, seed, **settings):
    """Return an estimator of interpret, fitted to rows, and the test rows as it wants them."""
    found = blocks(rows.columns)
    model = estimator(
        feature_types=["continuous" if kind == 0 else "nominal" for kind, _ in found],
        privacy_bounds=np.tile([0.0, 1.0], (len(found), 1)),
        epsilon=epsilon,
        delta=DELTA,
        n_jobs=1,
        random_state=seed,
        **settings,
    )
    return model.fit(values_of(rows.X, found), rows.y), values_of(rows.X_test, found)


def blocks(kinds):
    """Kind and places of each single column, and of the indicators of each category."""
    found, start = [], 0
    while start < len(kinds):
        stop = start + max(int(kinds[start]), 1)
        found.append((int(kinds[start]), slice(start, stop)))
        start = stop
    return found


def values_of(X, found):
    """One column of values for each block: the category's number, -1 where it is missing."""
    values = []
    for kind, places in found:
        block = X[:, places]
        codes = np.where(block.any(axis=1), block.argmax(axis=1), -1)
        values.append(block[:, 0] if kind < 2 else codes)
    return np.array(values).T


def diffprivlib_logistic(rows, epsilon, seed):
    """Logistic regression by a perturbed objective, on rows of norm at most 1."""
    from diffprivlib.models import LogisticRegression

    model = LogisticRegression(
        epsilon=epsilon,
        data_norm=1.0,
        fit_intercept=False,
        max_iter=1000,
        random_state=seed,
        C=INVERSE_PENALTY[epsilon],
    )
    X, X_test = (unit_rows(some, rows.columns) for some in (rows.X, rows.X_test))
    return model.fit(X, rows.y).decision_function(X_test)


def unit_rows(X, kinds, constant=CONSTANT):
    """Centered rows and a constant, divided by the greatest norm that the schema allows."""
    n_categories = sum(kind > 1 for kind, _ in blocks(kinds))
    centered = X - np.where(kinds < 2, 0.5, 0.0)
    rows = np.column_stack([centered, np.full(len(X), constant)])
    return rows / np.sqrt(np.sum(kinds < 2) / 4 + n_categories + constant**2)


def size_of(n_rows):
    return "small" if n_rows < SMALL else "large"


def dp_sgd(rows, epsilon, seed, settings, hidden=0):
    """Logistic regression, or a network with one layer of hidden units, by DP-SGD."""
    rate, epochs, step = SGD[settings, size_of(len(rows.y))][epsilon]
    chosen = {"rate": rate, "epochs": epochs, "step": step, "clip": CLIP}
    loss = "binary_cross_entropy_with_logits"
    return trained(rows.X, rows.y, rows.X_test, loss, epsilon, seed, hidden, **chosen)


def trained(X, y, X_test, loss, epsilon, seed, hidden, from_zero=False, **settings):
    """Return outputs for test rows, of a linear model or one with a layer of hidden units."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    layers = [nn.Linear(X.shape[1], hidden), nn.Tanh()] if hidden else []
    last = nn.Linear(hidden or X.shape[1], 1)
    for parameter in last.parameters() if from_zero else ():
        nn.init.zeros_(parameter)
    X, y, X_test = (torch.tensor(part, dtype=torch.float32) for part in (X, y, X_test))
    data = torch.utils.data.TensorDataset(X, y)
    model = nn.Sequential(*layers, last, nn.Flatten(0))
    model = train(model, data, getattr(nn.functional, loss), epsilon, **settings)
    with torch.no_grad():
        return model(X_test).numpy()


def train(model, rows, loss, epsilon, rate, epochs, step, clip):
    import torch
    from opacus import PrivacyEngine

    loader = torch.utils.data.DataLoader(rows, batch_size=math.ceil(rate * len(rows)))
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=step, momentum=MOMENTUM),
        data_loader=loader,
        noise_multiplier=noise_multiplier(epsilon, 1 / len(loader), epochs),
        max_grad_norm=clip,
    )
    descend(model, optimizer, loader, loss, epochs)
    return model


def descend(model, optimizer, loader, loss, epochs):
    for _ in range(epochs):
        for some, labels in loader:
            optimizer.zero_grad()
            total = loss(model(some), labels, reduction="sum")
            (total / max(len(some), 1)).backward()  # a draw without rows gets its noise too
            optimizer.step()


@functools.cache
def noise_multiplier(epsilon, rate, epochs, accountant="prv"):
    from opacus.accountants.utils import get_noise_multiplier

    return get_noise_multiplier(
        target_epsilon=epsilon,
        target_delta=DELTA,
        sample_rate=rate,
        epochs=epochs,
        accountant=accountant,
    )


# Synthetic rows by noisy marginals: bins of a numeric column, the largest model in MB, and steps
# of inference, a fifth to a tenth of the package's own, which would take as many times longer.
SYNTHETIC_BINS, MODEL_SIZE, INFERENCE_STEPS = 16, 1, 1000
LEARNERS = ("logistic regression", "boosting")


def synthetic(rows, epsilon, seed, maker):
    """Return scores of each of ``LEARNERS``, which see synthetic rows alone, as many as real."""
    import dpmm.pipelines
    import pandas as pd
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    found = blocks(rows.columns)
    sizes = [SYNTHETIC_BINS if kind == 0 else max(kind, 1) + 1 for kind, _ in found]
    values = values_of(rows.X, found)
    for j, (kind, _) in enumerate(found):  # bins, 0 and 1, and categories from 1 on
        values[:, j] = values[:, j] * SYNTHETIC_BINS if kind == 0 else values[:, j] + (kind > 1)
    codes = np.clip(values.astype(int), 0, np.array(sizes) - 1)
    names = [f"c{j}" for j in range(len(found))]
    made = getattr(dpmm.pipelines, f"{maker}Pipeline")(
        epsilon=epsilon,
        delta=DELTA,
        max_model_size=MODEL_SIZE,
        disable_processing=True,
        n_jobs=1,
        gen_kwargs={"n_iters": INFERENCE_STEPS},
    )
    table = pd.DataFrame(np.column_stack([codes, rows.y]).astype(int), columns=[*names, "y"])
    made.fit(table, domain=dict(zip(table, [*sizes, 2], strict=True)), random_state=seed)
    drawn = made.generate(len(table), random_state=seed)
    X, y = of_codes(drawn[names].to_numpy(), found), drawn["y"].to_numpy()
    if len(np.unique(y)) < 2:
        return np.zeros((len(LEARNERS), len(rows.y_test)))
    models = LogisticRegression(max_iter=1000), HistGradientBoostingClassifier(random_state=seed)
    return [model.fit(X, y).decision_function(rows.X_test) for model in models]


def of_codes(codes, found):
    """Return encoded rows, with numbers at the middle of their bins."""
    columns = []
    for (kind, _), code in zip(found, codes.T, strict=True):
        if kind == 0:
            columns.append(((code + 0.5) / SYNTHETIC_BINS)[:, np.newaxis])
        elif kind == 1:
            columns.append(code[:, np.newaxis])
        else:
            columns.append(code[:, np.newaxis] == np.arange(1, kind + 1))
    return np.hstack(columns).astype(float)


def logistic(rows, epsilon, seed):
    """Plain logistic regression, without privacy."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, max_iter=1000)
    return model.fit(rows.X, rows.y).decision_function(rows.X_test)


@dataclass(frozen=True)
class Method:
    """A method, and what it runs on.

    ``view`` names its rows (``_data.VIEWS``). ``modules`` are imported before the clock
    starts; ``python`` names the option with their environment, None for the benchmark's own. Of
    ``levels``, "clear" is without privacy, and "-" without the source, on the target's labels.
    """

    scores: Callable
    view: str
    modules: tuple
    python: str | None = None
    levels: tuple = ("record 4", "record 1", "record 0.5")


def sgd_method(settings, view="centered", hidden=0, fit=dp_sgd):
    """Return a method by DP-SGD, with settings of this name."""
    fit = functools.partial(fit, settings=settings, hidden=hidden)
    return Method(fit, view, ("opacus", "torch"), "opacus")


_SKLEARN = ("sklearn.linear_model",)
_EBM = ("interpret.privacy",), "interpret"
_DIFFPRIVLIB = ("diffprivlib.models",), "diffprivlib"
OWN = "DPStatisticsSource"
CLASSES = {
    OWN: Method(statistics_source, "frame", ("skdp",)),
    "logistic regression, target": Method(logistic, "labeled", _SKLEARN, levels=("-",)),
    "DP-EBM": Method(dp_ebm, "encoded", *_EBM),
    "diffprivlib": Method(diffprivlib_logistic, "encoded", *_DIFFPRIVLIB),
    "DP-SGD, linear": sgd_method("linear"),
    "DP-SGD, linear in skdp's terms": sgd_method("terms", "terms"),
    "DP-SGD, 16 hidden": sgd_method("hidden", hidden=16),
    "logistic regression, source": Method(logistic, "centered", _SKLEARN, levels=("clear",)),
}

SYNTHETIC = {
    maker: Method(
        functools.partial(synthetic, maker=maker),
        "encoded",
        ("dpmm",),
        "dpmm",
        levels=("record 4", "record 1"),
    )
    for maker in ("MST", "PrivBayes", "AIM")
}


# Regressions of a number.

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


def dp_ebm_number(rows, epsilon, seed):
    """Boosted sums of step functions of one column each."""
    from interpret.privacy import DPExplainableBoostingRegressor as Boosting

    settings = {"privacy_target_min": 0.0, "privacy_target_max": 1.0}
    chosen = EBM[size_of(len(rows.y))][epsilon]
    settings |= dict(zip(("max_bins", "max_leaves", "max_rounds"), chosen, strict=True))
    model, test = boosted(Boosting, rows, epsilon, seed, **settings)
    return model.predict(test)


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


def dp_sgd_number(rows, epsilon, seed, settings, hidden=0):
    """Least squares, linear or with one layer of hidden units, by DP-SGD."""
    half = np.where(rows.columns < 2, 0.5, 0.0)
    size, origin = size_of(len(rows.y)), ORIGINS[settings]
    (rate, epochs), (step, clip) = RATES[size], STEPS[settings, size][epsilon]
    chosen = {"rate": rate, "epochs": epochs, "step": step, "clip": clip}
    data = rows.X - half, rows.y - origin, rows.X_test - half
    how = (epsilon, seed, hidden)
    return trained(*data, "mse_loss", *how, from_zero=True, **chosen) + origin


# DP-SGD on skdp's basis functions, all rows in each step: for one budget less noise than
# with samples of them. Highest order of cosines, steps, their length, and the norm that gradients
# are clipped to, relative to the root of a row's expected square.
TERMS_NUMBER = {
    "large": {4.0: (6, 150, 0.5, 0.12), 1.0: (6, 150, 0.2, 0.12), 0.5: (6, 150, 0.2, 0.06)},
    "small": {4.0: (1, 80, 0.1, 0.1), 1.0: (1, 80, 0.1, 0.05), 0.5: (1, 80, 0.2, 0.02)},
}


def in_terms(X, X_test, kinds, last):
    """Basis functions of encoded rows with cosines up to an order, and a constant; their norm."""
    from skdp.release import BasisFunctions

    basis = BasisFunctions.of_columns(kinds, orders=range(2, last + 1))
    Z = (np.column_stack([basis.encode(some), np.ones(len(some))]) for some in (X, X_test))
    return *Z, np.sqrt(1 + basis.variances.sum())


def noisy_descent(Z, residuals_of, epsilon, seed, n_steps, step, clip):
    """Return coefficients by gradients of all rows, clipped row by row; the mean of the tail.

    The gradient of a row is the row times its residual, ``residuals_of(beta)``. The number of rows
    is public.
    """
    from skdp.privacy import gaussian_sigma

    rng, norms = np.random.default_rng(seed), np.linalg.norm(Z, axis=1)
    noise = gaussian_sigma(epsilon, DELTA) * np.sqrt(n_steps) * clip
    beta, velocity, path = np.zeros(Z.shape[1]), np.zeros(Z.shape[1]), []
    for _ in range(n_steps):
        residuals = residuals_of(beta)
        residuals = residuals * np.minimum(1, clip / np.maximum(np.abs(residuals) * norms, 1e-12))
        total = residuals @ Z + noise * rng.standard_normal(len(beta))
        velocity = MOMENTUM * velocity - total / len(Z)
        beta = beta + step * velocity
        path.append(beta)
    return np.mean(path[len(path) // 2 :], axis=0)


def terms_number(rows, epsilon, seed, settings=None):
    """Least squares on skdp's basis functions by noisy gradients."""
    last, n_steps, step, clip = settings or TERMS_NUMBER[size_of(len(rows.y))][epsilon]
    Z, Z_test, norm = in_terms(rows.X, rows.X_test, rows.columns, last)
    y = rows.y - 0.5
    beta = noisy_descent(Z, lambda b: Z @ b - y, epsilon, seed, n_steps, step, clip * norm)
    return Z_test @ beta + 0.5


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


def _clear(scores, module):
    return Method(scores, "encoded", (module,), levels=("clear",))


_sgd = functools.partial(sgd_method, view="encoded", fit=dp_sgd_number)
NUMBERS = {
    "AdaSSP": Method(functools.partial(ada_ssp, settings=ADA), "encoded", ("skdp",)),
    "BoostedAdaSSP": Method(functools.partial(ada_ssp, settings=BOOSTED), "encoded", ("skdp",)),
    "TukeyEM": Method(tukey_em, "encoded", ("numpy",)),
    "DP-EBM": Method(dp_ebm_number, "encoded", *_EBM),
    "diffprivlib": Method(diffprivlib_linear, "encoded", *_DIFFPRIVLIB),
    "DP-SGD, linear": _sgd("linear"),
    "DP-SGD, 16 hidden": _sgd("hidden", hidden=16),
    "DP-SGD in skdp's terms": Method(terms_number, "encoded", ("skdp",)),
    "ridge regression": _clear(ridge, "sklearn.linear_model"),
    "gradient boosting": _clear(boosting, "sklearn.ensemble"),
}


# Models of times: functions ``(X, y, X_test, epsilon, seed)`` that return risks of the test rows
# and, where they have it, a function from times to their survival, (n_test, n_times).
#
# Cox, penalized Cox and boosting (scikit-survival) are not private: what is lost to privacy.
#
# DP logistic: the release of two classes, event before half of the horizon or not, by this
# package; rows that leave before without the event are left out. (epsilon, 1e-5) for a whole
# record.
#
# DP-SGD: a linear model by the gradients of Breslow's partial likelihood within each batch,
# clipped row by row, with the noise that Opacus finds for (epsilon, 1e-5). This favors it: the
# gradient of a row depends on the others in its batch, so that clipping bounds less than the proof
# needs.

# Sampling rate, epochs, step and clipping norm, the best of some in mean concordance over the
# tables, with test rows of further draws: in favor of the peer.
TIMES_SGD = {
    "small": {4.0: (0.25, 30, 3.0, 0.3), 1.0: (0.25, 10, 1.0, 1.0), 0.5: (0.25, 10, 0.3, 1.0)},
    "large": {4.0: (0.1, 30, 3.0, 1.0), 1.0: (0.1, 10, 3.0, 1.0), 0.5: (0.1, 30, 1.0, 1.0)},
}
TIMES_SMALL = 1000  # rows
# As TERMS_NUMBER.
TERMS_TIMES = {
    "small": dict.fromkeys((4.0, 1.0), (3, 20, 1.5, 0.25)) | {0.5: (3, 20, 0.2, 0.1)},
    "large": dict.fromkeys((4.0, 1.0, 0.5), (6, 120, 0.5, 0.3)),
}


def cox(X, y, X_test, epsilon, seed, alpha=1e-2):
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    return _of_sksurv(CoxPHSurvivalAnalysis(alpha=alpha), X, y, X_test)


def penalized(X, y, X_test, epsilon, seed):
    """Ridge with the strength of the best cross-validated concordance."""
    from sklearn.model_selection import GridSearchCV
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    search = GridSearchCV(CoxPHSurvivalAnalysis(), {"alpha": np.logspace(-1, 3, 5)}, cv=5)
    return _of_sksurv(search.fit(X, y).best_estimator_, X, y, X_test)


def boosted_times(X, y, X_test, epsilon, seed):
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis

    model = GradientBoostingSurvivalAnalysis(max_depth=2, subsample=0.5, random_state=seed)
    return _of_sksurv(model, X, y, X_test)


def _of_sksurv(model, X, y, X_test):
    model.fit(X, y)
    curves = model.predict_survival_function(X_test)

    def survival(times):
        low, high = curves[0].domain
        return np.array([curve(np.clip(times, low, high)) for curve in curves])

    return model.predict(X_test), survival


def logistic_times(X, y, X_test, epsilon, seed):
    from skdp import DPStatisticsSource

    half = y["time"].max() / 2
    before = y["event"] & (y["time"] <= half)
    known = before | (y["time"] > half)
    source = DPStatisticsSource(epsilon, DELTA, classes=[0, 1], model="linear")
    release = source.fit(X[known], before[known].astype(int)).release_
    return release.scores(X_test) @ [-1, 1], None


def sgd_times(X, y, X_test, epsilon, seed):
    rate, epochs, step, clip = TIMES_SGD["small" if len(X) < TIMES_SMALL else "large"][epsilon]
    noise = noise_multiplier(epsilon, rate, epochs, accountant="rdp")
    rng = np.random.default_rng(seed)
    Z, beta = X - 0.5, np.zeros(X.shape[1])
    for _ in range(int(epochs / rate)):
        batch = rng.random(len(Z)) < rate
        gradients = partial_gradients(Z[batch], y[batch], beta)
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        total = (gradients * np.minimum(1, clip / np.maximum(norms, 1e-12))).sum(axis=0)
        total += noise * clip * rng.standard_normal(len(beta))
        beta += step * total / (rate * len(Z) * clip)
    return (X_test - 0.5) @ beta, None


def terms_times(X, y, X_test, epsilon, seed, columns, settings=None):
    """The same on skdp's basis functions, by all rows in each step."""
    size = "small" if len(X) < TIMES_SMALL else "large"
    last, n_steps, step, clip = settings or TERMS_TIMES[size][epsilon]
    Z, Z_test, norm = in_terms(X, X_test, columns, last)
    Z, Z_test = Z[:, :-1], Z_test[:, :-1]  # a constant has no effect on the order

    def residuals(beta):
        return -martingale_residuals(Z @ beta, y)

    beta = noisy_descent(Z, residuals, epsilon, seed, n_steps, step, clip * norm)
    return Z_test @ beta, None


def partial_gradients(Z, y, beta):
    """Return what each row adds to the gradient of the log partial likelihood of a batch."""
    return Z * martingale_residuals(Z @ beta, y)[:, np.newaxis]


def martingale_residuals(scores, y):
    """Return whether rows had the event, less the cumulative hazard until they leave."""
    order = np.argsort(-y["time"], kind="stable")
    weights = np.exp(np.clip(scores[order], -30, 30))
    hazards = np.where(y["event"][order], 1 / np.maximum(np.cumsum(weights), 1e-12), 0.0)
    residuals = np.empty(len(scores))
    residuals[order] = y["event"][order] - weights * np.cumsum(hazards[::-1])[::-1]
    return residuals


# By name: the function, and whether it is private.
TIMES = {
    "DP logistic": (logistic_times, True),
    "DP-SGD, Cox loss": (sgd_times, True),
    "DP-SGD in skdp's terms": (terms_times, True),
    "Cox": (cox, False),
    "penalized Cox": (penalized, False),
    "boosting": (boosted_times, False),
}


# Peers that run in other environments.


def answer(methods, name, rows, level, seed):
    """Scores of the test rows, processor seconds, and versions of what made them."""
    method = methods[name]
    for module in method.modules:
        importlib.import_module(module)
    epsilon = float(level.removeprefix("record ")) if level.startswith("record") else None
    start = time.process_time()
    scores = method.scores(rows, epsilon, seed)
    seconds = time.process_time() - start
    names = [module.partition(".")[0] for module in method.modules]
    return {
        "scores": np.asarray(scores, dtype=float).tolist(),
        "fit_seconds": seconds,
        "peer": {n: getattr(sys.modules[n], "__version__", None) or version(n) for n in names},
    }


def asking(kind, name, python):
    """Return a function like ``answer`` of a method, here or where ``python`` is; None without."""
    method = globals()[kind][name]
    if method.python is None:
        return functools.partial(answer, globals()[kind], name)
    modules = "; ".join(f"import {module}" for module in method.modules)
    if python is None or subprocess.run([python, "-c", modules], check=False).returncode:
        print(f"{name} is left out: --peers {method.python}=PYTHON names none that has it")
        return None
    command = [python, __file__, kind, name]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(rows, level, seed):
        with tempfile.TemporaryDirectory() as folder:
            rows.save(f"{folder}/rows.npz")
            print(json.dumps([f"{folder}/rows.npz", level, seed]), file=server.stdin, flush=True)
            return json.loads(server.stdout.readline())

    return ask


if __name__ == "__main__":
    replies, sys.stdout = sys.stdout, sys.stderr  # a peer that prints does not disturb
    warnings.simplefilter("ignore")  # of seeds, which a benchmark wants
    for line in sys.stdin:
        path, level, seed = json.loads(line)
        reply = answer(globals()[sys.argv[1]], sys.argv[2], Rows.load(path), level, seed)
        print(json.dumps(reply), file=replies, flush=True)
