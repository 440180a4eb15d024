"""How seconds, memory and accuracy of wide autoencoders grow with rows, features and classes.

rows: MNIST with copies moved by up to two pixels and turned by up to ten degrees. features: digits
resampled to 64 ... 4,096 pixels. classes: curved surfaces of three dimensions in 64 features, 100
rows of each class. Each case runs in a process of its own, on one core.
"""

import _bench
import numpy as np
from scipy.ndimage import affine_transform, zoom

from skdp import WideCDMMAClassifier
from skdp.datasets import fetch_mnist

ROWS = (1_000, 3_000, 10_000, 30_000, 60_000, 200_000, 600_000)
SIDES = (8, 16, 28, 40, 64)
CLASSES = (2, 10, 50, 257)
PROBES = (None, 4, 2)
SHIFT, DEGREES, SIDE = 2.0, 10.0, 28
# Sizes below have costs of calls rather than of rows; they do not count for exponents.
GROWN = {"rows": 10_000, "features": 256, "classes": 10}


def moved(image, rng):
    """Return a digit, turned and shifted a little."""
    angle = np.deg2rad(rng.uniform(-DEGREES, DEGREES))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    center = np.full(2, (SIDE - 1) / 2)
    offset = center - turn @ center + rng.uniform(-SHIFT, SHIFT, 2)
    return affine_transform(image, turn, offset, order=1)


def digits_of_rows(n_rows):
    X, y = fetch_mnist(subset="train", return_X_y=True)
    if n_rows <= len(X):
        return X[:n_rows], y[:n_rows]
    rng = np.random.default_rng(0)
    rows = np.empty((n_rows, X.shape[1]), dtype=np.float32)
    rows[: len(X)] = X
    for i in range(len(X), n_rows):
        image = X[i % len(X)].reshape(SIDE, SIDE)
        rows[i] = moved(image, rng).ravel()
    return rows, np.resize(y, n_rows)


def data_of_rows(n_rows):
    return *digits_of_rows(n_rows), *fetch_mnist(subset="test", return_X_y=True)


def data_of_features(n_features):
    side = round(n_features**0.5)
    X, y = digits_of_rows(10_000)
    X_test, y_test = fetch_mnist(subset="test", return_X_y=True)

    def resampled(rows):
        images = (zoom(row.reshape(SIDE, SIDE), side / SIDE, order=1) for row in rows)
        return np.stack([image.ravel() for image in images]).astype(np.float32)

    return resampled(X), y, resampled(X_test[:2000]), y_test[:2000]


def data_of_classes(n_classes):
    rng = np.random.default_rng(0)
    n_each, n_features = 100, 64

    def rows_of(maps):
        codes = rng.standard_normal((n_each, 3))
        return np.tanh(codes @ maps[0] + maps[1]) + 0.05 * rng.standard_normal(
            (n_each, n_features)
        )

    maps = [
        (0.4 * rng.standard_normal((3, n_features)), 0.5 * rng.standard_normal(n_features))
        for _ in range(n_classes)
    ]
    y = np.repeat(np.arange(n_classes), n_each)
    X, X_test = (np.vstack([rows_of(m) for m in maps]).astype(np.float32) for _ in range(2))
    some = rng.permutation(len(y))[:2000]
    return X, y, X_test[some], y[some]


DATA = {"rows": data_of_rows, "features": data_of_features, "classes": data_of_classes}


def measure(case, options):
    what, _, size = case.partition(":")
    X, y, X_test, y_test = DATA[what](int(size))
    model, fit = (
        WideCDMMAClassifier(**_bench.PAPERS, n_layers=options.layers, random_state=0),
        _bench.processor(),
    )
    with _bench.PeakMemory() as memory, fit:
        model.fit(X, y)
    row = {"what": what, "size": int(size), "fit_seconds": fit.seconds}
    row |= {"data_mib": X.nbytes / 2**20, "fit_peak_above_data_mib": memory.mib}
    row |= {"model_mib": model_bytes(model) / 2**20, "queries": len(X_test)}
    model.predict(X_test[:1])  # prepares the search
    for k in PROBES:
        with _bench.processor() as predict:
            found = model.set_params(n_probe=k).predict(X_test)
        name = "predict" if k is None else f"predict_{k}"
        row[f"{name}_seconds"] = predict.seconds
        row[f"{name}_accuracy"] = float(np.mean(found == y_test))
    return [row]


def model_bytes(model):
    """Return the bytes of the arrays that predictions need."""
    autoencoders = [a for group in model.autoencoders_by_class() for a in group]
    layers = [layer for a in autoencoders for layer in a._layers]
    return sum(layer.coef.nbytes + layer.inducing_points.nbytes for layer in layers)


def exponents(rows):
    """Return slopes of log seconds over log size, for what grows with what."""
    slopes = {}
    for what, least in GROWN.items():
        here = [row for row in rows if row["what"] == what and row["size"] >= least]
        for name in ("fit_seconds", "predict_seconds", "predict_4_seconds"):
            if len(here) > 1:
                sizes, seconds = ([np.log(row[key]) for row in here] for key in ("size", name))
                slopes[f"{what}: {name}"] = float(np.polyfit(sizes, seconds, 1)[0])
    return {"exponents": slopes}


def cases(options):
    sizes = {
        "rows": [n for n in ROWS if n <= options.most_rows],
        "features": [side**2 for side in SIDES],
        "classes": CLASSES,
    }
    return [(f"{what}:{size}", {}) for what, each in sizes.items() for size in each]


if __name__ == "__main__":
    settings = {"layers": 1, "most_rows": 600_000}
    _bench.run_apart("growth", cases, measure, __doc__, exponents, **settings)
